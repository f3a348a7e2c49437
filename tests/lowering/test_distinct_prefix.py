"""Unique items of several kinds: none of the texts that the mask allows leads to an array without an end."""

from __future__ import annotations

import json
from itertools import permutations
from random import Random

import pytest
from jsonschema import Draft202012Validator

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import UnsatisfiableSchema, UnsupportedKeyword
from structkit.lowering.containers.distinct_prefix import Demand, Item, distinct_prefix, texts_of
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    CharClass,
    Choice,
    Distinct,
    LiteralText,
    Network,
    Node,
    Repeat,
    RuleRef,
    Seq,
)
from structkit.targets.targets import read_target
from structkit.testing import byte_vocabulary
from tests.fuzz.walk import walk

VALUES = [1, 2, 3, 4, "a", True]
ARRAYS = [list(items) for size in range(5) for items in permutations(VALUES, size)]


def _array(prefix: list[list[object]], **keywords: object) -> dict[str, object]:
    return {
        "type": "array",
        "uniqueItems": True,
        "prefixItems": [{"enum": values} for values in prefix],
        "minItems": len(prefix),
        **keywords,
    }


SCHEMAS = {
    "two of two": _array([[1, 2], [2]], items=False),
    "a ring": _array([[1, 2], [2, 3], [3, 1]], items=False),
    "the last is optional": _array([[1, 2], [2], [1]], items=False, minItems=2),
    "more items": _array([[1, 2], [2, 3]], items={"enum": [3, 4]}, minItems=3),
    "more items, of which two are needed": _array([[1, 2, 3]], items={"enum": [1, 2]}, minItems=3),
    "any integer before": _array([[1]], items=False)
    | {"prefixItems": [{"type": "integer"}, {"enum": [1, 2]}]},
    "contains": _array([[1, 2], [2, 3], [3, 1]], items={"enum": [1, 2, 3, 4]}, contains={"const": 4}),
    "a match that the prefix can take": _array([[1, 2, 3]], items={"enum": [1, 4]}, contains={"const": 1}),
    "matches that the prefix can take": _array(
        [[1, 2]], items={"enum": [1, 2, 3, 4]}, contains={"enum": [1, 2, 3]}, minContains=3, maxContains=3
    ),
    "others that the prefix can take": _array(
        [[3, 4]],
        items={"enum": [1, 2, 3]},
        contains={"enum": [1, 2]},
        minContains=0,
        maxContains=1,
        minItems=3,
    ),
    "two matches that the prefix can take": _array(
        [[1, 2, 3]],
        items={"enum": [1, 2, 3]},
        allOf=[{"contains": {"const": 1}}, {"contains": {"enum": [1, 2]}}],
    ),
    "an item that a second one and the rest need": _array(
        [[1, 2, 3, 4], [1, 4, 3], [4, 3]], items={"enum": [4]}, minItems=4
    ),
    "any integer before the last": _array([[1]], items=False, minItems=2)
    | {"prefixItems": [{"type": ["integer", "null"]}, {"enum": [1]}]},
    "any text before the rest": _array([[1]], items={"enum": ["a", 1]}, minItems=3)
    | {"prefixItems": [{"type": "string", "pattern": "^[ab]$"}]},
    "objects before a number": _array([[1]], items=False)
    | {"prefixItems": [{"anyOf": [{"type": "object"}, {"const": 2}]}, {"enum": [1]}], "minItems": 2},
    "contains, and two of three are needed": _array(
        [[1, 2, 3]], items={"enum": [1, 2]}, contains={"const": 1}, minItems=3
    ),
    "contains none of some": _array(
        [[1, 2, 3]],
        items={"enum": [1, 2, 4]},
        contains={"const": 4},
        minContains=0,
        maxContains=0,
        minItems=3,
    ),
    "contains few of some": _array(
        [[1, 2, 3]], items={"enum": [1, 2, 4, "a"]}, contains={"enum": [4, "a"]}, maxContains=1, minItems=4
    ),
    "few matches": {
        "type": "array",
        "uniqueItems": True,
        "items": {"enum": VALUES},
        "contains": {"enum": [1, 2, 3]},
        "maxContains": 1,
        "minItems": 4,
    },
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_text_has_an_end_and_each_array_a_text(name: str) -> None:
    schema = SCHEMAS[name]
    validator = Draft202012Validator(schema)
    guide = sk.compile(schema, byte_vocabulary(), cache=False)
    for seed in range(3):
        validator.validate(json.loads(walk(guide, Random(seed), spare=12)))
    reader = Reader(link(read_target(schema).rules()))
    expected = [validator.is_valid(array) for array in ARRAYS]
    assert [reader.accepts(json.dumps(array).encode()) for array in ARRAYS] == expected


def test_twelve_items_of_three_values_each_are_chosen_with_regard_to_each_other() -> None:
    schema = _array([[n, (n + 1) % 12, 5 * n % 12] for n in range(12)], items=False)
    guide = sk.compile(schema, byte_vocabulary(), cache=False)
    for seed in range(2):
        items = json.loads(walk(guide, Random(seed), spare=4))
        Draft202012Validator(schema).validate(items)


@pytest.mark.parametrize(
    "schema",
    [
        _array([[1], [1]]),
        _array([[1, 2, 3]], items={"enum": [1, 2, 3]}, contains={"const": 1}, minItems=4),
        _array([[1, 4], [4]], items={"enum": [1, 2]}, contains={"const": 1}, minContains=2, maxContains=2),
        _array([[1, 2], [1, 2], [2, 1]], items=False),
        SCHEMAS["few matches"] | {"minItems": 5},
        SCHEMAS["few matches"] | {"minContains": 5, "maxContains": 6},
    ],
)
def test_too_few_distinct_items_are_no_schema(schema: dict[str, object]) -> None:
    assert not any(map(Draft202012Validator(schema).is_valid, ARRAYS))
    with pytest.raises(UnsatisfiableSchema):
        sk.compile(schema, byte_vocabulary(), cache=False)


def test_an_item_whose_language_is_not_regular_is_refused_where_it_can_take_the_last_value() -> None:
    schema = _array([[1]], items=False, minItems=2) | {"prefixItems": [True, {"enum": [1]}]}
    with pytest.raises(UnsupportedKeyword, match=r"at `\$\[0\]`:\n.*\n  give it another type"):
        sk.compile(schema, byte_vocabulary(), cache=False)


def test_an_alternative_without_enough_distinct_items_is_left_out() -> None:
    schema = {"anyOf": [_array([[1], [1]]), {"const": 7}]}
    assert walk(sk.compile(schema, byte_vocabulary(), cache=False), Random(1)) == b"7"


def _texts(*texts: str) -> Node:
    return Distinct(Choice(tuple(map(LiteralText, texts))))


def _left_alone(prefix: list[Node], min_items: int) -> bool:
    return distinct_prefix(list(map(Item, prefix)), [], EMPTY, min_items, comma=",", path="$") is None


def test_a_prefix_is_left_alone_where_any_items_will_do() -> None:
    free = Distinct(RuleRef("integer"))
    for prefix in ([_texts("1", "2"), _texts("3", "4")], [_texts("1", "2")] * 2, [free, free], []):
        assert _left_alone(prefix, len(prefix))
    assert _left_alone([_texts("1", "2"), _texts("2")], 1)


def test_items_are_restricted_where_a_later_item_needs_their_texts() -> None:
    prefix = list(map(Item, [_texts("1", "2"), _texts("2")]))
    scarce = distinct_prefix(prefix, [], EMPTY, 2, comma=",", path="$")
    second = Seq((LiteralText(","), Distinct(LiteralText("2"))))
    assert scarce == Network(4, ((3, EMPTY, 1), (2, second, 3), (0, Distinct(LiteralText("1")), 2)))


def test_texts_that_the_same_items_need_are_counted_and_not_listed() -> None:
    same = Item(_texts(*map(str, range(30))))
    more = Item(_texts(*map(str, range(31))))
    network = distinct_prefix([more, *[same] * 30], [], EMPTY, 31, comma=",", path="$")
    assert isinstance(network, Network)
    assert network.size == 33
    assert distinct_prefix([same] * 31, [], EMPTY, 31, comma=",", path="$") is NEVER
    rest = [Demand(frozenset(map(str, range(20, 31))), 2)]
    assert isinstance(distinct_prefix([same] * 29, rest, EMPTY, 29, comma=",", path="$"), Network)
    assert distinct_prefix([same] * 30, rest, EMPTY, 30, comma=",", path="$") is NEVER


def test_a_prefix_with_too_many_places_is_refused() -> None:
    many = [Item(_texts(*(str(n * k % 40) for k in range(1, 20)))) for n in range(1, 30)]
    with pytest.raises(UnsupportedKeyword, match="allow fewer values"):
        distinct_prefix(many, [], EMPTY, 29, comma=",", path="$")


@pytest.mark.parametrize(
    ("node", "texts"),
    [
        (Choice((LiteralText("a"), Repeat(LiteralText("b"), 0, 1))), {"a", "b", ""}),
        (Repeat(CharClass(((48, 49),)), 1, 1), {"0", "1"}),
        (CharClass(((0, 64),)), None),
        (Seq((CharClass(((48, 57),)),) * 2), None),
        (Choice((LiteralText("a"), RuleRef("b"))), None),
        (NEVER, set()),
    ],
)
def test_few_texts_are_listed(node: Node, texts: set[str] | None) -> None:
    assert texts_of(node) == texts
