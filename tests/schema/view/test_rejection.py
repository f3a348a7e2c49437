"""Errors of pydantic as places in a JSON value."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from structkit.rejected import Rejected
from structkit.schema.view.rejection import rejection_of


class One(BaseModel):
    a: int
    b: int


class Other(BaseModel):
    c: int


class Around(BaseModel):
    inner: list[One | Other]


def _rejected(target: object, value: object) -> Rejected:
    text = json.dumps(value)
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(target).validate_json(text)
    return rejection_of(caught.value, text)


def test_errors_of_members_without_the_shape_of_the_value_are_left_out() -> None:
    found = _rejected(One | Other, {"c": "x"})
    assert found.path == ("c",) and "required" not in found.message and "\n" not in found.message
    found = _rejected(Around, {"inner": [{"c": 1}, {"c": "x"}]})
    assert found.path == ("inner", 1, "c") and "required" not in found.message


def test_a_missing_field_is_named_and_its_object_is_the_place() -> None:
    found = _rejected(One, {"a": 1})
    assert found.path == () and found.message == "b: Field required"


def test_many_errors_are_counted() -> None:
    message = _rejected(list[int], ["x"] * 100).message.splitlines()
    shown = len(message) - 1
    assert 0 < shown < 100 and message[-1] == f"{100 - shown} more errors"
    assert message[0].startswith("[0]: ") and message[shown - 1].startswith(f"[{shown - 1}]: ")
    assert "more" not in _rejected(list[int], ["x"] * shown).message
