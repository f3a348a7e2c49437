"""Examples of schemas, and schemas without the annotations of structkit."""

from __future__ import annotations

import datetime
import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.schema.view.example import example_of, plain_schema


class Node(BaseModel):
    name: str
    children: list[Node] = []


class Booking(BaseModel):
    day: datetime.date
    nights: int = Field(ge=2)
    price: float | None = None
    room: Literal["single", "double"]
    pets: tuple[bool, str]
    note: str = Field(examples=["late arrival"])
    extras: dict[str, int] = {}


def test_an_example_of_a_type_is_a_value_of_it() -> None:
    example = example_of(sk.to_json_schema(Booking))
    assert example == {
        "day": "2024-05-17",
        "nights": 2,
        "price": 1,
        "room": "single",
        "pets": [True, "..."],
        "note": "late arrival",
        "extras": {},
    }
    assert Booking.model_validate_json(json.dumps(example)).nights == 2


def test_an_example_of_a_recursive_type_ends() -> None:
    example: Any = example_of(sk.to_json_schema(Node))
    depth = 0
    while example is not None and example["children"]:
        example, depth = example["children"][0], depth + 1
    assert 1 <= depth <= 8


def test_the_example_of_a_schema_that_doubles_at_each_level_is_short() -> None:
    both = {"properties": {f"p{i}": {"$ref": "#"} for i in range(100)}}
    assert len(json.dumps(example_of(both))) < 20_000
    assert plain_schema({"default": {"x-structkit-quote": 1}}) == {"default": {"x-structkit-quote": 1}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, None),
        ({"const": [1]}, [1]),
        ({"enum": ["a", "b"]}, "a"),
        ({"type": ["null", "string"]}, "..."),
        ({"type": "number", "maximum": 0.5}, 0.5),
        ({"oneOf": [{"type": "null"}, {"type": "boolean"}]}, True),
        ({"anyOf": [{"type": "null"}]}, None),
        ({"anyOf": []}, None),
        ({"$ref": "#/$defs/no"}, None),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}}, "..."),
        ({"$ref": "#"}, None),
        ({"$ref": "#b", "$defs": {"a": {"$anchor": "b", "type": "string"}}}, "..."),
        ({"$ref": "#/$defs/%C3%A9", "$defs": {"é": {"const": 1}}}, 1),
        ({"$ref": "http://x/other.json"}, None),
        ({"type": "array"}, []),
        ({"properties": {"$ref": {"type": "integer"}}}, {"$ref": 1}),
        ({"items": False, "type": "array"}, []),
    ],
)
def test_the_example_of_a_schema(schema: dict[str, object], expected: object) -> None:
    assert example_of(schema) == expected


def test_properties_keep_their_names_and_own_titles() -> None:
    schema: dict[str, object] = {
        "properties": {
            "x-structkit-quote": {"title": "Own title", "type": "string"},
            "title": {"title": "Title", "type": "string"},
            "first_name": {"title": "First Name", "x-structkit-quote": {"words": True}},
            "any": True,
        },
        "anyOf": [{"x-structkit-quote": {}, "required": ["title"]}],
    }
    assert plain_schema(schema) == {
        "properties": {
            "x-structkit-quote": {"title": "Own title", "type": "string"},
            "title": {"type": "string"},
            "first_name": {},
            "any": True,
        },
        "anyOf": [{"required": ["title"]}],
    }


@pytest.mark.parametrize("keyword", ["properties", "items"])
def test_an_example_has_eight_levels(keyword: str) -> None:
    schema: dict[str, object] = {"type": "string"}
    for _ in range(10):
        kind = "object" if keyword == "properties" else "array"
        schema = {"type": kind, keyword: {"a": schema} if kind == "object" else schema}
    example: Any = example_of(schema)
    levels = 0
    while example:
        example = example["a"] if keyword == "properties" else example[0]
        levels += 1
    assert levels == 8


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_a_combination_that_is_no_list_of_schemas_has_no_example(keyword: str) -> None:
    """The example is written before the schema is compiled, which reports the fault."""
    for options in (5, {"type": "string"}, [], None):
        assert example_of({keyword: options, "type": "boolean"}) in (True, False)
    assert example_of({keyword: [{"type": "null"}, {"const": 3}]}) == 3
