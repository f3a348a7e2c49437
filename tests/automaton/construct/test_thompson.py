"""Copies of fragments, compared with fragments emitted again."""

from __future__ import annotations

import random
from itertools import chain, permutations, product
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.construct import thompson
from structkit.automaton.construct.compile_rule import nfa_of, regular_dfa, rule_dfa
from structkit.automaton.construct.nfa import Nfa
from structkit.automaton.core.dfa import intersection
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import LimitExceeded
from structkit.limits import Limits
from structkit.regex.nodes import (
    EMPTY,
    AnyOrder,
    AnyOrderEntry,
    CharClass,
    Distinct,
    ListPart,
    LiteralText,
    Network,
    Node,
    Repeat,
    RuleRef,
    Rules,
    SeparatedList,
    Seq,
)
from structkit.regex.pattern.program import read_pattern
from structkit.regex.pattern.threads import build_terminal
from tests.languages import plain_nodes, recursive_rules

bounds = st.tuples(st.integers(0, 9), st.none() | st.integers(0, 9))


def _emitted(node: Node, rules: Rules | None, *, copied: bool, limits: Limits) -> Nfa | str:
    with patch.object(thompson, "_MIN_COPIED_STATES", 1 if copied else 10**9):
        try:
            return nfa_of(node, limits, rules and rules.rules, count=rules is None)
        except LimitExceeded as error:
            return error.message


@given(plain_nodes, bounds, bounds, st.sampled_from([40, 100_000]))
def test_copies_equal_emitted_fragments(
    node: Node, inner: tuple[int, int | None], outer: tuple[int, int | None], nfa_states: int
) -> None:
    for min_count, more in (inner, outer):
        node = Repeat(Seq((node, LiteralText("b"))), min_count, None if more is None else min_count + more)
    limits = Limits(nfa_states=nfa_states)
    for rules in (None, Rules(node, {})):
        emitted = _emitted(node, rules, copied=False, limits=limits)
        assert _emitted(node, rules, copied=True, limits=limits) == emitted


@given(recursive_rules, st.integers(1, 9))
def test_copies_of_calls_have_the_same_callees(rules: Rules, times: int) -> None:
    node = Repeat(rules.start, times, 2 * times)
    limits = Limits()
    emitted = _emitted(node, None, copied=False, limits=limits)
    assert _emitted(node, None, copied=True, limits=limits) == emitted


def test_too_many_copies_are_rejected() -> None:
    node = Repeat(Repeat(Repeat(Seq((RuleRef("a"), LiteralText("b"))), 999, 999), 999, 999), 999, 999)
    with pytest.raises(LimitExceeded, match="nfa_states"):
        nfa_of(node, Limits(), {"a": LiteralText("a")})


_TERMINALS = [
    build_terminal(read_pattern(text)).node for text in ("a", "ab?", "[a-c]+", r"[^\W\d]\w*", "(?:ab)+")
]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(_TERMINALS), st.integers(0, 3)), max_size=9))
def test_equal_moves_share_states_and_change_no_language(moves: list[tuple[int, Node, int]]) -> None:
    apart: list[tuple[int, Node, int]] = []
    for state, (source, part, target) in enumerate(moves, 4):  # each ends in a state of its own
        apart += [(source, part, state), (state, EMPTY, target)]
    shared, separate = Network(4, tuple(moves)), Network(4 + len(moves), tuple(apart))
    one, other = rule_dfa(shared, Limits()), rule_dfa(separate, Limits())
    for left, right in ((one, other), (other, one)):
        difference = intersection(left, right, 10_000, negate=True)
        assert difference is not None and difference.is_empty


def test_a_terminal_stands_once_for_equal_moves() -> None:
    terminal = build_terminal(read_pattern("[a-z]+")).node
    alone = nfa_of(Network(9, ((2, terminal, 1),)), Limits()).size
    assert nfa_of(Network(9, tuple((state, terminal, 1) for state in range(2, 9))), Limits()).size == alone


@pytest.mark.parametrize("seed", range(40))
def test_a_list_has_the_parts_in_their_numbers_with_separators_between(seed: int) -> None:
    """Compared with all lists of up to five items."""
    choose = random.Random(seed)
    parts = []
    for letter in "abc"[: choose.randint(1, 3)]:
        least = choose.randrange(3)
        parts.append(ListPart(LiteralText(letter), least, choose.choice([None, *range(max(least, 1), 4)])))
    accepts = regular_dfa(SeparatedList(tuple(parts), ", ")).accepts
    for size in range(6):
        for letters in product("abc"[: len(parts)], repeat=size):
            is_sorted = [*letters] == sorted(letters)
            counts = [letters.count(letter) for letter in "abc"[: len(parts)]]
            fits = all(
                part.min_count <= count and (part.max_count is None or count <= part.max_count)
                for part, count in zip(parts, counts, strict=True)
            )
            assert accepts(", ".join(letters).encode()) == (is_sorted and fits), (parts, letters)
    assert not accepts(b"a, ") and not accepts(b", a") and not accepts(b"a,b")


@pytest.mark.parametrize("seed", range(12))
def test_entries_in_any_order_are_counted_and_occur_once(seed: int) -> None:
    """Compared with all sequences of up to four entries; with a maximum, all entries count."""
    choose = random.Random(seed)
    keys: list[Node] = [LiteralText("a"), LiteralText("b"), CharClass(((0x63, 0x64),))]  # the last is c or d
    most = choose.choice([None, 1, 2, 3])
    counted = [most is not None or choose.random() < 0.5 for _ in keys]
    entries = zip(keys, counted, strict=True)
    least = choose.randrange(1 + (3 if most is None else most))
    node = AnyOrder(
        tuple(AnyOrderEntry(Distinct(key), LiteralText("="), counts) for key, counts in entries),
        ", ",
        least,
        most,
    )
    reader = Reader(link(Rules(RuleRef("all"), {"all": Seq((LiteralText("{"), node, LiteralText("}")))})))
    counts_of = dict(zip("abcd", [*counted, counted[-1]], strict=True))
    for letters in chain(*(permutations("abcd", size) for size in range(5)), ["aa", "cc", "aba"]):
        number = sum(counts_of[letter] for letter in letters)
        fits = least <= number and (most is None or number <= most) and len({*letters}) == len(letters)
        text = "{" + ", ".join(f"{letter}=" for letter in letters) + "}"
        assert reader.accepts(text.encode()) == fits, (node, text)
    assert not reader.accepts(b"{a=, }") and not reader.accepts(b"{, a=}")
