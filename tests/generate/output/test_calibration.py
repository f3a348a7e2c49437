"""Calibration: its fit against known curves, its file, and bad input."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.generate.output.calibration import Judged, calibration_error, fit, judge
from structkit.testing import RandomModel, ScriptedModel


def _values(count: int, slope: float, intercept: float, seed: int, kind: str = "string") -> list[Judged]:
    """Return values that are right with probability sigmoid(slope * log-odds + intercept)."""
    random = np.random.default_rng(seed)
    odds = random.normal(2, 2, count)
    right = random.random(count) < 1 / (1 + np.exp(-(slope * odds + intercept)))
    return [
        Judged(kind, -math.log1p(math.exp(-x)), bool(is_right))
        for x, is_right in zip(odds, right, strict=True)
    ]


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (0.4, -1.0), (2.0, 1.0)])
def test_the_curve_is_found_again(slope: float, intercept: float) -> None:
    curve = fit("m", _values(20_000, slope, intercept, 1)).curves["string"]
    for odds in (-3, -1, 0, 1, 2, 3, 5, 7):
        logprob, expected = -math.log1p(math.exp(-odds)), slope * odds + intercept
        assert curve(logprob) == pytest.approx(1 / (1 + math.exp(-expected)), abs=0.03)


def test_the_error_on_other_values_of_the_kind_is_small() -> None:
    calibration = fit("m", _values(400, 0.3, -0.5, 1))
    rest = _values(4_000, 0.3, -0.5, 2)
    right = [value.is_right for value in rest]
    before = calibration_error([math.exp(value.logprob) for value in rest], right)
    after = calibration_error([calibration.curves["string"](value.logprob) for value in rest], right)
    assert before > 0.2
    assert after < 0.05


def test_a_curve_that_is_no_line_is_found() -> None:
    """A model that is right half the time, and nearly always where it is very sure: Platt scaling alone misses it."""

    def values(seed: int) -> list[Judged]:
        random = np.random.default_rng(seed)
        odds = random.uniform(-6, 6, 3_000)
        right = random.random(3_000) < np.where(odds < -3, 0.05, np.where(odds < 3, 0.5, 0.95))
        return [
            Judged("string", -math.log1p(math.exp(-x)), bool(y)) for x, y in zip(odds, right, strict=True)
        ]

    curve, rest = fit("m", values(1)).curves["string"], values(2)
    right = [value.is_right for value in rest]
    assert calibration_error([curve(value.logprob) for value in rest], right) < 0.03
    logprobs = -np.log1p(np.exp(-np.linspace(-14, 14, 200)))
    assert list(map(curve, logprobs)) == sorted(map(curve, logprobs))
    assert curve(-1.5) == pytest.approx(0.5, abs=0.06)


def test_few_values_hardly_move_the_line() -> None:
    """Of forty values, one bin corrects the line, so the curve tells less sure values from surer ones."""
    curve = fit("m", _values(40, 1.0, 0.0, 3)).curves["string"]
    assert curve(-3.0) < curve(-1.0) < curve(-0.1) < curve(-0.001)


def test_the_error_is_that_of_its_definition() -> None:
    assert calibration_error([], []) == 0
    assert calibration_error([1.0, 1.0], [True, False]) == pytest.approx(0.5)
    assert calibration_error([0.05, 0.95], [True, False]) == pytest.approx(0.95)
    assert calibration_error([0.25, 0.75] * 20, [False, True] * 20) == pytest.approx(0.25)


def test_certain_values_and_separable_ones_have_finite_curves() -> None:
    certain = [Judged("choice", 0.0, True)] * 40 + [Judged("choice", -9.0, False)] * 40
    curve = fit("m", certain).curves["choice"]
    assert all(map(math.isfinite, sum(curve.points, ())))
    assert 0 < curve(-9.0) < 0.1 < 0.9 < curve(0.0) < 1
    assert curve(-math.inf) >= 0


def test_probabilities_that_mislead_become_the_share_of_right_values() -> None:
    curve = fit("m", _values(400, -1.0, 0.0, 1)).curves["string"]
    assert curve(-0.01) == curve(-4.0) == pytest.approx(curve.right / curve.values, abs=0.02)


def test_a_kind_with_too_few_values_has_the_curve_of_all() -> None:
    few, many = _values(12, 1, 0, 1, "number"), _values(400, 0.5, 0, 2)
    curves = fit("m", few + many).curves
    assert curves["number"].values == 12
    assert curves["number"](-0.5) == pytest.approx(curves["string"](-0.5), abs=0.05)
    assert curves["number"].points != curves["string"].points
    together = [Judged("string", value.logprob, value.is_right) for value in few + many]
    assert curves["number"].points == fit("m", together).curves["string"].points


def test_too_few_or_one_sided_values_are_errors() -> None:
    with pytest.raises(ValueError, match="have 29 values, and a calibration needs 30; give more"):
        fit("m", _values(29, 1, 0, 1))
    for is_right, remedy in ((True, "harder"), (False, "easier")):
        with pytest.raises(
            ValueError, match=f"one-sided.*at least 5 right and 5 wrong.*{remedy} for the model"
        ):
            fit("m", [Judged("string", -1.0, is_right)] * 50)


class Item(BaseModel):
    name: str
    size: Literal["small", "large"]
    count: int
    note: str | None


def test_values_are_judged_by_kind() -> None:
    reply = '{"name": "lamp", "size": "large", "count": 3, "note": null}'
    truth = '{"name": "Lamp", "size": "large", "count": 3.0, "note": "new"}'
    result = sk.generate(ScriptedModel([reply]), "A lamp, 4 of them.", Item)
    found = {(value.kind, value.is_right) for value in judge(result, truth)}
    assert found == {
        ("answer", False),
        ("string", False),
        ("choice", True),
        ("number not in source", True),
        ("literal", False),
    }
    assert all(value.is_right for value in judge(result, reply))
    word = sk.generate(ScriptedModel(["ab"]), "x", sk.Regex("[a-c]+"))
    assert [(value.kind, value.is_right) for value in judge(word, "ab")] == [("string", True)]


@cache
def _calibration() -> sk.Calibration:
    return sk.calibrate(RandomModel(1), [("x", n % 3 == 0) for n in range(60)], bool)


def test_a_calibration_is_applied_and_leaves_the_rest_of_a_result() -> None:
    calibration = _calibration()
    assert set(calibration.curves) == {"choice"}
    result = sk.generate(RandomModel(1), "x", Item)
    applied = calibration.apply(result)
    assert (applied.value, applied.text, applied.trace) == (result.value, result.text, result.trace)
    for path, one in applied.confidence.items():
        expected = calibration.curves["choice"](one.logprob) if path == "size" else None
        assert (one.calibrated, one.logprob) == (expected, result.confidence[path].logprob)


def test_a_calibration_of_another_model_or_without_confidence_is_refused() -> None:
    calibration = _calibration()
    with pytest.raises(ValueError, match="of the model 'random', and the result of 'scripted'"):
        calibration.apply(sk.generate(ScriptedModel(["true"]), "x", bool))
    with pytest.raises(ValueError, match="has no confidence; generate it with confidence=True"):
        calibration.apply(sk.generate(RandomModel(1), "x", bool, confidence=False))


def test_a_value_that_was_taken_out_has_no_calibration() -> None:
    """Its confidence is that of the first text, and null is of another kind."""

    class Person(BaseModel):
        age: int | None
        size: Literal["small", "large"]

    curve = _calibration().curves["choice"]
    calibration = sk.Calibration("random", dict.fromkeys(("answer", "choice", "literal", "number"), curve))
    said = [sk.generate(RandomModel(seed), "x", Person) for seed in range(20)]
    seed, plain = next((seed, each) for seed, each in enumerate(said) if each.value.age is not None)
    plain = calibration.apply(plain)
    result = sk.generate(RandomModel(seed), "x", Person, abstain=1.0)
    assert result.abstained == ("age",)
    applied = calibration.apply(result).confidence
    assert (applied["age"].calibrated, applied["$"].calibrated) == (None, None)
    assert applied["size"].calibrated == plain.confidence["size"].calibrated is not None
    truth = '{"age": null, "size": "small"}'
    assert {value.kind for value in judge(result, truth)} == {"choice"}


def test_a_faithful_result_is_refused() -> None:
    drawn = sk.generate(RandomModel(1), "x", bool, sampling="faithful", particles=2, seed=1)
    with pytest.raises(
        ValueError, match=r"does not list the choices.*calibrate results of sampling='masked'"
    ):
        _calibration().apply(drawn)


def test_a_file_has_the_calibration(tmp_path: Path) -> None:
    calibration = _calibration()
    calibration.save(tmp_path / "c.json")
    assert sk.Calibration.load(tmp_path / "c.json") == calibration
    assert (tmp_path / "c.json").stat().st_size < 1_000
    assert "choice" in str(calibration)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(format="other"),
        lambda data: data.update(curves={"verb": data["curves"]["choice"]}),
        lambda data: data["curves"]["choice"].update(points=[[0, 1], [1, 0]]),
        lambda data: data["curves"]["choice"].update(points=[[0, 1], [0, 2]]),
        lambda data: data["curves"]["choice"].update(points=[[0, 1]]),
        lambda data: data["curves"]["choice"].update(points=[[0, 1], [2]]),
        lambda data: data["curves"]["choice"].update(points={"a": 1}),
        lambda data: data["curves"]["choice"].update(points=[[0, 1], [1, math.nan]]),
        lambda data: data["curves"]["choice"].update(values="60"),
        lambda data: data["curves"]["choice"].pop("right"),
        lambda data: data.update(model=3),
        lambda data: data.update(curves=[]),
    ],
)
def test_a_file_that_was_changed_is_refused(change: Any, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    _calibration().save(file)
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=r"c\.json is not a calibration: .*; give a file of `save`"):
        sk.Calibration.load(file)


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000, "x" * 70_000, '{"format": 1}'])
def test_a_file_of_something_else_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(ValueError, match="is not a calibration"):
        sk.Calibration.load(tmp_path / "c.json")


@pytest.mark.parametrize(
    ("labelled", "error", "message"),
    [
        ([], ValueError, "labelled is empty"),
        ("text", TypeError, r"labelled must be a list of \(text, answer\) pairs"),
        ([("x", True), "y"], TypeError, r"labelled\[1\] must be a \(text, answer\) pair"),
        ([("x", True)] * 40 + [("x", "maybe")], ValueError, r"labelled\[40\] is not a valid bool"),
        ([("x", True)] * 10, ValueError, "have 10 values"),
    ],
)
def test_examples_that_do_not_fit_are_errors(labelled: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sk.calibrate(RandomModel(1), labelled, bool)


@pytest.mark.parametrize(("answer", "count", "remedy"), [(True, 40, "harder"), (False, 0, "easier")])
def test_one_sided_examples_are_an_error(answer: bool, count: int, remedy: str) -> None:
    model = ScriptedModel(["true"] * 40)
    with pytest.raises(
        ValueError, match=f"one-sided: {count} of 40 values are right.*{remedy} for the model"
    ):
        sk.calibrate(model, [("x", answer)] * 40, bool)


def test_a_model_that_returns_text_has_nothing_to_calibrate() -> None:
    with pytest.raises(sk.GenerationError, match="needs a model that returns logits"):
        sk.calibrate(sk.from_function(lambda text: "true"), [("x", True)] * 40, bool)


def test_a_kind_has_a_curve_of_its_own_if_it_has_enough_values() -> None:
    """30 values, of which five are right and five wrong; otherwise it has the curve of all."""
    others = _values(60, 1.0, 0.0, 1)
    shared = fit("m", others).curves["string"].points
    cases = [(30, 5, True), (30, 25, True), (29, 15, False), (30, 4, False), (30, 26, False), (40, 9, True)]
    for count, right, has_own in cases:
        own = [Judged("number", -0.1 - 0.01 * number, number < right) for number in range(count)]
        curves = fit("m", [*others, *own]).curves
        assert curves["string"].points == shared and curves["number"].values == count
        everything = fit("m", [Judged("string", each.logprob, each.is_right) for each in [*others, *own]])
        assert (curves["number"].points != everything.curves["string"].points) == has_own, (count, right)


@pytest.mark.parametrize(
    ("count", "right", "message"),
    [
        (29, 15, r"the examples have 29 values, and a calibration needs 30; give more examples"),
        (
            30,
            4,
            r"4 of 30 values are right, .* at least 5 right and 5 wrong ones; give examples that are easier",
        ),
        (
            30,
            26,
            r"26 of 30 values are right, .* at least 5 right and 5 wrong ones; give examples that are harder",
        ),
        (30, 5, ""),
        (30, 25, ""),
    ],
)
def test_few_or_one_sided_examples_are_refused(count: int, right: int, message: str) -> None:
    judged = [Judged("string", -0.1, number < right) for number in range(count)]
    if not message:
        assert fit("m", judged).curves["string"].values == count
        return
    with pytest.raises(ValueError, match=message):
        fit("m", judged)
