"""The description that the prompt shows; the demo model is trained on exactly this notation."""

from __future__ import annotations

import datetime
import uuid
from enum import Enum
from itertools import product
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from structkit.schema.ir.nodes import Format
from structkit.schema.json_schema.parse import parse_schema
from structkit.schema.markers.json_style import JsonStyle
from structkit.schema.python.output import OutputType
from structkit.schema.view.describe import _format, _one_line, _range, describe
from tests.schema.python_types import Color, Expression, Home, Node, Page, Pair, Person, Point, Tick

LIMITED = Annotated[str, Field(min_length=2, max_length=10)]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (str, "string"),
        (int, "integer"),
        (float, "number"),
        (bool, "boolean"),
        (None, "null"),
        (Any, "any"),
        (datetime.date, "date"),
        (datetime.time, "time"),
        (datetime.datetime, "datetime"),
        (uuid.UUID, "uuid"),
        (Literal["low", "medium", "high"], '"low" | "medium" | "high"'),
        (Literal["é", 1, None, True], '"é" | 1 | null | true'),
        (str | None, "string | null"),
        (list[str], "[string, ...]"),
        (tuple[str, int], "[string, integer]"),
        (tuple[()], "[]"),
        (set[str], "[string, ...]"),
        (list[str | None], "[(string | null), ...]"),
        (list[Color], '[("red" | "blue"), ...]'),
        (Pair, "[integer, string]"),
        (dict[str, int], "{string: integer, ...}"),
        (dict[Literal["a"], int], '{"a"?: integer}'),
        (Annotated[int, Field(ge=0, le=120)], "integer (0 to 120)"),
        (Annotated[int, Field(ge=0)], "integer (at least 0)"),
        (Annotated[int, Field(lt=10)], "integer (at most 9)"),
        (Annotated[float, Field(gt=0, le=1.5)], "number (more than 0, at most 1.5)"),
        (Annotated[float, Field(ge=-1, le=1e6)], "number (-1 to 1000000)"),
        (Annotated[int, Field(multiple_of=5)], "integer (multiple of 5)"),
        (Annotated[int, Field(ge=0, multiple_of=5)], "integer (at least 0, multiple of 5)"),
        (LIMITED, "string (2 to 10 characters)"),
        (Annotated[str, Field(min_length=1)], "string (at least 1 character)"),
        (Annotated[str, Field(max_length=9)], "string (at most 9 characters)"),
        (Annotated[str, Field(min_length=2, max_length=2)], "string (2 characters)"),
        (Annotated[str, Field(pattern="^[A-Z]+$")], "string (pattern ^[A-Z]+$)"),
        (Annotated[list[int], Field(min_length=1, max_length=3)], "[integer, ...] (1 to 3 items)"),
    ],
)
def test_python_types_are_described(target: Any, text: str) -> None:
    assert describe(OutputType.of(target).document) == text


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (
            {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}, "type": "array"},
            "[string, integer, ...]",
        ),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, '{"a"?: string, string: any, ...}'),
        ({"type": "string", "format": "email", "maxLength": 9}, "email (at most 9 characters)"),
        (
            {"type": "object", "propertyNames": {"pattern": "^x"}, "required": []},
            "{string (pattern ^x): any, ...}",
        ),
        ({"type": "integer", "description": "x */ y\n z"}, "integer /* x y z */"),
        ({"title": "An order", "type": "null"}, "An order = null"),
        ({"type": "number", "minimum": 10**30}, "number (at least 1.000000e+30)"),
        (
            {"type": "integer", "minimum": 1, "not": {"multipleOf": 3}},
            "integer (at least 1, not a multiple of 3)",
        ),
        ({"type": "number", "not": {"type": "integer"}}, "number (not whole)"),
        ({"type": "string", "not": {"pattern": "^x"}}, "string (not pattern ^x)"),
        (
            {"type": "string", "maxLength": 9, "not": {"const": "a"}},
            "string (at most 9 characters, not pattern ^a$)",
        ),
        ({"type": "string", "not": {"format": "date-time"}}, "string (not datetime)"),
        ({"type": "array", "contains": {"type": "null"}}, "[any, ...] (at least 1 item of type null)"),
        (
            {
                "type": "array",
                "items": {"type": "integer"},
                "maxItems": 5,
                "contains": {"minimum": 3},
                "minContains": 2,
            },
            "[integer, ...] (at most 5 items, at least 2 items of type integer (at least 3))",
        ),
        (
            {"type": "array", "contains": {"type": ["null", "string"]}, "maxContains": 1},
            "[any, ...] (1 item of type (null | string))",
        ),
        (
            {"type": "array", "contains": {"const": "a"}, "minContains": 0, "maxContains": 0},
            '[any, ...] (no item of type "a")',
        ),
        (
            {
                "type": "object",
                "additionalProperties": {"type": "number"},
                "not": {"additionalProperties": {"minimum": 3}},
            },
            "{string: number, ...} (at least 1 key of {string: number (less than 3)})",
        ),
        (
            {"type": "object", "minProperties": 3, "not": {"propertyNames": {"pattern": "^x"}}},
            "{string: any, ...} (at least 3 keys, at least 1 key of {string (not pattern ^x): any})",
        ),
        (
            {
                "properties": {"a": True, "b": True},
                "additionalProperties": False,
                "minProperties": 1,
                "type": "object",
            },
            '{"a"?: any, "b"?: any} (at least 1 key)',
        ),
    ],
)
def test_json_schemas_are_described(schema: dict[str, object], text: str) -> None:
    assert describe(parse_schema(schema)) == text


