"""The campaign: `python -m tests.hostile --tokenizer tokenizer.json [--only WORD] [--markdown FILE]`.

Every target is compiled, 40 masks are computed, the way to the end is asked for, and 40 masks are computed under a
budget of the fewest tokens and 60 more. Each is tried in a process of its own, without the disk cache. The result is
good if the target is answered or refused, within a second of CPU and 500 MB.
"""

from __future__ import annotations

import argparse
import gc
import gzip
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import structkit as sk
from structkit.errors import StructkitError
from structkit.vocabulary.vocabulary import Vocabulary
from tests.hostile.case import Case
from tests.hostile.cases import BEYOND, CASES
from tests.hostile.probe import MAX_MEGABYTES, MAX_SECONDS, Outcome, try_case, try_here

__all__ = ["main", "table"]

_WARMING = (
    "email",
    "word boundaries",
    "(a|b|ab){0,2000}",
    "uniqueItems, enum 500, minItems 499",
    "multipleOf 12,345",
    "6 independent conditions",
    "messages, 100",
    "ambiguous sums",
    "minProperties 200",
)
"""Targets that use every kernel."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; return 0 if all results but those in `BEYOND` are good."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__.split("\n\n")[1])
    parser.add_argument("--tokenizer", type=Path, required=True, help="a tokenizer.json, gzipped or not")
    parser.add_argument("--only", default="", help="part of the kind and name of the cases to try")
    parser.add_argument(
        "--patience", type=float, default=25, help="seconds of CPU after which a case is ended"
    )
    parser.add_argument("--markdown", type=Path, help="where to write the table")
    parser.add_argument("--verbose", action="store_true", help="print the whole message of errors")
    options = parser.parse_args(arguments)
    vocabulary = read_vocabulary(options.tokenizer)
    warm_up(vocabulary)
    results = []
    for case in CASES:
        if options.only in f"{case.kind}: {case.name}":
            outcome = try_case(case, vocabulary, options.patience)
            results.append((case, outcome))
            print(line(case, outcome, options.verbose), flush=True)
    good = sum(outcome.is_good for _, outcome in results)
    print(
        f"{good} of {len(results)} were answered or refused within {MAX_SECONDS:g} s and {MAX_MEGABYTES} MB"
    )
    if options.markdown:
        options.markdown.write_text(table(results))
    others = [
        name
        for case, outcome in results
        if not outcome.is_good and (name := f"{case.kind}: {case.name}") not in BEYOND
    ]
    print("not listed in BEYOND:", ", ".join(others) or "none")
    return int(bool(others))


def read_vocabulary(path: Path) -> Vocabulary:
    """Read a `tokenizer.json`."""
    from tokenizers import Tokenizer

    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return sk.Vocabulary.from_tokenizer(Tokenizer.from_buffer(content))


def warm_up(vocabulary: Vocabulary) -> None:
    """Load every kernel, so that each case is measured without it."""
    for case in CASES:
        if case.name in _WARMING:
            with suppress(StructkitError):
                try_here(case, vocabulary)
    gc.collect()
    gc.freeze()


def line(case: Case, outcome: Outcome, verbose: bool) -> str:
    """One line of the report."""
    stages = " ".join(
        f"{stage} {seconds:.2f}"
        for stage, seconds in outcome.seconds.items()
        if case.is_read or stage != "make"
    )
    ending = outcome.ending + ("" if outcome.has_place else " without a place")
    message = outcome.message if verbose else outcome.message.strip()[-160:].replace("\n", " ")
    mark = " " if outcome.is_good else "*"
    return (
        f"{mark} {outcome.total:6.2f} s {outcome.megabytes:5.0f} MB  {case.kind}: {case.name}: {ending} "
        f"in {outcome.stage} [{stages}] {message}"
    )


def table(results: Sequence[tuple[Case, Outcome]]) -> str:
    """Return the results by kind as a table in Markdown."""
    rows = [
        "| Kind | Targets | Answered | Refused | Longest | Most memory | Beyond the bounds |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in dict.fromkeys(case.kind for case, _ in results):
        outcomes = [outcome for case, outcome in results if case.kind == kind]
        endings = [outcome.ending for outcome in outcomes]
        rows.append(
            f"| {kind} | {len(outcomes)} | {endings.count('answered')} | {endings.count('refused')} "
            f"| {max(outcome.total for outcome in outcomes):.2f} s | {max(o.megabytes for o in outcomes):.0f} MB "
            f"| {sum(not outcome.is_good for outcome in outcomes)} |"
        )
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
