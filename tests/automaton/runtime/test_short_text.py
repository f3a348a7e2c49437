"""Short texts that repeat no distinct text, within a number of reads."""

from __future__ import annotations

import json

import pytest

import structkit as sk
from structkit.automaton.runtime.distinct import Fuel
from structkit.automaton.runtime.short_text import short_text
from structkit.testing import byte_vocabulary


@pytest.mark.parametrize("count", [1, 2, 5])
def test_reads_are_taken_from_the_fuel(count: int) -> None:
    schema = {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": count}
    index = sk.compile(schema, byte_vocabulary(), cache=False).index
    frames = index.automaton.start_frames()
    fuel = Fuel(10_000)
    text = short_text(index.shortest, index.reader, frozenset(frames), b"", fuel)
    assert text is not None
    value = json.loads(text)
    assert len(value) == len(set(value)) == count
    used = 10_000 - fuel.reads
    assert used >= len(text) // 2
    for reads in (0, used // 2):
        assert short_text(index.shortest, index.reader, frozenset(frames), b"", Fuel(reads)) is None
