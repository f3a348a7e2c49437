"""Size bounds that let a rule be built lazily."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import xor
from typing import NamedTuple, TypeAlias

from structkit.regex.nodes import (
    CharClass,
    Choice,
    Intersection,
    ListPart,
    LiteralText,
    Node,
    Repeat,
    RuleRef,
    SeparatedList,
    Seq,
)

__all__ = ["edges_if_unambiguous", "have_distinct_starts", "is_small_string"]

_MAX_STATES, _MAX_NFA_STATES = 10_000, 30_000
"""Maximum states of a small automaton, and of the nondeterministic one that it is made from."""

_MAX_POSITIONS = 60
"""Maximum characters of a pattern whose characters do not determine their positions."""

_MAX_REQUIRED = 60
"""Maximum characters that must follow a part of a pattern, so that the operation of one byte can count them."""

_CALL, _OTHER = "\0call", "\0other"
"""The starts of calls and of nodes such as numbers; no text of JSON begins with their first character."""

Ranges: TypeAlias = tuple[tuple[int, int], ...]


def have_distinct_starts(branches: Iterable[Node]) -> bool:
    """Return whether no alternative begins with a text with which another begins; texts and calls are exempt.

    The automaton of such alternatives has at most as many states as theirs together.

    >>> quoted, listed = Seq((LiteralText('"a'), RuleRef("b"))), Seq((LiteralText("["), RuleRef("d")))
    >>> have_distinct_starts([quoted, LiteralText('"c'), listed])
    True
    """
    starts = sorted(
        start
        for branch in branches
        if not isinstance(branch, (LiteralText, RuleRef))
        for start in set(_starts(branch))
    )
    return not any(after.startswith(start) for start, after in pairwise(starts))


def _starts(node: Node) -> list[str]:
    """Return texts such that each text of the node begins with one of them; `_CALL` and `_OTHER` stand for others."""
    match node:
        case LiteralText(value):
            return [value]
        case RuleRef():
            return [_CALL]
        case Choice(parts):
            return [start for part in parts for start in _starts(part)]
        case Seq((LiteralText(value), SeparatedList((ListPart(part, min_count), *_)), *_)) if min_count:
            return [value if start.startswith("\0") else value + start for start in _starts(part)]
        case Seq((first, *_)):
            return _starts(first)
        case _:
            return [_OTHER]


@lru_cache(maxsize=256)
def is_small_string(body: Node) -> bool:
    """Return whether the automaton of a string body is provably small enough to be built in the middle of a text.

    This holds for patterns of limited size in which each character determines its position (one-unambiguous
    expressions, Brüggemann-Klein and Wood 1998), or leaves few positions.

    >>> is_small_string(Seq((Repeat(CharClass(((97, 122),))), LiteralText("-"))))
    True
    >>> is_small_string(Seq((Repeat(CharClass(((97, 122),))), Repeat(LiteralText("x"), 20, 20))))
    False
    """
    copies = 1
    match body:
        case Intersection(left, Repeat(_, min_count), negate=False):
            body, copies = left, min_count + 1  # each character of the minimum is counted in states
            if _required(body)[1] > _MAX_REQUIRED:
                return False
    size = _size(body)
    if size is None or size.states * copies > _MAX_STATES or size.nfa_states > _MAX_NFA_STATES:
        return False
    return _ends(body) is not None or (
        size.positions <= _MAX_POSITIONS and _states(body) * copies <= _MAX_STATES
    )


def edges_if_unambiguous(node: Node) -> tuple[Ranges, Ranges] | None:
    """Return the characters that texts begin with, and those that may continue a complete text.

    The result is `None` unless each character of a text determines its position in the pattern (a one-unambiguous
    expression).

    >>> edges_if_unambiguous(Repeat(CharClass(((97, 122),)), 1, 100_000))
    (((97, 122),), ((97, 122),))
    """
    found = _ends(node)
    return None if found is None else (found.first, found.follow)


class _Size(NamedTuple):
    """Bounds on a pattern with repetitions expanded, if each character determines its position.

    Attributes:
        positions: The characters of the pattern.
        states: The states of its automaton, with those between the bytes of a character.
        nfa_states: The states of its nondeterministic automaton.
    """

    positions: int
    states: int
    nfa_states: int


def _size(node: Node) -> _Size | None:
    """Return bounds on the size of a pattern; `None` if they are not known."""
    match node:
        case LiteralText(value):
            states = sum([1 if "#" <= each <= "~" and each != "\\" else 6 for each in value])
            return _Size(len(value), states, states)
        case CharClass(ranges):
            wide = sum([high >= 0x80 for _, high in ranges])
            if wide:
                return _Size(1, _states_between(wide), 18 + 3 * wide)
            return _Size(1, 8, 18) if _has_escaped(ranges) else _Size(1, 1, 1)
        case Repeat(part, min_count, max_count):
            size, count = _size(part), max(min_count, max_count or 1)
            return size and _Size(*(each * count for each in size))
        case Seq(parts) | Choice(parts):
            sizes = [size for size in map(_size, parts) if size is not None]
            return _Size(*map(sum, zip(*sizes, strict=True))) if len(sizes) == len(parts) > 0 else None
        case _:
            return None


def _states_between(ranges: int) -> int:
    """Return a bound on the states of a class with some ranges of characters of several bytes in UTF-8."""
    return 20 + ranges // 2


def _has_escaped(ranges: Ranges) -> bool:
    """Return whether a class has a character that JSON escapes."""
    return any(low < 0x20 or low <= 0x22 <= high or low <= 0x5C <= high for low, high in ranges)


def _states(node: Node) -> int:
    """Return a bound on the states of a pattern's automaton: one for each set of positions that a text may lead to.

    These are subsets of the positions of one character. A character of several bytes, in UTF-8 or as an escape, also
    has states between its bytes, which depend on the positions of such characters.
    """
    changes: dict[int, int] = {}
    wide = escaped = wide_ranges = 0
    for index, ranges in enumerate(_positions(node)):
        bit = 1 << index
        for low, high in ranges:
            for code in (low, high + 1):
                changes[code] = changes.get(code, 0) ^ bit
            if high >= 0x80:
                wide, wide_ranges = wide | bit, wide_ranges + 1
        escaped |= bit * _has_escaped(ranges)
    sets = set(accumulate((changes[code] for code in sorted(changes)), xor))
    between = _states_between(wide_ranges)
    found = [1 << each.bit_count() for each in sets]
    found += [between << wide.bit_count()] if wide else []
    found += [16 << escaped.bit_count()] if escaped else []
    return sum(found)


def _positions(node: Node) -> list[Ranges]:
    """Return the characters of each position of a pattern, with repetitions expanded."""
    match node:
        case LiteralText(value):
            return [((ord(character),) * 2,) for character in value]
        case CharClass(ranges):
            return [ranges]
        case Repeat(part, min_count, max_count):
            return _positions(part) * max(min_count, max_count or 1)
        case Seq(parts) | Choice(parts):
            return [position for part in parts for position in _positions(part)]
        case _:
            raise TypeError(f"the positions of {node!r} are not known")


def _required(node: Node) -> tuple[int, int]:
    """Return the fewest characters of a text, and a bound on the fewest that follow a place inside a text."""
    match node:
        case LiteralText(value):
            return len(value), len(value)
        case CharClass():
            return 1, 1
        case Repeat(part, min_count):
            fewest, after = _required(part)
            return fewest * min_count, fewest * max(min_count - 1, 0) + after
        case Seq(parts):
            total = following = 0
            for fewest, after in map(_required, reversed(parts)):
                following = max(following, after + total)
                total += fewest
            return total, following
        case Choice(parts):
            found = [_required(part) for part in parts]
            return min([fewest for fewest, _ in found], default=0), max(
                [after for _, after in found], default=0
            )
        case _:
            return 0, _MAX_REQUIRED + 1


@dataclass(frozen=True, slots=True)
class _Ends:
    """First characters, characters that can follow a complete text, and whether the empty text is included."""

    first: Ranges
    follow: Ranges
    nullable: bool


def _ends(node: Node) -> _Ends | None:
    """Return the ends of a one-unambiguous pattern, `None` for any other pattern."""
    match node:
        case LiteralText(value):
            return _Ends(((ord(value[0]),) * 2,) if value else (), (), not value)
        case CharClass(ranges):
            return _Ends(ranges, (), False)
        case Repeat(part, min_count, max_count):
            ends = _ends(part)
            if ends is None or max_count == 1 or max_count == 0:
                return ends and _Ends(ends.first, ends.follow, ends.nullable or not min_count)
            follow = _disjoint_union(ends.follow, ends.first)
            if max_count is not None and ends.nullable:
                follow = None
            return None if follow is None else _Ends(ends.first, follow, ends.nullable or not min_count)
        case Seq(parts):
            result: _Ends | None = _Ends((), (), True)
            for part in parts:
                result = result and _concatenate(result, _ends(part))
            return result
        case Choice(parts):
            first: Ranges | None = ()
            branches = [_ends(part) for part in parts]
            for ends in branches:
                first = None if first is None or ends is None else _disjoint_union(first, ends.first)
            found = [ends for ends in branches if ends is not None]
            follow = tuple(span for ends in found for span in ends.follow)
            return None if first is None else _Ends(first, follow, any(ends.nullable for ends in found))
        case _:
            return None


def _concatenate(left: _Ends, right: _Ends | None) -> _Ends | None:
    if right is None or _disjoint_union(left.follow, right.first) is None:
        return None
    first = _disjoint_union(left.first, right.first) if left.nullable else left.first
    follow = (*right.follow, *right.first, *left.follow) if right.nullable else right.follow
    return None if first is None else _Ends(first, follow, left.nullable and right.nullable)


def _disjoint_union(left: Ranges, right: Ranges) -> Ranges | None:
    """Return the union of the ranges, or `None` if they overlap."""
    shared = any(a <= d and c <= b for a, b in left for c, d in right)
    return None if shared else (*left, *right)
