"""Calibration: from the model's probability of a value to the probability that the value is right."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.arguments.checks import check_type
from structkit.generate.output.confidence import Confidence
from structkit.generate.output.json_reader import ByPath, format_path, read_values
from structkit.generate.output.result import Result

__all__ = ["Calibration", "CalibrationCurve", "Judged", "calibration_error", "fit", "judge"]

T = TypeVar("T")

_MIN_VALUES, _MIN_EACH = 30, 5
"""Values of a kind with which a curve is fitted, and right and wrong ones among them: with fewer, the parameters
follow single values."""

_MAX_LOGIT, _MIN_SHARE = 12.0, 6e-6
"""Probabilities are kept within 6e-6 of 0 and 1, because forced text has the probability 1."""

_RIDGE = 0.05
"""Weight of the slope 1 and the intercept 0 in the fit, so that separable values have a finite slope."""

_BINS, _BIN_VALUES, _SHRINK = 12, 25, 10
"""Number of bins that correct the line of a kind, at most; values of a bin, at least; and the number of values that
the line counts as in each bin, so that a bin of few values hardly moves it."""

_FORMAT, _MAX_BYTES = "structkit calibration 2", 65_536
"""The kind of a file, and its largest size."""

_KINDS = ("answer", "choice", "literal", "number", "number not in source", "string", "string not in source")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationCurve:
    """The calibration of one kind of value: from the log-odds of its probability to those that it is right.

    The curve is Platt scaling (Platt 1999), a line through the log-odds, corrected by bins with equally many values.
    Each bin is shrunk toward the line, and bins that fall are merged, as in isotonic regression.

    Attributes:
        points: The corners of the curve, as pairs of log-odds; it is straight between them and level beyond.
        values: The number of values it was fitted to.
        right: How many of them were right.
        error_before: Their expected calibration error without the curve; see `calibration_error`.
        error_after: With the curve.
    """

    points: tuple[tuple[float, float], ...]
    values: int
    right: int
    error_before: float
    error_after: float

    def __call__(self, logprob: float) -> float:
        """Return the probability that a value with this log-probability is right."""
        at, odds = zip(*self.points, strict=True)
        return 1 / (1 + math.exp(-float(np.interp(_log_odds(logprob), at, odds))))


@dataclass(frozen=True, slots=True)
class Judged:
    """A value of an answer: its kind, its log-probability, and whether it is right."""

    kind: str
    logprob: float
    is_right: bool


@dataclass(frozen=True)
class Calibration:
    """What `structkit.calibrate` returns: for each kind of value, how often the model is right when it is that sure.

    The kinds are `answer` (an object or array as a whole), `choice` (one of listed values), `literal` (true, false or
    null), `number` and `string`, and the last two also `not in source`; see `structkit.Confidence.in_source`. A kind
    with too few values, or whose values are nearly all right or wrong, has the curve of all kinds together.

    Attributes:
        model: The name of the model.
        curves: The curve of each kind that the examples have.
    """

    model: str
    curves: Mapping[str, CalibrationCurve]

    def apply(self, result: Result[T]) -> Result[T]:
        """Return the result with `calibrated` in each confidence.

        It is `None` for a kind that the examples did not have, for a value that `abstain` took out, and then for `$`.

        Raises:
            TypeError: It is no result.
            ValueError: The result is of another model, has no confidence, or was drawn with `sampling="faithful"`,
                whose confidence does not list the choices.

        >>> import structkit as sk
        >>> from structkit.testing import RandomModel
        >>> curve = CalibrationCurve(
        ...     points=((-12, -7), (12, 5)), values=90, right=60, error_before=0.2, error_after=0.02
        ... )
        >>> result = sk.generate(RandomModel(1), "Yes or no?", bool)
        >>> fixed = Calibration("random", {"choice": curve}).apply(result)
        >>> fixed.confidence["$"].calibrated == curve(result.confidence["$"].logprob)
        True
        """
        check_type("result", result, Result, "the Result of structkit.generate")
        if result.trace.model != self.model:
            raise ValueError(
                f"the calibration is of the model {self.model!r}, and the result of {result.trace.model!r}; "
                "calibrate that model"
            )
        if result.log_weight is not None:
            raise ValueError(
                "the confidence of a result of sampling='faithful' does not list the choices, which have a curve of "
                "their own; calibrate results of sampling='masked'"
            )
        if not result.confidence:
            raise ValueError("the result has no confidence; generate it with confidence=True")
        kinds = _kinds(result)
        confidence = {
            path: replace(one, calibrated=curve(one.logprob))
            if (curve := self.curves.get(kinds.get(path, ""))) is not None
            else one
            for path, one in result.confidence.items()
        }
        return replace(result, confidence=ByPath(confidence))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the calibration to a file of JSON, of less than a kilobyte for each kind."""
        curves = {kind: asdict(curve) for kind, curve in self.curves.items()}
        data = {"format": _FORMAT, "model": self.model, "curves": curves}
        Path(path).write_text(json.dumps(data) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Calibration:
        """Read a calibration from a file.

        Raises:
            OSError: The file cannot be read.
            ValueError: The file is not one that `save` writes.
        """
        file = Path(path)
        if file.stat().st_size > _MAX_BYTES:
            raise ValueError(
                f"{file} is not a calibration: it is larger than {_MAX_BYTES} bytes; give a file of `save`"
            )
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            if data["format"] != _FORMAT or not isinstance(data["model"], str):
                raise ValueError(f"its format is {data['format']!r:.60}")
            curves = {kind: _read_curve(kind, curve) for kind, curve in data["curves"].items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError(
                f"{file} is not a calibration: {type(error).__name__}: {error}; give a file of `save`"
            ) from error
        return cls(data["model"], MappingProxyType(curves))

    def __str__(self) -> str:
        lines = [f"{'kind':<22}{'values':>8}{'right':>8}{'error before':>14}{'after':>8}"]
        lines += [
            f"{kind:<22}{curve.values:>8}{curve.right:>8}{curve.error_before:>14.3f}{curve.error_after:>8.3f}"
            for kind, curve in self.curves.items()
        ]
        return "\n".join(lines)


_ERROR_BINS = 10
"""Bins of the expected calibration error, as in the papers on it."""


def calibration_error(probabilities: Sequence[float], right: Sequence[bool]) -> float:
    """Return the expected calibration error (Naeini et al. 2015; Guo et al. 2017).

    Probabilities are sorted into bins of equal width. The error is the mean distance of the mean probability of a bin
    from the share of right values in it, weighted by the number of values.

    >>> calibration_error([0.9, 0.9, 0.9, 0.9], [True, True, True, False])
    0.15
    """
    if not len(probabilities):
        return 0.0
    chances, hits = np.array(probabilities), np.array(right, float)
    at = np.minimum((chances * _ERROR_BINS).astype(int), _ERROR_BINS - 1)
    gaps = [abs(float((chances[at == each] - hits[at == each]).sum())) for each in range(_ERROR_BINS)]
    return round(sum(gaps) / len(chances), 12)


def judge(result: Result[object], truth: str) -> Iterator[Judged]:
    """Yield each value of a result, and whether it is that of the right text.

    Args:
        result: A result with confidence.
        truth: The right text.
    """
    kinds = _kinds(result)
    said, expected = _texts(result.text), _texts(truth)
    for path, kind in kinds.items():
        is_right = path in expected and _same(said[path], expected[path])
        yield Judged(kind, result.confidence[path].logprob, is_right)


def fit(model: str, judged: Sequence[Judged]) -> Calibration:
    """Return the calibration of judged values.

    Args:
        model: The name of the model.
        judged: The values.

    Raises:
        ValueError: There are too few values, or they are nearly all right or all wrong.
    """
    right = sum(each.is_right for each in judged)
    if len(judged) < _MIN_VALUES:
        raise ValueError(
            f"the examples have {len(judged)} values, and a calibration needs {_MIN_VALUES}; give more examples"
        )
    if min(right, len(judged) - right) < _MIN_EACH:
        raise ValueError(
            f"the examples are one-sided: {right} of {len(judged)} values are right, and a calibration needs at least "
            f"{_MIN_EACH} right and {_MIN_EACH} wrong ones; give examples that are "
            f"{'easier' if right < _MIN_EACH else 'harder'} for the model"
        )
    shared = _points(judged)
    curves = {}
    for kind in sorted({each.kind for each in judged}):
        own = [each for each in judged if each.kind == kind]
        hits = sum(each.is_right for each in own)
        has_own = len(own) >= _MIN_VALUES and min(hits, len(own) - hits) >= _MIN_EACH
        curves[kind] = _curve(_points(own) if has_own else shared, own)
    return Calibration(model, MappingProxyType(curves))


def _curve(points: tuple[tuple[float, float], ...], judged: Sequence[Judged]) -> CalibrationCurve:
    right = [each.is_right for each in judged]
    curve = CalibrationCurve(
        points=points,
        values=len(judged),
        right=sum(right),
        error_before=calibration_error([math.exp(each.logprob) for each in judged], right),
        error_after=0.0,
    )
    return replace(curve, error_after=calibration_error([curve(each.logprob) for each in judged], right))


def _points(judged: Sequence[Judged]) -> tuple[tuple[float, float], ...]:
    """Return the corners of the curve of values: a line, corrected in bins."""
    odds = np.array([_log_odds(each.logprob) for each in judged])
    is_right = np.array([each.is_right for each in judged])
    slope, intercept = _platt(odds, is_right)
    # Equal values are in one bin, since nothing distinguishes them.
    count = max(1, min(_BINS, len(odds) // _BIN_VALUES))
    edges = np.unique(np.quantile(odds, np.linspace(0, 1, count + 1)[1:-1]))
    bins = np.searchsorted(edges, odds, side="right")

    def corrected(members: NDArray[np.bool_]) -> float:
        """Return the line at the mean of some values, moved by what their share of right ones, shrunk, adds to it."""
        line = slope * odds[members] + intercept
        expected = float((1 / (1 + np.exp(-np.clip(line, -500, 500)))).mean())
        share = (float(is_right[members].sum()) + _SHRINK * expected) / (len(line) + _SHRINK)
        return float(line.mean()) + _logit(share) - _logit(expected)

    blocks: list[
        tuple[list[float], NDArray[np.bool_], float]
    ] = []  # means of bins, their members, and the curve
    for each in np.unique(bins):
        members = bins == each
        blocks.append(([float(odds[members].mean())], members, corrected(members)))
        while len(blocks) > 1 and blocks[-2][2] >= blocks[-1][2]:
            places = blocks[-2][0] + blocks[-1][0]
            members = blocks[-2][1] | blocks[-1][1]
            blocks[-2:] = [(places, members, corrected(members))]
    points = [(place, value) for places, _, value in blocks for place in places]
    # Beyond the outer bins, the curve continues with the slope of the line.
    for end, near in ((-_MAX_LOGIT, points[0]), (_MAX_LOGIT, points[-1])):
        if near[0] != end:
            points.append((end, near[1] + slope * (end - near[0])))
    return tuple({round(at, 6): round(value, 6) for at, value in sorted(points)}.items())


def _logit(share: float) -> float:
    share = min(1 - _MIN_SHARE, max(_MIN_SHARE, share))
    return math.log(share / (1 - share))


def _platt(odds: NDArray[np.float64], is_right: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the slope and intercept with the largest likelihood, by Newton's method; see Platt 1999."""
    right = int(is_right.sum())
    # Platt's targets: as if each side had one more value.
    target = np.where(is_right, (right + 1) / (right + 2), 1 / (len(odds) - right + 2))
    columns = np.stack([odds, np.ones(len(odds))])
    prior = np.array([1.0, 0.0])
    line = prior.copy()

    def loss(at: NDArray[np.float64]) -> float:
        scores = at @ columns
        return float(
            (np.logaddexp(0, scores) - target * scores).sum() + _RIDGE / 2 * ((at - prior) ** 2).sum()
        )

    for _ in range(100):
        chances = 1 / (1 + np.exp(-np.clip(line @ columns, -500, 500)))
        gradient = columns @ (chances - target) + _RIDGE * (line - prior)
        hessian = (columns * (chances * (1 - chances))) @ columns.T + _RIDGE * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        while loss(line - step) > loss(line) and float(np.abs(step).max()) > 1e-9:
            step /= 2  # the loss is convex, so a short step in this direction is never worse
        if float(np.abs(step).max()) < 1e-9:
            break
        line -= step
    if line[0] > 0:
        return float(line[0]), float(line[1])
    mean = float(target.mean())  # where the model is surer, it is not more often right
    return 0.0, math.log(mean / (1 - mean))


def _log_odds(logprob: float) -> float:
    if logprob >= -1e-9:
        return _MAX_LOGIT
    odds = logprob - math.log(-math.expm1(logprob))
    return min(_MAX_LOGIT, max(-_MAX_LOGIT, odds))


def _kinds(result: Result[object]) -> dict[str, str]:
    """Return the kind of each value that is calibrated, by path."""
    kinds = {}
    changed = {"$", *result.abstained} if result.abstained else ()  # their confidence is that of other texts
    for path, (kind, _) in _texts(result.text).items():
        one = result.confidence.get(path)
        if one is None or path in changed or (kind in ("object", "array") and path != "$"):
            continue
        kinds[path] = _kind(kind, one)
    return kinds


def _kind(kind: str, confidence: Confidence) -> str:
    if kind in ("object", "array"):
        return "answer"
    if confidence.choices is not None and ... not in confidence.choices:
        return "choice"
    return f"{kind} not in source" if confidence.in_source is False else kind


def _texts(text: str) -> dict[str, tuple[str, str]]:
    """Return the kind and the text of each value, by path; a text that is not JSON is one string."""
    try:
        json.loads(text)
    except ValueError:
        return {"$": ("string", text)}
    data = text.encode()
    return {
        format_path(field.path): (field.kind, data[field.start : field.end].decode())
        for field in read_values(data)
    }


def _same(said: tuple[str, str], expected: tuple[str, str]) -> bool:
    if said[0] != expected[0] or said[1] == expected[1]:
        return said == expected
    try:
        return bool(json.loads(said[1]) == json.loads(expected[1]))
    except ValueError:
        return False


def _read_curve(kind: str, data: Mapping[str, object]) -> CalibrationCurve:
    """Return a curve of a file.

    Raises:
        ValueError: A number is missing, or is none.
    """
    if kind not in _KINDS:
        raise ValueError(f"it has a kind {kind!r:.60}")
    points = tuple(
        (_number(kind, "points", at), _number(kind, "points", odds)) for at, odds in _list(data["points"])
    )
    rises = all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(points))
    if len(points) < 2 or not rises:
        raise ValueError(f"points of {kind} are not a rising curve")
    numbers = {
        name: _number(kind, name, data[name]) for name in CalibrationCurve.__slots__ if name != "points"
    }
    values, right = int(numbers.pop("values")), int(numbers.pop("right"))
    return CalibrationCurve(**numbers, points=points, values=values, right=right)


def _list(data: object) -> list[Any]:
    if not isinstance(data, list):
        raise TypeError(f"points is {data!r:.60}")
    return data


def _number(kind: str, name: str, number: object) -> float:
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
        raise ValueError(f"{name} of {kind} is {number!r:.60}")
    return float(number)
