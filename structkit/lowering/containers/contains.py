"""The items of an array that must contain some, or that begins with items of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import permutations

from structkit.errors import UnsupportedKeyword
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    ListPart,
    LiteralText,
    Node,
    Repeat,
    SeparatedList,
    choice,
    seq,
)
from structkit.schema.ir.nodes import Array, Contains, Schema

__all__ = ["contains_items", "interleave", "prefix_items"]

_MAX_MATCHING = 5
"""Different things that one array or object must contain."""

_RULES = 1000
"""Rules for the parts of one array or object that hold some of what must be there."""

_COPIES = 100
"""Such parts where they cannot be rules."""

_RUN = 16
"""Items of a prefix that are one rule, so that no later walk recurses far."""


def prefix_items(
    prefix: Sequence[Node],
    rest: Node,
    min_items: int,
    *,
    comma: str,
    rule: Callable[[Node, str], Node] | None,
    path: str,
) -> Node:
    """The items of a prefix and what follows them; an item is there only if all before it are.

    Args:
        prefix: The items.
        rest: What follows them.
        min_items: The items that there must be.
        comma: What stands between two items.
        rule: Makes a rule of a node, as for `containing`.
        path: The schema path, for the names of rules.

    >>> prefix_items([LiteralText("1"), LiteralText("2")], EMPTY, 1, comma=",", rule=None, path="$")
    Seq(parts=(LiteralText(value='1'), Repeat(part=LiteralText(value=',2'), min_count=0, max_count=1)))
    """
    for index in reversed(range(len(prefix))):
        rest = seq(LiteralText(comma if index else ""), prefix[index], rest)
        if index >= min_items:
            rest = Repeat(rest, 0, 1)
            if index and index % _RUN == 0 and rule is not None:
                rest = rule(rest, f"{path}[{index}]")
    return rest


def contains_items(
    schema: Array,
    item: Callable[[Schema], Node],
    *,
    comma: str,
    rule: Callable[[Node, str], Node] | None,
    path: str,
) -> Node:
    """Between the brackets of an array with `contains`.

    Args:
        schema: The array.
        item: The texts of one item.
        comma: What stands between two items.
        rule: Makes a rule of a node, under a name, and gives the call; `None` where a rule of its own would not know
            the unique texts that are written before it.
        path: The schema path, for errors.

    Raises:
        UnsupportedKeyword: It is counted in ways that no automaton of a reasonable size holds.
    """
    first = schema.contains[0]
    begun = bool(schema.prefix)
    least = max(schema.min_items - len(schema.prefix), 0)
    most = None if schema.max_items is None else schema.max_items - len(schema.prefix)
    if all((each.min_count, each.max_count) == (1, None) for each in schema.contains):
        hits = [item(each.matching) for each in schema.contains]
        return interleave(
            hits, item(schema.items), least, most, comma=comma, rule=rule, path=path, started=begun
        )
    if len(schema.contains) > 1:
        message = "`contains` that is counted, beside another `contains`, cannot be enforced; drop one"
        raise UnsupportedKeyword("contains", message, place=path)
    miss = item(schema.items if first.max_count is None else first.others)
    hit = item(first.matching)
    if most is None and least <= first.min_count:
        return _counted(hit, miss, first.min_count, first.max_count, comma, started=begun)
    return _bounded(hit, miss, first, least, most, comma=comma, rule=rule, path=path, started=begun)


def interleave(
    matching: Sequence[Node],
    other: Node,
    min_count: int,
    max_count: int | None,
    *,
    comma: str,
    rule: Callable[[Node, str], Node] | None,
    path: str,
    started: bool = False,
) -> Node:
    """All the hits in any order, with others around them, so that they are `min_count` to `max_count` together.

    Args:
        matching: What must be there.
        other: What may be there besides; `NEVER` for nothing.
        min_count: The fewest, hits and others.
        max_count: The most; `None` for any number.
        comma: What stands between two.
        rule: Makes a rule of a node, under a name, and gives the call; `None` where a rule of its own would not know
            the unique texts that are written before it.
        path: The schema path, for errors and names.
        started: Whether something is written before.

    >>> interleave([LiteralText("a")], NEVER, 0, None, comma=",", rule=None, path="$", started=True)
    LiteralText(value=',a')

    Raises:
        UnsupportedKeyword: There would be too many ways to write out.
    """
    if NEVER in matching:
        return NEVER
    places = max(min_count if max_count is None else max_count, len(matching))
    if len(matching) > _MAX_MATCHING or (places + 1) << len(matching) > (_RULES if rule else _COPIES):
        message = (
            "so much that must be contained, and such counts beside it, cannot be enforced; drop one of them"
        )
        raise UnsupportedKeyword("contains", message, place=path)

    @cache
    def after(count: int, missing: tuple[Node, ...]) -> Node:
        """What follows so many."""
        first = LiteralText(comma if count or started else "")
        if not missing:
            return _rest(
                other,
                max(min_count - count, 0),
                None if max_count is None else max_count - count,
                comma,
                first,
            )
        if max_count is None and count + len(missing) >= min_count:
            return choice(_unbounded_order(order, other, comma, first) for order in permutations(missing))
        if max_count is not None and count + len(missing) > max_count:
            return NEVER
        ways = [seq(first, hit, after(count + 1, tuple(h for h in missing if h != hit))) for hit in missing]
        if other is not NEVER and (max_count is None or count + len(missing) < max_count):
            ways.append(seq(first, other, after(count + 1, missing)))
        return rule(choice(ways), f"{path}/{count}/{len(missing)}") if rule else choice(ways)

    return after(0, tuple(matching))


def _rest(other: Node, min_count: int, max_count: int | None, comma: str, first: LiteralText) -> Node:
    """Others, after all the hits."""
    if other is NEVER or max_count == 0:
        return NEVER if min_count else EMPTY
    if first.value:
        return Repeat(seq(first, other), min_count, max_count)
    return SeparatedList((ListPart(other, min_count, max_count),), comma)


def _unbounded_order(order: Sequence[Node], other: Node, comma: str, first: LiteralText) -> Node:
    """The hits in one order, with any number of others around them."""
    none = other is NEVER
    before: Node = EMPTY if none else Repeat(seq(other, LiteralText(comma)))
    between: Node = EMPTY if none else Repeat(seq(LiteralText(comma), other))
    rest = [piece for hit in order[1:] for piece in (between, LiteralText(comma), hit)]
    return seq(first, before, order[0], *rest, between)


def _counted(
    matching: Node, other: Node, min_count: int, max_count: int | None, comma: str, *, started: bool
) -> Node:
    """Others, a hit, others, a hit, and so on."""
    first = LiteralText(comma if started else "")
    others = Repeat(seq(LiteralText(comma), other))
    none = others if started else SeparatedList((ListPart(other, 0, None),), comma)
    if max_count == 0:
        return none
    more = Repeat(
        seq(LiteralText(comma), matching, others),
        max(min_count - 1, 0),
        None if max_count is None else max_count - 1,
    )
    some = seq(
        first, Repeat(seq(other, LiteralText(comma))), matching, others, EMPTY if max_count == 1 else more
    )
    return some if min_count else choice([some, none])


def _bounded(
    matching: Node,
    other: Node,
    contains: Contains,
    min_count: int,
    max_count: int | None,
    *,
    comma: str,
    rule: Callable[[Node, str], Node] | None,
    path: str,
    started: bool,
) -> Node:
    """`min_count` to `max_count` items of which some are hits: a rule for each number of items and of hits."""
    needed, allowed = contains.min_count, contains.max_count
    highest = needed if allowed is None else allowed
    if ((min_count if max_count is None else max_count) + 1) * (highest + 1) > (_RULES if rule else _COPIES):
        message = (
            "`contains` with such counts beside the counts of items cannot be enforced; drop one of them"
        )
        raise UnsupportedKeyword("contains", message, place=path)

    @cache
    def after(count: int, hits: int) -> Node:
        """What follows so many items, of which so many are hits."""
        first = LiteralText(comma if count or started else "")
        left = None if max_count is None else max_count - count
        missing = max(needed - hits, 0)
        if left is not None and missing > left:
            return NEVER
        if allowed is None and not missing:
            return _rest(other, max(min_count - count, 0), left, comma, first)
        if allowed == hits:
            return _rest(other, max(min_count - count, 0), left, comma, first)
        if left is None and count + missing >= min_count:
            most_more = None if allowed is None else allowed - hits
            return _counted(matching, other, missing, most_more, comma, started=bool(first.value))
        ways = (
            [seq(first, matching, after(count + 1, hits + 1)), seq(first, other, after(count + 1, hits))]
            if left != 0
            else []
        )
        if count >= min_count and not missing:
            ways.append(EMPTY)
        return rule(choice(ways), f"{path}/{count}/{hits}") if rule else choice(ways)

    return after(0, 0)
