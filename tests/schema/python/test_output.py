"""Python types as targets: generated values are valid, and unsupported parts are rejected with their path."""

from __future__ import annotations

import datetime
import enum
import json
import os
import re
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

import pydantic_core
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    DirectoryPath,
    Discriminator,
    Field,
    FilePath,
    NewPath,
    RootModel,
    Tag,
    TypeAdapter,
    ValidationError,
)

from structkit.api.notations import to_regex
from structkit.compile import compile
from structkit.errors import LimitExceeded, SchemaError, UnsatisfiableSchema, UnsupportedKeyword
from structkit.limits import Limits
from structkit.rejected import Rejected
from structkit.schema.ir.nodes import Array, Bound, Const, Format, Integer, Number, Object, Ref, String, Union
from structkit.schema.json_schema.parse import parse_schema
from structkit.schema.markers.json_style import JsonStyle
from structkit.schema.python.judge import Judge
from structkit.schema.python.output import OutputType
from structkit.schema.python.validators import PartValidator
from structkit.testing import byte_vocabulary
from tests.schema.python_types import (
    SUPPORTED,
    UNSUPPORTED,
    Aliased,
    Cat,
    Dog,
    Hidden,
    Movie,
    Node,
    Person,
    Pet,
    Point,
    Shut,
)
from tests.schema.semantics import holds
from tests.schema.values import values_of
from tests.shared import cases


@pytest.mark.long(every=3)
@pytest.mark.parametrize("defaults", ["always", "may_omit"])
@pytest.mark.parametrize("name", SUPPORTED)
def test_pydantic_accepts_the_values_of_the_nodes(name: str, defaults: Literal["always", "may_omit"]) -> None:
    output: OutputType[object] = OutputType.of(SUPPORTED[name], policy=JsonStyle(defaults=defaults))

    @settings(
        max_examples=cases(4, of=12), deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.data())
    def law(data: st.DataObject) -> None:
        value = output.parse(json.dumps(data.draw(values_of(output.document)), ensure_ascii=False))
        assert not isinstance(value, Rejected)

    law()


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_types_without_json_are_rejected_with_their_path(name: str) -> None:
    target, place = UNSUPPORTED[name]
    with pytest.raises(UnsupportedKeyword) as caught:
        OutputType.of(target)
    assert caught.value.place == place


def test_an_unknown_format_of_pydantic_is_rejected() -> None:
    schema = {"type": "string", "format": "brand-new"}
    with pytest.raises(UnsupportedKeyword, match="brand-new"):
        parse_schema(schema, python=True)
    assert parse_schema(schema).root == String()


class Undefined(BaseModel):
    x: list[Missing]  # type: ignore[name-defined]  # noqa: F821


class WithCallable(BaseModel):
    x: list[Callable[[], int]]


class Itself(RootModel["Itself"]):
    pass


@pytest.mark.parametrize("target", [Undefined, 3, "Nowhere", object(), Itself])
def test_types_that_pydantic_cannot_describe_are_rejected(target: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        OutputType.of(target)
    assert caught.value.place == "$" and "pydantic.dev" not in str(caught.value)


def test_a_callable_is_rejected_with_its_path() -> None:
    with pytest.raises(UnsupportedKeyword) as caught:
        OutputType.of(WithCallable)
    assert caught.value.place == "$.x[]"


class Endless(BaseModel):
    a: Endless


def test_a_type_without_values_is_rejected() -> None:
    with pytest.raises(UnsatisfiableSchema) as caught:
        OutputType.of(Endless)
    assert caught.value.place == "$.a"


def test_the_size_and_the_depth_of_a_type_are_limited() -> None:
    with pytest.raises(LimitExceeded):
        OutputType.of(Person, limits=Limits(schema_nodes=3))
    deep: Any = int
    for _ in range(150):
        deep = list[deep]
    with pytest.raises(LimitExceeded):
        OutputType.of(deep)


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (Person, "Person"),
        (list[Person], "list[Person]"),
        (int, "int"),
        (None, "None"),
        (Person | None, "Person | None"),
        (Literal["a.b", 1], "Literal['a.b', 1]"),
        (Annotated[dict[str, tuple[Person, ...]], Field(min_length=1)], "dict[str, tuple[Person, ...]]"),
        (Any, "Any"),
    ],
)
def test_type_names(target: Any, name: str) -> None:
    assert OutputType.of(target).name == name


