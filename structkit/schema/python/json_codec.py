"""Convert values that no model generates to JSON and back: messages, states, results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Generic, TypeAlias, TypeVar

from pydantic import Field, PlainSerializer, TypeAdapter, ValidationError
from pydantic_core import (
    CoreSchema,
    PydanticOmit,
    PydanticSerializationError,
    core_schema,
    to_jsonable_python,
)
from typing_extensions import TypeForm

__all__ = ["JsonCodec", "NamedKeys", "NotInJson", "json_text_of"]

T = TypeVar("T")


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
