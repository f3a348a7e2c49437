"""Confidence: the expected calibration error of each kind of value, with and without a calibration.

```
python -m benchmarks.calibration --model FOLDER --count 1000 --fit 150 75
```

The model answers the texts of the sets of `benchmarks.outcome` that have one right answer. A calibration is fitted to
random texts, `--fit` for each set, and the errors are those of all others; each number of `--fit` has a table. The
figures are means of twenty such splits, and the range is that of the middle 90 % of them.

The error of a perfect calibration is not 0 either, because a bin has few values: the last column is the mean error of
values that are right with exactly the calibrated probabilities, each independently of the others. Many held-out texts
make it small, so that the error is that of the calibration and not of the measurement. The values of one text are not
independent, so the true floor is higher.
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
from structkit.models.text.protocol import AnyModel

__all__ = ["main", "table"]


def judged_of(model: AnyModel, name: str, seed: int, count: int) -> list[list[Judged]]:
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
"""Random splits of the texts."""


def table(model: str, texts: Sequence[Sequence[Judged]], fitted: int) -> str:
    """Return the table in Markdown: fitted to random texts, and measured on all others.

    Args:
        model: The name of the model.
        texts: The values of each text.
        fitted: How many texts the calibration is fitted to.
    """
    random = np.random.default_rng(1)
    columns: dict[str, list[tuple[float, ...]]] = {}
    for _ in range(_SPLITS):
        order = random.permutation(len(texts))
        known, rest = (
            [value for at in part for value in texts[at]] for part in (order[:fitted], order[fitted:])
        )
        curves = fit(model, known).curves
        for kind in [*sorted({value.kind for value in rest} & set(curves)), "all"]:
            own = [value for value in rest if value.kind in curves and kind in ("all", value.kind)]
            used = sum(kind in ("all", value.kind) for value in known)
            columns.setdefault(kind, []).append((used, *_figures(own, curves, random)))
    lines = [
        "| kind | fitted to | held out | right | mean probability | error | calibrated | of exact probabilities |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind, rows in sorted(columns.items(), key=lambda column: (column[0] == "all", column[0])):
        used, values, right, mean, before, after, exact = np.mean(rows, axis=0)
        low, high = np.quantile([row[5] for row in rows], (0.05, 0.95))
        lines.append(
            f"| {kind} | {used:.0f} | {values:.0f} | {right:.0%} | {mean:.2f} | {before:.3f} | "
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
    parser.add_argument(
        "--fit",
        type=int,
        nargs="+",
        default=[None],
        help="texts of each set that the calibration is fitted to, at most and by default half",
    )
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    model = sk.load() if arguments.model is None else sk.load(arguments.model)
    sets = [judged_of(model, name, arguments.seed, arguments.count) for name in arguments.sets.split("; ")]
    texts = [text for each in sets for text in each]
    for most in arguments.fit:
        fitted = sum(min(count for count in (len(each) // 2, most) if count is not None) for each in sets)
        if not 0 < fitted < len(texts):
            parser.error(
                f"--fit takes {fitted} of {len(texts)} texts; both the fit and the measurement need some"
            )
        print(f"fitted to {fitted} of {len(texts)} texts", table(model.name, texts, fitted), sep="\n\n")


if __name__ == "__main__":
    main()
