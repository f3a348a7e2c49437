"""Shortest texts of counted repetitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.shortest import (
    ShortestPaths,
    shortest_length,
    shortest_pieces,
    shortest_texts,
)
from structkit.errors import UnsatisfiableSchema
from structkit.regex.nodes import Choice, LiteralText, RuleRef, Rules, Seq
from structkit.regex.pattern.parse import parse
from tests.languages import recursive_rules


@pytest.mark.parametrize(
    ("pattern", "length"),
    [
        ("a{300}", 300),
        ("(ab|c){200,}", 200),
        ("(ab?c){150}", 300),
        ("x*(a{7}b{3,9}){40}y", 401),
        ("(((a{10}){10}){10}){10}", 10_000),
        ("(aaab?){100}[cd]{50,60}", 350),
        (r"(\d{1,3},){100}", 200),
    ],
)
def test_texts_with_many_iterations_are_shortest(pattern: str, length: int) -> None:
    automaton = link(Rules(parse(pattern, search=False, unicode=True), {}))
    shortest = ShortestPaths.build(automaton)
    (frame,) = automaton.start_frames()
    (text,) = shortest_texts(shortest, [frame])
    assert Reader(automaton).accepts(text)
    assert len(text) == shortest_length(shortest, frame) == length


@pytest.mark.parametrize("pattern", ["(ab|c){200,}", "(ab?c){150}", "x*(a{7}b{3,9}){40}y"])
def test_the_shortest_text_after_a_part_of_it_is_the_rest(pattern: str) -> None:
    automaton = link(Rules(parse(pattern, search=False, unicode=True), {}))
    shortest = ShortestPaths.build(automaton)
    frames = automaton.start_frames()
    (text,) = shortest_texts(shortest, frames)
    for position, byte in enumerate(text):
        assert min(shortest_texts(shortest, frames), key=len) == text[position:]
        frames = automaton.step(frames, byte)


@given(recursive_rules)
def test_texts_of_several_frames_equal_those_of_each(rules: Rules) -> None:
    try:
        automaton = link(rules).build_all()
    except UnsatisfiableSchema:
        return
    if automaton.has_distinct:
        return
    shortest = ShortestPaths.build(automaton)
    ends = np.flatnonzero(shortest.distance < UNREACHABLE).tolist()  # from the others no text comes to an end
    frames = [automaton.frame(state) for state in ends[::3]]
    expected = [b"".join(shortest_pieces(shortest, frame)) for frame in frames]
    assert shortest_texts(shortest, frames) == expected


def test_states_after_each_other_share_the_pieces_of_their_shortest_text() -> None:
    item = Seq((LiteralText("<"), RuleRef("a"), LiteralText(">")))
    rules = Rules(Seq((item,) * 50), {"a": Choice((item, LiteralText("xy")))})
    automaton = link(rules)
    shortest = ShortestPaths.build(automaton)
    (frame,) = automaton.start_frames()
    (text,) = shortest_texts(shortest, [frame])
    known = len(shortest.pieces)
    assert known > 100
    for position, byte in enumerate(text):
        (frame,) = automaton.step([frame], byte) or [frame]
        assert shortest_texts(shortest, [frame]) == [text[position + 1 :]]
    assert len(shortest.pieces) < known + len(text)


def test_the_bytes_of_a_rule_without_a_counter_are_found_once() -> None:
    """The texts of the states along a value have most of them in common."""
    value = Seq((LiteralText('{"name": "'), RuleRef("letters"), LiteralText('", "kind": null}')))
    rules = Rules(
        Seq((RuleRef("value"),) * 3),
        {"value": value, "letters": parse("a{3}(bb|c)", search=False, unicode=True)},
    )
    shortest = ShortestPaths.build(link(rules))
    (frame,) = shortest.automaton.start_frames()
    first, second = list(shortest_pieces(shortest, frame)), list(shortest_pieces(shortest, frame))
    assert b"".join(first) == b'{"name": "aaac", "kind": null}' * 3
    assert len({id(piece) for piece in (*first, *second)}) <= len(set(first))
