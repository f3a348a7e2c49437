"""Prefixes of arrays of unique items, whose items must leave the later ones a choice.

After `[2` no array of `{"prefixItems": [{"enum": [1, 2]}, {"enum": [2]}], "minItems": 2, "uniqueItems": true}` has an
end: items that differ from all before them exist only if the items before them are chosen with regard to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    CharClass,
    Choice,
    Distinct,
    LiteralText,
    Network,
    Node,
    Repeat,
    Seq,
    choice,
    seq,
)

__all__ = ["distinct_prefix", "texts_of"]

_MAX_TEXTS = 64
"""Maximum number of texts of an item that are listed; an item with more is assumed to have enough of them."""

_MAX_PLACES = 1_000
"""Maximum number of places in a prefix; in larger ones items are not chosen with regard to later ones."""

_Place: TypeAlias = "tuple[int, frozenset[str]]"
"""The number of items so far, and those of their texts that a later item needs."""


def distinct_prefix(
    prefix: Sequence[Node], item: Node | None, min_count: int, rest: Node, min_items: int, *, comma: str
) -> Node | None:
    """Return the items of a prefix, then `rest`, so that each required item can differ from all others.

    Args:
        prefix: The items, each of which is distinct.
        item: An item of `rest`; `None` if `rest` has items of several kinds.
        min_count: Minimum number of items of `rest`.
        rest: The language after the prefix.
        min_items: Minimum number of items of the array.
        comma: Separator of items.

    Returns:
        The language, or `None` if any items leave a choice to the later ones, or if this is not decided.

    >>> one, two = Distinct(LiteralText("1")), Distinct(LiteralText("2"))
    >>> distinct_prefix([one, one], NEVER, 0, EMPTY, 2, comma=",") is NEVER
    True
    >>> distinct_prefix([one, two], NEVER, 0, EMPTY, 2, comma=",")
    """
    if not prefix:
        return None
    texts = [texts_of(part) for part in prefix]
    last = texts_of(item) if min_count and item is not None else None
    required = [*texts[:min_items], *([last] * min(min_count, _MAX_TEXTS + 1))]
    if not any(_is_scarce(required, index) for index in range(len(required))):
        return None
    needed = [frozenset[str]().union(*filter(None, required[index:])) for index in range(len(prefix) + 1)]
    options: dict[_Place, dict[_Place, list[Node]]] = {}
    pending: list[_Place] = [(0, frozenset())]
    reached = set(pending)
    for place in pending:
        index, used = place
        options[place] = {}
        if index == len(prefix):
            continue
        found = texts[index]
        if found is None:
            options[place][index + 1, used & needed[index + 1]] = [prefix[index]]
        for text in sorted((found or frozenset()) - used):
            after = index + 1, (used | {text}) & needed[index + 1]
            options[place].setdefault(after, []).append(LiteralText(text))
        pending += [after for after in options[place] if after not in reached]
        reached.update(options[place])
        if len(options) > _MAX_PLACES:
            return None
    return _network(options, texts, last, min_count, rest, min_items, comma)


def _network(
    options: dict[_Place, dict[_Place, list[Node]]],
    texts: Sequence[frozenset[str] | None],
    last: frozenset[str] | None,
    min_count: int,
    rest: Node,
    min_items: int,
    comma: str,
) -> Node:
    """Return the texts on the paths from the first place to an end."""
    moves: list[tuple[_Place, Node, _Place | None]] = []
    alive: set[_Place] = set()
    for place in sorted(options, key=lambda place: -place[0]):
        index, used = place
        following = {after: parts for after, parts in options[place].items() if after in alive}
        has_rest = index == len(texts) and (last is None or len(last - used) >= min_count)
        may_end = index == len(texts) if has_rest else min_items <= index < len(texts)
        if not following and not may_end:
            continue
        alive.add(place)
        for after, parts in following.items():
            part = Distinct(choice(parts)) if isinstance(parts[0], LiteralText) else parts[0]
            moves.append((place, seq(comma if index else "", part), after))
        if may_end:
            moves.append((place, rest if has_rest else EMPTY, None))
    start: _Place = 0, frozenset()
    if start not in alive:
        return NEVER
    places = [start, None, *(place for place in options if place in alive and place != start)]
    numbers = {place: number for number, place in enumerate(places)}
    return Network(len(places), tuple((numbers[place], part, numbers[after]) for place, part, after in moves))


def _is_scarce(required: Sequence[frozenset[str] | None], index: int) -> bool:
    """Return whether the items before a required one can take all of its texts."""
    texts = required[index]
    return texts is not None and len(texts) <= sum(
        other is not None and not texts.isdisjoint(other) for other in required[:index]
    )


def texts_of(node: Node, most: int = _MAX_TEXTS) -> frozenset[str] | None:
    """Return the texts of a node; `None` if there are more than `most`, or if they are not listed.

    >>> sorted(texts_of(Seq((LiteralText("a"), CharClass(((48, 50),))))))
    ['a0', 'a1', 'a2']
    >>> texts_of(Repeat(LiteralText("a")))
    """
    match node:
        case Distinct(inner):
            return texts_of(inner, most)
        case LiteralText(value):
            return frozenset((value,))
        case CharClass(ranges) if sum(last - first + 1 for first, last in ranges) <= most:
            return frozenset(chr(code) for first, last in ranges for code in range(first, last + 1))
        case Choice(parts) if len(parts) <= most:
            found = frozenset[str]()
            for part in parts:
                more = texts_of(part, most)
                if more is None or len(found := found | more) > most:
                    return None
            return found
        case Seq(parts):
            found = frozenset(("",))
            for part in parts:
                more = texts_of(part, most)
                if more is None or len(found) * len(more) > most:
                    return None
                found = frozenset(left + right for left in found for right in more)
            return found
        case Repeat(part, min_count, 1):
            return texts_of(choice((EMPTY, part)) if not min_count else part, most)
        case _:
            return None