def test_the_public_schema_is_pydantic_s_own() -> None:
    class Event(BaseModel):
        when: datetime.datetime
        price: Decimal = Decimal("1.5")
        keys: dict[int, str]
        movie: Movie

    output = OutputType.of(Event)
    assert output.json_schema == Event.model_json_schema()
    assert "python:" not in json.dumps(output.json_schema)
    assert "structkit:" not in json.dumps(output.json_schema)


def test_validation_errors_are_pydantic_s() -> None:
    output = OutputType.of(Person)
    for text, message in {
        '{"name": "a"}': "age: Field required\naddress: Field required",
        '{"name": ': "Invalid JSON: EOF while parsing a value at line 1 column 9",
    }.items():
        rejected = output.parse(text)
        assert isinstance(rejected, Rejected)
        assert isinstance(rejected.cause, ValidationError)
        assert (rejected.path, rejected.message) == ((), message)
    assert output.parse('{"name":"a","age":3,"address":{"street":"b","number":1}}').address.street == "b"


def _required(target: Any, defaults: Literal["always", "may_omit"] = "always") -> dict[str, bool]:
    root = OutputType.of(target, policy=JsonStyle(defaults=defaults)).document.root
    assert isinstance(root, Object) and not root.additional
    return {key.name: key.required for key in root.properties}


def test_fields_with_defaults_are_written_unless_they_may_be_omitted() -> None:
    assert set(_required(Person).values()) == {True}
    assert _required(Person, "may_omit") == {
        "name": True, "age": True, "job": False, "address": True, "other": False,
    }  # fmt: skip


def test_open_keys_of_a_type_stay_open() -> None:
    assert _required(Movie) == {"title": True, "year": False}


def test_only_fields_that_pydantic_reads_are_generated() -> None:
    assert list(_required(Point)) == ["x", "y"]
    assert list(_required(Hidden)) == ["shown", "secret"]
    assert list(_required(Aliased)) == ["firstName", "lastName"]


def test_a_recursive_default_can_be_omitted() -> None:
    class Chain(BaseModel):
        rest: Chain = None  # type: ignore[assignment]

    with pytest.raises(UnsatisfiableSchema):
        OutputType.of(Chain)
    OutputType.of(Chain, policy=JsonStyle(defaults="may_omit"))


def test_the_tag_of_a_discriminated_union_is_never_omitted() -> None:
    for output in (OutputType.of(Pet), OutputType.of(Pet, policy=JsonStyle(defaults="may_omit"))):
        assert holds(output.document, {"kind": "cat", "lives": 9})
        assert not holds(output.document, {"lives": 9})
    assert holds(OutputType.of(Cat | Dog, policy=JsonStyle(defaults="may_omit")).document, {"lives": 9})


def test_types_become_the_expected_nodes() -> None:
    assert OutputType.of(Literal[True, 1]).document.root == Union((Const("true"), Const("1")))
    assert OutputType.of(Annotated[int, Field(gt=0, lt=10, multiple_of=4)]).document.root == Integer(1, 9, 4)
    below, above = (Bound(Decimal(sign * 10**8), exclusive=True) for sign in (-1, 1))
    fixed = Number(below, above, Decimal("1e-7"))
    assert OutputType.of(Decimal).document.root == Union((fixed, String(format=Format("python:decimal"))))
    assert OutputType.of(dict[str, Any]).document.bounded
    assert isinstance(OutputType.of(Node).document.root, Ref)
    assert not holds(OutputType.of(Shut).document, {"a": 1, "b": 2})
    root = OutputType.of(set[Literal["a", "b"]]).document.root
    assert isinstance(root, Array) and root.unique_items and root.max_items == 2


