"""Arrays with `contains` or `prefixItems`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial, reduce
from itertools import combinations, permutations
from math import inf
from typing import TypeAlias, TypeVar

from structkit.errors import UnsupportedKeyword
from structkit.lowering.containers.distinct_prefix import Demand, texts_of
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    CharClass,
    Choice,
    Distinct,
    Intersection,
    ListPart,
    LiteralText,
    Node,
    Repeat,
    SeparatedList,
    Seq,
    choice,
    seq,
)
from structkit.schema.ir.nodes import Array, Contains, Schema

__all__ = ["contains_demands", "contains_items", "interleave", "prefix_items"]

State = TypeVar("State", bound=Hashable)

_Moves: TypeAlias = tuple[list[tuple[Node, State]], list[Node]]
"""The parts that may follow, each with the state after it, and the languages with which a list may end."""

_MAX_MATCHING = 5
"""Maximum number of different parts that one array or object must contain."""

_MAX_ORDERED = 2
"""Maximum number of required parts without counts whose orders are listed, if they have small automata."""

_MAX_COUNT = 16
"""Maximum count of characters in an item with a small automaton."""

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
        rest = seq(comma if index else "", prefix[index], rest)
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
        matching, other = [item(each.matching) for each in schema.contains], item(schema.items)
        has_no_counts = max_count is None and min_count <= len(matching)
        is_ordered = len(matching) <= _MAX_ORDERED or NEVER in matching
        if has_no_counts and not is_ordered and all(map(_is_plain, (*matching, other))):
            return _meeting(matching, other, comma, started=started)
        return interleave(
            matching,
            other,
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


def contains_demands(schema: Array, item: Callable[[Schema], Node], min_count: int) -> list[Demand]:
    """Return what the items after the prefix of an array of unique items with `contains` need.

    Args:
        schema: The array.
        item: Lowers one item.
        min_count: Minimum number of items after the prefix.
    """
    first = schema.contains[0]
    matching = [item(each.matching) for each in schema.contains]
    other = item(schema.items if first.max_count is None else first.others)
    # Different items match different constraints, so those of any subset need as many items.
    needed = [
        (subset, first.min_count if len(matching) == 1 else size)
        for size in range(1, len(matching) + 1)
        for subset in combinations(matching, size)
    ]
    needed.append(((*matching, other), min_count))
    if first.max_count is not None:
        needed.append(((other,), min_count - first.max_count))
    most = len(schema.prefix)
    found = [
        (
            texts_of(
                choice(each.node if isinstance(each, Distinct) else each for each in nodes), most + count
            ),
            count,
        )
        for nodes, count in needed
        if count > 0
    ]
    return [Demand(texts, count) for texts, count in found if texts is not None]


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

    def moves(count: int, missing: tuple[Node, ...]) -> _Moves[tuple[Node, ...]]:
        first = _separator(comma, is_first=not (count or started))
        if not missing:
            rest = None if max_count is None else max_count - count
            return [], [_rest(other, max(min_count - count, 0), rest, comma, first)]
        if max_count is None and count + len(missing) >= min_count:
            if rule is not None and len(missing) > _MAX_ORDERED:
                before = EMPTY if other is NEVER else Repeat(seq(other, comma))
                return [
                    (seq(before, part), tuple(each for each in missing if each != part)) for part in missing
                ], []
            return [], [_unbounded_order(order, other, comma, first) for order in permutations(missing)]
        if max_count is not None and count + len(missing) > max_count:
            return [], []
        parts = [(part, tuple(each for each in missing if each != part)) for part in missing]
        if other is not NEVER and (max_count is None or count + len(missing) < max_count):
            parts.append((other, missing))
        return parts, []

    return _counted_parts(
        tuple(matching),
        moves,
        lambda missing: f"{len(missing)}",
        comma=comma,
        rule=rule,
        path=path,
        started=started,
    )


def _counted_parts(
    start: State,
    moves: Callable[[int, State], _Moves[State]],
    name: Callable[[State], str],
    *,
    comma: str,
    rule: Callable[[Node, str], Node] | None,
    path: str,
    started: bool,
) -> Node:
    """Return the lists whose parts each lead from one state to another.

    Args:
        start: The state before the first part.
        moves: Returns, for the number of parts so far and a state, the parts that may follow, each with the state after
            it, and the languages with which the list may end instead.
        name: Names a state, for the names of rules.
        comma: Separator of parts.
        rule: As for `contains_items`.
        path: The schema path, for the names of rules.
        started: Whether a part precedes the list.
    """
    found = {(0, start): moves(0, start)}
    order = [(0, start)]
    for count, state in order:
        for _, after in found[count, state][0]:
            if (count + 1, after) not in found:
                found[count + 1, after] = moves(count + 1, after)
                order.append((count + 1, after))
    nodes: dict[tuple[int, State], Node] = {}
    for count, state in reversed(order):
        parts, ends = found[count, state]
        first = _separator(comma, is_first=not (count or started))
        options = [seq(first, part, nodes[count + 1, after]) for part, after in parts]
        node = choice([*options, *ends])
        if rule is not None and parts and node is not NEVER:
            node = rule(node, f"{path}/{count}/{name(state)}")
        nodes[count, state] = node
    return nodes[0, start]


def _separator(comma: str, *, is_first: bool) -> LiteralText:
    return LiteralText("" if is_first else comma)


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
    before: Node = EMPTY if has_no_others else Repeat(seq(other, comma))
    between: Node = EMPTY if has_no_others else Repeat(seq(comma, other))
    rest = [piece for part in order[1:] for piece in (between, LiteralText(comma), part)]
    return seq(first, before, order[0], *rest, between)


def _meeting(matching: Sequence[Node], other: Node, comma: str, *, started: bool) -> Node:
    """Return the lists that contain each of `matching`: those that contain the first, and the second, and so on.

    An automaton of all orders distinguishes the orders of items that are both matching and other. That of the
    intersection distinguishes only what is missing.
    """
    first = LiteralText(comma if started else "")
    lists = (_unbounded_order((part,), other, comma, first) for part in matching)
    return reduce(partial(Intersection, lookahead=r"\]"), lists)


def _is_plain(node: Node) -> bool:
    """Return whether the automaton of an item is small: it calls no rules, and counts only to small numbers."""
    match node:
        case Repeat(part, min_count, max_count):
            return max(min_count, max_count or 0) <= _MAX_COUNT and _is_plain(part)
        case LiteralText() | CharClass():
            return True
        case Seq(parts) | Choice(parts):
            return all(map(_is_plain, parts))
        case _:
            return False


def _counted(
    matching: Node, other: Node, min_count: int, max_count: int | None, comma: str, *, started: bool
) -> Node:
    """Return `min_count` to `max_count` matching parts among any number of others."""
    first = LiteralText(comma if started else "")
    others = Repeat(seq(comma, other))
    none = others if started else SeparatedList((ListPart(other, 0, None),), comma)
    if max_count == 0:
        return none
    more = Repeat(
        seq(comma, matching, others),
        max(min_count - 1, 0),
        None if max_count is None else max_count - 1,
    )
    some = seq(first, Repeat(seq(other, comma)), matching, others, EMPTY if max_count == 1 else more)
    return some if min_count else choice([some, none])


def _number_of_texts(node: Node) -> float:
    """Return the number of texts of an item; infinity if there are many."""
    texts = texts_of(node)
    return inf if texts is None else len(texts)


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

    # Matching and other items have no text in common if the matches have a maximum.
    is_distinct = rule is None and allowed is not None
    most_matches = _number_of_texts(matching) if is_distinct else inf
    most_others = _number_of_texts(other) if is_distinct else inf

    def moves(count: int, matches: int) -> _Moves[int]:
        first = _separator(comma, is_first=not (count or started))
        remaining = None if max_count is None else max_count - count
        missing = max(needed - matches, 0)
        left = most_matches - matches, most_others - (count - matches)
        more = min(left[0], inf if allowed is None else allowed - matches)
        if min(left) < 0 or left[0] < missing or more + left[1] < min_count - count:
            return [], []
        if remaining is not None and missing > remaining:
            return [], []
        if allowed == matches or (allowed is None and not missing):
            return [], [_rest(other, max(min_count - count, 0), remaining, comma, first)]
        if remaining is None and count + missing >= min_count:
            max_matches = None if allowed is None else allowed - matches
            return [], [_counted(matching, other, missing, max_matches, comma, started=bool(first.value))]
        ends: list[Node] = [EMPTY] if count >= min_count and not missing else []
        return [] if remaining == 0 else [(matching, matches + 1), (other, matches)], ends

    return _counted_parts(0, moves, str, comma=comma, rule=rule, path=path, started=started)
