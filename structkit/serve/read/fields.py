"""Fields of a JSON body, each read with its type and its place."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import TypeVar, cast

from structkit.serve.bounds.api_error import ApiError

__all__ = ["HALF_PAIR", "Fields", "has_surrogate", "read_json"]

T = TypeVar("T")

HALF_PAIR = "has half of a surrogate pair, which is not a character"
"""The fault of a text that UTF-8 cannot write."""

_MAX_DIGITS = 4_000
"""Maximum digits of an integer, below the limit of Python, whose error names a remedy for programs."""


def read_json(body: bytes) -> Fields:
    """Read the body of a request, which is a JSON object.

    Raises:
        ApiError: It is not JSON, or not an object.

    >>> read_json(b'{"n": 2}').integer("n", 1, 8)
    2
    """
    try:
        value = json.loads(body, parse_constant=_refuse_constant, parse_float=_number, parse_int=_integer)
    except RecursionError:
        raise ApiError(400, "the body is nested too deeply", code="invalid_json") from None
    except ValueError as error:
        raise ApiError(400, f"the body is not JSON: {error}"[:300], code="invalid_json") from None
    if not isinstance(value, dict):
        raise ApiError(400, "the body must be a JSON object", code="invalid_json")
    return Fields(value)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")


def _number(text: str) -> float:
    """Return a number; one beyond the largest would be infinite, which JSON cannot write back."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:40]} is larger than a number of 64 bits; send a smaller one")
    return value


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"an integer has {len(text):,} digits; send at most {_MAX_DIGITS:,}")
    return int(text)


class Fields:
    """The fields of an object.

    `null` is the same as a field that is absent, as in OpenAI's API.

    Args:
        values: The object.
        place: Its path in the body; empty for the body.
    """

    def __init__(self, values: Mapping[str, object], place: str = "") -> None:
        self.values = values
        self.place = place

    def path(self, name: str) -> str:
        """Return the path of a field."""
        return f"{self.place}.{name}" if self.place else name

    def check_names(
        self,
        known: Sequence[str],
        remedies: Mapping[str, str] = MappingProxyType({}),
        unlisted: Sequence[str] = (),
    ) -> None:
        """Refuse unknown fields: the caller of an ignored field expects an effect.

        Args:
            known: The names of the fields.
            remedies: What to write in place of fields of other servers.
            unlisted: Further names, which no error lists.

        Raises:
            ApiError: There is an unknown field.
        """
        for name, value in self.values.items():
            if value is not None and name not in known and name not in unlisted:
                near = get_close_matches(name[:80], known, 1, 0.75)
                remedy = remedies.get(name) or (f"write {near[0]}" if near else "")
                raise ApiError(
                    400,
                    f"unknown field {name[:80]!r}; {remedy or 'leave it out: the fields are ' + ', '.join(known)}",
                    param=self.path(name[:80]),
                    code="unknown_field",
                )

    def has(self, name: str) -> bool:
        """Return whether a field is present and not `null`."""
        return self.values.get(name) is not None

    def raw(self, name: str) -> object:
        """Return a field of any type; `None` if it is absent."""
        return self.values.get(name)

    def text(self, name: str, max_length: int | None = None) -> str | None:
        """Return a string; `None` if it is absent."""
        value = self._typed(name, str, "a string")
        if value is not None and max_length is not None and len(value) > max_length:
            raise self.error(name, f"must have at most {max_length:,} characters")
        if value is not None and has_surrogate(value):
            raise self.error(name, HALF_PAIR)
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Return a boolean."""
        value = self._typed(name, bool, "a boolean")
        return default if value is None else value

    def integer(self, name: str, minimum: int, maximum: int) -> int | None:
        """Return an integer within bounds; `None` if it is absent."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(name, "must be an integer")
        if not minimum <= value <= maximum:
            raise self.error(name, f"must be from {minimum:,} to {maximum:,}")
        return value

    def number(self, name: str, minimum: float, maximum: float) -> float | None:
        """Return a number within bounds; `None` if it is absent."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(name, "must be a number")
        if not minimum <= value <= maximum or not math.isfinite(value):
            raise self.error(name, f"must be from {minimum:g} to {maximum:g}")
        return float(value)

    def nested(self, name: str) -> Fields | None:
        """Return an object; `None` if it is absent."""
        value = self._typed(name, dict, "an object")
        return None if value is None else Fields(cast("dict[str, object]", value), self.path(name))

    def items(self, name: str, maximum: int) -> list[object] | None:
        """Return an array; `None` if it is absent."""
        value = self._typed(name, list, "an array")
        if value is not None and len(value) > maximum:
            raise self.error(name, f"must have at most {maximum:,} items")
        return cast("list[object] | None", value)

    def objects(self, name: str, maximum: int) -> Iterator[Fields]:
        """Yield the objects of an array; nothing if it is absent."""
        for number, item in enumerate(self.items(name, maximum) or ()):
            if not isinstance(item, dict):
                raise self.error(f"{name}[{number}]", "must be an object")
            yield Fields(cast("dict[str, object]", item), f"{self.path(name)}[{number}]")

    def error(self, name: str, fault: str) -> ApiError:
        """Return the error of a field."""
        return ApiError(400, f"{self.path(name)} {fault}", param=self.path(name), code="invalid_value")

    def _typed(self, name: str, kind: type[T], expected: str) -> T | None:
        value = self.values.get(name)
        if value is not None and not isinstance(value, kind):
            raise self.error(name, f"must be {expected}")
        return value


def has_surrogate(text: str) -> bool:
    r"""Return whether a text has half of a surrogate pair.

    >>> has_surrogate("\ud83d"), has_surrogate("\U0001f600")
    (True, False)
    """
    return any("\ud800" <= character <= "\udfff" for character in text)
