"""MaskBench: is what a schema allows allowed, is the rest refused, and what does it cost?

```
python -m benchmarks.maskbench --data sample.jsonl.gz --tokenizer tokenizer.json --engines structkit --schemas 300
```

Every engine works in a process of its own, and all take turns at one schema after another. Cold: compiled schemas
are not kept. The tokens of an instance are those of the whole text, as a model was trained on them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.data import read_cases
from benchmarks.outcome import CLOCKS, Outcome
from benchmarks.plot import draw
from benchmarks.report import failures_of, panels, report
from benchmarks.worker import Worker


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its table."""
    options = _parser().parse_args(arguments)
    cases = read_cases(options.data, options.schemas, options.seed)
    workers = [
        Worker(name, options.tokenizer, options.limit, options.clock) for name in options.engines.split(",")
    ]
    outcomes: dict[str, list[Outcome]] = {worker.engine: [] for worker in workers}
    try:
        with options.failures.open("w") as log:
            for done, case in enumerate(cases, 1):
                for worker in workers:
                    outcome = worker.run(case)
                    outcomes[worker.engine].append(outcome)
                    for failure in failures_of(worker.engine, outcome):
                        log.write(json.dumps(failure, ensure_ascii=False) + "\n")
                    log.flush()
                if done % 50 == 0:
                    print(f"{done} of {len(cases)} schemas", file=sys.stderr, flush=True)
        peaks = {worker.engine: worker.close() for worker in workers}
    finally:
        for worker in workers:
            worker.kill()
    print(report(outcomes, peaks, limit=options.limit))
    if options.svg:
        options.svg.write_text(draw(panels(outcomes, limit=options.limit)), encoding="utf-8")
    print(f"\nFailures and their reasons: {options.failures}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.maskbench", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="schemas with instances, JSONL, gzipped or not"
    )
    parser.add_argument("--tokenizer", type=Path, required=True, help="tokenizer.json, gzipped or not")
    parser.add_argument(
        "--engines",
        default="structkit",
        help="names with commas: structkit, llguidance, xgrammar, outlines-core",
    )
    parser.add_argument("--schemas", type=int, help="how many, chosen at random; all of them if left out")
    parser.add_argument("--seed", type=int, default=0, help="of that choice")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for one schema with its instances")
    parser.add_argument(
        "--clock", default="wall", choices=CLOCKS, help="cpu: processor time, for a busy machine"
    )
    parser.add_argument(
        "--failures", type=Path, default=Path("maskbench-failures.jsonl"), help="where to list them"
    )
    parser.add_argument("--svg", type=Path, help="where to draw the times")
    return parser


if __name__ == "__main__":
    sys.exit(main())
