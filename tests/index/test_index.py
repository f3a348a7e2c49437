from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.shortest import shortest_texts
from structkit.automaton.runtime.stack import Frame, FrameSet, return_frames
from structkit.guide.guide import Guide
from structkit.index.index import UNREACHABLE, Index
from structkit.index.rows import scratch
from structkit.index.rows.arena import LABEL_SHIFT
from structkit.index.rows.row import Row
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
    Seq,
    seq,
)
from structkit.targets.grammar import Grammar
from structkit.targets.targets import read_target
from structkit.testing import small_vocabulary
from structkit.vocabulary.vocabulary import Vocabulary
from tests.guide.reference import ReferenceCursor
from tests.index import plain_twins as plain
from tests.languages import linked, recursive_rules, texts, vocabulary

V = vocabulary()
SMALL = small_vocabulary()
_LARGE = (1 << 40) - 1
"""A budget that forbids no token: the walk is that of a budget."""
_ANY = link(Rules(LiteralText("a"), {}))


def _reached(automaton: Automaton, text: str) -> list[Frame]:
    """Return the frames along the longest prefix of the text that the automaton reads."""
    frames, buffer = automaton.start_frames(), b""
    found = list(frames)
    for byte in text.encode():
        frames, buffer = Reader(automaton).read(frames, buffer, bytes((byte,)))
        found += frames
    return found


@given(recursive_rules, st.text('ab0é",[]()', max_size=12))
def test_walk_equals_the_simple_one(rules: Rules, text: str) -> None:
    automaton = linked(rules)
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


_LABELLED = r"""
start: item ("," item)*
item: NAME | "ab" | NUMBER | "[" item* "]" | NAME "(" item ")"
NAME: /[^\W\d]\w*/
NUMBER: /\d+(\.\d*)?/
%ignore /[ "]+/
"""


@pytest.mark.parametrize("lexer", ["basic", "contextual"])
def test_rows_of_states_with_labels_equal_their_general_walk(lexer: str) -> None:
    """The rows are walked in two parts, of which the first visits the states that call no rule."""
    automaton = link(read_target(Grammar(_LABELLED, parser="lalr", lexer=lexer)).rules())
    assert automaton.has_labels
    index = Index(automaton, V)
    for text in ["ab,éb0 ", "b0(ab)", "[ab aéb 00 ]", "a0,abb,  0"]:
        for frame in dict.fromkeys(_reached(automaton, text)):
            row, walked = index.row(frame), index.row_within_budget(None, frame, _LARGE, 0, None)
            _assert_equal(row, walked)
            nodes = np.unique(row.exit_nodes & ((1 << LABEL_SHIFT) - 1)).astype(np.int32)
            if len(nodes):
                after = index.continuation_row(nodes, frame)
                _assert_equal(after, index.row_within_budget(nodes, frame, _LARGE, 0, None))


_UNEQUAL = r"""
start: expr
expr: NAME | "(" expr ")" | expr NAME "==" NUMBER | "ab" expr "0000"
NAME: /[^\W\d]\w*/
NUMBER: /\d+(\.\d*)?/
%ignore /[ "]+/
"""


@pytest.mark.parametrize("lexer", ["basic", "contextual"])
@pytest.mark.parametrize(("grammar", "texts"), [(_LABELLED, ["b0(ab)"]), (_UNEQUAL, ["ab b 00", "(ab a"])])
def test_the_bound_of_a_frame_to_return_to_is_the_longest_behind_a_label(
    grammar: str, texts: list[str], lexer: str
) -> None:
    automaton = link(read_target(Grammar(grammar, parser="lalr", lexer=lexer)).rules())
    index, looked, unequal = Index(automaton, V), 0, 0
    for frame in dict.fromkeys(frame for text in texts for frame in _reached(automaton, text)):
        for below in return_frames(frame):
            labels = automaton.return_labels(below.state)
            behind = [index.upper_bound(automaton.labelled_return(below, label)) for label in labels]
            looked += len(behind) > 1
            unequal += len(set(behind)) > 1
            assert not behind or index.upper_bound(below) == max(behind)
    assert looked and (unequal or grammar == _LABELLED)


