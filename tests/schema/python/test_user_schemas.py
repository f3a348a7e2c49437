"""Schemas that users add to their types have the meaning of the specification, and are enforced."""

from __future__ import annotations

import datetime as dt
import json
import random
import uuid
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import (
    Base64Str,
    BaseModel,
    ByteSize,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ImportString,
    PlainValidator,
    SecretStr,
    TypeAdapter,
    WithJsonSchema,
    create_model,
)
from pydantic_core import CoreSchema
from pydantic_extra_types.coordinate import Coordinate, Latitude
from pydantic_extra_types.country import CountryAlpha2

import structkit as sk
from structkit.testing import byte_vocabulary
from tests.shared import cases

ADDED: list[dict[str, Any]] = [
    {"if": {"properties": {"a": {"const": 1}}}, "then": {"properties": {"b": {"const": 2}}, "required": ["b"]}},
    {
        "if": {"properties": {"a": {"const": 1}}},
        "then": {"properties": {"b": {"const": None}}},
        "else": {"not": {"properties": {"b": {"const": 2}}}},
    },
    {"if": {"required": ["c"]}, "then": False},
    {"allOf": [{"properties": {"a": {"enum": [1, 2]}}}, {"properties": {"b": {"not": {"const": 2}}}}]},
    {
        "allOf": [
            {"if": {"properties": {"a": {"const": n}}}, "then": {"properties": {"b": {"const": n}}}} for n in (0, 1)
        ]
    },
    {"anyOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 2}}}]},
    {"anyOf": [{"required": ["c"]}, {"properties": {"a": {"const": 2}}}]},
    {"oneOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 2}}}]},
    {"not": {"properties": {"a": {"const": 1}, "b": {"const": 2}}}},
    {"not": {"properties": {"c": {"const": 1}}, "required": ["c"]}},
    {"not": {"anyOf": [{"properties": {"a": {"const": 1}}}, {"required": ["c"]}]}},
    {"dependentRequired": {"a": ["b"], "c": ["a"]}},
    {"dependentSchemas": {"a": {"properties": {"b": {"const": 2}}}}},
    {"propertyNames": {"pattern": "^[ab]$"}},
    {"patternProperties": {"^a": {"enum": [1, 2]}}},
    {"minProperties": 2},
    {"unevaluatedProperties": False},
]  # fmt: skip
"""Keywords that a user adds to a model with the fields `a` and `b`."""

NONE: list[dict[str, Any]] = [
    {"not": {"properties": {"c": {"const": 1}}}},  # an object without `c` has the properties
    {"not": {"required": ["b"]}},
    {"dependentRequired": {"a": ["c"]}},
    {"if": {"properties": {"c": {"const": 1}}}, "then": {"required": ["c"]}},
    {"maxProperties": 1},
]
"""Keywords that no text of the model meets, which has both fields and no other key."""

Value = Annotated[int, Field(ge=0, le=2)]


def _models(added: dict[str, Any]) -> Iterator[type[BaseModel]]:
    """Yield a model with keywords that a user adds, in each way in which this is possible."""

    class Method(BaseModel):
        a: Value
        b: Value | None = None

        @classmethod
        def __get_pydantic_json_schema__(
            cls, core: CoreSchema, handler: GetJsonSchemaHandler
        ) -> dict[str, Any]:
            found = handler.resolve_ref_schema(handler(core))
            return {**found, **added}

    class Configured(BaseModel):
        model_config = ConfigDict(json_schema_extra=added)
        a: Value
        b: Value | None = None

    class Called(BaseModel):
        model_config = ConfigDict(json_schema_extra=lambda schema: schema.update(added))
        a: Value
        b: Value | None = None

    yield from (Method, Configured, Called)


def _texts() -> list[str]:
    values = [{"a": a, "b": b} for a in range(4) for b in (0, 1, 2, 3, None)]
    others: list[dict[str, Any]] = [{"a": 1}, {"b": 1}, {"a": 1, "b": 2, "c": 1}]
    return [json.dumps(value) for value in [*values, *others]]


@pytest.mark.parametrize("added", ADDED, ids=str)
def test_what_a_user_adds_to_a_model_is_enforced(added: dict[str, Any]) -> None:
    for model in _models(added):
        is_valid = Draft202012Validator(model.model_json_schema()).is_valid
        reader = sk.compile(model, byte_vocabulary()).reader
        accepted = 0
        for text in _texts():
            value = json.loads(text)
            expected = is_valid(value) and value.keys() == {"a", "b"}
            accepted += expected
            assert reader.accepts(text.encode()) is expected, (model.__name__, text)
        assert accepted


@pytest.mark.parametrize("added", NONE, ids=str)
def test_what_no_text_meets_is_refused(added: dict[str, Any]) -> None:
    for model in _models(added):
        with pytest.raises(sk.UnsatisfiableSchema) as caught:
            sk.to_regex(model)
        assert (caught.value.place or "").startswith("$")


def test_a_condition_of_a_field_that_may_be_left_out() -> None:
    added = {"if": {"properties": {"b": {"const": 1}}}, "then": {"properties": {"a": {"const": 2}}}}
    for model in _models(added):
        is_valid = Draft202012Validator(model.model_json_schema()).is_valid
        reader = sk.compile(model, byte_vocabulary(), defaults="may_omit").reader
        for text in _texts():
            value = json.loads(text)
            assert reader.accepts(text.encode()) is (is_valid(value) and {"a"} <= value.keys() <= {"a", "b"})


@pytest.mark.long(every=2)
@pytest.mark.parametrize("defaults", ["always", "may_omit"])
def test_many_conditions_are_not_multiplied_out(defaults: Any) -> None:
    count, chance = 12, random.Random(0)
    fields: dict[str, Any] = {f"p{n}": (Literal["a", "b"], ...) for n in range(count)}
    fields |= {f"q{n}": (Literal[1, 2] | None, None) for n in range(count)}
    conditions = [
        {
            "if": {"properties": {f"p{n}": {"const": "a"}}},
            "then": {"properties": {f"q{n}": {"const": 1}}, "required": [f"q{n}"]},
        }
        for n in range(count)
    ]
    model = create_model("Model", __config__=ConfigDict(json_schema_extra={"allOf": conditions}), **fields)
    reader = sk.compile(model, byte_vocabulary(), defaults=defaults).reader
    is_valid = Draft202012Validator(model.model_json_schema()).is_valid
    accepted = 0
    for _ in range(cases(60, of=2_000)):
        value: dict[str, Any] = {f"p{n}": chance.choice("abbb") for n in range(count)}
        for n in range(count):
            if value[f"p{n}"] == "a" and chance.random() < 0.9:
                value[f"q{n}"] = 1
            elif defaults == "always" or chance.random() < 0.5:
                value[f"q{n}"] = chance.choice([1, 2, None])
        accepted += is_valid(value)
        assert reader.accepts(json.dumps(value).encode()) is is_valid(value), value
    assert accepted
    with pytest.raises(sk.LimitExceeded, match="the combinations of schemas"):
        sk.compile(model, byte_vocabulary(), order="any")


@pytest.mark.parametrize(
    ("schema", "yes", "no"),
    [
        ({"type": "object", "properties": {"x": {}}, "required": ["x"]}, ['{"x": 1}'], ["{}", '{"y": 1}']),
        ({"type": "object", "properties": {"x": {"const": 1}}}, ['{"x": 1}', "{}"], ['{"x": 2}', '{"y": 1}']),
        ({"type": "array", "prefixItems": [{"const": 1}], "maxItems": 1}, ["[1]", "[]"], ["[2]", "[1, 1]"]),
        ({"enum": [[], [1], [2]], "not": {"prefixItems": [{"const": 1}]}}, ["[2]"], ["[]", "[1]"]),
        ({"enum": [{}, {"x": 1}, {"x": 2}], "not": {"properties": {"x": {"const": 1}}}}, ['{"x": 2}'], ["{}"]),
    ],
)  # fmt: skip
def test_a_schema_that_replaces_that_of_a_type(schema: dict[str, Any], yes: list[str], no: list[str]) -> None:
    target = TypeAdapter(Annotated[Any, WithJsonSchema(schema)])
    reader = sk.compile(target, byte_vocabulary()).reader
    assert [text for text in yes if not reader.accepts(text.encode())] == []
    assert [text for text in no if reader.accepts(text.encode())] == []


def test_a_model_inside_of_a_condition_is_as_it_is_written() -> None:
    class Inner(BaseModel):
        x: Value

    class Outer(BaseModel):
        model_config = ConfigDict(
            json_schema_extra={
                "if": {"properties": {"inner": {"properties": {"x": {"const": 1}}}}},
                "then": {"properties": {"n": {"const": 1}}},
            }
        )
        inner: Inner
        n: Value

    reader = sk.compile(Outer, byte_vocabulary()).reader
    assert reader.accepts(b'{"inner": {"x": 1}, "n": 1}') and reader.accepts(b'{"inner": {"x": 2}, "n": 2}')
    assert not reader.accepts(b'{"inner": {"x": 1}, "n": 2}')


@pytest.mark.parametrize(
    ("kind", "name", "yes", "no"),
    [
        (str, "date", '"2024-02-29"', '"2024-02-30"'),
        (str, "date-time", '"2024-01-01T00:00:00Z"', '"2024-01-01"'),
        (str, "uri", '"https://a.b/c"', '"a b"'),
        (str, "email", '"a@example.com"', '"a"'),
        (str | None, "date", "null", '"2024-02-30"'),
        (dt.date, "date", '"2024-02-29"', '"2024-02-30"'),
        (dt.date, "password", '"2024-02-29"', '"x"'),
        (uuid.UUID, "uuid", '"00000000-0000-0000-0000-000000000000"', '"x"'),
        (int, "int64", "1", '"x"'),
    ],
)
def test_a_format_that_a_user_adds_is_enforced(kind: Any, name: str, yes: str, no: str) -> None:
    model = create_model("Model", x=(kind, Field(json_schema_extra={"format": name})))
    reader = sk.compile(model, byte_vocabulary()).reader
    assert reader.accepts(f'{{"x": {yes}}}'.encode())
    assert not reader.accepts(f'{{"x": {no}}}'.encode())


@pytest.mark.parametrize("kind", [str, str | None, Annotated[str, Field(max_length=9)]])
def test_a_format_of_a_string_that_is_not_known_is_an_annotation(kind: Any) -> None:
    model = create_model("Model", x=(kind, Field(default="", json_schema_extra={"format": "markdown"})))
    assert sk.to_regex(model) == sk.to_regex(create_model("Model", x=(kind, "")))
    (row,) = (row for row in sk.explain(model).rows if row.keyword == "format")
    assert (row.how, row.reason) == ("unknown", "the specification says that unknown formats are ignored")


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (dt.date, "email", "the type has a format of its own"),
        (dt.datetime, "date-time", "the type has a format of its own"),
        (
            Annotated[Any, PlainValidator(str), WithJsonSchema({"type": "string"})],
            "phone",
            "'phone' are not supported",
        ),
        (str, "emial", "write 'email'"),
    ],
)
def test_a_format_that_cannot_be_added_is_refused(kind: Any, name: str, message: str) -> None:
    model = create_model("Model", x=(kind, Field(json_schema_extra={"format": name})))
    with pytest.raises(sk.UnsupportedKeyword) as caught:
        sk.to_regex(model)
    assert caught.value.place == "$.x"
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("field", "yes", "no"),
    [
        (Annotated[int, Field(ge=5, json_schema_extra={"minimum": 3})], ["5"], ["3", "4"]),
        (Annotated[int, Field(ge=5, json_schema_extra={"minimum": 7})], ["7"], ["5", "6"]),
        (Annotated[int, Field(le=5, json_schema_extra={"maximum": 9, "exclusiveMaximum": 20})], ["5"], ["6"]),
        (Annotated[float, Field(multiple_of=2, json_schema_extra={"multipleOf": 3})], ["6"], ["2", "3"]),
        (Annotated[str, Field(min_length=3, json_schema_extra={"minLength": 1})], ['"abc"'], ['"ab"']),
        (Annotated[str, Field(pattern="^a", json_schema_extra={"pattern": "b$"})], ['"ab"'], ['"a"', '"b"']),
        (Annotated[list[int], Field(min_length=2, json_schema_extra={"minItems": 1})], ["[1, 2]"], ["[1]"]),
        (Annotated[dict[str, int], Field(max_length=1, json_schema_extra={"maxProperties": 3})], ["{}"], []),
        (Annotated[Literal[1, 2], Field(json_schema_extra={"enum": [2, 3]})], ["2"], ["1", "3"]),
        (Annotated[ByteSize, Field(json_schema_extra={"maximum": 5})], ["5"], ["6", "-1"]),
        (
            Annotated[ImportString[Any], Field(json_schema_extra={"pattern": "^os"})],
            ['"os"'],
            ['"re"', '"."'],
        ),
        (Annotated[int | float, Field(ge=3, json_schema_extra={"multipleOf": 2})], ["4"], ["2", "5"]),
        (
            Annotated[Base64Str, Field(min_length=1, json_schema_extra={"minLength": 8})],
            ['"YWFhYQ=="'],
            ['"YWI="'],
        ),
        (
            Annotated[SecretStr, Field(min_length=2, json_schema_extra={"pattern": "^x"})],
            ['"xa"'],
            ['"ab"', '"x"'],
        ),
    ],
)
def test_a_restriction_that_a_user_adds_does_not_replace_that_of_the_type(
    field: Any, yes: list[str], no: list[str]
) -> None:
    model = create_model("Outer", value=(field, ...))
    for text in yes + no:
        cursor = sk.compile(model, byte_vocabulary()).cursor()
        accepted = all(_advanced(cursor, byte) for byte in f'{{"value": {text}}}'.encode())
        assert (accepted and cursor.is_accepting) == (text in yes)


