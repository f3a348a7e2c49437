"""Values as JSON text and back, where it is not a model that writes them: messages, states, what a tool returns."""

from __future__ import annotations

import json
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python
from typing_extensions import TypeForm

__all__ = ["JsonCodec", "json_text_of"]

T = TypeVar("T")


class JsonCodec(Generic[T]):
    """How the values of a type are stored.

    >>> form = JsonCodec(list[int])
    >>> form.loads(form.dumps([1, 2]))
    [1, 2]
    """

    def __init__(self, type_: TypeForm[T]) -> None:
        self._adapter: TypeAdapter[T] = TypeAdapter(type_)

    def dumps(self, value: T) -> str:
        """The JSON text of a value.

        Raises:
            ValueError: It is not of the type.
        """
        try:
            return self._adapter.dump_json(value, warnings="error").decode()
        except PydanticSerializationError as error:
            raise ValueError(f"{error}".strip().splitlines()[-1].strip()) from error

    def loads(self, text: str | bytes) -> T:
        """The value of a JSON text.

        Raises:
            ValueError: It is none; the first thing that is wrong, and where.
        """
        try:
            return self._adapter.validate_json(text, strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "$"
            raise ValueError(f"{first['msg']} at `{place}`") from error


def json_text_of(value: object) -> str:
    """The JSON text of anything that pydantic can write: models, dataclasses, dates, sets.

    Raises:
        ValueError: It cannot be written as JSON.

    >>> json_text_of({"days": {1, 2}})
    '{"days": [1, 2]}'
    """
    try:
        return json.dumps(to_jsonable_python(value), ensure_ascii=False)
    except PydanticSerializationError as error:
        raise ValueError(str(error)) from error
