"""Sets of sets, whose items have an order as texts, and of types with a definition of their own."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, Json, JsonValue, TypeAdapter
from typing_extensions import TypeAliasType

import structkit as sk
from structkit.testing import RandomModel, byte_vocabulary, small_vocabulary
from tests.shared import cases

_Inner = frozenset[Literal[1, 2, 3]]


@pytest.mark.parametrize("item", [_Inner, tuple[int, _Inner], _Inner | None])
def test_two_or_more_sets_in_a_set_are_refused(item: object) -> None:
    with pytest.raises(sk.UnsupportedKeyword, match=r"\[1, 2\] and \[2, 1\] are equal"):
        sk.to_regex(Annotated[set[item], Field(min_length=2)])  # type: ignore[valid-type]


@pytest.mark.parametrize(
    "target",
    [
        set[_Inner],
        Annotated[set[_Inner], Field(min_length=1, max_length=3)],
        Annotated[set[Annotated[_Inner, Field(max_length=1)]], Field(min_length=3)],
        Annotated[set[tuple[_Inner, ...]], Field(min_length=1)],
    ],
)
def test_other_sets_of_sets_are_generated(target: object) -> None:
    vocabulary = small_vocabulary()
    for seed in range(cases(5, of=30)):
        value = sk.extract(RandomModel(seed, vocabulary), "a", target, max_tokens=60)
        assert TypeAdapter(target).validate_python(value) == value


Something = TypeAliasType("Something", Any)


class Both(BaseModel):
    any: Something
    items: set[Something]
    texts: frozenset[Json[JsonValue]]


def test_a_set_of_a_type_that_also_has_unhashable_values() -> None:
    """The definition of the type is used at other places, too."""
    accepts = sk.compile(set[JsonValue], byte_vocabulary()).reader.accepts
    assert accepts(b'["a", null]') and not accepts(b"[[]]") and not accepts(b"[{}]")
    accepts = sk.compile(Both, byte_vocabulary()).reader.accepts
    assert accepts(b'{"any": [{}], "items": [1, "a"], "texts": ["1"]}')
    assert not accepts(b'{"any": 1, "items": [[]], "texts": []}')
    assert not accepts(b'{"any": 1, "items": [], "texts": ["[]"]}')
