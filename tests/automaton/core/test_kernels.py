from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from structkit.automaton.construct import compile_rule
from structkit.automaton.core.dfa import Dfa, intersection, trim
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import LimitExceeded, UnsatisfiableSchema
from structkit.limits import Limits
from structkit.regex.nodes import Choice, LiteralText, Node, Repeat, Rules, Seq
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
def test_kernel_determinises_as_the_plain_twin(node: Node) -> None:
    try:
        nfa = compile_rule.nfa_of(node, LIMITS, count=True)
        made = compile_rule._determinise(nfa, LIMITS)
    except compile_rule.AmbiguousIteration:
        with pytest.raises(compile_rule.AmbiguousIteration):
            plain.determinise(nfa)
    except LimitExceeded:  # the twin would take minutes
        reject()
    else:
        assert _equal(made, _trimmed(plain.determinise(nfa)))


@given(recursive_rules)
def test_kernel_determinises_calls_as_the_plain_twin(rules: Rules) -> None:
    for node in (rules.start, *rules.rules.values()):
        nfa = compile_rule.nfa_of(node, LIMITS, count=True)
        assert _equal(compile_rule._determinise(nfa, LIMITS), _trimmed(plain.determinise(nfa)))


@given(nodes, nodes, st.booleans())
def test_kernel_multiplies_as_the_plain_twin(left: Node, right: Node, negate: bool) -> None:
    try:
        one, other = compile_rule.regular_dfa(left), compile_rule.regular_dfa(right)
    except LimitExceeded:
        reject()
    assume(len(one.final) * len(other.final) < 20_000)
    made = intersection(one, other, 100_000, negate=negate)
    assert made is not None and _equal(made, trim(plain.product(one, other, negate=negate)))


def test_many_states_grow_the_tables() -> None:
    dfa = compile_rule.regular_dfa(Repeat(LiteralText("abcdefgh"), 500, 500))
    assert len(dfa.final) == 4001 and dfa.accepts(b"abcdefgh" * 500)


def test_tables_that_are_too_small_are_made_larger() -> None:
    ab = Choice((LiteralText("a"), LiteralText("b")))
    node = Seq(
        (Repeat(ab, 0, None), LiteralText("a"), Repeat(ab, 9, 9))
    )  # the states know the last ten letters
    nfa = compile_rule.nfa_of(node, LIMITS)
    made = compile_rule._determinise(nfa, LIMITS)
    assert len(made.final) == 2**10 > nfa.size + 64
    assert _equal(made, _trimmed(plain.determinise(nfa)))
    with pytest.raises(LimitExceeded, match="states"):
        compile_rule._determinise(nfa, Limits(states=500))


@pytest.mark.parametrize("most", [0, 1, 13 * 17 - 1, 13 * 17, 10_000])
def test_products_are_made_up_to_a_limit(most: int) -> None:
    left, right = (
        compile_rule.regular_dfa(Repeat(LiteralText("a" * length), 0, None)) for length in (13, 17)
    )
    made = intersection(left, right, most)
    assert (made is not None) == (most >= 13 * 17)
    if made is not None:
        assert _equal(made, trim(plain.product(left, right, negate=False)))


@given(recursive_rules, st.text('ab0é",[]()', max_size=12))
def test_reading_many_bytes_is_reading_one_after_the_other(rules: Rules, text: str) -> None:
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
