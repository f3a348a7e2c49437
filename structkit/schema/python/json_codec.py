"""Convert values that no model generates to JSON and back: messages, states, tool results."""

from __future__ import annotations

import json
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python
from typing_extensions import TypeForm

__all__ = ["JsonCodec", "json_text_of"]

T = TypeVar("T")


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
