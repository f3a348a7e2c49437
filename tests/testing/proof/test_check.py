"""Checks find disagreements, and report none where there is none."""

from __future__ import annotations

import datetime as dt
import json
import random
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    Discriminator,
    EmailStr,
    Field,
    GetPydanticSchema,
    PlainSerializer,
    Tag,
    WithJsonSchema,
    computed_field,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

import structkit as sk
from structkit.schema.markers.json_style import NullFields, Order, Whitespace
from structkit.schema.python.judge import Judge
from structkit.testing import ScriptedModel
from tests.shared import cases
from tests.zoo import ZOO

ALIKE = random.Random("others of the zoo").sample([name for name in sorted(ZOO) if not ZOO[name].checked], 8)
BOUNDED = {"complex", "IntFlag"}
"""Types of which some values are not generated, as the page on types states."""


class Color(Enum):
    RED = "red"


class Person(BaseModel):
    name: str
    age: Annotated[int, Field(ge=0, le=120)]
    born: dt.date | None
    color: Color
    tags: list[Literal["a", "b"]] = []


class Loose(BaseModel):
    """Pydantic validates `n` more strictly than its schema."""

    n: Annotated[
        int,
        GetPydanticSchema(lambda source, handler: core_schema.int_schema(le=5)),
        WithJsonSchema({"type": "integer"}),
    ]


class Range(BaseModel):
    low: int
    high: int

    @model_validator(mode="after")
    def ordered(self) -> Range:
        if self.low > self.high:
            raise ValueError(f"{self.low} is more than {self.high}")
        return self


@pytest.mark.parametrize("arguments", [{"n": "3"}, {"seed": 1.5}])
@pytest.mark.parametrize("function", [sk.check, sk.sample])
def test_arguments_of_a_wrong_type_are_named(function: Any, arguments: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=f"{next(iter(arguments))} must be an integer, not "):
        function(bool, **arguments)


def test_a_type_without_counterexamples() -> None:
    count = cases(40, of=200)
    report = sk.check(Person, n=count)
    assert report.ok, str(report)
    assert (report.n, report.counterexamples, report.rejections) == (count, (), ())
    assert report.validated > 0.75 * count
    assert report.name == "Person"


@pytest.mark.long(every=4)
@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_zoo_has_no_counterexamples(name: str) -> None:
    report = sk.check(ZOO[name].target, n=cases(8, of=20))
    sides = {each.side for each in report.counterexamples}
    assert "generated but rejected" not in sides, str(report)
    if not name.startswith("set[") and name not in BOUNDED:
        assert report.ok, str(report)


def test_a_callable_discriminator_that_chooses_no_member_is_a_rejection() -> None:
    members = Annotated[int, Tag("one")] | Annotated[bool, Tag("two")]
    report = sk.check(Annotated[members, Discriminator(lambda value: "one" if value == 1 else "none")], n=20)
    assert report.ok, str(report)
    assert "does not match any of the expected tags" in report.rejections[0].message


def test_patterns_of_pydantic_are_not_read_by_jsonschema() -> None:
    report = sk.check(Annotated[str, Field(pattern=r"^\p{L}+$")], n=20)
    assert report.ok, str(report)


@pytest.mark.long
def test_generated_and_rejected_texts_are_found_and_shrunk() -> None:
    report = sk.check(list[Loose], n=50)
    assert not report.ok
    assert report.counterexamples[0].side == "generated but rejected"
    text = report.counterexamples[0].text
    assert text == '[{"n": 6}]'
    assert "less than or equal to 5 at `$[0].n`" in report.counterexamples[0].error
    assert 1 <= report.n <= 50
    with pytest.raises(AssertionError, match="generated but rejected"):
        assert report.ok, str(report)


def test_the_same_seed_gives_the_same_report() -> None:
    options = {"n": 12, "seed": 3, "seconds": 1_000.0}
    assert sk.check(Person, **options) == sk.check(Person, **options)


def test_a_check_that_tries_nothing_in_time_is_not_ok() -> None:
    report = sk.check(Person, seconds=0)
    assert (report.n, report.validated, report.counterexamples) == (0, 0, ())
    assert not report.ok
    assert "the time limit" in report.note


def test_valid_and_not_generated_texts_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # The oracle gets a wider type than the guide, so the guide is too narrow.
    from structkit.targets.targets import read_target
    from structkit.testing.proof import check as module
    from structkit.testing.proof.oracle import oracle_of

    wider = Annotated[int, Field(ge=0, le=200)]
    monkeypatch.setattr(module, "oracle_of", lambda target, read: oracle_of(wider, read_target(wider)))
    report = sk.check(Annotated[int, Field(ge=0, le=100)], n=200)
    assert [(each.side, each.text) for each in report.counterexamples] == [("valid but not generated", "101")]


def test_rejections_by_validators_are_counted_separately() -> None:
    report = sk.check(list[Range], n=cases(40, of=200))
    assert report.ok, str(report)
    (refusal,) = report.rejections
    assert refusal.path == "$[]"
    assert refusal.count == report.rejected
    assert 0.1 < report.rejection_rate < 0.9
    with pytest.raises(ValueError, match="is more than"):
        Judge(list[Range])._adapter.validate_json(refusal.text)
    assert f"{report.rejection_rate:.1%}" in str(report)


