"""The compiled step against `Reader` and the rows in Python, and its arrays at their limits."""

from __future__ import annotations

import gc
import threading
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.link import link
from structkit.automaton.runtime import configurations, frame_kernels
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.stack import Frame, return_frames
from structkit.errors import LimitExceeded, TokenRejected, UnsatisfiableSchema
from structkit.guide.guide import Cursor, Guide
from structkit.guide.state import State, mask_of
from structkit.index import mask_builder
from structkit.index.rows import row_kernels, scratch
from structkit.limits import Limits
from structkit.regex.json_string import free_text_except
from structkit.regex.nodes import CharClass, Choice, LiteralText, Repeat, RuleRef, Rules, Seq
from structkit.targets.grammar import Grammar
from structkit.targets.targets import read_target
from tests.languages import recursive_rules, vocabulary

V = vocabulary()
WORDS = V.mask_words


def _guide(rules: Rules, limits: Limits | None = None) -> Guide | None:
    try:
        return Guide(link(rules, limits or Limits()), V)
    except UnsatisfiableSchema:
        return None


def _compare(guide: Guide, tokens: list[int]) -> None:
    """Advance along the allowed tokens and compare each configuration and mask with the answers in Python."""
    parser, automaton = guide.parser, guide.automaton
    configuration, frames, buffer = parser.start, automaton.start_frames(), b""
    out, expected = np.empty((2, WORDS), np.uint32)
    for token in tokens:
        assert parser.state(configuration).frames == frames
        assert bool(configuration & 1) == automaton.is_accepting(frames)
        parser.fill_mask(configuration, None, out)
        state = State(configuration, frames, buffer)
        expected[:] = mask_of(state, guide.index) | (guide.eos_mask if state.is_accepting else 0)
        assert (out == expected).all()
        after = parser.advance(configuration, token)
        read, buffer = guide.reader.read(frames, buffer, V.tokens[token])
        assert (after < 0) == (not read)
        if after >= 0:
            configuration, frames = after, read


def _allowed(guide: Guide, data: st.DataObject, steps: int) -> list[int]:
    """Draw tokens, mostly allowed ones."""
    cursor, out, drawn = guide.cursor(), np.empty(WORDS, np.uint32), []
    for _ in range(steps):
        cursor.fill_mask(out)
        bits = np.flatnonzero(np.unpackbits(out.view(np.uint8), bitorder="little"))
        tokens = [token for token in bits.tolist() if V.tokens[token]]
        if not tokens:
            break
        drawn.append(data.draw(st.sampled_from(tokens)))
        cursor.advance(drawn[-1])
    return [*drawn, data.draw(st.integers(0, 255))]


@given(recursive_rules, st.data())
def test_the_compiled_step_equals_the_one_in_python(rules: Rules, data: st.DataObject) -> None:
    guide = _guide(rules)
    if guide is not None:
        _compare(guide, _allowed(guide, data, 8))


@given(recursive_rules, st.data())
def test_arrays_grow(rules: Rules, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            *((configurations, name) for name in ("_FRAMES", "_LISTS", "_LIST_ITEMS", "_BUCKETS")),
            *((mask_builder, name) for name in ("_ROWS", "_WORDS", "_BASES", "_BUCKETS")),
        ):
            patch.setattr(module, name, 1)
        guide = _guide(rules)
        if guide is not None:
            _compare(guide, _allowed(guide, data, 8))


@given(recursive_rules, st.data())
def test_rows_from_python_equal_those_of_the_kernel(rules: Rules, data: st.DataObject) -> None:
    """Without scratch memory for walks, Python computes every row."""
    guide = _guide(rules)
    if guide is not None:
        tokens = _allowed(guide, data, 8)
        other = _guide(rules)
        assert other is not None
        memory = other.parser._masks._memory
        memory.bind(row_kernels.ARENA, [np.empty((1, memory[row_kernels.ARENA].shape[1]), np.int64)])
        _compare(other, tokens)


@pytest.mark.parametrize("max_words", [scratch.MAX_SPARSE_WORDS, 3])
@given(names=st.frozensets(st.text('ab0é"', min_size=1, max_size=5), max_size=6), data=st.data())
def test_rows_derived_from_free_text_equal_those_in_python(
    max_words: int, names: frozenset[str], data: st.DataObject
) -> None:
    """A state inside an excluded key differs little from free text, whose mask is sparse or dense."""
    rules = Rules(Seq((RuleRef("key"), LiteralText(": "), RuleRef("key"))), {"key": free_text_except(names)})
    tokens = vocabulary(f"a separate vocabulary for {max_words} words".encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scratch, "MAX_SPARSE_WORDS", max_words)
        guide = Guide(link(rules), tokens)
        _compare(guide, _allowed(guide, data, 8))


@given(recursive_rules, st.data())
def test_forced_bytes_equal_those_in_python(rules: Rules, data: st.DataObject) -> None:
    guide = _guide(rules)
    if guide is None:
        return
    cursor = guide.cursor()
    for token in _allowed(guide, data, 4)[:-1]:
        state = cursor.state
        assert cursor.forced_bytes() == guide.parser._configurations._forced_bytes(
            state.frames, state.buffer, 4096
        )
        cursor.advance(token)


