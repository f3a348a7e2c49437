"""Byte automata as automata over characters: the byte sequences between two states become character classes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from structkit.automaton.core.dfa import DEAD, Dfa
from structkit.automaton.core.kernels import OPERATION_BITS
from structkit.errors import SchemaError
from structkit.regex.charset import char_class
from structkit.regex.nodes import CharClass

__all__ = ["CharacterMoves", "not_utf8"]

_Ranges = list[tuple[int, int]]

_LEADS = (
    (0xC0, 0xE0, 1, 0x80, 0x7FF),
    (0xE0, 0xF0, 2, 0x800, 0xFFFF),
    (0xF0, 0xF8, 3, 0x10000, 0x10FFFF),
)
"""The first bytes of sequences of 2 to 4 bytes, the bytes that follow, and the code points (RFC 3629, section 3)."""

_FIRST_TRAILING, _END_TRAILING = 0x80, 0xC0


class CharacterMoves:
    """The moves of an automaton without a counter that read one character.

    >>> from structkit.automaton.construct.compile_rule import regular_dfa
    >>> dfa = regular_dfa(CharClass(((0x61, 0x7A), (0xE9, 0xE9))))
    >>> list(CharacterMoves(dfa).of(0).values())
    [CharClass(ranges=((97, 122), (233, 233)))]
    """

    def __init__(self, dfa: Dfa) -> None:
        self._dfa = dfa
        self._tails: dict[tuple[int, int], dict[int, _Ranges]] = {}

    def of(self, state: int) -> dict[int, CharClass]:
        """Return the characters that lead from a state to each other state; the state is between characters.

        Raises:
            SchemaError: A byte sequence is not UTF-8.
        """
        found: dict[int, _Ranges] = {}
        row = self._row(state)
        for low, high, target in _runs(row[:_FIRST_TRAILING]):
            found.setdefault(target, []).append((low, high))
        known = [*row[_FIRST_TRAILING:_END_TRAILING], *row[0xF8:]]
        if any(target != DEAD for target in known):
            raise not_utf8()
        for first, end, count, smallest, largest in _LEADS:
            for low, high, inner in _runs(row[first:end]):
                for target, ranges in _shifted(self._after(inner, count), low, high, 64**count).items():
                    if ranges[0][0] < smallest or ranges[-1][1] > largest:
                        raise not_utf8()
                    found.setdefault(target, []).extend(ranges)
        return {target: char_class(ranges) for target, ranges in found.items()}

    def _after(self, state: int, count: int) -> dict[int, _Ranges]:
        """Return the numbers that `count` trailing bytes encode on the way from a state to each other state."""
        known = self._tails.get((state, count))
        if known is not None:
            return known
        found: dict[int, _Ranges] = {}
        row = self._row(state)
        if any(target != DEAD for target in row[:_FIRST_TRAILING] + row[_END_TRAILING:]):
            raise not_utf8()
        for low, high, inner in _runs(row[_FIRST_TRAILING:_END_TRAILING]):
            below = {inner: [(0, 0)]} if count == 1 else self._after(inner, count - 1)
            for target, ranges in _shifted(below, low, high, 64 ** (count - 1)).items():
                _extend(found.setdefault(target, []), ranges)
        self._tails[state, count] = found
        return found

    def _row(self, state: int) -> list[int]:
        """Return the state after each byte, or `DEAD`."""
        targets = self._dfa.targets[state]
        return [
            DEAD if each == DEAD else each >> OPERATION_BITS for each in targets[self._dfa.classes].tolist()
        ]


def _runs(targets: list[int]) -> Iterable[tuple[int, int, int]]:
    """Yield the first and the last index of adjacent equal targets, and the target."""
    at = 0
    for target, group in groupby(targets):
        count = sum(1 for _ in group)
        if target != DEAD:
            yield at, at + count - 1, target
        at += count


def _shifted(below: dict[int, _Ranges], low: int, high: int, width: int) -> dict[int, _Ranges]:
    """Return the ranges below each of the digits `low` to `high`, where a digit counts `width`."""
    found: dict[int, _Ranges] = {}
    for target, ranges in below.items():
        if ranges == [(0, width - 1)]:
            found[target] = [(low * width, (high + 1) * width - 1)]
            continue
        shifted: _Ranges = []
        for digit in range(low, high + 1):
            _extend(shifted, [(digit * width + first, digit * width + last) for first, last in ranges])
        found[target] = shifted
    return found


def _extend(ranges: _Ranges, more: _Ranges) -> None:
    """Append later ranges, merged with the last one if adjacent."""
    for first, last in more:
        if ranges and ranges[-1][1] == first - 1:
            ranges[-1] = ranges[-1][0], last
        else:
            ranges.append((first, last))


def not_utf8() -> SchemaError:
    """Return the error for a target with bytes that are not text."""
    return SchemaError("a grammar is text, and the target contains bytes that are not UTF-8; remove them")
