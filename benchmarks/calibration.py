"""Confidence: the expected calibration error of each kind of value, with and without a calibration.

```
python -m benchmarks.calibration --model FOLDER --count 300
```

The model answers the texts of the sets of `benchmarks.outcome` that have one right answer. A calibration is fitted to a
random half of them, and the errors are those of the other half; all figures are means of twenty such halves, and the
range is that of the middle 90 % of them. The error of a well calibrated model is not 0 either, because a bin has few
values: the last column is the mean error of values that are right with exactly the calibrated probabilities, each
independently of the others. The values of one text are not independent, so the true floor is higher.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence

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


_SPLITS = 20
"""Random halves of the texts."""


def table(model: str, texts: Sequence[Sequence[Judged]]) -> str:
    """Return the table in Markdown: fitted to a half of the texts, and measured on the other half."""
    random = np.random.default_rng(1)
    columns: dict[str, list[tuple[float, ...]]] = {}
    for _ in range(_SPLITS):
        order = random.permutation(len(texts))
        halves = ([value for at in part for value in texts[at]] for part in (order[::2], order[1::2]))
        fitted, rest = halves
        curves = fit(model, fitted).curves
        for kind in [*sorted({value.kind for value in rest} & set(curves)), "all"]:
            own = [value for value in rest if value.kind in curves and kind in ("all", value.kind)]
            columns.setdefault(kind, []).append(_figures(own, curves, random))
    lines = [
        "| kind | values | right | mean probability | error | calibrated | of exact probabilities |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind, rows in sorted(columns.items(), key=lambda column: (column[0] == "all", column[0])):
        values, right, mean, before, after, exact = np.mean(rows, axis=0)
        low, high = np.quantile([row[4] for row in rows], (0.05, 0.95))
        lines.append(
            f"| {kind} | {values:.0f} | {right:.0%} | {mean:.2f} | {before:.3f} | "
            f"{after:.3f} [{low:.3f}, {high:.3f}] | {exact:.3f} |"
        )
    return "\n".join(lines)


def _figures(
    own: Sequence[Judged], curves: Mapping[str, sk.CalibrationCurve], random: np.random.Generator
) -> tuple[float, ...]:
    right = [value.is_right for value in own]
    before = [math.exp(value.logprob) for value in own]
    after = [curves[value.kind](value.logprob) for value in own]
    exact = [calibration_error(after, list(random.random(len(after)) < after)) for _ in range(10)]
    return (
        len(own),
        float(np.mean(right)),
        float(np.mean(before)),
        calibration_error(before, right),
        calibration_error(after, right),
        float(np.mean(exact)),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", help="a folder or name; default: the demo model")
    parser.add_argument("--sets", default="; ".join(name for name in SETS if not name.startswith("calls")))
    parser.add_argument("--count", type=int, default=300, help="texts of each set")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    model = sk.load() if arguments.model is None else sk.load(arguments.model)
    texts = []
    for name in arguments.sets.split("; "):
        texts += judged_of(model, name, arguments.seed, arguments.count)
    print(table(model.name, texts))


if __name__ == "__main__":
    main()
