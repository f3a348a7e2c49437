"""Explanations of Python types."""

from __future__ import annotations

import re
from typing import Annotated

import pytest
from annotated_types import MultipleOf
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WrapValidator

import structkit as sk


def test_constraints_next_to_validators_are_enforced() -> None:
    class Model(BaseModel):
        a: Annotated[int, AfterValidator(abs), Field(ge=3)]
        b: Annotated[int, BeforeValidator(abs), Field(lt=9), MultipleOf(2)]
        c: Annotated[int, WrapValidator(lambda value, handler: handler(value)), Field(gt=5)]

    rows = {(row.path, row.keyword): row.how for row in sk.explain(Model).rows}
    constraints = [("$.properties.a", "ge"), ("$.properties.b", "lt"), ("$.properties.b", "multiple_of")]
    assert [rows[key] for key in constraints] == ["enforced"] * 3
    pattern = sk.to_regex(Model)
    assert re.fullmatch(pattern, '{"a": 3, "b": 8, "c": 6}')
    for text in ('{"a": 2, "b": 8, "c": 6}', '{"a": 3, "b": 9, "c": 6}', '{"a": 3, "b": 8, "c": 5}'):
        assert not re.fullmatch(pattern, text)


@pytest.mark.parametrize("keyword", ["ge", "max_digits"])
def test_these_names_are_unknown_in_a_json_schema(keyword: str) -> None:
    (row,) = [row for row in sk.explain({"type": "integer", keyword: 3}).rows if row.keyword == keyword]
    assert row.how == "unknown"


def test_an_unknown_format_is_ignored() -> None:
    for name, known in (("emial", "'email' is one that is enforced"), ("colour", "")):
        (row,) = [
            row for row in sk.explain({"type": "string", "format": name}).rows if row.keyword == "format"
        ]
        assert row.how == "unknown"
        assert row.reason.endswith(known or "unknown formats are ignored")
    assert {row.how for row in sk.explain({"type": "string", "format": "email"}).rows} == {"enforced"}
