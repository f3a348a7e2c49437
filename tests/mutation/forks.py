"""A server that tries faults in forks of one process, which has imported everything and collected the tests.

The process runs the tests once, in a fork, to learn which of them execute which line. For a fault in a function, a fork
replaces the code of the function and runs the tests that execute the line: those of the folder first, and as many as
take a limited time. The other faults change what an import computes; the file is written, and a new process runs these
tests. A fault that no test finds is therefore to be tried by hand if an import, or a process that a test starts, calls
the function, or if its results are cached.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import import_module
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType

import coverage
import pytest

from tests.mutation.mutants import Mutant

__all__ = ["Server", "Verdict", "swap"]

_Cached = type(lru_cache(len))
_IMPORTED = ("<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_MEMORY = 4 << 30
"""Bytes that the tests of a fault may allocate."""
_TIMEOUT = "timeout"
_SECONDS = 16
"""How long the tests of the folder take that are tried on a fault; the others take half of it."""


@dataclass(frozen=True)
class Verdict:
    """What the tests say of a fault.

    Attributes:
        path: The file.
        line: The line.
        before: What is replaced.
        after: What replaces it.
        found: The test that fails, "" if none does, "timeout" if the tests do not end.
        own: Whether a test of the top-level folder of the file finds it.
    """

    path: str
    line: int
    before: str
    after: str
    found: str
    own: bool


class Server:
    """A plugin of pytest that tries faults instead of running the tests."""

    def __init__(self, faults: Sequence[tuple[Path, Mutant]], told: Callable[[Verdict], object]) -> None:
        self._faults = faults
        self._told = told
        self._failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self._failed:
            self._failed = report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for path, _ in self._faults:
            import_module(".".join(path.with_suffix("").parts))
        gc.unfreeze()
        functions: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
        for each in gc.get_objects():
            if type(each) is FunctionType and "structkit" in each.__code__.co_filename:
                functions[_key(each.__code__)].append(each)
            elif type(each) is _Cached and each.__module__.startswith("structkit."):
                each.cache_clear()  # what an import or the collection computed would hide a fault
        gc.freeze()
        files = {str(path.absolute()) for path, _ in self._faults}
        with tempfile.TemporaryDirectory() as folder:
            seen = Path(folder, "seen")
            _in_fork(lambda: seen.write_bytes(pickle.dumps(self._observed(session.items, files))), 3000)
            durations, lines = pickle.loads(seen.read_bytes())
        items = {item.nodeid: item for item in session.items}
        for path, mutant in self._faults:
            room = _room(path)
            tests = _chosen(lines[str(path.absolute())], _statement(path, mutant.line), durations, path)
            found = self._found(items, tests, functions, path, mutant)
            own = found == _TIMEOUT or found.startswith(room)
            self._told(Verdict(path.as_posix(), mutant.line, mutant.before, mutant.after, found, own))
        return True

    def _observed(
        self, items: Sequence[pytest.Item], files: set[str]
    ) -> tuple[dict[str, float], dict[str, dict[int, list[str]]]]:
        """Return the seconds of the tests that pass, and for each file and line the tests that execute it."""
        measured = coverage.Coverage(data_file=None, include=sorted(files), config_file=False)
        measured.start()
        durations: dict[str, float] = {}
        for item, following in zip(items, [*items[1:], None], strict=True):
            measured.switch_context(item.nodeid)
            begun = time.monotonic()
            self._failed = ""
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if not self._failed:
                durations[item.nodeid] = time.monotonic() - begun
        measured.stop()
        data = measured.get_data()
        return durations, {
            file: {
                line: [test for test in tests if test]
                for line, tests in data.contexts_by_lineno(file).items()
            }
            for file in files
        }

    def _found(
        self,
        items: dict[str, pytest.Item],
        tests: Sequence[str],
        functions: dict[tuple[str, str, int], list[FunctionType]],
        path: Path,
        mutant: Mutant,
    ) -> str:
        """Return the first test that fails with a fault, or ""."""
        changes = swap(path.read_text("utf-8"), mutant.source, str(path.absolute()), functions)
        if not tests:
            return ""
        if changes is None:
            return _in_process(path, mutant.source, tests)
        return self._failing(items, tests, changes)

    def _failing(
        self,
        items: dict[str, pytest.Item],
        tests: Sequence[str],
        changes: list[tuple[FunctionType, CodeType]],
    ) -> str:
        """Return the first test that fails in a fork with other code of functions, or ""."""
        with tempfile.TemporaryDirectory() as folder:
            answer = Path(folder, "answer")

            def run() -> None:
                for function, code in changes:
                    function.__code__ = code
                os.environ["STRUCTKIT_CACHE_DIR"] = folder
                self._failed = ""
                chosen = [items[test] for test in tests]
                for item, following in zip(chosen, [*chosen[1:], None], strict=True):
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                    if self._failed:
                        answer.write_text(self._failed)
                        break

            if not _in_fork(run, 4 * _SECONDS):
                return _TIMEOUT
            return answer.read_text() if answer.exists() else ""


def swap(
    before: str, after: str, name: str, functions: dict[tuple[str, str, int], list[FunctionType]]
) -> list[tuple[FunctionType, CodeType]] | None:
    """Return the functions whose code differs between two sources, with the new code.

    `None` says that only an import shows the difference: it is in a class, in a constant or in a default.
    """
    changes: list[tuple[FunctionType, CodeType]] = []

    def compare(old: CodeType, new: CodeType) -> bool:
        if _shallow(old) != _shallow(new):
            if not old.co_flags & CO_OPTIMIZED or old.co_name in _IMPORTED:
                return False
            live = functions.get((name, old.co_name, old.co_firstlineno), [])
            if any(len(each.__code__.co_freevars) != len(new.co_freevars) for each in live):
                return False
            changes.extend((each, new) for each in live)
        inner, others = _inner(old), _inner(new)
        if len(inner) != len(others):
            return bool(
                old.co_flags & CO_OPTIMIZED
            )  # a part of a function is left out with the functions in it
        for first, second in zip(inner, others, strict=True):
            if first.co_flags & CO_OPTIMIZED and first.co_name in _IMPORTED and old.co_flags & CO_OPTIMIZED:
                continue
            if not compare(first, second):
                return False
        return True

    if not compare(compile(before, name, "exec"), compile(after, name, "exec")):
        return None
    return changes or None


def _shallow(code: CodeType) -> tuple[object, ...]:
    """Return the instructions of a code, with those of its comprehensions but not with those of its functions."""
    is_function = bool(code.co_flags & CO_OPTIMIZED)
    constants = tuple(
        (_shallow(each) if is_function else each.co_name)
        if isinstance(each, CodeType)
        else (type(each), each)
        for each in code.co_consts
    )
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def _inner(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_name, code.co_firstlineno


def _statement(path: Path, line: int) -> range:
    """Return the lines of the smallest statement at a line, without the statements in it."""
    best = range(line, line + 1)
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            end = (node.end_lineno or node.lineno) + 1
            body = getattr(node, "body", None)
            if body:
                end = max(node.lineno + 1, body[0].lineno)
            if line < end:
                best = range(node.lineno, end)
    return best


def _chosen(
    lines: dict[int, list[str]], statement: range, durations: dict[str, float], path: Path
) -> list[str]:
    """Return the tests of a fault: those of the file, of the folder and others, as many as there is time for."""
    seen = {test for line in statement for test in lines.get(line, ())}
    if not seen:
        seen = {test for tests in lines.values() for test in tests}
    own = f"tests/{'/'.join(path.parts[1:-1])}/test_{path.name}"
    room = _room(path)
    known = sorted(
        (not test.startswith(own), not test.startswith(room), durations[test], test)
        for test in seen
        if test in durations
    )
    tests: list[str] = []
    spent = {False: 0.0, True: 0.0}
    for _, is_other, duration, test in known:
        spent[is_other] += duration
        if spent[is_other] <= _SECONDS / (2 if is_other else 1):
            tests.append(test)
    return tests


def _room(path: Path) -> str:
    """Return how the names of the tests of the top-level folder of a file begin."""
    return f"tests/{path.parts[1]}/" if len(path.parts) > 2 else f"tests/test_{path.name}"


def _in_fork(run: Callable[[], object], seconds: float) -> bool:
    """Run a function in a fork; return whether it returned in time."""
    import resource

    child = os.fork()
    if child == 0:
        os.setsid()
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + _MEMORY,) * 2)
        try:
            run()
        except BaseException:
            os._exit(1)
        os._exit(0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _in_process(path: Path, source: str, tests: Sequence[str]) -> str:
    """Return the first test that fails in a new process with another source of a file, or ""."""
    before = path.read_text("utf-8")
    with tempfile.TemporaryDirectory() as cache:
        named = Path(cache, "tests")
        named.write_text("\n".join(tests))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-rfE",
            "-p",
            "no:xdist",
            "-p",
            "no:cacheprovider",
        ]
        environment = {**os.environ, "STRUCTKIT_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": "1"}
        path.write_text(source, "utf-8")
        try:
            done = subprocess.run(
                [*command, f"@{named}"],
                env=environment,
                capture_output=True,
                text=True,
                timeout=8 * _SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return _TIMEOUT
        finally:
            path.write_text(before, "utf-8")
    if not done.returncode:
        return ""
    failed = [line.split(" ")[1] for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0] if failed and "::" in failed[0] else tests[0]


def _serve(faults: Sequence[tuple[Path, Mutant]], tests: Sequence[str]) -> None:
    """Write a verdict in each line of the output, and nothing else."""
    with os.fdopen(os.dup(1), "w", buffering=1) as output:
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        server = Server(faults, lambda verdict: print(json.dumps(asdict(verdict)), file=output))
        options = ["-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", "long or not long"]
        pytest.main([*options, *tests], plugins=[server])


if __name__ == "__main__":
    _serve(pickle.loads(Path(sys.argv[1]).read_bytes()), sys.argv[2:])
