"""Shortest texts with parts that must differ."""

from __future__ import annotations

import pytest

from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.shortest import ShortestPaths, shortest_distinct
from structkit.regex.nodes import Choice, Distinct, LiteralText, Rules, Seq
from structkit.targets.targets import read_target


def test_a_call_is_chosen_whose_only_text_was_not_seen() -> None:
    item = Choice((Distinct(LiteralText("a")), Distinct(LiteralText("bb"))))
    automaton = link(Rules(Seq((item, LiteralText(","), item)), {}))
    shortest = ShortestPaths.build(automaton)
    for written, rest in (("", b"bb,a"), ("a", b",bb"), ("bb", b",a"), ("a,", b"bb")):
        frames, buffer = Reader(automaton).read(automaton.start_frames(), b"", written.encode())
        found = {shortest_distinct(shortest, frame, buffer) for frame in frames}
        assert rest in {each[0] for each in found if each is not None}


ARRAY = {"type": "array", "items": {"enum": ["a", "b", "cc"]}, "uniqueItems": True, "minItems": 2}


@pytest.mark.parametrize("is_nested", [False, True])
def test_the_text_of_arrays_that_are_not_begun_is_kept(is_nested: bool) -> None:
    """The rest after an array depends on nothing that is written in it."""
    properties: dict[str, object] = dict.fromkeys("uvwxyz", ARRAY)
    if is_nested:
        properties["n"] = {"type": "array", "items": ARRAY, "minItems": 2}
    target = read_target({"type": "object", "properties": properties, "required": list(properties)})
    automaton = link(target.rules())
    kept, reader = ShortestPaths.build(automaton), Reader(automaton)
    frames, buffer = automaton.start_frames(), b""
    for byte in b'{"u": ["cc", "b"], "v": ["b", "cc", "a"], "w": ["a", "b"], "x": ["b", ':
        frames, buffer = reader.read(frames, buffer, bytes([byte]))
        for frame in frames:
            found = shortest_distinct(kept, frame, buffer)
            assert found == shortest_distinct(ShortestPaths.build(automaton), frame, buffer)
            assert found is not None
            assert automaton.is_accepting(reader.read(frozenset([frame]), buffer, found[0])[0])
    assert len(kept.segments) >= 6
