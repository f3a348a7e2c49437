from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.shortest import shortest_text
from structkit.automaton.runtime.stack import Frame, return_frames
from structkit.errors import UnsatisfiableSchema
from structkit.guide.guide import Guide
from structkit.index.index import UNREACHABLE, Index
from structkit.index.rows import scratch
from structkit.regex.json_string import free_text_except
from structkit.regex.nodes import (
    CharClass,
    Choice,
    Intersection,
    LiteralText,
    Node,
    Repeat,
    RuleRef,
    Rules,
    seq,
)
from structkit.testing import small_vocabulary
from tests.guide.reference import ReferenceCursor
from tests.index import plain_twins as plain
from tests.languages import recursive_rules, texts, vocabulary

V = vocabulary()
SMALL = small_vocabulary()
_ANY = link(Rules(LiteralText("a"), {}))


def _reached(automaton: Automaton, text: str) -> list[Frame]:
    """The frames along the way of the longest beginning of the text that the automaton reads."""
    frames, kept = automaton.start_frames(), b""
    found = list(frames)
    for byte in text.encode():
        frames, kept = Reader(automaton).read(frames, kept, bytes((byte,)))
        found += frames
    return found


def _linked(rules: Rules) -> Automaton | None:
    try:
        return link(rules)
    except UnsatisfiableSchema:
        return None


@given(recursive_rules, st.text('ab0é",[]()', max_size=12))
def test_kernel_walks_as_the_plain_twin(rules: Rules, text: str) -> None:
    automaton = _linked(rules)
    if automaton is None:
        return
    index = Index(automaton, V)
    for frame in _reached(automaton, text):
        row = index.row(frame)
        mask, exits = plain.walk(automaton, V, np.zeros(1, np.int32), frame)
        assert (row.mask.dense(len(mask)) == mask).all() and row.exit_nodes.tolist() == exits
        for below in return_frames(frame) if exits else ():
            after = index.continuation_row(row.exit_nodes, below)
            mask, exits = plain.walk(automaton, V, row.exit_nodes, below)
            assert (after.mask.dense(len(mask)) == mask).all() and after.exit_nodes.tolist() == exits


@pytest.mark.parametrize("room", [0, 1, 3])
def test_masks_of_more_words_than_there_is_room_for(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "MAX_SPARSE_WORDS", room)
    tokens = vocabulary(f"of a vocabulary of its own, for room {room}".encode())
    automaton = link(
        Rules(
            seq(LiteralText('{"'), RuleRef("key"), LiteralText("1}")),
            {"key": free_text_except(["ab", "aé", "ba"])},
        )
    )
    guide = Guide(automaton, tokens)
    cursor, plainly = guide.cursor(), ReferenceCursor(automaton, tokens)
    found, wanted = np.empty((2, tokens.mask_words), np.uint32)
    for byte in '{"abé"1}'.encode():
        cursor.fill_mask(found)
        plainly.fill_mask(wanted)
        assert (found == wanted).all()
        cursor.advance(byte)
        plainly.advance(byte)


@pytest.mark.parametrize("end", ["", '"'])
@pytest.mark.parametrize(("least", "most"), [(0, 90), (80, 90), (85, None), (70, 70)])
def test_a_counted_row_is_that_of_its_own_walk(end: str, least: int, most: int | None) -> None:
    part = Choice((CharClass(((0x61, 0x62), (0xE9, 0x1F600))), LiteralText("0ab")))
    automaton = link(Rules(seq(Repeat(part, least, most), LiteralText(end)), {}))
    index = Index(automaton, V)
    assert automaton.dfa(0).max_count == most
    for count in range(0, 90 if most is None else most + 1):
        for state in range(len(automaton.row)):
            frame = automaton.frame(state, count)
            row, walked = index.row(frame), index.row_within_budget(None, frame, 1 << 40, 0, None)
            assert (row.mask.dense(V.mask_words) == walked.mask.dense(V.mask_words)).all()
            assert row.exit_nodes.tolist() == walked.exit_nodes.tolist()
            assert row.max_cost_after == walked.max_cost_after or not row.mask.any()


