"""What an array must contain, moved behind a longer prefix: some of it may be among the items of the prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, combinations
from typing import TypeAlias

from structkit.errors import UnsupportedKeyword
from structkit.schema.ir.constructors import array
from structkit.schema.ir.nodes import Array, Contains, Schema
from structkit.schema.ir.path import Place

__all__ = ["MOST_WAYS", "behind"]

Intersect: TypeAlias = "Callable[[Iterable[Schema], Place], Schema]"
Charge: TypeAlias = "Callable[[int, Place], None]"

MOST_WAYS = 60
"""Ways in which the keys of one object, or the items of one array, can be what must be there."""


def behind(node: Array, count: int, intersect: Intersect, charge: Charge, at: Place) -> list[Array]:
    """The arrays of the node with a prefix of at least `count` items, by which of these are what must be there.

    Args:
        node: The array.
        count: The length of the prefix.
        intersect: Gives the values that several nodes share.
        charge: Counts the work, and raises `LimitExceeded` if it is too much.
        at: The place of the array, for errors.

    Raises:
        UnsupportedKeyword: There are too many ways.
    """
    first = len(node.prefix)
    longer = (*node.prefix, *[node.items] * (count - first))
    found = [replace(node, prefix=longer, contains=())]
    for one in node.contains:
        ways: list[Array] = []
        for each in found:
            for way in _ways(each, one, range(first, len(longer)), intersect, at):
                ways.append(way)
                charge(1, at)
                if len(ways) > MOST_WAYS:
                    message = "`contains` beside so many prefixItems cannot be enforced; drop some of them"
                    raise UnsupportedKeyword("contains", message, place=at.path)
        found = ways
    return [way for way in map(array, found) if isinstance(way, Array)]


def _ways(node: Array, contains: Contains, places: range, intersect: Intersect, at: Place) -> Iterator[Array]:
    """One for each choice of the places that hold hits; all others hold misses if hits are counted from above."""
    counted = contains.most is not None
    most = min(len(places), contains.least if contains.most is None else contains.most)
    for chosen in chain.from_iterable(combinations(places, hits) for hits in range(most + 1)):
        prefix = list(node.prefix)
        for place in chosen if not counted else places:
            kind = contains.hits if place in chosen else contains.misses
            prefix[place] = intersect((prefix[place], kind), at.under("prefixItems", place))
        rest = replace(
            contains,
            least=max(contains.least - len(chosen), 0),
            most=None if contains.most is None else contains.most - len(chosen),
        )
        matters = rest.least > 0 or rest.most is not None
        yield replace(
            node,
            prefix=tuple(prefix),
            min_items=max(node.min_items, *(place + 1 for place in chosen), 0),
            contains=(*node.contains, rest) if matters else node.contains,
        )
