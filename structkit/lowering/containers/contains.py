"""The items of an array that must contain some, or that begins with items of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import permutations

from structkit.errors import UnsupportedKeyword
from structkit.regex.nodes import EMPTY, NEVER, Joined, Node, Part, Repeat, Text, alt, seq
from structkit.schema.ir.nodes import Array, Contains, Schema

__all__ = ["among", "containing", "prefixed"]

_HITS = 5
"""Different things that one array or object must contain."""

_RULES = 1000
"""Rules for the parts of one array or object that hold some of what must be there."""

_COPIES = 100
"""Such parts where they cannot be rules."""

_RUN = 16
"""Items of a prefix that are one rule, so that no later walk recurses far."""


def prefixed(
    prefix: Sequence[Node],
    inside: Node,
    least: int,
    *,
    comma: str,
    rule: Callable[[Node, str], Node] | None,
    place: str,
) -> Node:
    """The items of a prefix and what follows them; an item is there only if all before it are.

    Args:
        prefix: The items.
        inside: What follows them.
        least: The items that there must be.
        comma: What stands between two items.
        rule: Makes a rule of a node, as for `containing`.
        place: The schema path, for the names of rules.

    >>> prefixed([Text("1"), Text("2")], EMPTY, 1, comma=",", rule=None, place="$")
    Seq(parts=(Text(value='1'), Repeat(part=Text(value=',2'), least=0, most=1)))
    """
    for index in reversed(range(len(prefix))):
        inside = seq(Text(comma if index else ""), prefix[index], inside)
        if index >= least:
            inside = Repeat(inside, 0, 1)
            if index and index % _RUN == 0 and rule is not None:
                inside = rule(inside, f"{place}[{index}]")
    return inside


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
    begun = bool(schema.prefix)
    least = max(schema.min_items - len(schema.prefix), 0)
    most = None if schema.max_items is None else schema.max_items - len(schema.prefix)
    if all((each.least, each.most) == (1, None) for each in schema.contains):
        hits = [item(each.hits) for each in schema.contains]
        return among(hits, item(schema.items), least, most, comma=comma, rule=rule, place=place, begun=begun)
    if len(schema.contains) > 1:
        message = "`contains` that is counted, beside another `contains`, cannot be enforced; drop one"
        raise UnsupportedKeyword("contains", message, place=place)
    miss = item(schema.items if first.most is None else first.misses)
    hit = item(first.hits)
    if most is None and least <= first.least:
        return _counted(hit, miss, first.least, first.most, comma, begun=begun)
    return _bounded(hit, miss, first, least, most, comma=comma, rule=rule, place=place, begun=begun)


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
        if other is not NEVER and (most is None or count + len(missing) < most):
            ways.append(seq(first, other, after(count + 1, missing)))
        return rule(alt(ways), f"{place}/{count}/{len(missing)}") if rule else alt(ways)

    return after(0, tuple(hits))


def _rest(other: Node, least: int, most: int | None, comma: str, first: Text) -> Node:
    """Others, after all the hits."""
    if other is NEVER or most == 0:
        return NEVER if least else EMPTY
    if first.value:
        return Repeat(seq(first, other), least, most)
    return Joined((Part(other, least, most),), comma)


def _free(order: Sequence[Node], other: Node, comma: str, first: Text) -> Node:
    """The hits in one order, with any number of others around them."""
    none = other is NEVER
    before: Node = EMPTY if none else Repeat(seq(other, Text(comma)))
    between: Node = EMPTY if none else Repeat(seq(Text(comma), other))
    rest = [piece for hit in order[1:] for piece in (between, Text(comma), hit)]
    return seq(first, before, order[0], *rest, between)


def _counted(hit: Node, miss: Node, least: int, most: int | None, comma: str, *, begun: bool) -> Node:
    """Others, a hit, others, a hit, and so on."""
    first = Text(comma if begun else "")
    others = Repeat(seq(Text(comma), miss))
    none = others if begun else Joined((Part(miss, 0, None),), comma)
    if most == 0:
        return none
    more = Repeat(seq(Text(comma), hit, others), max(least - 1, 0), None if most is None else most - 1)
    some = seq(first, Repeat(seq(miss, Text(comma))), hit, others, EMPTY if most == 1 else more)
    return some if least else alt([some, none])


def _bounded(
    hit: Node,
    miss: Node,
    contains: Contains,
    least: int,
    most: int | None,
    *,
    comma: str,
    rule: Callable[[Node, str], Node] | None,
    place: str,
    begun: bool,
) -> Node:
    """`least` to `most` items of which some are hits: a rule for each number of items and of hits."""
    needed, allowed = contains.least, contains.most
    highest = needed if allowed is None else allowed
    if ((least if most is None else most) + 1) * (highest + 1) > (_RULES if rule else _COPIES):
        message = (
            "`contains` with such counts beside the counts of items cannot be enforced; drop one of them"
        )
        raise UnsupportedKeyword("contains", message, place=place)

    @cache
    def after(count: int, hits: int) -> Node:
        """What follows so many items, of which so many are hits."""
        first = Text(comma if count or begun else "")
        left = None if most is None else most - count
        missing = max(needed - hits, 0)
        if left is not None and missing > left:
            return NEVER
        if allowed is None and not missing:
            return _rest(miss, max(least - count, 0), left, comma, first)
        if allowed == hits:
            return _rest(miss, max(least - count, 0), left, comma, first)
        if left is None and count + missing >= least:
            most_more = None if allowed is None else allowed - hits
            return _counted(hit, miss, missing, most_more, comma, begun=bool(first.value))
        ways = (
            [seq(first, hit, after(count + 1, hits + 1)), seq(first, miss, after(count + 1, hits))]
            if left != 0
            else []
        )
        if count >= least and not missing:
            ways.append(EMPTY)
        return rule(alt(ways), f"{place}/{count}/{hits}") if rule else alt(ways)

    return after(0, 0)