@pytest.mark.parametrize(
    "separated",
    [LiteralText("ab"), seq(LiteralText("0"), Repeat(CharClass(((0x61, 0x62),)), 2, 12)), LiteralText("é")],
)
def test_a_row_of_a_pattern_that_must_go_on_is_that_of_its_own_walk(separated: Node) -> None:
    letter = CharClass(((0x61, 0x62),))
    pattern = seq(Repeat(letter, 1, None), Repeat(seq(LiteralText(","), separated)))
    automaton = link(Rules(Intersection(pattern, Repeat(CharClass(((0, 0x10FFFF),)), 2, 90)), {}))
    index, most = Index(automaton, V), automaton.counter_bounds[0][1]
    assert automaton.max_increments[0] > 1
    for count in range(most + 1):
        for state in range(len(automaton.row)):
            frame = automaton.frame(state, count)
            row, walked = index.row(frame), index.row_within_budget(None, frame, 1 << 40, 0, None)
            assert (row.mask.dense(V.mask_words) == walked.mask.dense(V.mask_words)).all()
            assert row.exit_nodes.tolist() == walked.exit_nodes.tolist()
            assert row.max_cost_after == walked.max_cost_after or not row.mask.any()


@pytest.mark.parametrize("most", [None, 90])
@pytest.mark.parametrize("words", [1, 2])
def test_the_row_after_a_word_is_that_of_its_own_walk(words: int, most: int | None) -> None:
    """Words counted without a counter: after each is another state, whose tokens take the same ways."""
    word, space = Repeat(CharClass(((0x61, 0x7A), (0xE9, 0x2FF))), 1, None), Repeat(LiteralText(","), 1, None)
    counted = seq(Repeat(seq(*(word, space) * words), 0, 24 // words), word)
    node = counted if most is None else Intersection(counted, Repeat(CharClass(((0, 0x10FFFF),)), 0, most))
    automaton = link(Rules(node, {}))
    index = Index(automaton, V)
    assert len(automaton.row) > 64 and (automaton.dfa(0).max_count is None) == (most is None)
    in_words = {}
    for state in range(len(automaton.row)):
        frame = automaton.frame(state, 3)
        row, walked = index.row(frame), index.row_within_budget(None, frame, 1 << 40, 0, None)
        assert (row.mask.dense(V.mask_words) == walked.mask.dense(V.mask_words)).all()
        assert row.exit_nodes.tolist() == walked.exit_nodes.tolist()
        assert row.max_cost_after >= walked.max_cost_after
        if automaton.step([frame], ord("a")) == {frame}:
            in_words[state] = id(row.mask)
    assert most is not None or (len(in_words) == 25 and len(set(in_words.values())) < 10)


@given(st.frozensets(st.text('ab0é"', min_size=1, max_size=5), max_size=6))
def test_rows_told_from_each_other_are_those_of_the_plain_twin(names: frozenset[str]) -> None:
    automaton = link(Rules(free_text_except(names), {}))
    index = Index(automaton, SMALL)
    for state in range(len(automaton.row)):
        frame = automaton.frame(state)
        row = index.row(frame)
        mask, exits = plain.walk(automaton, SMALL, np.zeros(1, np.int32), frame)
        assert (row.mask.dense(len(mask)) == mask).all() and row.exit_nodes.tolist() == exits
        assert row.max_cost_after >= index.row_within_budget(None, frame, 1 << 40, 0, None).max_cost_after


@given(recursive_rules, st.text('ab0é",[]()', max_size=12))
def test_needed_tokens_lead_to_an_end(rules: Rules, text: str) -> None:
    automaton = _linked(rules)
    if automaton is None or automaton.build_all().has_distinct:
        return
    index = Index(automaton, V)
    for frame in _reached(automaton, text):
        shortest = shortest_text(index.shortest, frame)
        frames = automaton.epsilon_closure([frame])
        for byte in shortest:
            frames = automaton.step(frames, byte)
        assert automaton.is_accepting(frames)
        assert len(index.tokenize(shortest) or ()) <= index.upper_bound(frame) < UNREACHABLE


@given(texts)
def test_split_is_the_plain_twin(text: str) -> None:
    tokens = Index(_ANY, V).tokenize(text.encode())
    assert (None if tokens is None else len(tokens)) == plain.split(V, text.encode())
    assert tokens is None or b"".join(V.tokens[token] for token in tokens) == text.encode()