@pytest.mark.parametrize(
    ("target", "rejected"),
    [
        (dict[int, int], [{"x": 1}, {"1.5": 1}]),
        (dict[Annotated[str, Field(pattern="^a")], int], [{"b": 1}]),
        (dict[Literal["a"], int], [{"b": 1}]),
        (Annotated[Decimal, Field(max_digits=5, decimal_places=2)], [1000, 0.001, -1000]),
        (Annotated[set[bool], Field(min_length=2)], [[True], [True, True]]),
    ],
)
def test_values_that_the_schema_of_pydantic_allows_but_pydantic_rejects(
    target: Any, rejected: list[object]
) -> None:
    output = OutputType.of(target)
    for value in rejected:
        assert isinstance(output.parse(json.dumps(value)), Rejected)
        assert not holds(output.document, value)


def test_defaults_that_are_not_json_raise_no_warning() -> None:
    class Odd(BaseModel):
        x: Any = object()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OutputType.of(Odd)


def test_a_json_schema_of_the_user_is_used() -> None:
    class Extra(BaseModel):
        a: int = Field(json_schema_extra={"maximum": 3, "x-hint": True})
        b: Annotated[str, Field(json_schema_extra={"not": {"const": ""}})] = ""

    root = OutputType.of(Extra).document.root
    assert isinstance(root, Object)
    assert [key.value for key in root.properties] == [Integer(maximum=3), String(forbidden=("^$",))]

    class Unread(BaseModel):
        b: Annotated[str, Field(json_schema_extra={"allOf": [{"format": "ipv4"}, {"format": "ipv6"}]})] = ""

    with pytest.raises(UnsupportedKeyword) as caught:
        OutputType.of(Unread)
    assert caught.value.place == "$.b"


class _ByName(BaseModel):
    model_config = ConfigDict(extra="allow", validate_by_name=True)
    a: int = Field(3, alias="b")


