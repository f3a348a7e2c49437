"""The kernels compared with simple reference implementations."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from structkit.automaton.construct import compile_rule
from structkit.automaton.core import kernels
from structkit.automaton.core.dfa import DEAD, Dfa, exclude_texts, intersection, iterations_to_end, trim
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import LimitExceeded, UnsatisfiableSchema
from structkit.limits import Limits
from structkit.regex.nodes import Choice, Intersection, LiteralText, Node, Repeat, Rules, Seq
from tests.automaton import plain_twins as plain
from tests.languages import nodes, recursive_rules

LIMITS = Limits(nfa_states=3_000, states=3_000)


def _equal(left: Dfa, right: Dfa) -> bool:
    return (
        np.array_equal(left.classes, right.classes)
        and np.array_equal(left.targets, right.targets)
        and np.array_equal(left.final, right.final)
        and np.array_equal(left.calls, right.calls)
        and left.callees == right.callees
        and (left.min_count, left.max_count) == (right.min_count, right.max_count)
    )


def _trimmed(dfa: Dfa) -> Dfa:
    return dfa if dfa.callees else trim(dfa)


@given(nodes)
def test_determinize_equals_the_simple_one(node: Node) -> None:
    try:
        nfa = compile_rule.nfa_of(node, LIMITS, count=True)
        dfa = compile_rule._determinize(nfa, LIMITS)
    except compile_rule.AmbiguousIteration:
        with pytest.raises(compile_rule.AmbiguousIteration):
            plain.determinize(nfa)
    except LimitExceeded:  # the simple implementation would take minutes
        reject()
    else:
        assert _equal(dfa, _trimmed(plain.determinize(nfa)))


@given(recursive_rules)
def test_determinize_with_calls_equals_the_simple_one(rules: Rules) -> None:
    for node in (rules.start, *rules.rules.values()):
        nfa = compile_rule.nfa_of(node, LIMITS, count=True)
        try:
            dfa = compile_rule._determinize(nfa, LIMITS)
        except compile_rule.AmbiguousIteration:
            with pytest.raises(compile_rule.AmbiguousIteration):
                plain.determinize(nfa)
        else:
            assert _equal(dfa, _trimmed(plain.determinize(nfa)))


@given(nodes, st.integers(0, 9))
def test_required_iterations_equal_the_simple_ones(node: Node, extra: int) -> None:
    """The first class of each state starts an iteration."""
    try:
        dfa = compile_rule.regular_dfa(node, LIMITS)
    except LimitExceeded:
        reject()
    assume(not dfa.is_empty)
    targets = dfa.targets.copy()
    targets[:, 0] = np.where(targets[:, 0] == DEAD, DEAD, targets[:, 0] | 1 + extra)
    required = iterations_to_end(replace(dfa, targets=targets))
    expected, counted = plain.count_required(targets, required), targets.copy()
    most = kernels.count_required(counted, required)
    if most < kernels.EXIT:
        assert np.array_equal(counted, expected)
        assert most == (expected[expected != DEAD] & kernels.OPERATION_MASK).max(initial=0)


@given(recursive_rules, st.randoms(use_true_random=False))
def test_removed_transitions_equal_the_simple_ones(rules: Rules, random: Random) -> None:
    try:
        tables = link(rules).build_all().tables
    except UnsatisfiableSchema:
        reject()
    blocked, dead_ends = np.array([[random.random() < 0.2 for _ in tables.row] for _ in range(2)])
    kept = np.empty_like(tables.targets)
    kernels.remove_transitions(tables.row, tables.targets, blocked, dead_ends, kept)
    assert np.array_equal(kept, plain.remove_transitions(tables, blocked, dead_ends))


@given(st.integers(1, 8), st.integers(0, 3), st.randoms(use_true_random=False))
def test_endless_states_equal_the_simple_ones(states: int, first: int, random: Random) -> None:
    moves = [[random.choice([DEAD, DEAD, *range(states)]) for _ in range(2)] for _ in range(states)]
    targets = np.array(moves, np.int32)
    calls = sorted((random.randrange(states), random.randrange(states)) for _ in range(random.randrange(4)))
    counts = np.array([random.random() < 0.7 for _ in calls], bool)
    calling = np.array([random.random() < 0.1 for _ in range(states)])
    counting = [call for call, is_counted in zip(calls, counts, strict=True) if is_counted]
    expected = plain.endless_states(
        np.where(targets == DEAD, DEAD, targets << kernels.OPERATION_BITS), counting, calling
    )
    shifted = np.where(targets == DEAD, DEAD, targets + first << kernels.OPERATION_BITS).astype(np.int32)
    sources, after = np.array(calls, np.int64).reshape(-1, 2).T
    endless = np.ones(states, bool)
    arguments = shifted, first, sources.copy(), after.astype(np.int32), counts, calling, endless
    assert not kernels.remove_finite(*arguments, states + 1)
    assert set(np.flatnonzero(endless).tolist()) == expected
    assert not any(kernels.remove_finite(*arguments, 1) for _ in range(2))


def test_too_few_sweeps_leave_states() -> None:
    """A chain against the order of the sweeps loses one state in each."""
    targets = np.array([[DEAD], [0 << kernels.OPERATION_BITS], [1 << kernels.OPERATION_BITS]], np.int32)
    none = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, bool)
    endless, calling = np.ones(3, bool), np.zeros(3, bool)
    assert kernels.remove_finite(targets, 0, *none, calling, endless, 1)
    assert endless.tolist() == [False, True, True]
    assert not kernels.remove_finite(targets, 0, *none, calling, endless, 3)
    assert not endless.any()


@given(nodes, nodes, nodes)
def test_differences_equal_the_difference_of_a_union(left: Node, first: Node, second: Node) -> None:
    try:
        found = compile_rule.regular_dfa(Intersection(left, Choice((first, second)), True), LIMITS)
        whole, union = (compile_rule.regular_dfa(each, LIMITS) for each in (left, Choice((first, second))))
    except LimitExceeded:
        reject()
    expected = intersection(whole, union, 3_000, negate=True)
    assume(expected is not None)
    for unlike in (
        intersection(found, expected, 9_000, negate=True),
        intersection(expected, found, 9_000, negate=True),
    ):
        assert unlike is not None and unlike.is_empty


@pytest.mark.long
@given(nodes, nodes, st.booleans())
def test_product_equals_the_simple_one(left: Node, right: Node, negate: bool) -> None:
    try:
        one, other = compile_rule.regular_dfa(left), compile_rule.regular_dfa(right)
    except LimitExceeded:
        reject()
    assume(len(one.final) * len(other.final) < 20_000)
    dfa = intersection(one, other, 100_000, negate=negate)
    assert dfa is not None and _equal(dfa, trim(plain.product(one, other, negate=negate)))


@given(nodes, st.lists(st.text('ab0é",[]()', max_size=6), max_size=6))
def test_excluding_texts_equals_the_simple_difference(node: Node, texts: list[str]) -> None:
    try:
        dfa = compile_rule.regular_dfa(node, LIMITS)
    except LimitExceeded:
        reject()
    assume(len(dfa.final) < 1_000)
    excluded = compile_rule.regular_dfa(Choice(tuple(map(LiteralText, texts))))
    found = exclude_texts(dfa, [text.encode() for text in texts], 3_000)
    expected = plain.product(dfa, excluded, negate=True)
    assert found is not None
    for one, other in ((found, expected), (expected, found)):
        unlike = intersection(one, other, 100_000, negate=True)
        assert unlike is not None and unlike.is_empty


def test_texts_of_every_byte_are_excluded() -> None:
    every = compile_rule.regular_dfa(Choice((LiteralText("a"), LiteralText("é"), LiteralText("\udcff"))))
    found = exclude_texts(every, [bytes(range(256)), b"\xff", "é".encode()], 1_000)
    assert found is not None
    assert [found.accepts(text) for text in (b"a", b"\xff", "é".encode(), b"\xc3")] == [
        True,
        False,
        False,
        False,
    ]
    assert exclude_texts(every, [b"abc"], 1 + len(every.final) + 2) is None


def test_many_states_grow_the_tables() -> None:
    dfa = compile_rule.regular_dfa(Repeat(LiteralText("abcdefgh"), 500, 500))
    assert len(dfa.final) == 4001 and dfa.accepts(b"abcdefgh" * 500)


def test_too_small_tables_are_enlarged() -> None:
    ab = Choice((LiteralText("a"), LiteralText("b")))
    node = Seq((Repeat(ab, 0, None), LiteralText("a"), Repeat(ab, 9, 9)))  # a state per last ten letters
    nfa = compile_rule.nfa_of(node, LIMITS)
    dfa = compile_rule._determinize(nfa, LIMITS)
    assert len(dfa.final) == 2**10 > nfa.size + 64
    assert _equal(dfa, _trimmed(plain.determinize(nfa)))
    with pytest.raises(LimitExceeded, match="states"):
        compile_rule._determinize(nfa, Limits(states=500))


@pytest.mark.parametrize("max_states", [0, 1, 13 * 17 - 1, 13 * 17, 10_000])
def test_products_above_the_limit_are_rejected(max_states: int) -> None:
    left, right = (
        compile_rule.regular_dfa(Repeat(LiteralText("a" * length), 0, None)) for length in (13, 17)
    )
    dfa = intersection(left, right, max_states)
    assert (dfa is not None) == (max_states >= 13 * 17)
    if dfa is not None:
        assert _equal(dfa, trim(plain.product(left, right, negate=False)))


@given(recursive_rules, st.text('ab0é",[]()', max_size=12))
def test_reading_many_bytes_equals_reading_one_by_one(rules: Rules, text: str) -> None:
    try:
        automaton = link(rules)
    except UnsatisfiableSchema:
        return
    if automaton.build_all().has_distinct:
        return
    frames = automaton.start_frames()
    for byte in text.encode():
        frames = automaton.step(frames, byte)
    assert Reader(automaton).read(automaton.start_frames(), b"", text.encode())[0] == frames
