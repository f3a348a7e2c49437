"""Confidence: the expected calibration error of each kind of value, with and without a calibration.

```
python -m benchmarks.calibration --model FOLDER --count 100
```

The model answers the texts of the sets of `benchmarks.outcome` that have one right answer. A calibration is fitted to
every other text, and the errors are those of the rest. The error of a well calibrated model is not 0 either, because a
bin has few values: the last column is the mean error of values that are right with exactly the calibrated
probabilities.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence

import numpy as np

import structkit as sk
from benchmarks.outcome_sets import SETS, make_set
from structkit.generate.output.calibration import Judged, calibration_error, fit, judge

__all__ = ["main", "table"]


def judged_of(model: sk.AnyModel, name: str, seed: int, count: int) -> list[list[Judged]]:
    """Return the values of each text of a set."""
    tasks = [task for task in make_set(name, seed, count) if task.truth is not None]
    if not tasks:
        return []
    results = sk.generate_many(
        model,
        [task.text for task in tasks],
        [task.target for task in tasks],
        confidence=True,
        return_exceptions=True,
    )
    return [
        list(judge(result, json.dumps(task.truth, ensure_ascii=False)))
        for task, result in zip(tasks, results, strict=True)
        if isinstance(result, sk.Result)
    ]


def table(model: str, texts: Sequence[Sequence[Judged]]) -> str:
    """Return the table in Markdown: fitted to every other text, measured on the rest."""
    fitted = [value for text in texts[::2] for value in text]
    rest = [value for text in texts[1::2] for value in text]
    calibration = fit(model, fitted)
    lines = [
        "| kind | values | right | mean probability | error | calibrated | of exact probabilities |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    random = np.random.default_rng(1)
    for kind in [*sorted({value.kind for value in rest} & set(calibration.curves)), "all"]:
        own = [
            value
            for value in rest
            if value.kind == kind or (kind == "all" and value.kind in calibration.curves)
        ]
        right = [value.is_right for value in own]
        before = [math.exp(value.logprob) for value in own]
        after = [calibration.curves[value.kind](value.logprob) for value in own]
        exact = [calibration_error(after, list(random.random(len(after)) < after)) for _ in range(200)]
        lines.append(
            f"| {kind} | {len(own)} | {np.mean(right):.0%} | {np.mean(before):.2f} | "
            f"{calibration_error(before, right):.3f} | {calibration_error(after, right):.3f} | {np.mean(exact):.3f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", help="a folder or name; default: the demo model")
    parser.add_argument("--sets", default="; ".join(name for name in SETS if not name.startswith("calls")))
    parser.add_argument("--count", type=int, default=100, help="texts of each set")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    model = sk.load() if arguments.model is None else sk.load(arguments.model)
    texts = []
    for name in arguments.sets.split("; "):
        texts += judged_of(model, name, arguments.seed, arguments.count)
    print(table(model.name, texts))


if __name__ == "__main__":
    main()