class _TwoAliases(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = Field(3, validation_alias=AliasChoices("b", "c"))


@pytest.mark.parametrize(("target", "other"), [(_ByName, "a"), (_TwoAliases, "c")])
def test_another_name_of_a_field_is_no_extra_key(target: type[BaseModel], other: str) -> None:
    """Pydantic would read it as the field, which may be left out."""
    accepts = compile(target, byte_vocabulary(), defaults="may_omit").reader.accepts
    assert accepts(b'{"d": "x"}') and accepts(b'{"b": 1, "d": "x"}')
    for text in ({other: "x"}, {"b": 1, other: "x"}):
        assert not accepts(json.dumps(text).encode())


@pytest.mark.parametrize("target", [FilePath, DirectoryPath, dict[str, NewPath]])
def test_a_path_that_is_too_long_is_rejected(target: Any) -> None:
    """The system raises an error, which pydantic does not catch."""
    path = "/".join(["a" * 300] * 2)
    rejected = OutputType.of(target).parse(json.dumps({"a": path} if target == dict[str, NewPath] else path))
    assert isinstance(rejected, Rejected) and isinstance(rejected.cause, OSError)
    refused = Judge(FilePath).refusal(json.dumps(path))
    assert refused is not None and refused.by_validator


def test_an_os_error_of_a_validator_of_the_user_is_raised() -> None:
    target = OutputType.of(Annotated[str, AfterValidator(os.stat)])
    with pytest.raises(FileNotFoundError):
        target.parse('"no-such-file"')


def test_a_field_that_may_be_missing_may_be_absent() -> None:
    missing: Any = getattr(pydantic_core, "MISSING", None)
    if missing is None:
        pytest.skip("this version of pydantic has none")

    class Patch(BaseModel):
        name: str | missing = missing  # type: ignore[valid-type]
        age: int | missing | None = missing  # type: ignore[valid-type]
        size: int | missing = 3  # type: ignore[valid-type]

    accepts = compile(Patch, byte_vocabulary()).reader.accepts
    assert accepts(b'{"size": 1}') and accepts(b'{"name": "a", "age": null, "size": 1}')
    assert accepts(b'{"age": 3, "size": 1}') and not accepts(b"{}")
    assert OutputType.of(Patch).written_schema["required"] == ["size"]


def test_the_canonical_text_of_a_value_has_the_names_that_the_type_reads() -> None:
    class Renamed(BaseModel):
        inner: int = Field(alias="outer")

    judge = Judge(Renamed)
    assert judge.dump('{"outer":1}') == '{"outer": 1}'
    assert judge.dump('{"inner": 1}') is None


@pytest.mark.parametrize(
    ("target", "accepts"),
    [
        (str, True),
        (str | int, True),
        (Annotated[str, AfterValidator(str)], True),
        (int, False),
        (datetime.date, False),
    ],
)
def test_the_beginning_of_a_string_is_a_value_only_where_any_string_can_be(
    target: Any, accepts: bool
) -> None:
    assert PartValidator.of(TypeAdapter(target)).accepts_prefix == accepts


def test_a_canonical_text_has_its_characters_and_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    def as_text(value: int) -> Any:
        return f"é{value}"

    class Odd(BaseModel):
        n: Annotated[int, AfterValidator(as_text)]

    assert Judge(Odd).dump('{"n": 1}') == '{"n": "é1"}'
    assert not recwarn.list
    assert Judge(float).dump("1e999") is None


def test_a_callable_discriminator_rejects_as_a_validator_does() -> None:
    kinds = Annotated[
        Annotated[int, Tag("int")] | Annotated[str, Tag("str")],
        Discriminator(lambda value: "int" if value == 1 else "str" if value == "a" else None),
    ]
    judge = Judge(list[kinds])
    assert judge.refusal('[1, "a"]') is None
    refused = judge.refusal("[2]")
    assert refused is not None and refused.place == "$[0]" and refused.by_validator
    refused = Judge(list[int]).refusal('["x"]')
    assert refused is not None and not refused.by_validator


class Price(enum.Enum):
    LOW = Decimal("1.5")
    NAMED = "é"


class Goods(BaseModel):
    price: Price = Field(validation_alias="read", serialization_alias="written")
    pair: tuple[Price, int] = Field(exclude=True)


def test_an_example_has_the_names_that_the_type_reads_and_what_it_excludes() -> None:
    value = {"read": 1.5, "pair": ["é", 2]}
    goods = TypeAdapter(Goods).validate_python(value)
    found = [each for each in OutputType.of(Goods).serialize(goods) if not isinstance(each, Rejected)]
    assert (goods, value) in found


def test_the_schema_of_a_tuple_has_bounds_only_if_the_type_has() -> None:
    plain = OutputType.of(tuple[int, ...]).json_schema
    assert plain == {"type": "array", "items": {"type": "integer"}}
    bounded = OutputType.of(Annotated[tuple[int, ...], Field(min_length=1, max_length=3)]).json_schema
    assert bounded == {**plain, "minItems": 1, "maxItems": 3}


class Pair(NamedTuple):
    first: int
    second: int = 2


@pytest.mark.parametrize(("defaults", "least"), [("always", 2), ("may_omit", 1)])
def test_a_named_tuple_has_all_its_items_where_defaults_are_written(defaults: Any, least: int) -> None:
    regex, validator = re.compile(to_regex(Pair, defaults=defaults)), TypeAdapter(Pair)
    for items in ([], [1], [1, 2], [1, 2, 3]):
        accepted = regex.fullmatch(json.dumps(items)) is not None
        assert accepted == (least <= len(items) <= 2)
        if accepted:
            validator.validate_python(items)
