"""Relaxations of nodes have their values and more."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given

from structkit.schema.algebra.weaken import relaxations
from structkit.schema.ir.nodes import (
    ANY_KEYS,
    Additional,
    Array,
    Contains,
    Document,
    Integer,
    Number,
    Object,
    Property,
    Schema,
    String,
)
from tests.schema.algebra.pools import POOL, pairs
from tests.schema.semantics import holds
from tests.schema.values import nodes


@example(Array())
@example(Array(items=Integer(), repeats_item=True))
@example(Integer(multiple_of=2))
@given(nodes() | pairs().map(lambda pair: pair[0]))
def test_each_relaxation_has_the_values_of_the_one_before_it(node: Schema) -> None:
    for strict, relaxed in pairwise([node, *relaxations(node)]):
        for value in POOL:
            assert holds(Document(relaxed), value) or not holds(Document(strict), value), value


def test_what_each_relaxation_keeps() -> None:
    one = (Property("a", Integer()),)
    assert list(relaxations(String(1, 2, patterns=("a",)))) == [String(1, 2)]
    for kind in (Integer, Number):
        strict = kind(minimum=1, multiple_of=2, not_multiple_of=(3,))
        assert list(relaxations(strict)) == [kind(minimum=1), kind()]
    array = Array(min_items=2, unique_items=True, contains=(Contains(Integer(), Integer()),))
    assert list(relaxations(array)) == [Array(min_items=2, unique_items=True), Array(min_items=2)]
    closed = Object(one, min_properties=1, max_properties=2, required_groups=(("a",),))
    assert list(relaxations(closed)) == [Object(one)] * 2
    opened = Object(one, additional=(Additional(String(2), Integer()),), min_properties=1)
    assert [each.additional for each in relaxations(opened) if isinstance(each, Object)] == [
        opened.additional,
        ANY_KEYS,
    ]
