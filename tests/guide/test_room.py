"""Bounds on what distinct texts need to differ."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import structkit as sk
from structkit.automaton.core.dfa import DEAD, OPERATION_BITS
from structkit.automaton.distance.bounds import DISTINCT_MARGIN
from structkit.guide.distinct_lengths import DistinctLengths
from structkit.guide.room import DistinctRoom
from structkit.index.index import Index
from structkit.testing import byte_vocabulary


def exact(items: dict[str, Any]) -> Index:
    """The exact masks of an array of distinct items."""
    schema = {"type": "array", "items": items, "uniqueItems": True}
    index = sk.compile(schema, byte_vocabulary(), cache=False).index
    index.make_exact()
    return index


@pytest.mark.parametrize(
    ("items", "is_known"),
    [
        ({"enum": ["a", "bb", "ccc"]}, True),
        ({"type": "string", "pattern": "^[ab]*$", "minLength": 500}, False),
        ({"type": "array", "items": {"enum": ["a", "bb"]}, "uniqueItems": True}, False),
    ],
)
def test_texts_are_counted_without_a_minimum_of_iterations_and_distinct_parts(
    items: dict[str, Any], is_known: bool
) -> None:
    assert DistinctLengths(exact(items)).is_known == is_known


def test_digits_leave_room_from_all_states_and_strings_not_behind_the_quote() -> None:
    digits, text = (
        DistinctRoom(exact({"type": "integer", "minimum": 1})),
        DistinctRoom(exact({"type": "string"})),
    )
    assert 0 < digits.everywhere <= digits.at_start
    assert text.everywhere == 0 < text.at_start


def test_what_an_open_text_needs_takes_the_place_of_its_margin() -> None:
    schema = {"propertyNames": {"minLength": 1, "maxLength": 2}, "minProperties": 30, "type": "object"}
    guide = sk.compile(schema, byte_vocabulary(), cache=False)
    guide.index.make_exact()
    lengths, cursor, bounds = DistinctLengths(guide.index), guide.cursor(), []
    for byte in b'{"a": 0, ':
        cursor.advance(byte)
        bounds.append(min(lengths.of_frame(frame, cursor.state.buffer, 0) for frame in cursor.state.frames))
    assert bounds[-1] < bounds[-2]  # the only byte there; a budget of the bound before it must be enough


def number_of_texts(index: Index, state: int, length: int) -> int:
    """Return the number of texts of exactly a length from a state to the end of its rule, by counting paths."""
    automaton = index.automaton
    tables = automaton.tables

    @cache
    def count(state: int, length: int) -> int:
        rule, total = automaton.rule_of[state], 0
        if length == 0 and index.token_distances[0][state] == 0:
            total += 1
        for byte in range(256 if length else 0):
            target = tables.targets.item(tables.row.item(state) + tables.classes.item(rule, byte))
            total += count(target >> OPERATION_BITS, length - 1) if target != DEAD else 0
        for call in range(tables.call_first.item(state), tables.call_first.item(state + 1)):
            start, after = tables.start.item(tables.call_rule.item(call)), tables.call_next.item(call)
            for part in range(length + 1 if index.token_distances[0][start] else 0):
                total += count(start, part) * count(after, length - part)
        return total

    return count(state, length)


LETTERS = {"type": "string", "pattern": "^[ab]*$"}


@pytest.mark.parametrize(
    ("items", "room"),
    [
        ({"type": "integer", "minimum": 1}, [10**3, 10**3]),
        (LETTERS, [2**3, 2**3, 0]),
        ({"type": "string", "pattern": "^(a|bc*)$"}, [0, 0, 0]),
        ({"enum": ["a", "bb"]}, [0, 0, 0, 0, 0, 0]),
        ({"type": "array", "items": LETTERS}, [0, 0, 2**3, 0, 0, 2**3, 2**3]),
        ({"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1}, [10**3] * 4 + [0]),
    ],
)
def test_room_is_at_most_the_number_of_short_texts(items: dict[str, Any], room: list[int]) -> None:
    """The texts have at most `DISTINCT_MARGIN` bytes more than the shortest one."""
    index = exact(items)
    tables, tokens = index.automaton.tables, index.token_distances[0]
    (rule,) = set(tables.call_rule[tables.call_distinct].tolist())
    states, room_of = range(*index.automaton.state_range(rule)), DistinctRoom(index).of
    for state in states:
        lengths = range(tokens.item(state) + DISTINCT_MARGIN + 1)
        assert 0 <= room_of(state) <= sum(number_of_texts(index, state, length) for length in lengths)
    assert [*map(room_of, states)] == room
