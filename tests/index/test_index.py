from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.shortest import shortest_text
from structkit.automaton.runtime.stack import Frame, under
from structkit.errors import UnsatisfiableSchema
from structkit.guide.guide import Guide
from structkit.index.index import FAR, Index
from structkit.index.rows import scratch
from structkit.regex.json_string import other_text
from structkit.regex.nodes import Alt, Both, Call, Chars, Node, Repeat, Rules, Text, seq
from structkit.testing import small_vocabulary
from tests.guide.reference import ReferenceCursor
from tests.index import plain_twins as plain
from tests.languages import recursive_rules, texts, vocabulary

V = vocabulary()
SMALL = small_vocabulary()
_ANY = link(Rules(Text("a"), {}))


def _reached(automaton: Automaton, text: str) -> list[Frame]:
    """The frames along the way of the longest beginning of the text that the automaton reads."""
    frames, kept = automaton.first(), b""
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
        assert (row.mask.dense(len(mask)) == mask).all() and row.exits.tolist() == exits
        for below in under(frame) if exits else ():
            after = index.after(row.exits, below)
            mask, exits = plain.walk(automaton, V, row.exits, below)
            assert (after.mask.dense(len(mask)) == mask).all() and after.exits.tolist() == exits


@pytest.mark.parametrize("room", [0, 1, 3])
def test_masks_of_more_words_than_there_is_room_for(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "FEW", room)
    tokens = vocabulary(f"of a vocabulary of its own, for room {room}".encode())
    automaton = link(Rules(seq(Text('{"'), Call("key"), Text("1}")), {"key": other_text(["ab", "aé", "ba"])}))
    guide = Guide(automaton, tokens)
    cursor, plainly = guide.cursor(), ReferenceCursor(automaton, tokens)
    found, wanted = np.empty((2, tokens.words), np.uint32)
    for byte in '{"abé"1}'.encode():
        cursor.fill_mask(found)
        plainly.fill_mask(wanted)
        assert (found == wanted).all()
        cursor.advance(byte)
        plainly.advance(byte)


@pytest.mark.parametrize("end", ["", '"'])
@pytest.mark.parametrize(("least", "most"), [(0, 90), (80, 90), (85, None), (70, 70)])
def test_a_counted_row_is_that_of_its_own_walk(end: str, least: int, most: int | None) -> None:
    part = Alt((Chars(((0x61, 0x62), (0xE9, 0x1F600))), Text("0ab")))
    automaton = link(Rules(seq(Repeat(part, least, most), Text(end)), {}))
    index = Index(automaton, V)
    assert automaton.dfa(0).most == most
    for count in range(0, 90 if most is None else most + 1):
        for state in range(len(automaton.row)):
            frame = automaton.frame(state, count)
            row, walked = index.row(frame), index.within(None, frame, 1 << 40, 0, None)
            assert (row.mask.dense(V.words) == walked.mask.dense(V.words)).all()
            assert row.exits.tolist() == walked.exits.tolist()
            assert row.growth == walked.growth or not row.mask.any()


@pytest.mark.parametrize(
    "separated", [Text("ab"), seq(Text("0"), Repeat(Chars(((0x61, 0x62),)), 2, 12)), Text("é")]
)
def test_a_row_of_a_pattern_that_must_go_on_is_that_of_its_own_walk(separated: Node) -> None:
    letter = Chars(((0x61, 0x62),))
    pattern = seq(Repeat(letter, 1, None), Repeat(seq(Text(","), separated)))
    automaton = link(Rules(Both(pattern, Repeat(Chars(((0, 0x10FFFF),)), 2, 90)), {}))
    index, most = Index(automaton, V), automaton.counters[0][1]
    assert automaton.strides[0] > 1
    for count in range(most + 1):
        for state in range(len(automaton.row)):
            frame = automaton.frame(state, count)
            row, walked = index.row(frame), index.within(None, frame, 1 << 40, 0, None)
            assert (row.mask.dense(V.words) == walked.mask.dense(V.words)).all()
            assert row.exits.tolist() == walked.exits.tolist()
            assert row.growth == walked.growth or not row.mask.any()


@pytest.mark.parametrize("most", [None, 90])
@pytest.mark.parametrize("words", [1, 2])
def test_the_row_after_a_word_is_that_of_its_own_walk(words: int, most: int | None) -> None:
    """Words counted without a counter: after each is another state, whose tokens take the same ways."""
    word, space = Repeat(Chars(((0x61, 0x7A), (0xE9, 0x2FF))), 1, None), Repeat(Text(","), 1, None)
    counted = seq(Repeat(seq(*(word, space) * words), 0, 24 // words), word)
    node = counted if most is None else Both(counted, Repeat(Chars(((0, 0x10FFFF),)), 0, most))
    automaton = link(Rules(node, {}))
    index = Index(automaton, V)
    assert len(automaton.row) > 64 and (automaton.dfa(0).most is None) == (most is None)
    in_words = {}
    for state in range(len(automaton.row)):
        frame = automaton.frame(state, 3)
        row, walked = index.row(frame), index.within(None, frame, 1 << 40, 0, None)
        assert (row.mask.dense(V.words) == walked.mask.dense(V.words)).all()
        assert row.exits.tolist() == walked.exits.tolist()
        assert row.growth >= walked.growth
        if automaton.step([frame], ord("a")) == {frame}:
            in_words[state] = id(row.mask)
    assert most is not None or (len(in_words) == 25 and len(set(in_words.values())) < 10)


@given(st.frozensets(st.text('ab0é"', min_size=1, max_size=5), max_size=6))
def test_rows_told_from_each_other_are_those_of_the_plain_twin(names: frozenset[str]) -> None:
    automaton = link(Rules(other_text(names), {}))
    index = Index(automaton, SMALL)
    for state in range(len(automaton.row)):
        frame = automaton.frame(state)
        row = index.row(frame)
        mask, exits = plain.walk(automaton, SMALL, np.zeros(1, np.int32), frame)
        assert (row.mask.dense(len(mask)) == mask).all() and row.exits.tolist() == exits
        assert row.growth >= index.within(None, frame, 1 << 40, 0, None).growth


@given(recursive_rules, st.text('ab0é",[]()', max_size=12))
def test_needed_tokens_lead_to_an_end(rules: Rules, text: str) -> None:
    automaton = _linked(rules)
    if automaton is None or automaton.complete().remembers:
        return
    index = Index(automaton, V)
    for frame in _reached(automaton, text):
        shortest = shortest_text(index.shortest, frame)
        frames = automaton.settle([frame])
        for byte in shortest:
            frames = automaton.step(frames, byte)
        assert automaton.can_end(frames)
        assert len(index.split(shortest) or ()) <= index.need(frame) < FAR


@given(texts)
def test_split_is_the_plain_twin(text: str) -> None:
    tokens = Index(_ANY, V).split(text.encode())
    assert (None if tokens is None else len(tokens)) == plain.split(V, text.encode())
    assert tokens is None or b"".join(V.tokens[token] for token in tokens) == text.encode()
