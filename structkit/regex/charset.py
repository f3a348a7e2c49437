"""Set operations on `CharClass`: union, complement, intersection. Surrogates are excluded."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from structkit.regex.nodes import CharClass, LiteralText, Node, choice

__all__ = [
    "ANY",
    "DIGIT",
    "char_class",
    "complement",
    "contains",
    "first_bytes",
    "intersection",
    "partition",
    "single_char",
    "union",
]

_LAST = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)


def char_class(ranges: Iterable[tuple[int, int]]) -> CharClass:
    """Return the normalized class of the code points in the ranges (ends inclusive).

    >>> char_class([(0x62, 0x63), (0x61, 0x61), (0xD700, 0xE000)])
    CharClass(ranges=((97, 99), (55040, 55295), (57344, 57344)))
    """
    return _merged(_without_surrogates(ranges))


def _merged(ranges: Iterable[tuple[int, int]]) -> CharClass:
    """Return the normalized class of ranges without surrogates."""
    merged: list[tuple[int, int]] = []
    low, high = -2, -2
    for first, last in sorted(ranges):
        # Ranges on both sides of the surrogates are not merged, because UTF-8 has no surrogates.
        if first <= high + 1:
            high = max(high, last)
        else:
            if high >= 0:
                merged.append((low, high))
            low, high = first, last
    if high >= 0:
        merged.append((low, high))
    return CharClass(tuple(merged))


def _without_surrogates(ranges: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    low, high = _SURROGATES
    for first, last in ranges:
        if last < low or first > high:  # almost all ranges
            if first <= last:
                yield first, last
            continue
        for a, b in ((first, min(last, low - 1)), (max(first, high + 1), last)):
            if a <= b:
                yield a, b


ANY = char_class([(0, _LAST)])
"""All code points except surrogates."""

DIGIT = char_class([(0x30, 0x39)])
"""The ten ASCII digits."""


def single_char(character: str) -> CharClass:
    """Return the class of one character; empty for a surrogate.

    >>> single_char("a")
    CharClass(ranges=((97, 97),))
    """
    return char_class([(ord(character), ord(character))])


def union(sets: Iterable[CharClass]) -> CharClass:
    """Return the code points in any of the classes.

    >>> union([single_char("a"), single_char("b")])
    CharClass(ranges=((97, 98),))
    """
    found = tuple(sets)
    return found[0] if len(found) == 1 else _union(found)


@lru_cache(maxsize=512)
def _union(sets: tuple[CharClass, ...]) -> CharClass:
    nonempty = [each for each in dict.fromkeys(sets) if each.ranges]
    if len(nonempty) == 1:
        return nonempty[0]
    return _merged(pair for each in nonempty for pair in each.ranges)


@lru_cache(maxsize=512)
def complement(charset: CharClass) -> CharClass:
    """Return the code points not in the class.

    >>> complement(complement(DIGIT)) == DIGIT
    True
    """
    gaps: list[tuple[int, int]] = []
    start = 0
    for first, last in charset.ranges:
        gaps.append((start, first - 1))
        start = last + 1
    gaps.append((start, _LAST))
    return char_class((first, last) for first, last in gaps if first <= last)


@lru_cache(maxsize=4096)
def intersection(left: CharClass, right: CharClass) -> CharClass:
    """Return the code points in both classes.

    >>> intersection(DIGIT, single_char("7"))
    CharClass(ranges=((55, 55),))
    """
    few, many = (left, right) if len(left.ranges) < len(right.ranges) else (right, left)
    if few == ANY:
        return many
    common: list[tuple[int, int]] = []
    for low, high in few.ranges:
        at = bisect_right(many.ranges, (low, _LAST)) - 1
        for first, last in many.ranges[max(at, 0) : bisect_right(many.ranges, (high, _LAST))]:
            if last >= low:
                common.append((first if first > low else low, last if last < high else high))
    return CharClass(tuple(common))


def contains(charset: CharClass, code: int) -> bool:
    """Return whether the class contains a code point.

    >>> contains(DIGIT, ord("x"))
    False
    """
    place = bisect_right(charset.ranges, (code, _LAST)) - 1
    return place >= 0 and code <= charset.ranges[place][1]


@lru_cache(maxsize=1024)
def first_bytes(charset: CharClass) -> Node:
    r"""Return the node of the first bytes of the characters in UTF-8.

    >>> first_bytes(char_class([(0x61, 0x62), (0xE4, 0xE9)]))
    Choice(parts=(CharClass(ranges=((97, 98),)), LiteralText(value='\udcc3')))
    """
    ascii_part = intersection(charset, char_class([(0, 127)]))
    leads = {
        byte
        for first, last in charset.ranges
        if last > 127
        for byte in range(chr(max(first, 128)).encode()[0], chr(last).encode()[0] + 1)
    }
    # Surrogates stand for bytes; see `LiteralText`.
    texts: list[Node] = [LiteralText(chr(0xDC00 + byte)) for byte in sorted(leads)]
    return choice([ascii_part, *texts] if ascii_part.ranges else texts)


def partition(classes: Iterable[CharClass]) -> list[CharClass]:
    """Return disjoint classes whose unions are the given ones.

    >>> partition([CharClass(((1, 5),)), CharClass(((4, 9),))])
    [CharClass(ranges=((1, 3),)), CharClass(ranges=((4, 5),)), CharClass(ranges=((6, 9),))]
    """
    return list(_partition(tuple(dict.fromkeys(classes))))


@lru_cache(maxsize=512)
def _partition(classes: tuple[CharClass, ...]) -> tuple[CharClass, ...]:
    # Sets of classes are numbers with a bit for each. A class begins or ends where its bit changes.
    events: dict[int, int] = {}
    for number, charset in enumerate(classes):
        bit = 1 << number
        for first, last in charset.ranges:
            events[first] = events.get(first, 0) ^ bit
            events[last + 1] = events.get(last + 1, 0) ^ bit
    found: dict[int, list[tuple[int, int]]] = {}
    inside = 0
    for place, following in pairwise(sorted(events)):
        inside ^= events[place]
        if inside:
            found.setdefault(inside, []).append((place, following - 1))
    # No range of a class has surrogates, and ranges of the same classes are not adjacent.
    return tuple(CharClass(tuple(ranges)) for ranges in found.values())
