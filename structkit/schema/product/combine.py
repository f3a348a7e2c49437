"""Combinations of object schemas that are not multiplied out.

A combination counts how many of its parts match: all of them (`allOf`), at least one (`anyOf`), exactly one (`oneOf`),
none (`not`). Values other than objects have few kinds, so their part is computed as a union at once; the objects become
a tree of `Combined` nodes, whose size is that of the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Literal, NamedTuple, TypeAlias

from structkit.schema.algebra.difference import difference
from structkit.schema.algebra.intersect import Combine, Intersector
from structkit.schema.algebra.membership import expand
from structkit.schema.ir.constructors import union
from structkit.schema.ir.nodes import (
    Additional,
    Anything,
    Array,
    Boolean,
    Combined,
    Const,
    Never,
    Null,
    Number,
    Object,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.ir.path import SchemaPath

__all__ = ["WAYS", "Products", "Way", "combine", "is_all", "is_any", "next_way"]

_ObjectPart: TypeAlias = Object | Combined | Never

_NO_OBJECTS = Never("no alternative is possible")
_ALL_OBJECTS = Object(additional=(Additional(String(), Anything(), implicit=True),))
_OTHERS = Union((Null(), Boolean(), Number(), String(), Array()))
"""All values but objects."""


def combine(
    parts: Sequence[Schema], min_count: int, max_count: int, intersector: Intersector, path: SchemaPath
) -> Schema:
    """Return the values in between `min_count` and `max_count` of the parts: in all, in some, in one or in none.

    >>> from structkit.limits import Limits
    >>> from structkit.schema.ir.definitions import Definitions
    >>> from structkit.schema.ir.nodes import Property
    >>> a = Object((Property("a", Null()),))
    >>> found = combine([a, Null()], 0, 0, Intersector(Definitions(), Limits()), SchemaPath())
    >>> found.branches[-1] == Combined((a,), 0, 0)
    True

    Raises:
        UnsupportedKeyword: The values other than objects cannot be represented exactly.
        LimitExceeded: The combinations of a document are too large.
    """
    intersector.charge(1 + len(parts), path)
    split = [_split(part, intersector, path) for part in parts]
    others, objects = [each for each, _ in split], [each for _, each in split]
    if min_count == len(parts) and not any(isinstance(each, Combined) for each in objects):
        found = intersector.intersect(objects, path)
    else:
        found = _count(objects, min_count, max_count, negated=path.is_within("not"))
    intersector.charge(_size(found, intersector.sizes) // _PARTS_PER_NODE, path)
    return union((_count_others(others, min_count, max_count, intersector, path), found))


_PARTS_PER_NODE = 32
"""Parts of a combination that are read in the time of one intersection."""


def _size(node: Schema, sizes: dict[Combined, int]) -> int:
    """Return the number of parts of a combination: one that is a part twice is read twice."""
    if not isinstance(node, Combined):
        return 1
    if node not in sizes:
        sizes[node] = 1 + sum(_size(part, sizes) for part in node.parts)
    return sizes[node]


def _split(node: Schema, intersector: Intersector, path: SchemaPath) -> tuple[Schema, _ObjectPart]:
    """Return the values of a node that are no objects, and those that are."""
    match node:
        case Anything():
            return _OTHERS, _ALL_OBJECTS
        case Object() | Combined():
            return _NO_OBJECTS, node
        case Ref(name):
            return _split(intersector.definitions.resolve(name, path), intersector, path)
        case Union(branches):
            split = [_split(branch, intersector, path) for branch in branches]
            objects = [each for _, each in split]
            return union(each for each, _ in split), _count(objects, 1, len(objects))
        case Const(text) if text[0] == "{":
            return _split(expand(node), intersector, path)
        case _:
            return node, _NO_OBJECTS


def _count_others(
    parts: Sequence[Schema], min_count: int, max_count: int, intersector: Intersector, path: SchemaPath
) -> Schema:
    """Return the values in the given number of the parts, none of which has objects."""
    if min_count == len(parts):
        return intersector.intersect(parts, path)
    if max_count == 0:
        return difference(_OTHERS, union(parts), intersector, path)
    if max_count == len(parts):
        return union(parts)
    present = [index for index, part in enumerate(parts) if not isinstance(part, Never)]
    return union(
        reduce(
            lambda rest, other: difference(rest, parts[other], intersector, path),
            (other for other in present if other != index),
            parts[index],
        )
        for index in present
    )


def _count(
    parts: Sequence[_ObjectPart], min_count: int, max_count: int, *, negated: bool = False
) -> _ObjectPart:
    """Return the objects in the given number of the parts, as a node without parts that are always or never met."""
    if len(parts) == min_count == 1:
        return parts[0]
    all_, any_ = min_count == len(parts), min_count == 1 and max_count == len(parts)
    kept: list[Object | Combined] = []
    for part in parts:
        if isinstance(part, Never):
            continue
        if part == _ALL_OBJECTS:
            min_count, max_count = min_count - 1, max_count - 1
        elif isinstance(part, Combined) and ((all_ and is_all(part)) or (any_ and is_any(part))):
            kept += part.parts
            grown = len(part.parts) - 1
            min_count, max_count = min_count + (grown if all_ else 0), max_count + grown
        else:
            kept.append(part)
    if max_count < 0 or min_count > len(kept):
        return _NO_OBJECTS
    if min_count <= 0 and max_count >= len(kept):
        return _ALL_OBJECTS
    if len(kept) == 1 and min_count == 1:
        return kept[0]
    excludes = max_count < len(kept)
    return Combined(tuple(kept), max(min_count, 0), min(max_count, len(kept)), negated and excludes)


def is_all(node: Combined) -> bool:
    """Return whether all parts must match."""
    return node.min_count == len(node.parts)


def is_any(node: Combined) -> bool:
    """Return whether at least one part must match."""
    return node.min_count == 1 and node.max_count == len(node.parts)


Products: TypeAlias = Literal["many", "always", "never"]
"""Which combinations of objects become products."""


class Way(NamedTuple):
    """How combinations of objects are computed.

    Attributes:
        combine: Represents many combinations; `None` multiplies all of them out at once.
        max_cost: Their maximum cost, if it is less than the limit of the schema.
        makes_products: Whether what `combine` represents becomes products. Otherwise it is multiplied out when all of
            the document is known.
        narrows: Whether alternatives of `oneOf` that overlap keep only the objects that one key tells apart.
    """

    combine: Combine | None = None
    max_cost: int | None = None
    makes_products: bool = False
    narrows: bool = False


_MAX_LAST_COST = 150_000
"""Maximum cost of what is tried last: all ways together are to end within about a second."""

_MULTIPLIED = Way()
_PRODUCTS = Way(combine, makes_products=True)
_MULTIPLIED_LATE = Way(combine, max_cost=_MAX_LAST_COST)
_NARROWED = Way(max_cost=_MAX_LAST_COST, narrows=True)

WAYS: dict[Products, tuple[Way, ...]] = {
    "many": (Way(max_cost=100_000), _PRODUCTS, _MULTIPLIED, _MULTIPLIED_LATE, _NARROWED),
    "always": (_PRODUCTS,),
    "never": (_MULTIPLIED, _MULTIPLIED_LATE, _NARROWED),
}
"""The ways that are tried. Products take less time from about this cost; few combinations allow keys in any order."""


def next_way(ways: Iterator[Way], tried: Intersector) -> Way | None:
    """Return the next way that may succeed where one failed: of too many combinations, or of products of objects.

    Products that took all that they may leave little for the ways behind them. Where nothing else succeeds, overlapping
    alternatives are narrowed.
    """
    may_continue = tried.is_exhausted or tried.combine is not None
    for found in ways:
        if found.narrows:
            return found if tried.met_overlap else None
        if not may_continue or (found.combine is not None and not tried.met_objects):
            continue
        if tried.is_exhausted and tried.makes_products:
            return found._replace(max_cost=_MAX_LAST_COST)
        return found
    return None