@pytest.mark.parametrize("lexer", ["basic", "contextual"])
def test_the_bound_with_labels_is_that_of_its_definition(lexer: str) -> None:
    """The shortest way over any end of a rule to what must follow there; behind a call, its longest way."""
    automaton = link(read_target(Grammar(_UNEQUAL, parser="lalr", lexer=lexer)).rules())
    automaton.build_all()
    index = Index(automaton, V)
    index.make_exact()
    ends = index.token_distances[2:]

    def below(frame: Frame, label: int) -> int:
        return min(
            (bound(automaton.labelled_return(each, label)) for each in return_frames(frame)), default=0
        )

    def bound(top: Frame | FrameSet | None) -> int:
        if not isinstance(top, Frame):
            return 0 if top is None else min(map(bound, top.frames))
        reached = [
            (label, int(end[top.state])) for label, end in enumerate(ends) if end[top.state] < UNREACHABLE
        ]
        returns = automaton.return_labels(top.state)
        if reached:
            return min(tokens + below(top, label) for label, tokens in reached)
        if returns:
            return max(bound(automaton.labelled_return(top, label)) for label in returns)
        rest = min(map(bound, return_frames(top)), default=0)
        return int(index.token_distances[0][top.state]) + rest

    frames = [frame for text in ("ab b 00", "((ab a)a", "b0==0") for frame in _reached(automaton, text)]
    tops = [None, FrameSet(tuple(dict.fromkeys(frames[:3]))), *frames, *(each.below for each in frames)]
    assert [index.upper_bound(top) for top in tops] == [min(bound(top), UNREACHABLE) for top in tops]
    assert len({*map(bound, tops)}) > 3


def _assert_equal(row: Row, walked: Row) -> None:
    assert (row.mask.dense(V.mask_words) == walked.mask.dense(V.mask_words)).all()
    assert row.exit_nodes.tolist() == walked.exit_nodes.tolist()
    assert row.max_cost_after == walked.max_cost_after or not row.mask.any()


def test_a_row_derived_from_one_with_labels_keeps_its_labels() -> None:
    """In a string with escapes, the states of free text have nearly equal rows, whose exits have labels."""
    grammar = Grammar(
        'start: "{" [pair ("," pair)*] "}"\npair: ESCAPED_STRING ":" ESCAPED_STRING\n%import common.ESCAPED_STRING',
        parser="lalr",
        lexer="contextual",
    )
    tokens = [bytes((byte,)) for byte in range(256)]
    tokens += [b'"}', b'":', b'","', b'\\"', b'\\"}', b'a"}', b'""', b'":"']
    size = Vocabulary([*tokens, b""], {len(tokens)})
    automaton = link(read_target(grammar).rules())
    guide = Guide(automaton, size)
    cursor, reference = guide.cursor(), ReferenceCursor(automaton, size)
    actual, expected = np.empty((2, size.mask_words), np.uint32)
    for byte in b'{"a\\"b":"\\\\","":"\\\\\\\\a"}':
        cursor.fill_mask(actual)
        reference.fill_mask(expected)
        assert (actual == expected).all()
        cursor.advance(byte)
        reference.advance(byte)
    assert cursor.is_accepting


@pytest.mark.parametrize("max_words", [0, 1, 3])
def test_masks_with_more_words_than_a_sparse_mask(max_words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "MAX_SPARSE_WORDS", max_words)
    tokens = vocabulary(f"a separate vocabulary for {max_words} words".encode())
    automaton = link(
        Rules(
            seq(LiteralText('{"'), RuleRef("key"), LiteralText("1}")),
            {"key": free_text_except(["ab", "aé", "ba"])},
        )
    )
    guide = Guide(automaton, tokens)
    cursor, reference = guide.cursor(), ReferenceCursor(automaton, tokens)
    actual, expected = np.empty((2, tokens.mask_words), np.uint32)
    for byte in '{"abé"1}'.encode():
        cursor.fill_mask(actual)
        reference.fill_mask(expected)
        assert (actual == expected).all()
        cursor.advance(byte)
        reference.advance(byte)


@pytest.mark.parametrize("end", ["", '"'])
@pytest.mark.parametrize(("min_count", "max_count"), [(0, 90), (80, 90), (85, None), (70, 70)])
def test_a_counted_row_equals_its_walk(end: str, min_count: int, max_count: int | None) -> None:
    part = Choice((CharClass(((0x61, 0x62), (0xE9, 0x1F600))), LiteralText("0ab")))
    automaton = link(Rules(seq(Repeat(part, min_count, max_count), LiteralText(end)), {}))
    index = Index(automaton, V)
    assert automaton.dfa(0).max_count == max_count
    for count in range(0, 90 if max_count is None else max_count + 1):
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
def test_a_row_of_a_pattern_with_required_iterations_equals_its_walk(separated: Node) -> None:
    letter = CharClass(((0x61, 0x62),))
    pattern = seq(Repeat(letter, 1, None), Repeat(seq(LiteralText(","), separated)))
    automaton = link(Rules(Intersection(pattern, Repeat(CharClass(((0, 0x10FFFF),)), 2, 90)), {}))
    index, max_count = Index(automaton, V), automaton.counter_bounds[0][1]
    assert automaton.max_increments[0] > 1
    for count in range(max_count + 1):
        for state in range(len(automaton.row)):
            frame = automaton.frame(state, count)
            row, walked = index.row(frame), index.row_within_budget(None, frame, 1 << 40, 0, None)
            assert (row.mask.dense(V.mask_words) == walked.mask.dense(V.mask_words)).all()
            assert row.exit_nodes.tolist() == walked.exit_nodes.tolist()
            assert row.max_cost_after == walked.max_cost_after or not row.mask.any()


