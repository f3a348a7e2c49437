"""Convert values that no model generates to JSON and back: messages, states, results, and the values of enums."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Annotated, Final, Generic, TypeAlias, TypeVar, cast

from pydantic import BeforeValidator, Field, PlainSerializer, TypeAdapter, ValidationError
from pydantic_core import (
    CoreSchema,
    PydanticOmit,
    PydanticSerializationError,
    SchemaValidator,
    core_schema,
    to_json,
    to_jsonable_python,
)
from typing_extensions import TypeForm

from structkit.schema.python.temporal import JsonObject, unsupported

__all__ = [
    "EXACT_KEYS",
    "ByKind",
    "JsonCodec",
    "NamedKeys",
    "NotInJson",
    "enum_json_value",
    "json_text_of",
    "unwritable",
]

T = TypeVar("T")

EXACT_KEYS: Final[Mapping[str, str]] = {"extra": "forbid"}
"""The `__pydantic_config__` of a dataclass that refuses other keys, since they are those of another type or version."""


class _Undescribed:
    """An annotation of a type that pydantic does not analyse."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> CoreSchema:
        """Accept any object of Python, and no JSON."""
        return core_schema.is_instance_schema(object)

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, object]:
        """Leave the field out."""
        raise PydanticOmit


NotInJson: TypeAlias = Annotated[T, Field(exclude=True), _Undescribed()]
"""The type of a field of a dataclass that pydantic neither writes nor describes, because only this process needs it.

>>> from dataclasses import dataclass
>>> @dataclass
... class Point:
...     x: int
...     error: NotInJson[BaseException | None] = None
>>> TypeAdapter(Point).dump_json(Point(3, ValueError()))
b'{"x":3}'
"""


def _text_or_bytes(value: bytes) -> str | list[int]:
    """Return the text of bytes, or their numbers if they are only a part of a character.

    >>> _text_or_bytes(b"a"), _text_or_bytes("é".encode()[:1])
    ('a', [195])
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        return list(value)


def _bytes_of(value: object) -> object:
    """Return the bytes of a text or of numbers; any other value is left to pydantic."""
    if isinstance(value, str):
        return value.encode()
    are_numbers = isinstance(value, list) and all(isinstance(each, int) and 0 <= each < 256 for each in value)
    return bytes(cast("list[int]", value)) if are_numbers else value


BytesOfText: TypeAlias = Annotated[
    bytes, PlainSerializer(_text_or_bytes, when_used="json"), BeforeValidator(_bytes_of)
]
"""The type of the bytes of a token: a string in JSON, or a list of numbers if they are only a part of a character."""

ByKind: TypeAlias = Annotated[T, Field(discriminator="kind")]
"""The type of a union of dataclasses that `kind` tells apart, so that an error is about the one that is meant."""


def _named_keys(values: Mapping[object, object]) -> dict[str, object]:
    """Return a mapping with the keys of a JSON object: strings, the JSON of other values, and `...`.

    >>> _named_keys({"a": 1, None: 2, ...: 3})
    {'a': 1, 'null': 2, '...': 3}
    """
    return {
        each if isinstance(each, str) else "..." if each is ... else json.dumps(each): value
        for each, value in values.items()
    }


NamedKeys: TypeAlias = Annotated[T, PlainSerializer(_named_keys, when_used="json")]
"""The type of a mapping whose keys are JSON values or `...`."""


class JsonCodec(Generic[T]):
    """Convert the values of one type to JSON text and back.

    >>> codec = JsonCodec(list[int])
    >>> codec.loads(codec.dumps([1, 2]))
    [1, 2]
    """

    def __init__(self, type_: TypeForm[T]) -> None:
        self._adapter: TypeAdapter[T] = TypeAdapter(type_)

    def dumps(self, value: T) -> str:
        """Return the JSON text of a value.

        Raises:
            ValueError: The value is not of the type.
        """
        try:
            return self._adapter.dump_json(value, warnings="error").decode()
        except PydanticSerializationError as error:
            raise ValueError(f"{error}".strip().splitlines()[-1].strip()) from error

    def loads(self, text: str | bytes) -> T:
        """Return the value of a JSON text.

        Raises:
            ValueError: The text is invalid; the message has the first error and its path.
        """
        try:
            return self._adapter.validate_json(text, strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            path = ".".join(map(str, first["loc"])) or "$"
            raise ValueError(f"{first['msg']} at `{path}`") from error


def json_text_of(value: object) -> str:
    """Return the JSON text of a value that pydantic can serialize: models, dataclasses, dates, sets.

    Raises:
        ValueError: The value cannot be serialized.

    >>> json_text_of({"days": {1, 2}})
    '{"days": [1, 2]}'
    """
    try:
        return json.dumps(to_jsonable_python(value), ensure_ascii=False)
    except PydanticSerializationError as error:
        raise ValueError(str(error)) from error


# Values of enums and literals


def enum_json_value(value: object) -> object:
    """Return a value of an enum as JSON that pydantic accepts: a Decimal as a number, not as a string."""
    return json.loads(str(value)) if isinstance(value, Decimal) else to_jsonable_python(value)


def unwritable(
    schema: core_schema.EnumSchema | core_schema.LiteralSchema, values: Sequence[object]
) -> JsonObject:
    """Reject values such as tuples and bytes, whose JSON pydantic does not accept."""
    validator = SchemaValidator(schema)
    for value in values if not all(map(_round_trips, values)) else ():
        try:
            validator.validate_json(to_json(enum_json_value(value)))
        except (ValidationError, ValueError):
            return unsupported(f"the value {value!r:.60} cannot be read back from JSON; {_instead_of(value)}")
    return {}


def _instead_of(value: object) -> str:
    """Return what to write instead of a value that pydantic does not read."""
    if not isinstance(value, Enum):
        return "use a string"
    cls = type(value)
    base = next((each for each in (str, int) if all(type(member.value) is each for member in cls)), None)
    if base is None:
        return f"write the enum {cls.__name__} itself, or a Literal of strings"
    return f"derive the enum from {base.__name__}, class {cls.__name__}({base.__name__}, Enum), or write {cls.__name__}"


def _round_trips(value: object) -> bool:
    """Return whether a value is known to round-trip: strings and numbers, except integers of more than 64 bits."""
    if isinstance(value, int):
        return value.bit_length() < 64
    return isinstance(value, str | float | None)
