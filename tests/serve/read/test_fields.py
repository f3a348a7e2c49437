"""The fields of an object in a request: their types, their bounds, and the error that names a field."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from structkit.serve.bounds.api_error import ApiError
from structkit.serve.read.fields import Fields

ABSENT: list[Mapping[str, object]] = [{}, {"a": None}]


def _fault(read: Callable[[], object]) -> str:
    """Return the message of an error, which names the field and its place."""
    with pytest.raises(ApiError) as error:
        read()
    assert (error.value.status, error.value.code, error.value.param) == (400, "invalid_value", "b[0].a")
    return error.value.message.removeprefix("b[0].a ")


def _of(value: object) -> Fields:
    return Fields({"a": value}, "b[0]")


@pytest.mark.parametrize("values", ABSENT)
def test_a_field_that_is_null_is_absent(values: Mapping[str, object]) -> None:
    fields = Fields(values)
    assert not fields.has("a") and fields.raw("a") is fields.text("a") is fields.nested("a") is None
    assert fields.integer("a", 0, 1) is fields.number("a", 0, 1) is fields.items("a", 1) is None
    assert fields.flag("a", True) and not fields.flag("a", False) and not [*fields.objects("a", 1)]


@pytest.mark.parametrize("value", ["x", True, 1, 0.5, {"c": 1}, [{}]], ids=repr)
def test_values_of_another_type_are_refused(value: Any) -> None:
    fields = _of(value)
    assert fields.has("a") and fields.raw("a") is value
    readers: list[tuple[Callable[[], object], tuple[type, ...], str]] = [
        (lambda: fields.text("a"), (str,), "a string"),
        (lambda: fields.flag("a", False), (bool,), "a boolean"),
        (lambda: fields.integer("a", 0, 9), (int,), "an integer"),
        (lambda: fields.number("a", 0, 9), (int, float), "a number"),
        (lambda: (fields.nested("a") or fields).values, (dict,), "an object"),
        (lambda: fields.items("a", 9), (list,), "an array"),
    ]
    for read, kinds, expected in readers:
        if type(value) in kinds:
            assert read() == value
        else:
            assert _fault(read) == f"must be {expected}"


@pytest.mark.parametrize("value", range(-1, 4))
def test_bounds_are_inclusive(value: int) -> None:
    for read, said in (
        (lambda: _of(value).integer("a", 0, 2), "must be from 0 to 2"),
        (lambda: _of(value).number("a", 0, 2), "must be from 0 to 2"),
        (lambda: len(_of("x" * value).text("a", 2) or ""), "must have at most 2 characters"),
        (lambda: len(_of([{}] * value).items("a", 2) or []), "must have at most 2 items"),
        (lambda: len([*_of([{}] * value).objects("a", 2)]), "must have at most 2 items"),
    ):
        if value > 2 or (value < 0 and "from" in said):
            assert _fault(read) == said
        else:
            assert read() == max(value, 0)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_are_finite_and_texts_have_characters(number: float) -> None:
    assert _fault(lambda: _of(number).number("a", -math.inf, math.inf)).startswith("must be from")
    assert isinstance(_of(1).number("a", 0, 1), float)
    assert _of("x" * 9).text("a") == "x" * 9 and "half" in _fault(lambda: _of("\ud800").text("a"))


def test_parts_know_their_place() -> None:
    body = Fields({"a": {"b": [{"c": 1}, 2]}})
    inner = body.nested("a")
    assert inner is not None and inner.place == "a"
    objects = inner.objects("b", 2)
    assert next(objects).path("c") == "a.b[0].c"
    with pytest.raises(ApiError, match=r"^a\.b\[1\] must be an object$"):
        next(objects)


def test_unknown_fields_are_refused() -> None:
    known, remedies = ("prompt", "stop"), {"n_predict": "write max_tokens"}
    for values in ({}, {"prompt": 1}, {"old": None}, {"user": 1, "stop": []}):
        Fields(values).check_names(known, remedies, ("user",))
    for name, remedy in {
        "promt": "write prompt",
        "n_predict": "write max_tokens",
        "x": "leave it out: the fields are prompt, stop",
        "y" * 300: "leave it out: the fields are prompt, stop",
    }.items():
        with pytest.raises(ApiError) as error:
            Fields({"prompt": 1, name: 0}, "b").check_names(known, remedies)
        assert error.value.message == f"unknown field {name[:80]!r}; {remedy}"
        assert (error.value.code, error.value.param) == ("unknown_field", f"b.{name[:80]}")
