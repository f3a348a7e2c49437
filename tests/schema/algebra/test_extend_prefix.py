"""A longer prefix beside `contains`: the alternatives together are the array, compared with all short arrays."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from structkit.errors import UnsupportedKeyword
from structkit.limits import Limits
from structkit.schema.algebra.extend_prefix import MAX_COMBINATIONS, extend_prefix
from structkit.schema.algebra.intersect import Intersector
from structkit.schema.algebra.membership import contains_value
from structkit.schema.ir.constructors import union
from structkit.schema.ir.definitions import Definitions
from structkit.schema.ir.nodes import Array, Const, Contains, Schema
from structkit.schema.ir.path import SchemaPath

ONE, TWO = Const("1"), Const("2")


def _extended(node: Array, length: int, charged: list[int]) -> list[Array]:
    intersect = Intersector(Definitions(), Limits()).intersect
    return extend_prefix(node, length, intersect, lambda work, path: charged.append(work), SchemaPath())


def _holds(node: Array, items: tuple[int, ...]) -> bool:
    if len(items) < node.min_items or (node.max_items is not None and len(items) > node.max_items):
        return False
    schemas = [*node.prefix, *[node.items] * len(items)][: len(items)]
    if not all(contains_value(schema, item) for schema, item in zip(schemas, items, strict=True)):
        return False
    rest = items[len(node.prefix) :]
    for one in node.contains:
        count = sum(contains_value(one.matching, item) is True for item in rest)
        if count < one.min_count or (one.max_count is not None and count > one.max_count):
            return False
    return True


@pytest.mark.parametrize("seed", range(20))
def test_the_alternatives_are_the_array(seed: int) -> None:
    choose = Random(seed)
    either: Schema = union((ONE, TWO))
    entries = []
    for _ in range(choose.randint(1, 2)):
        matching, others = choose.sample((ONE, TWO), 2)
        least = choose.randint(0, 2)
        most = choose.choice((None, least, least + 1))
        entries.append(Contains(matching, either if most is None else others, least, most))
    prefix = (ONE,) * choose.randint(0, 1)
    node = Array(prefix, either, choose.randint(0, 2), choose.choice((None, 4)), contains=tuple(entries))
    charged: list[int] = []
    found = _extended(node, len(prefix) + choose.randint(1, 2), charged)
    assert sum(charged) >= len(found)
    for size in range(6):
        for items in product((1, 2), repeat=size):
            assert any(_holds(each, items) for each in found) == _holds(node, items), (node, items)


def test_as_many_alternatives_as_allowed() -> None:
    """A required item is at one of the new positions, or behind them."""
    node = Array(contains=(Contains(ONE, TWO),))
    found = _extended(node, MAX_COMBINATIONS - 1, [])
    assert len(found) == MAX_COMBINATIONS
    with pytest.raises(UnsupportedKeyword, match="`contains` with this many prefixItems is not supported"):
        _extended(node, MAX_COMBINATIONS, [])
