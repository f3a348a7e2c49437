"""Rules that need more distinct texts than they have."""

from __future__ import annotations

from itertools import product
from typing import Annotated, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

import structkit as sk
from structkit.automaton.construct.compile_rule import regular_dfa, rule_dfa
from structkit.automaton.core.dfa import Dfa, RuleKey
from structkit.automaton.distance.cardinality import Cardinality
from structkit.limits import Limits
from structkit.regex.nodes import Choice, Distinct, LiteralText, Node, RuleRef, Seq, choice, seq
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


def at_least(min_length: int, kind: object) -> object:
    return Annotated[kind, Field(min_length=min_length)]


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


@pytest.mark.parametrize(("kind", "available"), TYPES)
def test_requiring_more_distinct_texts_than_available_is_rejected(kind: object, available: int) -> None:
    cursor = sk.compile(at_least(available, kind), byte_vocabulary(), source="a").cursor()
    assert cursor.min_tokens_to_end() < 500
    with pytest.raises(
        sk.UnsatisfiableSchema,
        match=f"at `\\$`:\n  .*only {available} (is|are) possible\n  require fewer, or allow more",
    ):
        sk.compile(at_least(available + 1, kind), byte_vocabulary(), source="a")


@pytest.mark.parametrize(("source", "available"), [("abc", 6), ("aaaa", 4), ("aba", 5), ("a\ud800b", 2)])
def test_quotes_are_counted_by_text(source: str, available: int) -> None:
    kind = set[Annotated[str, sk.Quote(words=False)]]
    sk.compile(at_least(available, kind), byte_vocabulary(), source=source)
    with pytest.raises(sk.UnsatisfiableSchema):
        sk.compile(at_least(available + 1, kind), byte_vocabulary(), source=source)


def test_a_json_schema_with_too_few_texts_is_rejected() -> None:
    items = {"type": "string", "pattern": "^[ab]$"}
    for schema in (
        {"type": "array", "items": items, "uniqueItems": True, "minItems": 3},
        {"type": "array", "prefixItems": [{"const": 1}, {"const": 1}], "uniqueItems": True, "minItems": 2},
        {"type": "object", "propertyNames": items, "minProperties": 3},
        # A part of its own has too few texts, though all parts together have enough.
        {
            "prefixItems": [{"type": "string"}],
            "contains": {"const": 1},
            "minContains": 2,
            "uniqueItems": True,
        },
        {"prefixItems": [{"const": 1}, {"enum": [1]}, True], "minItems": 3, "uniqueItems": True},
        # Two different booleans have two orders, and one has none.
        {
            "items": {"items": {"type": "boolean"}, "type": "array", "uniqueItems": True, "minItems": 1},
            "minItems": 5,
            "uniqueItems": True,
        },
    ):
        with pytest.raises(sk.UnsatisfiableSchema):
            sk.compile({"type": "array"} | schema, byte_vocabulary())


def test_quotes_are_counted_in_the_prompt() -> None:
    model = RandomModel(seed=0)
    assert sk.extract(model, "a b", Tagged).tags <= {"a", "b", "a b"}
    with pytest.raises(sk.UnsatisfiableSchema, match=r"at `\$\.tags`:\n  .*only 1 is possible\n  .*"):
        sk.extract(model, "a", Tagged)


def test_a_shortage_leaves_the_other_alternatives() -> None:
    assert sk.extract(RandomModel(seed=0), "a", MaybeTagged).tags is None
    assert sk.extract(RandomModel(seed=0), "a", dict[Literal["x"], Tagged]) == {}


@given(plain_nodes)
def test_counts_are_at_least_the_number_of_texts(node: Node) -> None:
    dfa = regular_dfa(node)
    texts = sum(dfa.accepts(bytes(text)) for length in range(4) for text in product(b"ab01", repeat=length))
    assert Cardinality(lambda key: dfa).of(Distinct(node), 5) >= min(5, texts)


def test_each_rule_is_counted_once() -> None:
    """Each rule calls the next two, so that thousands of ways lead to the last."""
    nodes: dict[str, Node] = {
        str(n): choice(
            [seq(LiteralText(text), RuleRef(str(n + step))) for step, text in ((1, "a"), (2, "b"))]
        )
        for n in range(20)
    }
    nodes |= {"20": LiteralText("c"), "21": LiteralText("d")}
    counted: list[str] = []

    def automaton(key: RuleKey) -> Dfa:
        assert isinstance(key, str)
        counted.append(key)
        return rule_dfa(nodes[key], Limits())

    assert Cardinality(automaton).of("0", 1_000) == 1_000
    assert sorted(counted) == sorted(nodes)


@pytest.mark.parametrize(("size", "least"), [(1, 1), (1, 2), (2, 2), (3, 1), (3, 2), (5, 3)])
def test_a_ring_of_arrays_whose_items_must_differ_has_its_constants_only(size: int, least: int) -> None:
    """An array of two items would need two different texts of the next definition, and so on around the ring."""
    definitions = {
        str(n): {
            "anyOf": [
                {"const": n},
                {
                    "type": "array",
                    "items": {"$ref": f"#/$defs/{(n + 1) % size}"},
                    "uniqueItems": True,
                    "minItems": least,
                },
            ]
        }
        for n in range(size)
    }
    cursor = sk.compile({"$ref": "#/$defs/0", "$defs": definitions}, byte_vocabulary(), cache=False).cursor()
    mask = np.zeros(9, np.uint32)
    cursor.fill_mask(mask)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
    assert bytes(np.flatnonzero(bits).tolist()) == (b"0[" if least == 1 else b"0")


parts = st.sampled_from(["a", "b", "c"]).map(LiteralText) | st.sampled_from("012").map(RuleRef)
bodies = st.lists(st.lists(parts, min_size=1, max_size=3), min_size=1, max_size=3).map(
    lambda ways: choice([seq(*way) for way in ways])
)


def _texts_of(node: Node, rules: dict[str, set[str]]) -> set[str]:
    match node:
        case LiteralText(value):
            return {value}
        case RuleRef(rule):
            return rules[rule]
        case Choice(ways):
            return set[str]().union(*(_texts_of(way, rules) for way in ways))
        case Seq(ways):
            found = {""}
            for way in ways:
                found = {left + right for left in found for right in _texts_of(way, rules)}
            return found
    raise AssertionError(node)


@given(st.tuples(bodies, bodies, bodies), st.integers(1, 5))
def test_texts_of_rules_that_call_each_other(nodes: tuple[Node, Node, Node], limit: int) -> None:
    rules: dict[str, set[str]] = {"0": set(), "1": set(), "2": set()}
    for _ in range(6):
        rules = {
            name: set(sorted(_texts_of(nodes[int(name)], rules), key=lambda text: (len(text), text))[:12])
            for name in rules
        }
    cardinality = Cardinality(lambda key: rule_dfa(nodes[int(str(key))], Limits()))
    for name, texts in rules.items():
        found = cardinality.of(name, limit)
        assert found >= min(limit, len(texts))
        assert (found == 0) == (not texts)
