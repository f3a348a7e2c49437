"""Prefixes of arrays of unique items, whose items must leave the later ones a choice.

After `[2` no array of `{"prefixItems": [{"enum": [1, 2]}, {"enum": [2]}], "minItems": 2, "uniqueItems": true}` has an
end: items that differ from all before them exist only if the items before them are chosen with regard to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from structkit.errors import UnsupportedKeyword
from structkit.frozen import frozen
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    CharClass,
    Choice,
    Distinct,
    Intersection,
    LiteralText,
    Network,
    Node,
    Repeat,
    Seq,
    choice,
    seq,
)

__all__ = ["Demand", "Item", "distinct_prefix", "texts_of"]

_MAX_TEXTS = 64
"""Maximum number of texts of an item that are listed, unless more of them can be scarce."""

_MAX_PLACES = 1_000
"""Maximum number of places in a prefix."""


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a prefix.

    Attributes:
        node: The item.
        can_be: Returns whether the item may have a text; it is called only if the item has many.
        language: Returns the item without `Distinct` and calls of rules; `None` if it is not regular.
    """

    node: Node
    can_be: Callable[[str], bool] = lambda _: True
    language: Callable[[], Node | None] = lambda: None


@frozen
class Demand:
    """Items that follow: at least `count`, which have some of `texts` and differ from all other items."""

    texts: frozenset[str]
    count: int = 1


@frozen
class _Group:
    """Texts that the same items need, so that only their number matters; `last` is the index of the last such item."""

    texts: frozenset[str]
    last: int


_Place: TypeAlias = "tuple[int, tuple[int, ...]]"
"""The number of items so far, and how many texts of each group they have; 0 for a group that is not needed again."""

_Moves: TypeAlias = "dict[_Place, list[Node]]"
"""The items that may follow, by the place after them."""


def distinct_prefix(
    prefix: Sequence[Item], demands: Sequence[Demand], rest: Node, min_items: int, *, comma: str, path: str
) -> Node | None:
    """Return the items of a prefix, then `rest`, so that each required item can differ from all others.

    Args:
        prefix: The items, each of which is distinct.
        demands: What `rest` needs.
        rest: The language after the prefix.
        min_items: Minimum number of items of the array.
        comma: Separator of items.
        path: The schema path, for errors.

    Returns:
        The language, or `None` if any items leave a choice to the later ones.

    Raises:
        UnsupportedKeyword: The items can be chosen in too many ways.

    >>> one, two = Item(Distinct(LiteralText("1"))), Item(Distinct(LiteralText("2")))
    >>> distinct_prefix([one, one], [], EMPTY, 2, comma=",", path="$") is NEVER
    True
    >>> distinct_prefix([one, two], [], EMPTY, 2, comma=",", path="$")
    """
    texts = [texts_of(item.node, max(len(prefix), _MAX_TEXTS)) for item in prefix]
    required = [
        *((index, Demand(found)) for index, found in enumerate(texts[:min_items]) if found is not None),
        *((len(prefix), demand) for demand in demands),
    ]
    scarce = _scarce(required, prefix, texts)
    if not scarce:
        return None
    groups = _groups(scarce)
    left = [demand for index, demand in scarce if index == len(prefix)]
    options: dict[_Place, _Moves] = {}
    ends: dict[_Place, Node] = {}
    pending: list[_Place] = [(0, (0,) * len(groups))]
    for place in pending:
        if place in options:
            continue
        index, used = place
        if index < len(prefix):
            options[place] = _moves(prefix[index], texts[index], groups, place, f"{path}[{index}]")
            ends[place] = EMPTY if index >= min_items else NEVER
        else:
            options[place] = {}
            ends[place] = rest if all(_is_met(demand, groups, used) for demand in left) else NEVER
        pending += options[place]
        if len(options) > _MAX_PLACES:
            message = (
                "prefixItems that can take the values of later items in this many ways are not supported"
            )
            raise UnsupportedKeyword("uniqueItems", f"{message}; allow fewer values", place=path)
    return _network(options, ends, comma)


def _scarce(
    required: Sequence[tuple[int, Demand]], prefix: Sequence[Item], texts: Sequence[frozenset[str] | None]
) -> list[tuple[int, Demand]]:
    """Return the demands that can remain without a text, with those that have a text in common with such a demand."""
    found = {
        number for number, (index, demand) in enumerate(required) if _is_scarce(demand, prefix[:index], texts)
    }
    users: dict[str, list[int]] = {}
    for number, (_, demand) in enumerate(required if found else ()):
        for text in demand.texts:
            users.setdefault(text, []).append(number)
    pending = list(found)
    for number in pending:
        for text in required[number][1].texts:
            pending += [user for user in users.pop(text, ()) if user not in found]
            found.update(pending)
    return [required[number] for number in sorted(found)]


