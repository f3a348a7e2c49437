"""Mutation testing: `python -m tests.mutation structkit/lru_cache.py ... [--count 10] [--seed 1]`.

Random faults are put into files, one at a time, in a copy of the repository, and the tests of the file's folders run.
A fault that no test finds is printed: it is either equivalent or a test is missing. The exit status is the number of
such faults. With `--tests PATH` other tests run. Files with kernels are refused: each fault would compile them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.mutation.mutants import Mutant, mutants
from tests.shared import ROOT

__all__ = ["main", "suite_of", "survives"]

_COPIED = ("structkit", "tests", "scripts", "examples", "docs")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the number of faults that no test finds."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation", description=(__doc__ or "").split("\n\n")[1]
    )
    parser.add_argument("files", nargs="+", type=Path, help="files of structkit")
    parser.add_argument("--count", type=int, default=10, help="faults for each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="*", help="the tests; by default those of the folders of the file")
    parser.add_argument("--timeout", type=float, default=300, help="seconds of the tests of one fault")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(Path(folder))
        alive = tried = 0
        for file in options.files:
            path = file.resolve().relative_to(ROOT)
            source = (ROOT / path).read_text("utf-8")
            if "automaton.core.jit import" in source:
                parser.error(f"{path} has kernels")
            tests = options.tests or suite_of(path)
            (copy / path).write_text(source, "utf-8")
            if not survives(copy, path, source, tests, options.timeout):
                parser.error(f"{' '.join(tests)} fail without a fault")
            found = list(mutants(source))
            for mutant in Random(f"{options.seed} {path}").sample(found, min(options.count, len(found))):
                tried += 1
                if survives(copy, path, mutant.source, tests, options.timeout):
                    alive += 1
                    print(_said(path, mutant), flush=True)
            (copy / path).write_text(source, "utf-8")
            print(
                f"{path}: {len(found)} faults are possible; {tried - alive} of {tried} were found so far",
                flush=True,
            )
    return alive


def copied(folder: Path) -> Path:
    """Copy the repository; return the copy."""
    copy = folder / "repository"
    copy.mkdir()
    for name in _COPIED:
        shutil.copytree(ROOT / name, copy / name)
    for path in ROOT.glob("*.*"):
        if path.is_file():
            shutil.copy(path, copy)
    return copy


def suite_of(path: Path) -> list[str]:
    """Return the tests of a file: its own, those of the nearest folder with some, and those of its top-level folder.

    >>> suite_of(Path("structkit/schema/algebra/ranges.py"))
    ['tests/schema/algebra/test_ranges.py', 'tests/schema/algebra', 'tests/schema']
    """
    own = Path("tests", *path.parts[1:-1], f"test_{path.name}")
    suites = [own, *own.parents[: len(path.parts) - 2]]
    return [suite.as_posix() for suite in suites if (ROOT / suite).exists()]


def survives(copy: Path, path: Path, source: str, tests: Sequence[str], timeout: float) -> bool:
    """Whether tests pass with another source of a file."""
    (copy / path).write_text(source, "utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPATH": str(copy), "STRUCTKIT_CACHE_DIR": cache}
        # Bytecode is found by size and second of its source, which two mutants may have in common, but no copied file.
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment["STRUCTKIT_SHARED"] = os.environ.get("STRUCTKIT_SHARED", str(ROOT.parent / "shared"))
        try:
            done = subprocess.run(
                command, cwd=copy, env=environment, capture_output=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def _said(path: Path, mutant: Mutant) -> str:
    before, after = (" ".join(text.split())[:80] for text in (mutant.before, mutant.after))
    return f"alive: {path}:{mutant.line}: {before}  ->  {after}"


if __name__ == "__main__":
    raise SystemExit(main())
