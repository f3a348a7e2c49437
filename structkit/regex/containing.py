"""The items of an array that must contain some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import permutations

from structkit.errors import UnsupportedKeyword
from structkit.regex.nodes import EMPTY, NEVER, Joined, Node, Part, Repeat, Text, alt, seq
from structkit.schema.nodes import Array, Contains, Schema

__all__ = ["among", "containing"]

_HITS = 5
"""Different things that one array or object must contain."""

_RULES = 1000
"""Rules for the parts of one array or object that hold some of what must be there."""

_COPIES = 100
"""Such parts where they cannot be rules."""


def containing(
    schema: Array,
    item: Callable[[Schema], Node],
    *,
    comma: str,
    rule: Callable[[Node, str], Node] | None,
    place: str,
) -> Node:
    """Between the brackets of an array with `contains`.

    Args:
        schema: The array.
        item: The texts of one item.
        comma: What stands between two items.
        rule: Makes a rule of a node, under a name, and gives the call; `None` where a rule of its own would not know
            the unique texts that are written before it.
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
    least, most = schema.min_items, schema.max_items
    return among(hits, item(schema.items), least, most, comma=comma, rule=rule, place=place)


def among(
    hits: Sequence[Node],
    other: Node,
    least: int,
    most: int | None,
    *,
    comma: str,
    rule: Callable[[Node, str], Node] | None,
    place: str,
    begun: bool = False,
) -> Node:
    """All the hits in any order, with others around them, so that they are `least` to `most` together.

    Args:
        hits: What must be there.
        other: What may be there besides; `NEVER` for nothing.
        least: The fewest, hits and others.
        most: The most; `None` for any number.
        comma: What stands between two.
        rule: Makes a rule of a node, under a name, and gives the call; `None` where a rule of its own would not know
            the unique texts that are written before it.
        place: The schema path, for errors and names.
        begun: Whether something is written before.

    >>> among([Text("a")], NEVER, 0, None, comma=",", rule=None, place="$", begun=True)
    Text(value=',a')

    Raises:
        UnsupportedKeyword: There would be too many ways to write out.
    """
    if NEVER in hits:
        return NEVER
    places = max(least if most is None else most, len(hits))
    if len(hits) > _HITS or (places + 1) << len(hits) > (_RULES if rule else _COPIES):
        message = (
            "so much that must be contained, and such counts beside it, cannot be enforced; drop one of them"
        )
        raise UnsupportedKeyword("contains", message, place=place)

    @cache
    def after(count: int, missing: tuple[Node, ...]) -> Node:
        """What follows so many."""
        first = Text(comma if count or begun else "")
        if not missing:
            return _rest(other, max(least - count, 0), None if most is None else most - count, comma, first)
        if most is None and count + len(missing) >= least:
            return alt(_free(order, other, comma, first) for order in permutations(missing))
        if most is not None and count + len(missing) > most:
            return NEVER
        ways = [seq(first, hit, after(count + 1, tuple(h for h in missing if h != hit))) for hit in missing]
        if other != NEVER and (most is None or count + len(missing) < most):
            ways.append(seq(first, other, after(count + 1, missing)))
        return rule(alt(ways), f"{place}/{count}/{len(missing)}") if rule else alt(ways)

    return after(0, tuple(hits))


def _rest(other: Node, least: int, most: int | None, comma: str, first: Text) -> Node:
    """Others, after all the hits."""
    if other == NEVER or most == 0:
        return NEVER if least else EMPTY
    if first.value:
        return Repeat(seq(first, other), least, most)
    return Joined((Part(other, least, most),), comma)


def _free(order: Sequence[Node], other: Node, comma: str, first: Text) -> Node:
    """The hits in one order, with any number of others around them."""
    none = other == NEVER
    before: Node = EMPTY if none else Repeat(seq(other, Text(comma)))
    between: Node = EMPTY if none else Repeat(seq(Text(comma), other))
    rest = [piece for hit in order[1:] for piece in (between, Text(comma), hit)]
    return seq(first, before, order[0], *rest, between)


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
