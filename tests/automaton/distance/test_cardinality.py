from __future__ import annotations

from itertools import product
from typing import Annotated, Literal

import pytest
from hypothesis import given
from pydantic import BaseModel, ConfigDict, Field

import structkit as sk
from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.automaton.distance.cardinality import Cardinality
from structkit.regex.nodes import Distinct, Node
from structkit.testing import RandomModel, byte_vocabulary
from tests.languages import plain_nodes

Quoted = Annotated[str, sk.Quote()]
Letter = Annotated[str, Field(pattern="^[ab]$")]


class Switch(BaseModel):
    model_config = ConfigDict(frozen=True)
    on: bool


class Tagged(BaseModel):
    tags: Annotated[set[Quoted], Field(min_length=2)]


class MaybeTagged(BaseModel):
    tags: Annotated[frozenset[Quoted], Field(min_length=2)] | None


def at_least(least: int, kind: object) -> object:
    return Annotated[kind, Field(min_length=least)]


TYPES = [
    (set[Letter], 2),
    (set[Quoted], 1),
    (dict[Letter, int], 2),
    (dict[Quoted, int], 1),
    (set[Letter | bool], 4),
    (set[tuple[bool, bool]], 4),
    (set[Switch], 2),
    (set[Annotated[str, Field(pattern="^a{1,3}$")]], 3),
]


@pytest.mark.parametrize(("kind", "there"), TYPES)
def test_no_more_different_texts_are_asked_for_than_there_are(kind: object, there: int) -> None:
    cursor = sk.compile(at_least(there, kind), byte_vocabulary(), source="a").cursor()
    assert cursor.min_tokens_to_end() < 500
    with pytest.raises(sk.UnsatisfiableSchema, match=f"only {there}; ask for fewer, or allow more at `\\$`"):
        sk.compile(at_least(there + 1, kind), byte_vocabulary(), source="a")


@pytest.mark.parametrize(("source", "there"), [("abc", 6), ("aaaa", 4), ("aba", 5), ("a\ud800b", 2)])
def test_quotes_are_counted_by_what_they_say(source: str, there: int) -> None:
    kind = set[Annotated[str, sk.Quote(words=False)]]
    sk.compile(at_least(there, kind), byte_vocabulary(), source=source)
    with pytest.raises(sk.UnsatisfiableSchema):
        sk.compile(at_least(there + 1, kind), byte_vocabulary(), source=source)


def test_a_json_schema_is_refused_too() -> None:
    items = {"type": "string", "pattern": "^[ab]$"}
    for schema in (
        {"type": "array", "items": items, "uniqueItems": True, "minItems": 3},
        {"type": "array", "prefixItems": [{"const": 1}, {"const": 1}], "uniqueItems": True, "minItems": 2},
        {"type": "object", "propertyNames": items, "minProperties": 3},
    ):
        with pytest.raises(sk.UnsatisfiableSchema):
            sk.compile(schema, byte_vocabulary())


def test_the_prompt_decides() -> None:
    model = RandomModel(seed=0)
    assert sk.extract(model, "a b", Tagged).tags <= {"a", "b", "a b"}
    with pytest.raises(sk.UnsatisfiableSchema, match=r"there is only 1; .* at `\$\.tags`"):
        sk.extract(model, "a", Tagged)


def test_where_there_is_another_way_it_is_taken() -> None:
    assert sk.extract(RandomModel(seed=0), "a", MaybeTagged).tags is None
    assert sk.extract(RandomModel(seed=0), "a", dict[Literal["x"], Tagged]) == {}


@given(plain_nodes)
def test_counts_are_those_of_all_texts(node: Node) -> None:
    dfa = regular_dfa(node)
    texts = sum(dfa.accepts(bytes(text)) for length in range(4) for text in product(b"ab01", repeat=length))
    assert Cardinality(lambda key: dfa).of(Distinct(node), 5) >= min(5, texts)
