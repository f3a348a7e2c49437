"""Memory: of a compiled schema and of a sequence, with structkit and with other engines.

```
python -m benchmarks.memory --data sample.jsonl.gz --tokenizer tokenizer.json
```

Each engine runs in a separate process. After a warm-up it compiles the schemas that all engines accept, computes the
first mask of each, and keeps all of them; then it reads the first valid instance of each schema, and starts sequences
of one schema in the middle of an instance and keeps those. Memory is the resident set of the process, divided by the
number of schemas or sequences.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.data import Case, read_cases, read_tokenizer
from benchmarks.engines import ENGINES, Guide, Rejected

SEQUENCES = 10_000
"""Sequences that are kept."""

MAX_SCHEMA = 4_000
"""Maximum length of a schema as JSON: xgrammar takes seconds for longer ones."""

MAX_SECONDS = 2.0
"""Schemas that an engine compiles for longer are left out for all."""


@dataclass(frozen=True)
class Memory:
    """Bytes of memory of one engine.

    Attributes:
        version: The version of the engine.
        accepted: The schemas that it compiled.
        guide: Bytes of a compiled schema after its first mask.
        read: The same after one instance was read.
        sequence: Bytes of a sequence in the middle of an instance.
    """

    version: str
    accepted: frozenset[str]
    guide: float = 0.0
    read: float = 0.0
    sequence: float = 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    options = _parser().parse_args(arguments)
    cases = [
        case
        for case in read_cases(options.data, None, options.seed)
        if len(json.dumps(case.schema)) <= MAX_SCHEMA and any(each.valid for each in case.instances)
    ][: options.schemas]
    engines = options.engines.split(",")
    accepted = [_in_process(engine, options.tokenizer, cases, measures=False).accepted for engine in engines]
    common = [case for case in cases if all(case.name in names for names in accepted)]
    print(f"{len(common)} of {len(cases)} schemas are accepted by all engines.\n")
    print("| | KiB per schema | after one instance | bytes per sequence |\n| --- | ---: | ---: | ---: |")
    for engine in engines:
        found = _in_process(engine, options.tokenizer, common, measures=True)
        name = f"{engine} {found.version}"
        print(f"| {name} | {found.guide / 1024:.1f} | {found.read / 1024:.1f} | {found.sequence:,.0f} |")
    return 0


def _in_process(engine: str, tokenizer: Path, cases: Sequence[Case], *, measures: bool) -> Memory:
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    process = context.Process(target=_run, args=(engine, tokenizer, list(cases), measures, other))
    process.start()
    found = pipe.recv()
    process.join()
    assert isinstance(found, Memory)
    return found


def _run(name: str, tokenizer_path: Path, cases: list[Case], measures: bool, pipe: Connection) -> None:
    tokenizer = read_tokenizer(tokenizer_path)
    engine = ENGINES[name](tokenizer)
    texts = {case.name: next(each.text for each in case.instances if each.valid) for case in cases}
    encoded = {case: tokenizer.encode(text, add_special_tokens=False).ids for case, text in texts.items()}

    def compiled(case: Case) -> Guide | None:
        start = time.thread_time()
        try:
            guide = engine.compile(case.schema)
            guide.sequence().fill_mask()
        except Rejected:
            return None
        return guide if time.thread_time() - start < MAX_SECONDS else None

    if not measures:
        pipe.send(Memory(engine.version, frozenset(case.name for case in cases if compiled(case))))
        return
    for case in cases:  # the rows and rules that all targets share
        guide = compiled(case)
        if guide is not None:
            _read(guide, encoded[case.name])
    start = _resident()
    guides = {case.name: guide for case in cases if (guide := compiled(case)) is not None}
    after_guides = _resident()
    for name, guide in guides.items():
        _read(guide, encoded[name])
    after_reading = _resident()
    longest = max(guides, key=lambda name: len(encoded[name]))
    half = encoded[longest][: len(encoded[longest]) // 2]
    sequences = [_read(guides[longest], half) for _ in range(SEQUENCES)]
    after_sequences = _resident()
    pipe.send(
        Memory(
            engine.version,
            frozenset(guides),
            (after_guides - start) / len(guides),
            (after_reading - start) / len(guides),
            (after_sequences - after_reading) / len(sequences),
        )
    )


def _read(guide: Guide, tokens: Sequence[int]) -> object:
    """Return a sequence after some tokens."""
    sequence = guide.sequence()
    for token in tokens:
        sequence.fill_mask()
        if not sequence.advance(token):
            break
    return sequence


def _resident() -> int:
    gc.collect()
    with Path("/proc/self/statm").open() as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="schemas with instances, JSONL")
    parser.add_argument("--tokenizer", type=Path, required=True, help="tokenizer.json, gzipped or not")
    parser.add_argument("--engines", default="structkit,llguidance,xgrammar", help="names, by commas")
    parser.add_argument("--schemas", type=int, default=150, help="number of schemas")
    parser.add_argument("--seed", type=int, default=1, help="seed of the selection")
    return parser


if __name__ == "__main__":
    sys.exit(main())
