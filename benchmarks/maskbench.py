"""MaskBench: correctness of masks for valid and invalid instances, and their cost.

```
python -m benchmarks.maskbench --data sample.jsonl.gz --tokenizer tokenizer.json --engines structkit --schemas 300
```

Every engine runs in a separate process, and all engines process each schema in turns. Instances are tokenized as
complete texts, as in training data. `structkit` has the documented defaults: its disk cache is on, in a folder that is
empty at the beginning, so that it looks for each schema and writes each in the background. `structkit-uncached` has no
disk cache, nor have the other engines.

With `--warm`, another process then compiles all schemas with the disk cache that `structkit` filled.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from benchmarks.data import Case, read_cases
from benchmarks.plot import draw
from benchmarks.report import failures_of, panels, report
from benchmarks.verdict import CLOCKS, Outcome
from benchmarks.worker import Worker

WARM = "structkit, warm"
"""structkit with the disk cache that another process filled."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its table."""
    parser = _parser()
    options = parser.parse_args(arguments)
    engines = options.engines.split(",")
    if options.warm and "structkit" not in engines:
        parser.error("--warm requires structkit among the engines, which fills the cache")
    cases = read_cases(options.data, options.schemas, options.seed)
    outcomes: dict[str, list[Outcome]] = {}
    peaks: dict[str, int] = {}
    with options.failures.open("w") as log, tempfile.TemporaryDirectory() as cache:
        os.environ["STRUCTKIT_CACHE_DIR"] = cache
        _run({engine: engine for engine in engines}, cases, options, log, outcomes, peaks)
        if options.warm:
            _run({WARM: "structkit"}, cases, options, log, outcomes, peaks)
    print(report(outcomes, peaks, limit=options.limit))
    if options.svg:
        options.svg.write_text(draw(panels(outcomes, limit=options.limit)), encoding="utf-8")
    print(f"\nFailures and their reasons: {options.failures}")
    return 0


def _run(
    engines: Mapping[str, str],
    cases: Sequence[Case],
    options: argparse.Namespace,
    log: TextIO,
    outcomes: dict[str, list[Outcome]],
    peaks: dict[str, int],
) -> None:
    """Run engines, by their names in the report, on all schemas in turns."""
    workers = {
        name: Worker(engine, options.tokenizer, options.limit, options.clock)
        for name, engine in engines.items()
    }
    outcomes |= {name: [] for name in workers}
    try:
        for done, case in enumerate(cases, 1):
            # The first engine of a turn waits longest, and finds the processor's caches emptied by the others.
            names = list(workers)[done % len(workers) :] + list(workers)[: done % len(workers)]
            for name in names:
                outcome = workers[name].run(case)
                outcomes[name].append(outcome)
                for failure in failures_of(name, outcome):
                    log.write(json.dumps(failure, ensure_ascii=False) + "\n")
                log.flush()
            if done % 50 == 0:
                print(f"{done} of {len(cases)} schemas", file=sys.stderr, flush=True)
        peaks |= {name: worker.close() for name, worker in workers.items()}
    finally:
        for worker in workers.values():
            worker.kill()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.maskbench", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="schemas with instances, JSONL, gzipped or not"
    )
    parser.add_argument("--tokenizer", type=Path, required=True, help="tokenizer.json, gzipped or not")
    parser.add_argument(
        "--engines",
        default="structkit",
        help="names, separated by commas: structkit, structkit-uncached, llguidance, xgrammar, outlines-core",
    )
    parser.add_argument("--warm", action="store_true", help="run structkit again, with a filled disk cache")
    parser.add_argument("--schemas", type=int, help="number of schemas, selected at random; by default all")
    parser.add_argument("--seed", type=int, default=0, help="seed of the selection")
    parser.add_argument(
        "--limit", type=float, default=20.0, help="maximum seconds for one schema with its instances"
    )
    parser.add_argument(
        "--clock", default="wall", choices=CLOCKS, help="cpu: processor time, for a busy machine"
    )
    parser.add_argument(
        "--failures",
        type=Path,
        default=Path("maskbench-failures.jsonl"),
        help="file for the list of failures",
    )
    parser.add_argument("--svg", type=Path, help="file for the drawing of the times")
    return parser


if __name__ == "__main__":
    sys.exit(main())
