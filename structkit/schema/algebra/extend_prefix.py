"""What an array must contain, moved behind a longer prefix: some of it may be among the items of the prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, combinations
from typing import TypeAlias

from structkit.errors import UnsupportedKeyword
from structkit.schema.ir.constructors import array
from structkit.schema.ir.nodes import Array, Contains, Schema
from structkit.schema.ir.path import SchemaPath

__all__ = ["MAX_COMBINATIONS", "extend_prefix"]

Intersect: TypeAlias = "Callable[[Iterable[Schema], SchemaPath], Schema]"
Charge: TypeAlias = "Callable[[int, SchemaPath], None]"

MAX_COMBINATIONS = 60
"""Ways in which the keys of one object, or the items of one array, can be what must be there."""


def extend_prefix(
    node: Array, length: int, intersect: Intersect, charge: Charge, path: SchemaPath
) -> list[Array]:
    """The arrays of the node with a prefix of at least `length` items, by which of these are what must be there.

    Args:
        node: The array.
        length: The length of the prefix.
        intersect: Gives the values that several nodes share.
        charge: Counts the work, and raises `LimitExceeded` if it is too much.
        path: The place of the array, for errors.

    Raises:
        UnsupportedKeyword: There are too many ways.
    """
    first = len(node.prefix)
    longer = (*node.prefix, *[node.items] * (length - first))
    found = [replace(node, prefix=longer, contains=())]
    for one in node.contains:
        ways: list[Array] = []
        for each in found:
            for way in _placements(each, one, range(first, len(longer)), intersect, path):
                ways.append(way)
                charge(1, path)
                if len(ways) > MAX_COMBINATIONS:
                    message = "`contains` beside so many prefixItems cannot be enforced; drop some of them"
                    raise UnsupportedKeyword("contains", message, place=path.text)
        found = ways
    return [way for way in map(array, found) if isinstance(way, Array)]


def _placements(
    node: Array, contains: Contains, positions: range, intersect: Intersect, path: SchemaPath
) -> Iterator[Array]:
    """One for each choice of the places that hold hits; all others hold misses if hits are counted from above."""
    counted = contains.max_count is not None
    most = min(len(positions), contains.min_count if contains.max_count is None else contains.max_count)
    for chosen in chain.from_iterable(combinations(positions, hits) for hits in range(most + 1)):
        prefix = list(node.prefix)
        for place in chosen if not counted else positions:
            kind = contains.matching if place in chosen else contains.others
            prefix[place] = intersect((prefix[place], kind), path.child("prefixItems", place))
        rest = replace(
            contains,
            min_count=max(contains.min_count - len(chosen), 0),
            max_count=None if contains.max_count is None else contains.max_count - len(chosen),
        )
        matters = rest.min_count > 0 or rest.max_count is not None
        yield replace(
            node,
            prefix=tuple(prefix),
            min_items=max(node.min_items, *(place + 1 for place in chosen), 0),
            contains=(*node.contains, rest) if matters else node.contains,
        )