def test_what_a_user_adds_to_a_type_with_a_schema_of_its_own() -> None:
    class Small(ByteSize):
        @classmethod
        def __get_pydantic_json_schema__(cls, core: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
            return {**handler(core), "maximum": 5}

    conditional = {"if": {"minimum": 5}, "then": {"multipleOf": 2}}
    for target, yes, no in (
        (Small, "5", "6"),
        (Annotated[Small, Field(json_schema_extra=conditional)], "4", "5"),
        (Annotated[ByteSize, WithJsonSchema({"type": "integer", "maximum": 3})], "3", "4"),
        (Annotated[Latitude, Field(json_schema_extra={"maximum": 5})], "5.0", "6.0"),
        (Annotated[CountryAlpha2, Field(json_schema_extra={"pattern": "^E"})], '"ES"', '"US"'),
        (Annotated[Coordinate, Field(json_schema_extra={"properties": {"latitude": {"maximum": 5}}})],
         '{"latitude": 5.0, "longitude": 0.0}', '{"latitude": 6.0, "longitude": 0.0}'),
    ):  # fmt: skip
        reader = sk.compile(dict[str, target], byte_vocabulary()).reader
        accepted = [reader.accepts(f'{{"a": {text}, "b": {text}}}'.encode()) for text in (yes, no)]
        assert accepted == [True, False], (target, yes, no)


def _advanced(cursor: sk.Cursor, byte: int) -> bool:
    try:
        cursor.advance(byte)
    except sk.TokenRejected:
        return False
    return True
