"""Mutation testing: `python -m tests.mutation structkit/regex ... [--count 2] [--seed 1]`.

Random faults are put into files, one at a time, in a copy of the repository, and the tests that execute the faulty line
run: first those of the file and of its top-level folder, then those of `--others`. A fault that no test finds is
printed: it is equivalent, or only takes time, or a test is missing. The exit status is the number of such faults.
Files with kernels are left out: each fault would compile them.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from tests.mutation.mutants import Mutant, sample
from tests.shared import ROOT

__all__ = ["main", "sources", "suites"]

_COPIED = ("structkit", "tests", "scripts", "examples", "docs")
_OTHERS = ("tests/docs/test_docstrings.py", "tests/test_contracts.py", "tests/test_suite.py")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the number of faults that no test finds."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation", description=(__doc__ or "").split("\n\n")[1]
    )
    parser.add_argument("paths", nargs="+", type=Path, help="files and folders of structkit")
    parser.add_argument("--count", type=int, default=2, help="faults for each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--others", nargs="*", default=_OTHERS, help="tests beside those of the folders")
    options = parser.parse_args(arguments)
    faults: list[tuple[Path, Mutant]] = []
    for path in sources(options.paths):
        random = Random(f"{options.seed} {path.as_posix()}")
        faults += [(path, fault) for fault in sample((ROOT / path).read_text("utf-8"), options.count, random)]
    rows: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(Path(folder))
        Path(folder, "faults").write_bytes(pickle.dumps(faults))
        tests = [*suites([path for path, _ in faults]), *options.others]
        environment = {**os.environ, "PYTHONPATH": str(copy), "CI": "1"}
        environment.setdefault("STRUCTKIT_SHARED", str(ROOT.parent / "shared"))
        command = [sys.executable, "-m", "tests.mutation.forks", f"{folder}/faults", *tests]
        with subprocess.Popen(
            command, cwd=copy, env=environment, stdout=subprocess.PIPE, text=True
        ) as server:
            for line in server.stdout or ():
                verdict = json.loads(line)
                found = "own tests" if verdict["own"] else "others" if verdict["found"] else "none"
                rows.setdefault(Path(verdict["path"]).parts[1], Counter())[found] += 1
                if not verdict["found"]:
                    print(_said(verdict), flush=True)
    if sum(map(Counter.total, rows.values())) < len(faults):
        parser.error("the tests could not run; run them with pytest")
    for room, counts in rows.items():
        print(
            f"{room}: {counts['own tests']} found by own tests, {counts['others']} by others, {counts['none']} alive"
        )
    return sum(counts["none"] for counts in rows.values())


def sources(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files at some paths that faults are put into, relative to the repository."""
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            has_kernels = "automaton.core.jit import" in file.read_text("utf-8")
            if file.name != "__init__.py" and not has_kernels:
                yield file.resolve().relative_to(ROOT)


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


def suites(paths: Sequence[Path]) -> list[str]:
    """Return the tests of the top-level folders of some files, or of the files themselves.

    >>> suites([Path("structkit/schema/algebra/ranges.py"), Path("structkit/lru_cache.py")])
    ['tests/schema', 'tests/test_lru_cache.py']
    """
    found = {
        f"tests/{path.parts[1]}" if len(path.parts) > 2 else f"tests/test_{path.name}": None for path in paths
    }
    return [suite for suite in found if (ROOT / suite).exists()]


def _said(verdict: dict[str, object]) -> str:
    before, after = (" ".join(str(verdict[key]).split())[:80] for key in ("before", "after"))
    return f"alive: {verdict['path']}:{verdict['line']}: {before}  ->  {after}"


if __name__ == "__main__":
    raise SystemExit(main())
