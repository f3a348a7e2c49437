"""Relaxations of nodes have their values and more."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given

from structkit.schema.algebra.weaken import relaxations
from structkit.schema.ir.nodes import Array, Document, Integer, Schema
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
