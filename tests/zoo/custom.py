"""Types with custom validators and schemas, and types without a JSON form."""

from __future__ import annotations

import datetime as dt
import types
from collections.abc import Callable
from typing import Annotated, Any

import pydantic
import pydantic_core
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    GetPydanticSchema,
    PlainSerializer,
    PlainValidator,
    SerializeAsAny,
    SkipValidation,
    WithJsonSchema,
    WrapValidator,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema
from typing_extensions import NotRequired, TypedDict

from tests.zoo.specimen import Kind, Specimen


class Even:
    """A type that says itself what it accepts and how it is described."""

    def __init__(self, value: int) -> None:
        self.value = value

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(
            cls,
            core_schema.int_schema(multiple_of=2),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda even: even.value),
        )


class Word:
    """A type whose JSON Schema is its own."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(str)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string", "pattern": "^[a-z]+$"}


class Range(BaseModel):
    low: int
    high: int

    @model_validator(mode="after")
    def ordered(self) -> Range:
        if self.low > self.high:
            raise ValueError("low must be at most high")
        return self


class Trimmed(BaseModel):
    a: str

    @field_validator("a")
    @classmethod
    def trim(cls, value: str) -> str:
        return value.strip()


class Plain:
    pass


class Holder(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    plain: Plain


class Mixed(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    a: int | Plain


class Formatted(BaseModel):
    a: Annotated[str, Field(json_schema_extra={"format": "date"}), Field(max_length=10)]
    b: Annotated[str, Field(json_schema_extra={"format": "brand-new"})]


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("odd")
    return value


_AFTER = "the validator runs afterwards"


class Unknown:
    """A type that does not say how its JSON is described."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(cls)


class Handler(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str
    callback: Callable[[int], int] | None = None
    kind: type[int] | None = None
    holder: Plain | None = None
    hooks: list[Callable[[], None] | None] = []


_MISSING: Any = getattr(pydantic_core, "MISSING", None)


class Maybe(TypedDict):
    """Reads what a model with `MISSING` does, for the versions of pydantic that have none."""

    name: NotRequired[str]
    age: int


CUSTOM: Kind = {
    "AfterValidator": Specimen(
        Annotated[int, AfterValidator(_even)], [2], ['"x"'], limits=_AFTER, checked=True
    ),
    "BeforeValidator": Specimen(
        Annotated[int, BeforeValidator(lambda value: value)], [2], ['"x"'], limits=_AFTER
    ),
    "WrapValidator": Specimen(
        Annotated[int, WrapValidator(lambda value, handler: handler(value))], [2], ['"x"'], limits=_AFTER
    ),
    "PlainValidator": Specimen(
        Annotated[int, PlainValidator(lambda value: value)],
        texts=["1", '"x"', "[null]"],
        refuses=["[1"],
        limits="any JSON; the validator runs afterwards",
    ),
    "PlainValidator, json_schema_input_type": Specimen(
        Annotated[
            int, PlainValidator(int, json_schema_input_type=Annotated[str, Field(pattern="^[0-9]{1,9}$")])
        ],
        texts=['"12"'],
        refuses=['"x"', "12"],
        limits=_AFTER,
    ),
    "model_validator": Specimen(Range, [Range(low=1, high=2)], ['{"low": 1}'], limits=_AFTER, checked=True),
    "field_validator": Specimen(Trimmed, [Trimmed(a="b")], ["{}"], limits=_AFTER),
    "__get_pydantic_core_schema__": Specimen(Even, [Even(2)], ["1", '"x"']),
    "__get_pydantic_json_schema__": Specimen(
        Word, texts=['"abc"'], refuses=['"A"', "1", "x"], limits="as its JSON Schema says"
    ),
    "GetPydanticSchema": Specimen(
        Annotated[Plain, GetPydanticSchema(lambda source, handler: handler(int))],
        texts=["3"],
        refuses=['"x"'],
    ),
    "WithJsonSchema": Specimen(
        Annotated[int, WithJsonSchema({"type": "integer", "minimum": 5})],
        [5],
        ["4", '"x"'],
        limits="as its JSON Schema says",
    ),
    "PlainSerializer": Specimen(
        Annotated[int, PlainSerializer(lambda value: f"{value}", return_type=str)],
        texts=["5"],
        refuses=['"x"'],
        limits="the form that pydantic reads, not the form that it dumps",
    ),
    "SerializeAsAny": Specimen(SerializeAsAny[int], [5], ['"x"']),
    "SkipValidation": Specimen(SkipValidation[int], [5], ['"x"', "x"]),
    "int | a class of one's own": Specimen(
        Mixed, [Mixed(a=5)], ['{"a": "x"}', "{}"], limits="never the class, which has no JSON form"
    ),
    "InstanceOf[int]": Specimen(pydantic.InstanceOf[int], [5], ['"x"']),
    "OnErrorOmit": Specimen(list[pydantic.OnErrorOmit[int]], [[5]], ['["x"]', "1"]),
    "FailFast": Specimen(Annotated[list[int], pydantic.FailFast()], [[5]], ['["x"]']),
    "ValidateAs": Specimen(
        Annotated[dt.date, pydantic.ValidateAs(int, dt.date.fromordinal)]
        if hasattr(pydantic, "ValidateAs")
        else int,
        texts=["1"],
        refuses=['"x"'],
        limits=_AFTER,
        checked=True,
    ),
    "MISSING": Specimen(
        pydantic.create_model("Patch", name=(str | _MISSING, _MISSING), age=(int, 3))
        if hasattr(pydantic_core, "MISSING")
        else Maybe,
        texts=['{"age": 1}', '{"name": "a", "age": 1}'],
        refuses=['{"name": null, "age": 1}', "{}"],
        limits="the key is left out",
    ),
    "model, optional objects without a JSON form": Specimen(
        Handler,
        [Handler(name="a")],
        ['{"name": "a", "callback": 1, "kind": null, "holder": null, "hooks": []}', "{}"],
        limits="null; no text is a function, a class or an object of another class",
    ),
    "WithJsonSchema(None)": Specimen(
        Annotated[int, WithJsonSchema(None)], error="int is excluded from JSON Schemas"
    ),
    "str, formats of json_schema_extra": Specimen(
        Formatted,
        [Formatted(a="2024-02-29", b="any")],
        ['{"a": "2024-02-30", "b": ""}', '{"a": "2024-02-29"}'],
        limits="formats of JSON Schema are enforced, others are annotations",
    ),
    "a format of another type that is not known": Specimen(
        Annotated[Any, PlainValidator(str), WithJsonSchema({"type": "string", "format": "brand-new"})],
        error="brand-new",
    ),
    "a class of one's own": Specimen(Holder, error="has no JSON form; make it a pydantic.BaseModel"),
    "Callable": Specimen(Callable[[], int], error="has no JSON form"),
    "type": Specimen(type, error="has no JSON form"),
    "a plain validator or null": Specimen(
        Unknown | None, error="pydantic does not know the JSON of a plain validator"
    ),
    "type[int]": Specimen(type[int], error="a class has no JSON form"),
    "range": Specimen(range, error="range"),
    "ModuleType": Specimen(types.ModuleType, error="pydantic cannot read the class module"),
}
