"""Tests of the proofs that branches share no value."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import LimitExceeded
from structkit.limits import Limits
from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.schema.algebra.disjoint import disjoint_before_definitions, may_intersect, pairwise_disjoint
from structkit.schema.ir.nodes import (
    Additional,
    Anything,
    Array,
    Boolean,
    Const,
    Integer,
    Null,
    Object,
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from tests.schema.reading import read

KEYS = st.dictionaries(st.sampled_from("abc"), st.booleans())
"""The keys of an object, and whether each is required."""
SIMPLE = st.sampled_from([Null(), Integer(minimum=0), Integer(maximum=-1), String(), Ref("n"), Ref("s")])
DEFINITIONS: dict[str, Schema] = {"n": Null(), "s": String()}


def _object(keys: dict[str, bool]) -> Object:
    return Object(tuple(Property(name, Anything(), required) for name, required in keys.items()))


def _accepted(keys: dict[str, bool]) -> set[frozenset[str]]:
    """Return the sets of keys that a closed object accepts."""
    optional = [name for name, required in keys.items() if not required]
    subsets = (subset for size in range(len(optional) + 1) for subset in combinations(optional, size))
    return {frozenset((*subset, *(keys.keys() - set(optional)))) for subset in subsets}


@given(st.lists(KEYS, max_size=4))
def test_closed_objects_are_disjoint_if_no_set_of_keys_fits_two(objects: list[dict[str, bool]]) -> None:
    expected = all(_accepted(left).isdisjoint(_accepted(right)) for left, right in combinations(objects, 2))
    assert pairwise_disjoint([_object(keys) for keys in objects], {}.get) == expected


def test_a_key_of_its_own_does_not_separate_an_open_object() -> None:
    group = Additional(String(), Anything())
    opened = [Object((Property(name, Anything()),), additional=(group,)) for name in "ab"]
    assert not pairwise_disjoint(opened, {}.get)


@given(st.lists(SIMPLE, max_size=3), st.booleans())
def test_an_answer_without_definitions_is_the_answer_with_them(nodes: list[Schema], nested: bool) -> None:
    branches = [Object((Property("k", node),)) for node in nodes] if nested else nodes
    early = disjoint_before_definitions(branches)
    assert early in (None, pairwise_disjoint(branches, DEFINITIONS.get))
    if not any(isinstance(node, Ref) for node in nodes):
        assert early is not None


def _tagged(*tags: str | None) -> Object:
    names = zip("xyz", tags, strict=False)
    keys = (Property(name, Const(f'"{tag}"'), required=True) for name, tag in names if tag is not None)
    return Object(tuple(keys), additional=(Additional(String(), Anything()),))


def test_objects_that_agree_in_one_key_differ_in_another() -> None:
    # The comparisons in pairs are more than one proof may make.
    nodes = [_tagged(f"v{first}", "same", f"k{second}") for first in range(25) for second in range(25)]
    assert pairwise_disjoint(nodes, {}.get)
    nodes = nodes[::6]
    assert not pairwise_disjoint([*nodes, _tagged("v6", "same", "k6")], {}.get)
    assert not pairwise_disjoint([*nodes, _tagged("v6", "same")], {}.get)
    assert not pairwise_disjoint([*nodes, _tagged(None, "same", "k6")], {}.get)


@given(st.lists(st.tuples(*[st.sampled_from(["a", "b", None])] * 3), min_size=2, max_size=5))
def test_tagged_objects_are_disjoint_if_each_two_differ_in_a_key_of_both(
    tags: list[tuple[str | None, ...]],
) -> None:
    expected = all(
        any(None is not one != other is not None for one, other in zip(left, right, strict=True))
        for left, right in combinations(tags, 2)
    )
    assert pairwise_disjoint([_tagged(*each) for each in tags], {}.get) == expected


PIECES = st.sampled_from(["a", "b", "ab", r"\.", "-", "a*", "b?", "a{2}", "[ab]", "(a|b)", "a|b", "."])
PATTERNS = st.builds(
    lambda start, pieces, end: start + "".join(pieces) + end,
    st.sampled_from(["^", ""]),
    st.lists(PIECES, max_size=4),
    st.sampled_from(["$", ""]),
)


@given(PATTERNS, PATTERNS)
def test_patterns_that_begin_differently_are_disjoint(left: str, right: str) -> None:
    both = String(patterns=(left, right))
    # The oracle that decides nothing leaves the comparison of the beginnings.
    if pairwise_disjoint([String(patterns=(left,)), String(patterns=(right,))], {}.get):
        assert AutomatonOracle(python=False).is_empty(both)


def test_many_patterns_are_compared_without_automata() -> None:
    nodes = [String(patterns=(f"^k{number}-[a-z]+$",)) for number in range(300)]
    assert pairwise_disjoint(nodes, {}.get)
    assert not pairwise_disjoint([*nodes, String(patterns=("^k1-b",))], {}.get)


def test_constants_are_compared_by_value_and_not_in_pairs() -> None:
    numbers = [Const(str(number)) for number in range(3_000)]
    evens, odds = Union(tuple(numbers[::2])), Union(tuple(numbers[1::2]))
    assert pairwise_disjoint([evens, odds], {}.get)
    assert not pairwise_disjoint([evens, Union((*odds.branches, Const("8.0")))], {}.get)
    assert pairwise_disjoint([evens, Union((*odds.branches, Const('"8"'), Const("true")))], {}.get)


@given(*[st.frozensets(st.sampled_from([Null(), Integer(), String(), Boolean()]), min_size=1)] * 2)
def test_alternatives_of_a_key_separate_objects_if_they_have_no_type_in_common(
    left: frozenset[Schema], right: frozenset[Schema]
) -> None:
    one, other = (
        Object((Property("k", Union(tuple(types)) if len(types) > 1 else next(iter(types))),))
        for types in (left, right)
    )
    assert may_intersect(one, other, AutomatonOracle(python=False), print) == (not left.isdisjoint(right))


def test_the_comparisons_of_a_proof_are_paid() -> None:
    paid: list[int] = []
    arrays = [Array(prefix=(Integer(),) * 50, min_items=50), Array(prefix=(Integer(),) * 50, min_items=50)]
    assert disjoint_before_definitions(arrays, pay=paid.append) is False
    assert paid == [51]


@pytest.mark.parametrize("has_references", [False, True])
def test_the_proofs_of_all_one_ofs_are_paid_together(has_references: bool) -> None:
    """Those that references postpone, too; without it, each could make as many comparisons as one may."""

    def one_of(number: int) -> dict[str, object]:
        items = {"type": "integer", "minimum": number}
        arrays = [{"type": "array", "items": items, "minItems": n, "maxItems": n} for n in range(30)]
        return {"oneOf": [*arrays, {"$ref": "#"}] if has_references else arrays}

    schema = {"type": "object", "properties": {f"k{number}": one_of(number) for number in range(6)}}
    read(schema, limits=Limits(schema_nodes=8_000))
    with pytest.raises(LimitExceeded, match="schema_nodes"):
        read(schema, limits=Limits(schema_nodes=2_500))


def test_arrays_are_disjoint_if_an_item_that_both_have_is() -> None:
    """Compared with all lengths: arrays of one length share a value if their items do at each position."""
    rng, kinds = random.Random(1), (Null(), Integer(), String(), Boolean())
    found = set()
    for _ in range(400):
        left, right = (
            Array(
                tuple(rng.choices(kinds, k=rng.randrange(3))),
                rng.choice(kinds),
                min_items=rng.randrange(4),
                max_items=rng.choice([None, 3, 4]),
            )
            for _ in range(2)
        )
        items = [[*each.prefix, *[each.items] * 5] for each in (left, right)]
        lengths = range(
            max(left.min_items, right.min_items), min(left.max_items or 5, right.max_items or 5) + 1
        )
        shared = any(all(a == b for a, b in zip(items[0][:n], items[1][:n], strict=True)) for n in lengths)
        assert pairwise_disjoint([left, right], {}.get) == (not shared), (left, right)
        found.add(shared)
    assert found == {True, False}
