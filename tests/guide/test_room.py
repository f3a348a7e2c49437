"""Bounds on what distinct texts need to differ."""

from __future__ import annotations

from typing import Any

import pytest

import structkit as sk
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
