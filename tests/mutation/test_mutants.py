"""The faults of mutation testing, and how they are tried."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from random import Random
from types import FunctionType
from typing import Any

import pytest

from tests.mutation.__main__ import main, suites
from tests.mutation.forks import swap
from tests.mutation.mutants import mutants, sample

SOURCE = '''"""A module."""
from __future__ import annotations
__all__ = ["f"]
LIMIT: int | None = 3
def f(é: int = 1, *, b: bool | None = None) -> int | None:
    """The docstring: 1 + 1."""
    if not b and é >= LIMIT:
        print("é" + f"{b}")
        return é << 2
    é += 1
    return -1 if b is None else "ü" * é
'''


def test_each_fault_changes_one_part_of_the_code() -> None:
    found = {(mutant.line, mutant.before, mutant.after) for mutant in mutants(SOURCE)}
    assert found == {
        (4, "3", "4"),
        (5, "1", "2"),
        (7, "not b and é >= LIMIT", "not b or é >= LIMIT"),
        (7, "not b", "(b)"),
        (7, "é >= LIMIT", "é > LIMIT"),
        (8, 'print("é" + f"{b}")', "pass"),
        (9, "return é << 2", "return None"),
        (9, "é << 2", "é >> 2"),
        (9, "2", "3"),
        (10, "é += 1", "pass"),
        (10, "1", "2"),
        (11, 'return -1 if b is None else "ü" * é', "return None"),
        (11, '-1 if b is None else "ü" * é', "(-1)"),
        (11, '-1 if b is None else "ü" * é', '("ü" * é)'),
        (11, "1", "2"),
        (11, "b is None", "b is not None"),
    }
    for mutant in mutants(SOURCE):
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(SOURCE))


@pytest.mark.parametrize(
    "path", [Path("structkit/guide/healing.py"), Path("structkit/lru_cache.py")], ids=str
)
def test_every_fault_of_real_files_is_python(path: Path) -> None:
    for mutant in mutants(path.read_text("utf-8")):
        compile(mutant.source, str(path), "exec")


MODULE = """LIMIT = 3
def outer(a):
    def inner(b):
        return a + b
    return [inner(each) for each in range(3)], (lambda c: c * a)(2)
class Counter:
    step = 1
    def add(self, n, by=2):
        return n + self.step if n < LIMIT else n - by
"""


def _run(source: str) -> tuple[dict[str, Any], dict[tuple[str, str, int], list[FunctionType]]]:
    """Execute a source; return its names, and its functions as the server finds them."""
    names: dict[str, Any] = {}
    exec(compile(source, "module.py", "exec"), names)
    found = [names["outer"], names["Counter"].add]
    return names, {
        (code.co_filename, code.co_name, code.co_firstlineno): [each]
        for each in found
        for code in [each.__code__]
    }


def _behaviour(names: dict[str, Any]) -> object:
    counter = names["Counter"]()
    try:
        return names["outer"](5), [counter.add(n) for n in range(5)]
    except TypeError as error:
        return str(error)


def test_the_code_of_functions_is_replaced_as_an_import_would() -> None:
    swapped = 0
    for mutant in mutants(MODULE):
        names, functions = _run(MODULE)
        changes = swap(MODULE, mutant.source, "module.py", functions)
        is_imported = mutant.line in (1, 6, 7) or (mutant.before, mutant.line) == ("2", 8)
        assert (changes is None) == is_imported, mutant
        if changes is not None:
            swapped += 1
            for function, code in changes:
                function.__code__ = code
            assert _behaviour(names) == _behaviour(_run(mutant.source)[0]), mutant
    assert swapped > 10


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the server needs fork and /proc")
def test_faults_are_found_by_the_tests_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    alive = main(["structkit/lru_cache.py", "--count", "2", "--others"])
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == f"lru_cache.py: {2 - alive} found by own tests, 0 by others, {alive} alive"
    assert alive <= 1 and len(printed) == alive + 1


def test_a_sample_has_different_faults() -> None:
    found = sample(SOURCE, 5, Random(1))
    assert found == sample(SOURCE, 5, Random(1)) and len({each.source for each in found}) == 5
    assert {each.source for each in sample(SOURCE, 100, Random(1))} == {
        each.source for each in mutants(SOURCE)
    }


def test_the_suites_of_files() -> None:
    paths = [
        Path("structkit/lru_cache.py"),
        Path("structkit/index/rows/arena.py"),
        Path("structkit/index/index.py"),
    ]
    assert suites(paths) == ["tests/test_lru_cache.py", "tests/index"]


def test_faults_that_are_no_python_are_left_out() -> None:
    """A part of the source has the parentheses around an assignment expression in one place and not in the other."""
    found = [mutant.after for mutant in mutants("if a is not None and (x := f(a)) is None:\n    g(x)\n")]
    assert "pass" in found
    assert all(ast.parse(mutant.source) for mutant in mutants("y = (x := f(a)) is None"))
