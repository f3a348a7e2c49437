"""The types and keywords in docs/explain/limits.md are enforced or rejected as the page states."""

from __future__ import annotations

import datetime as dt
import ipaddress
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import AliasPath, AnyUrl, BaseModel, Field, Json

import structkit as sk


class Tree(BaseModel):
    children: list[Tree]


class Reaching(BaseModel):
    value: int = Field(validation_alias=AliasPath("a", "b"))


ENFORCED = [
    Annotated[str, Field(min_length=2, max_length=5)], Annotated[str, Field(pattern=r"^\w+$")],
    Annotated[int, Field(ge=3, multiple_of=7)], Annotated[float, Field(le=1, multiple_of=0.25)],
    Annotated[Decimal, Field(decimal_places=2)], bool, None, Literal["a", 1, True], list[int], tuple[int, ...],
    tuple[int, str], Annotated[set[str], Field(min_length=1)], frozenset[int], dict[str, int], dict[int, int],
    dict[Literal["a", "b"], int], Annotated[dict[str, int], Field(max_length=3)], Tree, int | str | None, dt.date,
    dt.time, dt.datetime, dt.timedelta, uuid.UUID, Any, bytes, ipaddress.IPv4Address,
    {"oneOf": [{"type": "integer"}, {"type": "number"}]}, {"not": {"const": {"a": 1}}},
    {"properties": {"a": {}}, "patternProperties": {"^x": {}}}, {"if": {"minimum": 3}, "then": {"multipleOf": 2}},
    {"contains": {"type": "null"}, "prefixItems": [True]}, {"contains": {"type": "null"}, "maxContains": 2},
    {"contains": {"type": "null"}, "maxContains": 2, "maxItems": 9}, {"dependentRequired": {"a": ["b"]}},
    Annotated[float, Field(multiple_of=0.3)], Reaching, Annotated[dt.date, Field(ge=dt.date(2020, 1, 1))],
    {"allOf": [{"format": "uri", "type": "string"}, {"format": "regex"}]},
    Annotated[bytes, Field(max_length=3)], AnyUrl, complex, Json[int], sk.Regex(r"\bab\b"), sk.Regex(r"(?<!a)b+"),
]  # fmt: skip

UNSUPPORTED = [
    sk.Regex(r"(a*)\1"), sk.Regex("a(?>(?:b?)*)"), Annotated[float, Field(multiple_of=0.1234567)],
    dict[tuple[int, int], int],
    type[int], Callable[[], int], {"not": {"uniqueItems": True}},
    {"contains": {"type": "null"}, "prefixItems": [True] * 70},
]  # fmt: skip


@pytest.mark.parametrize("target", ENFORCED, ids=str)
def test_enforced_targets_have_a_regex(target: Any) -> None:
    assert sk.to_regex(target)


@pytest.mark.parametrize("target", UNSUPPORTED, ids=str)
def test_unsupported_targets_raise(target: Any) -> None:
    with pytest.raises((sk.UnsupportedKeyword, sk.PatternError, sk.LimitExceeded)):
        sk.to_regex(target)
