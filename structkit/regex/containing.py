"""The items of an array that must contain some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

from structkit.errors import UnsupportedKeyword
from structkit.regex.nodes import EMPTY, Joined, Node, Part, Repeat, Text, alt, seq
from structkit.schema.nodes import Array, Contains, Schema

__all__ = ["containing"]

_PLACES = 32
"""Places of a hit that are written out in an array of bounded length."""


def containing(schema: Array, item: Callable[[Schema], Node], *, comma: str, place: str) -> Node:
    """Between the brackets of an array with `contains`.

    Args:
        schema: The array.
        item: The texts of one item.
        comma: What stands between two items.
        place: The schema path, for errors.

    Raises:
        UnsupportedKeyword: It is counted in ways that no automaton of a reasonable size holds.
    """
    first = schema.contains[0]
    counted = any(each.most is not None or each.least != 1 for each in schema.contains)
    bounded = schema.max_items is not None or schema.min_items > first.least
    if schema.prefix or (counted and (len(schema.contains) > 1 or bounded)):
        message = (
            "`contains` beside prefixItems, or counted beside other bounds, cannot be enforced; drop one"
        )
        raise UnsupportedKeyword("contains", message, place=place)
    if counted:
        return _counted(first, item, comma, item(schema.items))
    hits = [item(each.hits) for each in schema.contains]
    if not bounded:
        return _any_number(hits, item(schema.items), comma)
    return _within_length(schema, hits, item(schema.items), comma, place)


def _counted(contains: Contains, item: Callable[[Schema], Node], comma: str, items: Node) -> Node:
    """Others, a hit, others, a hit, and so on."""
    miss = items if contains.most is None else item(contains.misses)
    none = Joined((Part(miss, 0, None),), comma)
    if contains.most == 0:
        return none
    hit, others = item(contains.hits), Repeat(seq(Text(comma), miss))
    most = None if contains.most is None else contains.most - 1
    more = EMPTY if most == 0 else Repeat(seq(Text(comma), hit, others), max(contains.least - 1, 0), most)
    some = seq(Repeat(seq(miss, Text(comma))), hit, others, more)
    return some if contains.least else alt([some, none])


def _any_number(hits: Sequence[Node], miss: Node, comma: str) -> Node:
    """Any number of items, with all the hits among them in any order."""
    before, after = Repeat(seq(miss, Text(comma))), Repeat(seq(Text(comma), miss))
    options = []
    for order in permutations(hits):
        rest = [piece for hit in order[1:] for piece in (after, Text(comma), hit)]
        options.append(seq(before, order[0], *rest, after))
    return alt(options)


def _within_length(schema: Array, hits: Sequence[Node], miss: Node, comma: str, place: str) -> Node:
    """At least one hit in an array of bounded length, by where it is."""
    most = schema.max_items
    places = max(schema.min_items if most is None else most, 1)
    if places > _PLACES or len(hits) > 1:
        message = "`contains` beside a large minItems or maxItems cannot be enforced; drop one of them"
        raise UnsupportedKeyword("contains", message, place=place)
    before, after = seq(miss, Text(comma)), seq(Text(comma), miss)
    options = []
    for index in range(places):
        if most is None and index == places - 1:
            options.append(seq(Repeat(before, index, None), hits[0], Repeat(after)))
        else:
            high = None if most is None else most - index - 1
            rest = EMPTY if high == 0 else Repeat(after, max(schema.min_items - index - 1, 0), high)
            options.append(seq(*[before] * index, hits[0], rest))
    return alt(options)