def test_descriptions_of_a_model_become_comments() -> None:
    address = '{"street": string, "number": integer (at least 1)} /* Where somebody lives. */'
    assert describe(OutputType.of(Person).document) == (
        'Person = {"name": string (1 to 20 characters), "age": integer (0 to 120) /* in years */, '
        '"job": string | null, "address": Address, "other": Address | null} /* A person. */\n'
        f"Address = {address}"
    )


def test_definitions_used_once_are_inlined() -> None:
    class Small(BaseModel):
        point: Point
        described: Node = Field(description="The root.")

    assert describe(OutputType.of(Small).document) == (
        'Small = {"point": {"x": number, "y": number}, "described": Node /* The root. */}\n'
        'Node = {"value": integer, "children": [Node, ...]}'
    )


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (Node, 'Node = {"value": integer, "children": [Node, ...]}'),
        (list[Node], '[Node, ...]\nNode = {"value": integer, "children": [Node, ...]}'),
        (Tick, 'Tick = {"tock": {"tick": Tick} | null}'),
        (Page[int], 'Page[int] = {"items": [integer, ...], "following": Page[int] | null}'),
        (
            Home,
            'Home = {"pet": Cat | Dog, "guests": [(Cat | Dog), ...]}\n'
            'Cat = {"kind": "cat", "lives": integer}\n'
            'Dog = {"kind": "dog" | "wolf", "name": string}',
        ),
        (
            Expression,
            'Num | Add\nNum = {"op": "num", "value": number}\n'
            'Add = {"op": "add", "left": Num | Add, "right": Num | Add}',
        ),
    ],
)
def test_definitions_are_described_on_lines_of_their_own(target: Any, text: str) -> None:
    assert describe(OutputType.of(target).document) == text


def test_a_definition_used_in_contains_is_named() -> None:
    tree = {"anyOf": [{"type": "null"}, {"type": "array", "contains": {"$ref": "#"}}], "title": "Tree"}
    assert describe(parse_schema(tree)) == "Tree = null | [any, ...] (at least 1 item of type Tree)"


class Mood(Enum):
    """How the writer feels."""

    GOOD = "good"
    BAD = "bad"


class Line(BaseModel):
    """One line of an order."""

    title: str = Field(examples=["Blue Harbour"])
    copies: Annotated[int, Field(ge=1, description="as written", examples=[1, 2, 3, 4])] = 1


class Order(BaseModel):
    """What a customer wants."""

    lines: list[Line]
    mood: Mood
    tags: list[Annotated[str, Field(description="one word")]]
    notes: dict[str, Annotated[str, Field(examples=["*/", "x" * 200])]] = {}
    gift: Annotated[bool, Field(description="wrapped")] | None = None


def test_descriptions_and_examples_become_comments() -> None:
    assert describe(OutputType.of(Order).document, "Order") == (
        'Order = {"lines": [{"title": string /* such as "Blue Harbour" */, "copies": integer (at least 1) '
        "/* as written; such as 1, 2, 3 */} /* One line of an order. */, ...], "
        '"mood": "good" | "bad" /* How the writer feels. */, "tags": [string /* one word */, ...], '
        '"notes": {string: string /* such as "" */, ...}, "gift": boolean /* wrapped */ | null} '
        "/* What a customer wants. */"
    )
    described = describe(OutputType.of(Line | Mood).document)
    assert (
        described.count("/* One line of an order. */") == described.count("/* How the writer feels. */") == 1
    )


def test_optional_fields_have_a_question_mark() -> None:
    document = OutputType.of(Point, policy=JsonStyle(defaults="may_omit")).document
    assert describe(document) == 'Point = {"x": number, "y"?: number}'