def test_frames_survive_the_way_through_numbers() -> None:
    node = Choice((LiteralText("a"), Seq((LiteralText("("), RuleRef("x"), LiteralText(")")))))
    guide = _guide(Rules(RuleRef("x"), {"x": node}))
    assert guide is not None
    cursor = guide.cursor()
    for _ in range(3_000):  # deeper than Python's stack
        cursor.advance(ord("("))
    (frame,) = (frame for frame in cursor.state.frames if frame.below is not None)
    depth = 0
    at: Frame | None = frame
    while at is not None:
        depth, at = depth + 1, next(iter(return_frames(at)), None)
    assert depth >= 3_000
    number = guide.parser._configurations.number(cursor.state.frames, b"")
    assert number == cursor.state.configuration


def _palindromes() -> Guide:
    wrapped = [Seq((LiteralText(letter), RuleRef("p"), LiteralText(letter))) for letter in "ab"]
    short = [LiteralText(text) for text in ("a", "b", "aa", "bb")]
    guide = _guide(Rules(RuleRef("p"), {"p": Choice((*wrapped, *short))}))
    assert guide is not None
    return guide


def test_many_places_to_return_to_are_merged_as_in_python() -> None:
    """After 300 letters, a hundred places or more can be the middle."""
    guide = _palindromes()
    configuration, frames = guide.parser.start, guide.automaton.start_frames()
    for letter in b"aab" * 100:
        configuration = guide.parser.advance_bytes(configuration, bytes((letter,)))
        frames = guide.automaton.step(frames, letter)
    assert guide.parser.state(configuration).frames == frames


def test_too_many_parses_are_reported() -> None:
    """Each rule may be the one that a text of `(` is in."""
    names = [f"t{number}" for number in range(40)]
    nested = {
        name: Choice((LiteralText(name), Seq((LiteralText("("), RuleRef(name), LiteralText(")")))))
        for name in names
    }
    limits = Limits(parse_states=8)
    guide = _guide(Rules(Seq((LiteralText("a"), Choice(tuple(map(RuleRef, names))))), nested), limits)
    assert guide is not None
    cursor = guide.cursor()
    with pytest.raises(LimitExceeded, match="parse_states=8"):
        cursor.advance(ord("a"))
    mask = np.empty(WORDS, np.uint32)
    guide.cursor().fill_mask(mask)
    assert mask.any()
    with pytest.raises(LimitExceeded, match=r"(?s)at `\$`.*parse_states=8"):
        _guide(Rules(Choice(tuple(map(RuleRef, names))), nested), limits)


def test_tokens_longer_than_the_scratch_memory() -> None:
    """The rule of the text ends inside a token, at a depth beyond the memory of a usual walk."""
    text = Choice((Repeat(LiteralText("x")), Seq((LiteralText("("), RuleRef("t"), LiteralText(")")))))
    long = b"x" * 3_000 + b"]"
    tokens = vocabulary(long, b"x" * 3_000, long + b"x")
    guide = Guide(link(Rules(Seq((LiteralText("["), RuleRef("t"), LiteralText("]"))), {"t": text})), tokens)
    cursor = guide.cursor()
    cursor.advance(ord("["))
    mask = np.empty(tokens.mask_words, np.uint32)
    cursor.fill_mask(mask)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
    allowed = {tokens.tokens[token] for token in np.flatnonzero(bits).tolist()}
    assert {long, long[:-1]} <= allowed and long + b"x" not in allowed
    cursor.advance(tokens.tokens.index(long))
    assert cursor.is_finished


@pytest.mark.parametrize("out", [np.zeros(2 * WORDS, np.uint32)[::2], np.zeros((WORDS, 2), np.uint32)[:, 0]])
def test_a_mask_can_be_written_to_an_array_with_gaps(out: np.ndarray) -> None:
    guide = _guide(Rules(LiteralText("ab"), {}))
    assert guide is not None
    guide.cursor().fill_mask(out)
    expected = np.empty(WORDS, np.uint32)
    guide.cursor().fill_mask(expected)
    assert (out == expected).all() and expected.any()


@pytest.mark.parametrize("token", [-1, 1 << 80, 10_000, np.int32(97), np.uint8(97), True])
def test_tokens_are_any_integers(token: int) -> None:
    guide = _guide(Rules(LiteralText("ab"), {}))
    assert guide is not None
    cursor = guide.cursor()
    if int(token) == 97:
        cursor.advance(token)
        assert cursor.token_ids == (97,)
    else:
        with pytest.raises(TokenRejected):
            cursor.advance(token)


def test_steps_leave_nothing_to_the_garbage_collector() -> None:
    letters = Repeat(CharClass(((0x61, 0x7A),)), 0, 3_000)
    guide = _guide(Rules(Seq((LiteralText("["), RuleRef("w"), LiteralText("]"))), {"w": letters}))
    assert guide is not None
    cursor = guide.cursor()
    cursor.advance(ord("["))
    mask = np.empty(WORDS, np.uint32)
    for _ in range(600):
        cursor.advance(ord("a"))
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(1_000):
        cursor.fill_mask(mask)
        cursor.advance(ord("a"))
    assert len(gc.get_objects()) - before < 100


