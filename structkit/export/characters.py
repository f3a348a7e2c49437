"""Byte automata as automata over characters: the byte sequences between two states become character classes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from structkit.automaton.core.dfa import DEAD, EXIT, Dfa
from structkit.automaton.core.kernels import OPERATION_BITS, OPERATION_MASK
from structkit.errors import LimitExceeded, SchemaError
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

_FIRST_TRAILING, _END_TRAILING, _END_LEADS = 0x80, 0xC0, 0xF8


class CharacterMoves:
    """The moves of an automaton that read one character.

    A move is a number as in `Dfa.targets`: the state after it, and its operation on the counter.

    >>> from structkit.automaton.construct.compile_rule import regular_dfa
    >>> dfa = regular_dfa(CharClass(((0x61, 0x7A), (0xE9, 0xE9))))
    >>> list(CharacterMoves(dfa).of(0).values())
    [CharClass(ranges=((97, 122), (233, 233)))]
    """

    def __init__(self, dfa: Dfa) -> None:
        self._dfa = dfa
        self._tails: dict[tuple[int, int], dict[int, _Ranges]] = {}

    def of(self, state: int) -> dict[int, CharClass]:
        """Return the characters of each move of a state, which is between characters.

        Raises:
            SchemaError: A byte sequence is not UTF-8.
        """
        found: dict[int, _Ranges] = {}
        row = self._row(state)
        for low, high, move in _runs(row[:_FIRST_TRAILING]):
            found.setdefault(move, []).append((low, high))
        if any(move != DEAD for move in [*row[_FIRST_TRAILING:_END_TRAILING], *row[_END_LEADS:]]):
            raise not_utf8()
        for first, end, count, smallest, largest in _LEADS:
            for low, high, move in _runs(row[first:end]):
                for after, ranges in _shifted(self._after(move, count), low, high, 64**count).items():
                    if ranges[0][0] < smallest or ranges[-1][1] > largest:
                        raise not_utf8()
                    found.setdefault(after, []).extend(ranges)
        return {move: char_class(ranges) for move, ranges in found.items()}

    def is_inside(self, state: int) -> bool:
        """Return whether a state is inside a character."""
        return any(move != DEAD for move in self._row(state)[_FIRST_TRAILING:_END_TRAILING])

    def _after(self, move: int, count: int) -> dict[int, _Ranges]:
        """Return the numbers that `count` trailing bytes after a move encode, for each move of a whole character."""
        known = self._tails.get((move, count))
        if known is not None:
            return known
        found: dict[int, _Ranges] = {}
        row = self._row(move >> OPERATION_BITS)
        if any(each != DEAD for each in row[:_FIRST_TRAILING] + row[_END_TRAILING:]):
            raise not_utf8()
        operation = move & OPERATION_MASK
        for low, high, inner in _runs(row[_FIRST_TRAILING:_END_TRAILING]):
            whole = _with_operation(inner, operation)
            below = {whole: [(0, 0)]} if count == 1 else self._after(whole, count - 1)
            for after, ranges in _shifted(below, low, high, 64 ** (count - 1)).items():
                _extend(found.setdefault(after, []), ranges)
        self._tails[move, count] = found
        return found

    def _row(self, state: int) -> list[int]:
        """Return the move of each byte."""
        moves: list[int] = self._dfa.targets[state][self._dfa.classes].tolist()
        return moves


def _with_operation(move: int, operation: int) -> int:
    """Return a move that also does the operation of the move before it."""
    both = (move & OPERATION_MASK) + operation
    if operation and move & OPERATION_MASK and both >= EXIT:
        raise LimitExceeded(
            "iterations", EXIT - 1, "the repetitions that one character begins", is_fixed=True
        )
    return (move >> OPERATION_BITS << OPERATION_BITS) + both


def _runs(moves: list[int]) -> Iterable[tuple[int, int, int]]:
    """Yield the first and the last index of adjacent equal moves, and the move."""
    at = 0
    for move, group in groupby(moves):
        count = sum(1 for _ in group)
        if move != DEAD:
            yield at, at + count - 1, move
        at += count


def _shifted(below: dict[int, _Ranges], low: int, high: int, width: int) -> dict[int, _Ranges]:
    """Return the ranges below each of the digits `low` to `high`, where a digit counts `width`."""
    found: dict[int, _Ranges] = {}
    for move, ranges in below.items():
        if ranges == [(0, width - 1)]:
            found[move] = [(low * width, (high + 1) * width - 1)]
            continue
        shifted: _Ranges = []
        for digit in range(low, high + 1):
            _extend(shifted, [(digit * width + first, digit * width + last) for first, last in ranges])
        found[move] = shifted
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
