"""Profile: time by folder of the library up to the first mask, and by kind of token after it.

```
python -m benchmarks.profile --data sample.jsonl.gz --tokenizer tokenizer.json --schemas 200 --seed 1
```

The first table covers the schemas around the median, measured with Python's profiler. The profiler overstates the cost
of calls, so compare only the shares. The second table covers all tokens of all instances, measured with the clock of
the thread.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import pstats
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

import structkit as sk
from benchmarks.data import Case, read_cases, read_tokenizer

QUANTILES = 0.35, 0.65
"""Quantiles of the compile time between which schemas are profiled."""

KINDS = {
    "seen": "known mask, known next state",
    "new": "new mask or next state, by the kernels alone",
    "python": "new mask with a row from Python, such as free text",
    "built": "a rule is built when a text first reaches it",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the profile and print its tables."""
    options = _parser().parse_args(arguments)
    tokenizer = read_tokenizer(options.tokenizer)
    vocabulary = sk.Vocabulary.from_tokenizer(tokenizer)
    cases = read_cases(options.data, options.schemas, options.seed)
    print(
        _table_of_folders(_seconds_by_folder([guide for _, guide in _around_the_median(cases, vocabulary)]))
    )
    times: dict[str, list[float]] = defaultdict(list)
    for case in cases:
        for kind, seconds in _tokens(
            case, vocabulary, lambda text: tokenizer.encode(text, add_special_tokens=False).ids
        ):
            times[kind].append(seconds)
    print(_table_of_kinds(times))
    return 0


def _compiler(case: Case, vocabulary: sk.Vocabulary) -> Callable[[], sk.Guide]:
    return lambda: sk.compile(dict(case.schema), vocabulary, cache=False)


def _around_the_median(
    cases: Sequence[Case], vocabulary: sk.Vocabulary
) -> list[tuple[float, Callable[[], sk.Guide]]]:
    """Return compile functions of the schemas around the median, and their times."""
    timed = []
    for case in cases:
        compiler = _compiler(case, vocabulary)
        begin = time.thread_time()
        try:
            compiler()
        except sk.StructkitError:
            continue
        timed.append((time.thread_time() - begin, compiler))
    timed.sort(key=lambda each: each[0])
    first, stop = (int(share * len(timed)) for share in QUANTILES)
    return timed[first:stop]


def _seconds_by_folder(compilers: Sequence[Callable[[], sk.Guide]]) -> Counter[str]:
    """Return seconds by folder; Python and numpy count for the calling folder."""
    profile = cProfile.Profile()
    gc.disable()
    for compiler in compilers:
        profile.runcall(compiler)
    gc.enable()
    seconds_by_folder: Counter[str] = Counter()
    for (file, _, _), (_, _, own, _, callers) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if (folder := _folder_of(file)) is not None:
            seconds_by_folder[folder] += own
        else:
            for (caller, _, _), (_, _, share, _) in callers.items():
                seconds_by_folder[_folder_of(caller) or "Python and numpy, called by each other"] += share
    return seconds_by_folder


def _folder_of(file: str) -> str | None:
    parts = Path(file).parts
    if "structkit" not in parts:
        return None
    inner = parts[len(parts) - parts[::-1].index("structkit") :]
    return inner[0] if len(inner) > 1 else "files of the package"


def _tokens(
    case: Case, vocabulary: sk.Vocabulary, encode: Callable[[str], list[int]]
) -> Iterator[tuple[str, float]]:
    """Yield the kind of each token of the instances, and the seconds of one mask and one advance."""
    try:
        guide = _compiler(case, vocabulary)()
    except sk.StructkitError:
        return
    out = np.zeros(vocabulary.mask_words, np.uint32)
    for instance in case.instances:
        cursor = guide.cursor()
        for token in encode(instance.text):
            built, rows, made = len(guide.automaton.built), len(guide.index.rows), guide.parser.size
            begin = time.thread_time_ns()
            try:
                cursor.fill_mask(out)
                cursor.advance(token)
            except sk.TokenRejected:
                break
            seconds = (time.thread_time_ns() - begin) / 1e9
            if len(guide.automaton.built) > built:
                yield "built", seconds
            elif len(guide.index.rows) > rows:
                yield "python", seconds
            else:
                yield "seen" if guide.parser.size == made else "new", seconds


def _table_of_folders(seconds_by_folder: Counter[str]) -> str:
    total = sum(seconds_by_folder.values())
    lines = ["| folder | share of the time to the first mask |", "| --- | ---: |"]
    return "\n".join(
        [
            *lines,
            *(f"| {folder} | {seconds / total:.0%} |" for folder, seconds in seconds_by_folder.most_common()),
        ]
    )


def _table_of_kinds(times: dict[str, list[float]]) -> str:
    total, count = (sum(map(each, times.values())) for each in (sum, len))
    lines = [
        "",
        "| tokens | share of tokens | p50, µs | p90 | p99 | share of the time |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind, label in KINDS.items():
        seconds = np.array(times[kind] or [0.0])
        p50, p90, p99 = np.percentile(seconds, [50, 90, 99]) * 1e6
        share = len(times[kind]) / count
        lines.append(
            f"| {label} | {share:.1%} | {p50:.1f} | {p90:.1f} | {p99:.0f} | {seconds.sum() / total:.0%} |"
        )
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="schemas with instances, JSONL, gzipped or not"
    )
    parser.add_argument("--tokenizer", type=Path, required=True, help="tokenizer.json, gzipped or not")
    parser.add_argument("--schemas", type=int, help="number of schemas, selected at random; by default all")
    parser.add_argument("--seed", type=int, default=0, help="seed of the selection")
    return parser


if __name__ == "__main__":
    sys.exit(main())