def test_threads_share_a_parser() -> None:
    word = Repeat(CharClass(((0x61, 0x7A), (0xE9, 0x1F600))), 0, 400)
    value = Choice(
        (word, Seq((LiteralText("["), RuleRef("v"), LiteralText(","), RuleRef("v"), LiteralText("]"))))
    )
    rules = Rules(RuleRef("v"), {"v": value})
    guide, alone = _guide(rules), _guide(rules)
    assert guide is not None and alone is not None
    texts = [("[" * depth + "é" * 50 + ",abc]" * depth).encode() for depth in range(1, 17)]
    expected = [_masks(alone.cursor(), text) for text in texts]
    found: list[list[bytes] | None] = [None] * len(texts)

    def run(number: int) -> None:
        found[number] = _masks(guide.cursor(), texts[number])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def _masks(cursor: Cursor, text: bytes) -> list[bytes]:
    out, masks = np.empty(WORDS, np.uint32), []
    for byte in text:
        cursor.fill_mask(out)
        masks.append(out.tobytes())
        cursor.advance(byte)
    return masks


def test_configurations_without_frames_are_rejected() -> None:
    guide = _guide(Rules(LiteralText("a"), {}))
    assert guide is not None and isinstance(guide.automaton, Automaton)
    assert guide.parser._configurations.number(frozenset(), b"") == frame_kernels.REJECTED
    assert guide.parser.state(frame_kernels.REJECTED).frames == frozenset()


def test_right_recursion_takes_no_stack() -> None:
    """A list that calls itself at its end: `S: "a," S | "b"`."""
    rules = Rules(RuleRef("s"), {"s": Choice((Seq((LiteralText("a,"), RuleRef("s"))), LiteralText("b")))})
    guide = _guide(rules)
    assert guide is not None
    cursor = guide.cursor()
    mask = np.empty(WORDS, np.uint32)
    for _ in range(2_000):
        for byte in b"a,":
            cursor.fill_mask(mask)
            cursor.advance(byte)
    assert guide.parser._configurations.memory[frame_kernels.COUNTERS][frame_kernels.FRAME_COUNT] < 10
    cursor.advance(ord("b"))
    assert cursor.is_finished


_LABELLED = r"""
start: item ("," item)*
item: NAME | "ab" | NUMBER | "[" item* "]" | NAME "(" item ")"
NAME: /[^\W\d]\w*/
NUMBER: /\d+(\.\d*)?/
%ignore /[ "]+/
"""


@pytest.mark.parametrize("parser", ["lalr", "earley"])
def test_upper_bounds_of_rules_with_labels_equal_those_in_python(parser: Literal["lalr", "earley"]) -> None:
    target = read_target(Grammar(_LABELLED, parser=parser, lexer="basic"))
    guide = Guide(link(target.rules()), V)
    assert guide.automaton.has_labels
    for text in (b"ab,eb0 ", b"b0(ab)", b"[ab aeb 00 b(c(1", b"a0,abb,  0"):
        cursor = guide.cursor()
        for byte in text:
            state = cursor.state
            bounds = [guide.index.upper_bound(frame) for frame in state.frames]
            assert state.is_accepting or min(bounds) == guide.parser.budgets.upper_bound(state) > 0
            cursor.advance(byte)


@pytest.mark.parametrize("parser", ["lalr", "earley"])
def test_masks_of_budgets_of_rules_with_labels_have_the_tokens_whose_bound_fits(
    parser: Literal["lalr", "earley"],
) -> None:
    guide = Guide(link(read_target(Grammar(_LABELLED, parser=parser, lexer="basic")).rules()), V)
    partly = 0
    for text in (b"ab,eb0 ", b"b0(ab)", b"[ab aeb 00 b(c(1"):
        cursor = guide.cursor()
        for byte in text:
            after: dict[int, int] = {}
            for token in range(V.size):
                other = cursor.fork()
                try:
                    other.advance(token)
                except TokenRejected:
                    continue
                if token not in V.eos_token_ids:
                    after[token] = other.min_tokens_to_end()
            for remaining in range(5):
                fits = {token for token, bound in after.items() if bound <= remaining}
                if fits:  # otherwise the mask has the first token of a completion
                    mask = np.zeros(WORDS, np.uint32)
                    cursor.fill_mask(mask, budget=remaining + 1)
                    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
                    assert {*np.flatnonzero(bits).tolist()} - {*V.eos_token_ids} == fits
                    rows = guide.parser.budgets.fitting_rows(cursor.state, remaining)
                    whole = {*np.flatnonzero(np.unpackbits(rows.view(np.uint8), bitorder="little")).tolist()}
                    assert whole <= fits
                    partly += 0 < len(whole) < len(fits)
            cursor.advance(byte)
    assert partly > 0