def test_given_names_take_precedence() -> None:
    assert describe(OutputType.of(Point).document, "Place") == 'Place = {"x": number, "y": number}'
    assert describe(OutputType.of(list[int]).document, "Numbers") == "Numbers = [integer, ...]"


def test_generated_docstrings_are_omitted() -> None:
    for target in (Point, Pair, Color, Home):
        assert "/*" not in describe(OutputType.of(target).document)


def test_large_targets_are_truncated() -> None:
    members = describe(parse_schema({"enum": list(range(1000))}))
    assert members.startswith("0 | 1 |") and members.endswith("| 59 | ...")
    long = describe(parse_schema({"type": "string", "description": "x" * 5000, "title": "y" * 5000}))
    assert len(long) < 400
    many = {f"key {i}": {"type": "string", "description": "z" * 100} for i in range(5000)}
    wide = describe(parse_schema({"type": "object", "properties": many}))
    assert len(wide) <= 8_000 and wide.endswith("...")
    links: dict[str, object] = {
        f"d{i}": {"type": "array", "items": {"$ref": f"#/$defs/d{i + 1}"}} for i in range(3_000)
    }
    chain = parse_schema({"$ref": "#/$defs/d0", "$defs": {**links, "d3000": {"type": "null"}}})
    assert "..." in describe(chain) and len(describe(chain)) < 8_000


def test_a_long_title_is_cut_to_eighty_characters() -> None:
    for length, is_cut in ((80, False), (81, True)):
        title = "t" * length
        text = describe(parse_schema({"type": "integer", "title": title}))
        assert (title in text) == (not is_cut), text


@pytest.mark.parametrize(
    ("low", "high", "size"),
    [
        (None, None, None),
        (1, None, "at least 1 byte"),
        (None, 3, "at most 3 bytes"),
        (2, 2, "2 bytes"),
        (0, 9, "0 to 9 bytes"),
    ],
)
def test_the_size_of_bytes_is_described_if_it_is_bounded(
    low: int | None, high: int | None, size: str | None
) -> None:
    bounds = tuple(
        (key, value) for key, value in (("min_bytes", low), ("max_bytes", high)) if value is not None
    )
    assert _format(Format("python:base64", bounds))[1:] == ([] if size is None else [size])


@pytest.mark.parametrize("unit", ["", "key"])
def test_a_range_names_its_bounds(unit: str) -> None:
    ends = (None, 0, 1, 2)
    for low, high in product(ends, ends):
        found = _range(low, high, unit)
        if low is None and high is None:
            assert found is None
            continue
        text = (
            f"at most {high}" if low is None
            else f"at least {low}" if high is None
            else f"{low}" if unit and low == high
            else f"{low} to {high}"
        )  # fmt: skip
        last = low if high is None else high
        assert found == text + (f" {unit}{'s' * (last != 1)}" if unit else "")


@pytest.mark.parametrize(
    ("name", "arguments", "texts"),
    [
        ("date-time", {}, ["datetime"]),
        ("uuid", {"negate": True}, ["string that is no uuid"]),
        ("python:ip-address", {"version": 4}, ["IPv4 address"]),
        ("python:ip-network", {}, ["IPv network"]),
        (
            "python:timedelta",
            {"ge": 1_500_000, "lt": 2_000_000},
            ["duration", "at least 1.5 seconds", "less than 2 seconds"],
        ),
        (
            "python:url",
            {"schemes": ("a", "b", "c", "d", "e"), "max_length": 1},
            ["URL", "a:// or b:// or c:// or d://", "at most 1 character"],
        ),
        ("python:url", {"min_bytes": 3}, ["URL"]),
        ("python:bytes", {"min_bytes": 2, "max_bytes": 2, "max_length": 9}, ["string", "2 bytes"]),
        (
            "python:decimal",
            {"max_digits": 3, "decimal_places": 1, "multiple_of": 2},
            ["decimal", "multiple of 2", "at most 3 digits", "at most 1 decimal place"],
        ),
        (
            "python:date",
            {"low": "a", "high": "b", "gt": "c", "le": "d"},
            ["date", "from a", "until b", "more than c", "at most d"],
        ),
    ],
)
def test_a_format_is_described_with_its_arguments(
    name: str, arguments: dict[str, Any], texts: list[str]
) -> None:
    assert _format(Format(name, tuple(arguments.items()))) == texts


def test_a_line_is_cut_at_its_length() -> None:
    for length in (9, 10, 11, 39, 41, 90):
        text = "ab cd\n\t" * 20
        line = " ".join(text[:length].split())
        assert _one_line(text[:length], 10) == (line if len(line) <= 10 else line[:7].rstrip() + "...")