@pytest.mark.parametrize("max_count", [None, 90])
@pytest.mark.parametrize("words", [1, 2])
def test_the_row_after_a_word_equals_its_walk(words: int, max_count: int | None) -> None:
    """Words are counted without the counter: each word leads to another state with equivalent tokens."""
    word, space = Repeat(CharClass(((0x61, 0x7A), (0xE9, 0x2FF))), 1, None), Repeat(LiteralText(","), 1, None)
    counted = seq(Repeat(seq(*(word, space) * words), 0, 24 // words), word)
    length = Repeat(CharClass(((0, 0x10FFFF),)), 0, max_count)
    node = counted if max_count is None else Intersection(counted, length)
    automaton = link(Rules(node, {}))
    index = Index(automaton, V)
    assert len(automaton.row) > 64 and (automaton.dfa(0).max_count is None) == (max_count is None)
    in_words = {}
    for state in range(len(automaton.row)):
        frame = automaton.frame(state, 3)
        row, walked = index.row(frame), index.row_within_budget(None, frame, 1 << 40, 0, None)
        assert (row.mask.dense(V.mask_words) == walked.mask.dense(V.mask_words)).all()
        assert row.exit_nodes.tolist() == walked.exit_nodes.tolist()
        assert row.max_cost_after >= walked.max_cost_after
        if automaton.step([frame], ord("a")) == {frame}:
            in_words[state] = id(row.mask)
    assert max_count is not None or (len(in_words) == 25 and len(set(in_words.values())) < 10)


@given(st.frozensets(st.text('ab0é"', min_size=1, max_size=5), max_size=6))
def test_rows_stored_as_differences_equal_the_simple_ones(names: frozenset[str]) -> None:
    automaton = link(Rules(free_text_except(names), {}))
    index = Index(automaton, SMALL)
    for state in range(len(automaton.row)):
        frame = automaton.frame(state)
        row = index.row(frame)
        mask, exits = plain.walk(automaton, SMALL, np.zeros(1, np.int32), frame)
        assert (row.mask.dense(len(mask)) == mask).all() and row.exit_nodes.tolist() == exits
        assert row.max_cost_after >= index.row_within_budget(None, frame, 1 << 40, 0, None).max_cost_after


@given(recursive_rules, st.text('ab0é",[]()', max_size=12))
def test_upper_bounds_are_at_least_the_shortest_completion(rules: Rules, text: str) -> None:
    automaton = linked(rules)
    if automaton is None or automaton.build_all().has_distinct:
        return
    index = Index(automaton, V)
    for frame in _reached(automaton, text):
        (shortest,) = shortest_texts(index.shortest, [frame])
        frames = automaton.epsilon_closure([frame])
        for byte in shortest:
            frames = automaton.step(frames, byte)
        assert automaton.is_accepting(frames)
        assert len(index.texts.tokenize(shortest) or ()) <= index.upper_bound(frame) < UNREACHABLE


@given(texts)
def test_tokenize_equals_the_simple_one(text: str) -> None:
    tokens = Index(_ANY, V).texts.tokenize(text.encode())
    assert (None if tokens is None else len(tokens)) == plain.split(V, text.encode())
    assert tokens is None or b"".join(V.tokens[token] for token in tokens) == text.encode()


@given(st.lists(texts, max_size=4), st.integers(0, 3))
def test_the_fewest_tokens_of_several_texts_are_those_of_one(lines: list[str], cut: int) -> None:
    several = [line.encode() for line in lines] + [line.encode()[cut:] for line in lines]
    index = Index(_ANY, V)
    counts = [len(tokens) for text in several if text and (tokens := index.texts.tokenize(text)) is not None]
    found = index.texts.fewest_tokens(filter(None, several))
    assert len(found) == min(counts, default=0)
    assert not found or b"".join(V.tokens[token] for token in found) in several


def test_the_bounds_of_the_frames_below_are_computed_once() -> None:
    nested = Choice((Seq((LiteralText("("), RuleRef("p"), LiteralText(")"))), LiteralText("x")))
    automaton = link(Rules(RuleRef("p"), {"p": nested}))
    index = Index(automaton, V)
    frame = max(_reached(automaton, "(((("), key=index.upper_bound)
    known: dict[Frame | FrameSet, int] = {}
    assert index.upper_bound(frame, known) == index.upper_bound(frame) == known[frame]
    below = frame.below
    assert isinstance(below, Frame) and known[frame] > known[below]
    assert index.upper_bound(frame, {below: known[below] + 70}) == known[frame] + 70
