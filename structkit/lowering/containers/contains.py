"""Arrays with `contains` or `prefixItems`."""

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
"""Maximum number of different parts that one array or object must contain."""

_MAX_RULES = 1000
"""Maximum number of rules for the states of one array or object."""

_MAX_COPIES = 100
"""Maximum number of copies for the same states where they cannot be rules."""

_ITEMS_PER_RULE = 16
"""Items of a prefix per rule, which bounds the recursion of later walks."""


def prefix_items(
    prefix: Sequence[Node],
    rest: Node,
    min_items: int,
    *,
    comma: str,
    rule: Callable[[Node, str], Node] | None,
    path: str,
) -> Node:
    """Return the items of a prefix, then `rest`; an item is present only if all items before it are.

    Args:
        prefix: The items.
        rest: The language after the prefix.
        min_items: Minimum number of items.
        comma: Separator of items.
        rule: As for `contains_items`.
        path: The schema path, for the names of rules.

    >>> prefix_items([LiteralText("1"), LiteralText("2")], EMPTY, 1, comma=",", rule=None, path="$")
    Seq(parts=(LiteralText(value='1'), Repeat(part=LiteralText(value=',2'), min_count=0, max_count=1)))
    """
    for index in reversed(range(len(prefix))):
        rest = seq(LiteralText(comma if index else ""), prefix[index], rest)
        if index >= min_items:
            rest = Repeat(rest, 0, 1)
            if index and index % _ITEMS_PER_RULE == 0 and rule is not None:
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
    """Return the language between the brackets of an array with `contains`.

    Args:
        schema: The array.
        item: Lowers one item.
        comma: Separator of items.
        rule: Adds a node as a rule of a given name and returns the call; `None` for unique items, because a rule
            does not see the texts that precede it.
        path: The schema path, for errors.

    Raises:
        UnsupportedKeyword: The counts need too large an automaton.
    """
    first = schema.contains[0]
    started = bool(schema.prefix)
    min_count = max(schema.min_items - len(schema.prefix), 0)
    max_count = None if schema.max_items is None else schema.max_items - len(schema.prefix)
    if all((each.min_count, each.max_count) == (1, None) for each in schema.contains):
        matching = [item(each.matching) for each in schema.contains]
        return interleave(
            matching,
            item(schema.items),
            min_count,
            max_count,
            comma=comma,
            rule=rule,
            path=path,
            started=started,
        )
    if len(schema.contains) > 1:
        message = "a counted `contains` together with another `contains` cannot be enforced; drop one"
        raise UnsupportedKeyword("contains", message, place=path)
    other = item(schema.items if first.max_count is None else first.others)
    match = item(first.matching)
    if max_count is None and min_count <= first.min_count:
        return _counted(match, other, first.min_count, first.max_count, comma, started=started)
    return _bounded(
        match, other, first, min_count, max_count, comma=comma, rule=rule, path=path, started=started
    )


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
    """Return lists of `min_count` to `max_count` parts that contain each of `matching`, in any order.

    Args:
        matching: The required parts.
        other: Any other part; `NEVER` for none.
        min_count: Minimum number of parts, matching and others.
        max_count: Maximum number; `None` for no maximum.
        comma: Separator of parts.
        rule: As for `contains_items`.
        path: The schema path, for errors and the names of rules.
        started: Whether a part precedes the list.

    >>> interleave([LiteralText("a")], NEVER, 0, None, comma=",", rule=None, path="$", started=True)
    LiteralText(value=',a')

    Raises:
        UnsupportedKeyword: There are too many combinations.
    """
    if NEVER in matching:
        return NEVER
    positions = max(min_count if max_count is None else max_count, len(matching))
    if len(matching) > _MAX_MATCHING or (positions + 1) << len(matching) > (
        _MAX_RULES if rule else _MAX_COPIES
    ):
        message = "these required parts together with these counts cannot be enforced; drop one of them"
        raise UnsupportedKeyword("contains", message, place=path)

    @cache
    def after(count: int, missing: tuple[Node, ...]) -> Node:
        """Return the language after `count` parts."""
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
        options = [
            seq(first, part, after(count + 1, tuple(each for each in missing if each != part)))
            for part in missing
        ]
        if other is not NEVER and (max_count is None or count + len(missing) < max_count):
            options.append(seq(first, other, after(count + 1, missing)))
        return rule(choice(options), f"{path}/{count}/{len(missing)}") if rule else choice(options)

    return after(0, tuple(matching))


def _rest(other: Node, min_count: int, max_count: int | None, comma: str, first: LiteralText) -> Node:
    """Return the parts after all matching ones."""
    if other is NEVER or max_count == 0:
        return NEVER if min_count else EMPTY
    if first.value:
        return Repeat(seq(first, other), min_count, max_count)
    return SeparatedList((ListPart(other, min_count, max_count),), comma)


def _unbounded_order(order: Sequence[Node], other: Node, comma: str, first: LiteralText) -> Node:
    """Return the matching parts in one order, with any number of others around them."""
    has_no_others = other is NEVER
    before: Node = EMPTY if has_no_others else Repeat(seq(other, LiteralText(comma)))
    between: Node = EMPTY if has_no_others else Repeat(seq(LiteralText(comma), other))
    rest = [piece for part in order[1:] for piece in (between, LiteralText(comma), part)]
    return seq(first, before, order[0], *rest, between)


def _counted(
    matching: Node, other: Node, min_count: int, max_count: int | None, comma: str, *, started: bool
) -> Node:
    """Return `min_count` to `max_count` matching parts among any number of others."""
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
    """Return `min_count` to `max_count` items with a bounded number of matches: a rule for each pair of counts."""
    needed, allowed = contains.min_count, contains.max_count
    tracked_matches = needed if allowed is None else allowed
    if ((min_count if max_count is None else max_count) + 1) * (tracked_matches + 1) > (
        _MAX_RULES if rule else _MAX_COPIES
    ):
        message = "these counts of `contains` together with the counts of items cannot be enforced; drop one of them"
        raise UnsupportedKeyword("contains", message, place=path)

    @cache
    def after(count: int, matches: int) -> Node:
        """Return the language after `count` items, of which `matches` match."""
        first = LiteralText(comma if count or started else "")
        remaining = None if max_count is None else max_count - count
        missing = max(needed - matches, 0)
        if remaining is not None and missing > remaining:
            return NEVER
        if allowed is None and not missing:
            return _rest(other, max(min_count - count, 0), remaining, comma, first)
        if allowed == matches:
            return _rest(other, max(min_count - count, 0), remaining, comma, first)
        if remaining is None and count + missing >= min_count:
            max_matches = None if allowed is None else allowed - matches
            return _counted(matching, other, missing, max_matches, comma, started=bool(first.value))
        options = (
            [
                seq(first, matching, after(count + 1, matches + 1)),
                seq(first, other, after(count + 1, matches)),
            ]
            if remaining != 0
            else []
        )
        if count >= min_count and not missing:
            options.append(EMPTY)
        return rule(choice(options), f"{path}/{count}/{matches}") if rule else choice(options)

    return after(0, 0)
