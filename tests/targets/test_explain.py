"""Explanations of Python types."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

import pytest
from annotated_types import MultipleOf, Not, Predicate
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    DirectoryPath,
    Discriminator,
    EmailStr,
    Field,
    FilePath,
    NewPath,
    PrivateAttr,
    SecretStr,
    Tag,
    WrapValidator,
    conlist,
    field_validator,
    model_validator,
)

import structkit as sk
from structkit.targets.explain import Cost, Explanation, KeywordRow
from structkit.testing import ScriptedModel

T = TypeVar("T")


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


def even(value: int) -> int:
    return value


class Owner(BaseModel):
    name: Annotated[str, Field(alias="Name"), AfterValidator(str.strip)]
    numbers: list[Annotated[int, AfterValidator(even)]]
    sizes: dict[str, Annotated[int, WrapValidator(lambda value, inner: inner(value))]] = {}
    friend: Owner | None = None

    @field_validator("numbers", mode="before")
    @classmethod
    def split(cls, value: object) -> object:
        return value

    @model_validator(mode="after")
    def known(self) -> Owner:
        return self


def test_a_required_of_draft_3_is_ignored() -> None:
    found = sk.explain({"type": "object", "properties": {"a": {"type": "string", "required": True}}})
    [row] = [each for each in found.rows if each.keyword == "required"]
    assert (row.path, row.how) == ("$.properties.a", "unknown") and "a list of names" in row.reason


def test_the_cost_of_one_rule_is_in_the_singular() -> None:
    assert "1 rule, " in str(sk.explain(bool))


def test_markers_are_enforced() -> None:
    class Marked(BaseModel):
        quote: Annotated[str, sk.Quote()]
        text: Annotated[str, sk.Grammar('start: "a" | "b"')]
        short: Annotated[str, sk.MaxTokens(3)]

    found = sk.explain(Marked, source="x")
    markers = {row.keyword: row.how for row in found.rows if row.keyword.startswith("x-structkit-")}
    assert len(markers) == 3 and set(markers.values()) == {"enforced"} and found.enforced


def tag_of(value: object) -> str:
    return "a"


def test_validators_of_users_are_checked_afterwards() -> None:
    found = sk.explain(Owner)
    assert not found.enforced and found.cost is not None
    rows = [(row.path, row.how, row.reason) for row in found.rows if row.keyword == "validator"]
    assert rows == [
        ("$", "checked after", "Owner.known runs when the value is complete"),
        ("$.Name", "checked after", "str.strip runs when the value is complete"),
        ("$.numbers", "checked after", "Owner.split runs when the value is complete"),
        ("$.numbers[]", "checked after", "even runs when the value is complete"),
        ("$.sizes[]", "checked after", "<lambda> runs when the value is complete"),
    ]


@dataclass
class Interval:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low must be at most high")


class Stamped(BaseModel):
    _made: int = PrivateAttr(default=0)
    name: str


class Named(Stamped):
    def model_post_init(self, context: object, /) -> None:
        if not self.name:
            raise ValueError("the name is empty")


class Made(BaseModel):
    intervals: list[Interval]

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)


def test_methods_that_make_an_object_are_checked_afterwards() -> None:
    rows = sk.explain(tuple[Made, tuple[Named, ...], Stamped]).rows
    assert [(row.path, row.reason) for row in rows if row.how == "checked after"] == [
        ("$[0]", "Made.__init__ runs when the value is complete"),
        ("$[0].intervals[]", "Interval.__post_init__ runs when the value is complete"),
        ("$[1][]", "Named.model_post_init runs when the value is complete"),
    ]
    assert sk.explain(Stamped).enforced
    model = ScriptedModel(['{"low": 2, "high": 1}', '{"low": 2, "high": 3}'])
    assert sk.extract(model, "x", Interval, retries=1) == Interval(2, 3)


def test_a_function_that_chooses_the_type_is_checked_afterwards() -> None:
    one, other = Annotated[int, Tag("a")], Annotated[str, Tag("b")]
    target: Any = list[Annotated[one | other, Discriminator(tag_of)]]
    (row,) = [row for row in sk.explain(target).rows if row.how == "checked after"]
    assert (row.path, row.keyword) == ("$[]", "discriminator")
    assert row.reason == "tag_of chooses the type when the value is complete"


class Level(Enum):
    LOW = 1
    HIGH = 2


class Reading(BaseModel):
    model_config = ConfigDict(use_enum_values=True)
    level: Level
    levels: list[Level | None] = []


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (FilePath, "whether there is such a file"),
        (DirectoryPath, "whether there is such a directory"),
        (NewPath, "whether the path is free and its directory exists"),
        (Annotated[int, Predicate(bool)], "Predicate runs when the value is complete"),
        (Annotated[int, Not(bool)], "Predicate runs when the value is complete"),
    ],
)
def test_what_no_text_shows_is_checked_afterwards(target: Any, reason: str) -> None:
    found = sk.explain(dict[str, target])
    rows = [(row.path, row.reason) for row in found.rows if row.how == "checked after"]
    assert rows == [("$[]", reason)] and not found.enforced


def test_a_function_of_a_user_may_be_in_a_module_whose_name_begins_as_that_of_pydantic() -> None:
    def check(value: int) -> int:
        return value

    check.__module__ = "pydantic_models.checks"
    (row,) = [row for row in sk.explain(Annotated[int, AfterValidator(check)]).rows if row.how != "enforced"]
    assert (row.how, row.reason) == ("checked after", "check runs when the value is complete")


@pytest.mark.parametrize(
    "target",
    [datetime, Decimal, IPv4Address, Path, SecretStr, conlist(int, min_length=1), EmailStr, UUID, Reading],
)
def test_functions_of_pydantic_are_not_listed(target: Any) -> None:
    assert sk.explain(target).enforced


class Box(BaseModel, Generic[T]):
    first: T
    rest: list
    named: dict
    whole: int


def test_what_takes_any_json_says_so() -> None:
    rows = [row for row in sk.explain(Box).rows if row.reason.startswith("any JSON")]
    assert [(row.path, row.keyword) for row in rows] == [
        ("$.properties.first", "title"),
        ("$.properties.rest", "items"),
        ("$.properties.named", "additionalProperties"),
    ]


def test_the_columns_of_the_table_are_aligned() -> None:
    found = sk.explain(
        {"properties": {"a": {"type": "integer"}, "a_long_name": {"minimum": 3, "title": "x"}}}
    )
    lines = str(found).splitlines()
    table = lines[: 1 + len(found.rows)]
    for column in (row.keyword for row in found.rows[:1]):
        [at] = {table[1].index(f" {column} ")}
        assert all(line[at : at + 1] == " " != line[at + 1 : at + 2] for line in table)
    how = table[1].index(f" {found.rows[0].how}")
    assert all(line[how : how + 1] == " " != line[how + 1 : how + 2] for line in table)


def test_an_explanation_is_a_table_with_the_cost_below() -> None:
    rows = (
        KeywordRow("$", "type", "enforced"),
        KeywordRow("$.a", "not", "refused", "it is too hard"),
        KeywordRow("$" + ".a" * 40, "pattern", "checked after"),
    )
    long = rows[2].path
    for cost, line in [
        (None, []),
        (Cost(1, 1, 1_000, 0.0015), ["1 rule, 1 state, 1,000 bytes, 1.5 ms"]),
        (
            Cost(2, 0, 7, 1.0, is_growing=True),
            ["2 rules, 0 states, 7 bytes, 1000.0 ms; texts make further rules"],
        ),
    ]:
        found = Explanation("Town", rows, cost)
        assert str(found).splitlines() == [
            f"{'path':<60}  keyword  how            reason",
            f"{'$':<60}  type     enforced",
            f"{'$.a':<60}  not      refused        it is too hard",
            f"{long}  pattern  checked after",
            *line,
        ]
        assert repr(found) == "<Explanation of Town: 1 enforced, 1 refused, 1 checked after>"
        assert not found.enforced
    asked = Explanation("Town", (KeywordRow("$", "type", "enforced", server="checked"), rows[0]), None)
    assert str(asked).splitlines() == [
        "path  keyword  how       server   reason",
        "$     type     enforced  checked",
        "$     type     enforced",
    ]
    assert asked.enforced and repr(Explanation("x", (), None)) == "<Explanation of x: no keywords>"
    for how, is_enforced in [
        ("annotation", True),
        ("unknown", True),
        ("checked after", False),
        ("refused", False),
    ]:
        assert Explanation("x", (KeywordRow("$", "a", how),), None).enforced == is_enforced  # type: ignore[arg-type]