def _is_scarce(demand: Demand, before: Sequence[Item], texts: Sequence[frozenset[str] | None]) -> bool:
    """Return whether the items before can take too many of the texts."""
    spare = len(demand.texts) - demand.count
    if spare >= len(before):
        return False
    takers = (
        any(map(item.can_be, demand.texts)) if own is None else not own.isdisjoint(demand.texts)
        for item, own in zip(before, texts, strict=False)
    )
    return spare < sum(takers)


def _groups(scarce: Sequence[tuple[int, Demand]]) -> list[_Group]:
    """Return the groups of texts that the same of the demands need."""
    needed: dict[str, list[int]] = {}
    for number, (_, demand) in enumerate(scarce):
        for text in demand.texts:
            needed.setdefault(text, []).append(number)
    groups: dict[tuple[int, ...], list[str]] = {}
    for text, numbers in sorted(needed.items()):
        groups.setdefault(tuple(numbers), []).append(text)
    return [_Group(frozenset(texts), scarce[numbers[-1]][0]) for numbers, texts in groups.items()]


def _is_met(demand: Demand, groups: Sequence[_Group], used: Sequence[int]) -> bool:
    """Return whether enough texts of a demand are left."""
    left = sum(
        len(group.texts) - count
        for group, count in zip(groups, used, strict=True)
        if group.texts <= demand.texts
    )
    return left >= demand.count


def _moves(
    item: Item, texts: frozenset[str] | None, groups: Sequence[_Group], place: _Place, path: str
) -> _Moves:
    """Return the items that may stand at a place: those of each group that is still needed, and all others."""
    index, used = place
    after = tuple(count if group.last > index else 0 for group, count in zip(groups, used, strict=True))
    moves: _Moves = {}
    grouped: set[str] = set()
    for number, group in enumerate(groups):
        is_needed = group.last > index
        if not is_needed and (texts is None or group.last < index):
            continue
        inside = sorted(filter(item.can_be, group.texts) if texts is None else group.texts & texts)
        grouped.update(inside)
        if inside and used[number] < len(group.texts):
            then = (*after[:number], after[number] + 1, *after[number + 1 :]) if is_needed else after
            part = choice(map(LiteralText, inside))
            moves.setdefault((index + 1, then), []).append(
                part if texts is not None else _restricted(item, part, path)
            )
    others = item.node if not grouped else _others(item, texts, grouped, path)
    if others is not NEVER:
        moves.setdefault((index + 1, after), []).append(others)
    return moves


def _others(item: Item, texts: frozenset[str] | None, grouped: set[str], path: str) -> Node:
    """Return the texts of an item that are not among `grouped`."""
    if texts is not None:
        return choice(map(LiteralText, sorted(texts - grouped)))
    return _restricted(item, choice(map(LiteralText, sorted(grouped))), path, negate=True)


def _restricted(item: Item, texts: Node, path: str, *, negate: bool = False) -> Node:
    """Return the texts of an item with many texts that are among `texts`, or are not."""
    node = item.language()
    if node is None:
        message = "the item can take the last value of a later one; give it another type"
        raise UnsupportedKeyword("uniqueItems", message, place=path)
    return Intersection(node, texts, negate=negate, lookahead=r"[,\]]")


def _network(options: Mapping[_Place, _Moves], ends: Mapping[_Place, Node], comma: str) -> Node:
    """Return the texts on the paths from the first place to an end."""
    moves: list[tuple[_Place, Node, _Place | None]] = []
    alive: set[_Place] = set()
    for place in sorted(options, key=lambda place: -place[0]):
        following = {after: parts for after, parts in options[place].items() if after in alive}
        if not following and ends[place] is NEVER:
            continue
        alive.add(place)
        for after, parts in following.items():
            moves.append((place, seq(comma if place[0] else "", Distinct(choice(parts))), after))
        if ends[place] is not NEVER:
            moves.append((place, ends[place], None))
    start = next(iter(options))
    if start not in alive:
        return NEVER
    places = [start, None, *(place for place in options if place in alive and place != start)]
    numbers = {place: number for number, place in enumerate(places)}
    return Network(len(places), tuple((numbers[place], part, numbers[after]) for place, part, after in moves))


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
            union = set[str]()
            for part in parts:
                more = texts_of(part, most)
                if more is None:
                    return None
                union |= more
            return frozenset(union) if len(union) <= most else None
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
