"""The faults of mutation testing, and how they are tried."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutation.__main__ import suite_of, survives
from tests.mutation.mutants import mutants

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


def test_a_fault_is_found_by_the_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:langsmith_plugin -p no:hypothesispytest -p no:anyio")
    (tmp_path / "test_it.py").write_text("from part import add\ndef test_it():\n    assert add(2, 0) == 2\n")
    path = Path("part.py")
    assert survives(tmp_path, path, "def add(a, b): return a + b", ["test_it.py"], 600)
    assert survives(tmp_path, path, "def add(a, b): return a - b", ["test_it.py"], 600)
    assert not survives(tmp_path, path, "def add(a, b): return a * b", ["test_it.py"], 600)
    assert not survives(tmp_path, path, "while True: pass", ["test_it.py"], 1)


def test_the_suite_of_a_file() -> None:
    assert suite_of(Path("structkit/lru_cache.py")) == ["tests/test_lru_cache.py"]
    parse = suite_of(Path("structkit/schema/json_schema/parse.py"))
    assert parse == ["tests/schema/json_schema/test_parse.py", "tests/schema/json_schema", "tests/schema"]
    assert suite_of(Path("structkit/index/rows/arena.py")) == ["tests/index/rows", "tests/index"]


def test_faults_that_are_no_python_are_left_out() -> None:
    """A part of the source has the parentheses around an assignment expression in one place and not in the other."""
    found = [mutant.after for mutant in mutants("if a is not None and (x := f(a)) is None:\n    g(x)\n")]
    assert "pass" in found
    assert all(ast.parse(mutant.source) for mutant in mutants("y = (x := f(a)) is None"))