def test_custom_errors_are_errors_of_validators() -> None:
    def odd(value: int) -> int:
        if value % 2:
            raise PydanticCustomError("odd_number", "{value} is odd", {"value": value})
        return value

    report = sk.check(Annotated[int, AfterValidator(odd)], n=cases(50, of=100))
    assert report.ok, str(report)
    assert report.rejections[0].count > 10


def test_rejections_by_pydantic_types_are_not_errors_of_validators() -> None:
    judge = Judge(EmailStr)
    refusal = judge.refusal('"x"')
    assert refusal is not None
    assert not refusal.by_validator


def test_a_broken_validator_is_a_counterexample() -> None:
    class Broken(BaseModel):
        a: int

        @field_validator("a")
        @classmethod
        def look(cls, a: int) -> int:
            return {0: a}[a]

    report = sk.check(Broken, n=30)
    assert report.counterexamples[0].error.startswith("KeyError")
    assert report.counterexamples[0].text == '{"a": 1}'


def test_other_spellings_are_not_counterexamples() -> None:
    class Shown(BaseModel):
        a: Annotated[int, PlainSerializer(str)]
        hidden: int = Field(default=0, exclude=True)
        renamed: int = Field(default=0, serialization_alias="other")

        @computed_field  # type: ignore[prop-decorator]
        @property
        def double(self) -> int:
            return 2 * self.a

    report = sk.check(Shown, n=cases(20, of=50))
    assert report.ok, str(report)
    assert "not checked" in report.note
    assert sk.check(set[float], n=cases(10, of=50)).ok
    assert sk.check(list[Decimal], n=cases(10, of=50)).ok


def test_a_custom_narrower_schema_is_intended() -> None:
    narrow = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 5})]
    assert sk.check(narrow, n=cases(20, of=50)).ok


@pytest.mark.long(every=3)
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"const": 1.5}}, "required": ["b"]},
        {"type": "number", "multipleOf": 0.01, "maximum": 3},
        {"type": "array", "items": {"type": ["string", "null"], "maxLength": 3}, "uniqueItems": True},
        {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "nullable": True},
        {
            "$ref": "#/$defs/t",
            "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 2}},
        },
        {},
    ],
    ids=json.dumps,
)
def test_schemas_without_counterexamples(schema: dict[str, Any]) -> None:
    report = sk.check(schema, n=cases(30, of=100))
    assert report.ok, str(report)
    assert report.validated > 20


def test_keywords_validated_afterwards_give_no_counterexamples() -> None:
    loose = sk.JsonSchema(
        {"type": "array", "items": {"type": "boolean"}, "not": {"uniqueItems": True}}, strict=False
    )
    report = sk.check(loose, n=cases(30, of=100))
    assert report.ok, str(report)
    assert report.rejected > 10


def test_patterns_and_choices() -> None:
    assert sk.check(sk.Regex(r"[a-z]+\d{2}|x"), n=50).ok
    assert sk.check(sk.Choice(["a", "b"]), n=10).ok
    assert sk.check(sk.Choice([1, "a", None]), n=10).ok


def test_invalid_arguments() -> None:
    with pytest.raises(ValueError, match="n must be at least 1, not"):
        sk.check(int, n=0)
    with pytest.raises(sk.SchemaError):
        sk.check([1])  # type: ignore[arg-type]


class Inner(BaseModel):
    k: int | None = None
    items: list[int] = []


class Outer(BaseModel):
    a: str
    b: int | None = None
    inner: Inner | None = None
    c: float | None


@pytest.mark.long(every=5)
@pytest.mark.parametrize("whitespace", ["spaced", "compact"])
@pytest.mark.parametrize("null", ["always", "may_omit", "omit"])
@pytest.mark.parametrize("order", ["declared", "any"])
def test_every_json_style_of_a_call(null: NullFields, whitespace: Whitespace, order: Order) -> None:
    count = cases(12, of=40)
    report = sk.check(Outer, n=count, seconds=1_000, null=null, whitespace=whitespace, order=order)
    assert report.ok, str(report)
    assert report.validated > count // 2 and not report.note


def test_the_json_style_of_the_class_is_used() -> None:
    @sk.json_style(whitespace="compact", null="omit")
    class Short(Outer): ...

    report = sk.check(Short, n=cases(15, of=40))
    assert report.ok, str(report)


def test_quotes_give_no_counterexamples() -> None:
    class Quoting(BaseModel):
        quote: Annotated[str, sk.Quote()]

    report = sk.check(Quoting, n=20, source="The quick brown fox")
    assert report.ok and "source" in report.note
    with pytest.raises(sk.SchemaError, match="no source"):
        sk.check(Quoting, n=1)


def test_a_pattern_that_the_validator_does_not_know_is_an_error() -> None:
    with pytest.raises(sk.SchemaError, match="use another pattern"):
        sk.check({"type": "string", "pattern": r"^\p{L}+$"})


def test_a_value_that_cannot_be_checked_afterwards_is_an_error() -> None:
    target = sk.JsonSchema({"type": "string", "pattern": r"^\p{L}+$"}, strict=False)
    with pytest.raises(sk.SchemaError, match="strict=True"):
        sk.extract(ScriptedModel(['"xyz"']), "x", target)


def test_pydantic_does_not_check_the_grammar_of_a_field() -> None:
    class Report(BaseModel):
        query: Annotated[str, sk.Grammar('start: "a"+')] | None = None

    report = sk.check(Report, n=30)
    assert report.ok and report.validated == 0 and "grammar" in report.note
    assert Report(query="b").query == "b"
