"""Fuzz the readers of untrusted input: `python -m tests.fuzz [--only WORD] [--count 2000] [--seed 1]`.

Each reader gets its seeds and random inputs made of them. An input is answered, with every mask, text and value
checked, or refused with a `StructkitError`; anything else is printed and saved. `--replay FILE` tries a saved input.
"""

from __future__ import annotations

import argparse
import ast
import re
import time
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.engine import Finding, fuzz, try_input
from tests.fuzz.subjects import SUBJECTS

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0 if there is no finding."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=(__doc__ or "").split("\n\n")[1]
    )
    parser.add_argument("--only", default="", help="part of the name of the readers to try")
    parser.add_argument("--count", type=int, default=2_000, help="inputs for each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10, help="seconds of CPU that one input may take")
    parser.add_argument(
        "--blind", action="store_true", help="keep no inputs for the lines that they reach; faster"
    )
    parser.add_argument("--save", type=Path, default=Path("fuzz-findings"), help="the folder of findings")
    parser.add_argument("--replay", type=Path, help="a saved input")
    options = parser.parse_args(arguments)
    if options.replay:
        return _replay(options.replay, options.seconds)
    found = 0
    for subject in SUBJECTS:
        if options.only not in subject.name:
            continue
        start = time.process_time()
        report = fuzz(
            subject, options.seed, options.count, seconds=options.seconds, coverage=not options.blind
        )
        print(
            f"{subject.name}: {report.runs} inputs, {report.refused} refused, {report.lines} lines, "
            f"{len(report.corpus)} kept, {len(report.findings)} findings, {time.process_time() - start:.0f} s",
            flush=True,
        )
        for number, finding in enumerate(report.findings.values()):
            path = options.save / f"{re.sub(r'[^a-z]+', '-', subject.name)}.{options.seed}.{number}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{subject.name}\n{finding.content!a}\n{finding.error}", "utf-8", "replace")
            print(f"{path}:\n{ascii(finding.content)[:600]}\n{finding.error[-1500:]}", flush=True)
        found += len(report.findings)
    return int(bool(found))


def _replay(path: Path, seconds: float) -> int:
    name, content = path.read_text("utf-8").splitlines()[:2]
    subject = next(each for each in SUBJECTS if each.name == name)
    outcome = try_input(subject, ast.literal_eval(content), seconds=seconds)
    print(outcome.error if isinstance(outcome, Finding) else outcome)
    return int(isinstance(outcome, Finding))


if __name__ == "__main__":
    raise SystemExit(main())
