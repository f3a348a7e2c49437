"""`contains` of arrays with a longer prefix: each required item is in the prefix or after it."""

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
"""Maximum number of assignments of required keys or items to positions, for one object or array."""


def extend_prefix(
    node: Array, length: int, intersect: Intersect, charge: Charge, path: SchemaPath
) -> list[Array]:
    """Return the arrays of a node as alternatives with a prefix of at least `length` items.

    The alternatives differ in the prefix items that satisfy `contains`.

    Args:
        node: The array.
        length: The length of the prefix.
        intersect: Returns the intersection of nodes.
        charge: Counts the work; raises `LimitExceeded` if it is too much.
        path: The location of the array, for errors.

    Raises:
        UnsupportedKeyword: There are more than `MAX_COMBINATIONS` alternatives.
    """
    first = len(node.prefix)
    longer = (*node.prefix, *[node.items] * (length - first))
    found = [replace(node, prefix=longer, contains=())]
    for one in node.contains:
        options: list[Array] = []
        for each in found:
            for option in _placements(each, one, range(first, len(longer)), intersect, path):
                options.append(option)
                charge(1, path)
                if len(options) > MAX_COMBINATIONS:
                    message = (
                        "`contains` with this many prefixItems is not supported; remove some prefixItems"
                    )
                    raise UnsupportedKeyword("contains", message, place=path.text)
        found = options
    return [option for option in map(array, found) if isinstance(option, Array)]


def _placements(
    node: Array, contains: Contains, positions: range, intersect: Intersect, path: SchemaPath
) -> Iterator[Array]:
    """Iterate over the choices of matching positions; with a maximum count, all other positions must not match."""
    counted = contains.max_count is not None
    max_matching = min(
        len(positions), contains.min_count if contains.max_count is None else contains.max_count
    )
    for chosen in chain.from_iterable(combinations(positions, count) for count in range(max_matching + 1)):
        prefix = list(node.prefix)
        for index in chosen if not counted else positions:
            schema = contains.matching if index in chosen else contains.others
            prefix[index] = intersect((prefix[index], schema), path.child("prefixItems", index))
        rest = replace(
            contains,
            min_count=max(contains.min_count - len(chosen), 0),
            max_count=None if contains.max_count is None else contains.max_count - len(chosen),
        )
        is_restrictive = rest.min_count > 0 or rest.max_count is not None
        yield replace(
            node,
            prefix=tuple(prefix),
            min_items=max(node.min_items, *(index + 1 for index in chosen), 0),
            contains=(*node.contains, rest) if is_restrictive else node.contains,
        )
