"""Patterns whose automata are small: the claims, compared with the automata."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import structkit as sk
from structkit.automaton.construct.compile_rule import nfa_of, regular_dfa, rule_dfa
from structkit.errors import LimitExceeded
from structkit.limits import Limits
from structkit.regex import size_bound
from structkit.regex.charset import ANY
from structkit.regex.json_string import raw_intersection, string_tail
from structkit.regex.nodes import CharClass, Choice, LiteralText, Node, Repeat, RuleRef, Seq, seq
from structkit.regex.pattern.empty_text import rotate
from structkit.regex.pattern.parse import parse
from structkit.regex.size_bound import Ranges, edges_if_unambiguous, have_distinct_starts, is_small_string
from structkit.testing import byte_vocabulary
from tests.regex.strategies import NODES, WIDE_NODES

_TEXTS = ["".join(letters) for size in range(6) for letters in product("abc", repeat=size)]


_LONG = Repeat(CharClass(((0x61, 0x7A),)), 60, 60)


def _letters(ranges: Ranges) -> set[str]:
    return {letter for letter in "abc" if any(low <= ord(letter) <= high for low, high in ranges)}


@given(NODES)
@example(Choice((LiteralText("ab"), LiteralText("ac"))))
@example(Seq((Repeat(LiteralText("a")), LiteralText("a"))))
@example(Repeat(Seq((LiteralText("a"), Repeat(LiteralText("b"), 0, 1)))))
@example(Repeat(Repeat(LiteralText("a"), 0, 1), 0, 3))
def test_the_edges_of_an_unambiguous_pattern_are_those_of_its_texts(node: Node) -> None:
    found = edges_if_unambiguous(node)
    if found is None:
        return
    dfa = regular_dfa(node)
    accepted = {
        text
        for text, is_text in zip(_TEXTS, dfa.accepts_each([t.encode() for t in _TEXTS]), strict=True)
        if is_text
    }
    first, following = _letters(found[0]), _letters(found[1])
    assert {text[0] for text in accepted if text} <= first
    assert {
        text[len(each)]
        for text in accepted
        for each in accepted
        if text.startswith(each) and text > each and each
    } <= following
    # Each letter begins a text, unless all its texts are long.
    for letter in first:
        assert (
            any(text.startswith(letter) for text in accepted) or not accepted or min(map(len, accepted)) > 2
        )


@given(NODES)
def test_an_ambiguous_pattern_has_no_edges(node: Node) -> None:
    assert edges_if_unambiguous(Seq((Repeat(CharClass(((0x61, 0x63),))), LiteralText("a"), node))) is None
    assert edges_if_unambiguous(Choice((LiteralText("a"), Seq((LiteralText("a"), node))))) is None


@given(NODES, st.integers(1, 30))
def test_the_automaton_of_a_small_string_has_few_states(node: Node, count: int) -> None:
    repeated = Repeat(Seq((LiteralText("d"), node)), count, count)
    for each in (node, repeated):
        if is_small_string(each):
            assert len(regular_dfa(each).final) <= 2**13
            if each is repeated and count > 12:
                assert len(regular_dfa(each).final) <= 40 * count


@given(WIDE_NODES, NODES, st.sampled_from([0, 1, 5, 60, 900]), st.sampled_from([0, 3, 100, 1_000, None]))
@example(Seq((Repeat(ANY), LiteralText("a"), Repeat(ANY, 5, 5))), LiteralText("a"), 0, None)
@example(_LONG, LiteralText("a"), 5, 1_000)
@example(Choice((LiteralText("a"), Seq((LiteralText("b"), _LONG)))), LiteralText("a"), 1, 100)
def test_a_small_string_with_lengths_has_few_states(
    start: Node, repeated: Node, least: int, more: int | None
) -> None:
    pattern = Seq((start, Repeat(Seq((LiteralText("d"), repeated)))))
    body = raw_intersection([pattern], least, None if more is None else least + more)
    if is_small_string(body):
        assert len(rule_dfa(string_tail(body), Limits()).final) <= 10_000


@given(st.lists(NODES, min_size=1, max_size=4), NODES, NODES, st.sampled_from([(0, None), (0, 3), (2, 2)]))
def test_a_rotated_sequence_has_the_same_texts(
    others: list[Node], first: Node, second: Node, counts: tuple[int, int | None]
) -> None:
    repeated = Repeat(Seq((first, second)), *counts)
    twice = Repeat(Seq((repeated, second)))
    texts = [text.encode() for text in _TEXTS]
    for parts in (
        [repeated, first, *others],
        [*others, repeated, first],
        [repeated, first, second, first],
        [twice, repeated, first],
    ):
        before, after = regular_dfa(seq(*parts)), regular_dfa(seq(*rotate(parts)))
        assert before.accepts_each(texts) == after.accepts_each(texts)


def test_a_pattern_whose_automaton_doubles_with_each_letter_is_not_small() -> None:
    for size in (12, 20, 60):
        node = Seq(
            (
                Repeat(CharClass(((0x61, 0x62),))),
                LiteralText("a"),
                Repeat(CharClass(((0x61, 0x62),)), size, size),
            )
        )
        assert not is_small_string(node)


def test_alternatives_begin_differently() -> None:
    quoted, other = (Seq((LiteralText(text), Repeat(CharClass(((0x61, 0x62),))))) for text in ('"a', '"b'))
    assert have_distinct_starts([quoted, other])
    assert not have_distinct_starts([quoted, quoted])
    longer = Seq((LiteralText('"ab'), Repeat(LiteralText("c"))))
    assert not have_distinct_starts([quoted, longer])
    assert not have_distinct_starts([longer, quoted, other])
    assert have_distinct_starts([longer, LiteralText('"a'), other])


@given(WIDE_NODES, st.integers(0, 12))
def test_a_small_string_of_many_characters_has_few_states(node: Node, count: int) -> None:
    body = Seq((Repeat(node), LiteralText("a"), Repeat(ANY, count, count)))
    if is_small_string(body):
        assert len(rule_dfa(string_tail(body), Limits()).final) <= 10_000


def test_few_positions_of_one_character_are_small() -> None:
    pattern = r"^(https?:\/\/)?([\da-z\.-]+)\.([a-z\.]{2,6})([\/\w \.-]*)*\/?$"
    assert is_small_string(parse(pattern, search=True, unicode=False))
    assert is_small_string(parse("^.*a.{5}$", search=True, unicode=False))
    assert not is_small_string(parse("^.*a.{10}$", search=True, unicode=False))


@given(WIDE_NODES)
@example(Seq((LiteralText("ab"), LiteralText("ac"))))
def test_the_bound_on_the_states_counts_the_sets_of_positions(node: Node) -> None:
    """Each set of positions of one character has all its subsets as states."""
    positions = size_bound._positions(node)
    ends = sorted({code for ranges in positions for low, high in ranges for code in (low, high + 1)})
    sets = {
        frozenset(index for index, ranges in enumerate(positions) if any(a <= code <= b for a, b in ranges))
        for code in ends
    }
    wide = [ranges for ranges in positions if any(high >= 0x80 for _, high in ranges)]
    spans = sum(high >= 0x80 for ranges in wide for _, high in ranges)
    escaped = [
        ranges
        for ranges in positions
        if any(a <= code <= b for a, b in ranges for code in (*range(32), 34, 92))
    ]
    between = (20 + spans // 2) * 2 ** len(wide) * bool(wide) + 16 * 2 ** len(escaped) * bool(escaped)
    assert size_bound._states(node) == sum(2 ** len(found) for found in sets) + between


_CLASSES = [
    parse(pattern, search=False, unicode=unicode)
    for pattern, unicode in (
        ("[a-z]", False), ("[^a]", False), (r"\S", False), (r"\s", False), (r"\w", True), (r"\W", True),
        (r"\p{L}", False), (r"\P{L}", False), (r"\p{M}", False), (r"\p{Lu}", False), (r"\p{Sc}", False),
        ("[\x00-\x1f]", False), ('["a]', False), ("[^\x00-\x7f]", False), ("é", False), (r"\x00", False),
    )
]  # fmt: skip


@pytest.mark.long(every=5)
@pytest.mark.parametrize("node", _CLASSES)
def test_a_small_string_of_many_positions_has_few_states(node: Node) -> None:
    sizes = [
        count for count in (1, 5, 10, 100, 400) if is_small_string(Seq((node, LiteralText("-")) * count))
    ]
    assert sizes
    for count in sizes:
        tail = string_tail(Seq((node, LiteralText("-")) * count))
        assert len(rule_dfa(tail, Limits()).final) <= 10_000
        assert nfa_of(tail, Limits()).size <= 30_000
    assert not is_small_string(Seq((node, LiteralText("-")) * 5_001))


def test_a_large_pattern_exceeds_a_limit_before_the_first_token() -> None:
    pattern = "^" + r"\p{L}\P{L}" * 300 + "$"
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
    with pytest.raises(LimitExceeded, match="nfa_states"):
        sk.compile(schema, byte_vocabulary(), cache=False)


def test_two_calls_can_begin_with_the_same_text() -> None:
    first, second, other = (
        Seq((RuleRef("a"), RuleRef("x"))),
        Seq((RuleRef("b"), RuleRef("x"))),
        Seq((LiteralText("c"), RuleRef("x"))),
    )
    assert not have_distinct_starts([first, second])
    assert have_distinct_starts([first, other])
    assert have_distinct_starts([Choice((first, second)), other]), "the starts of one alternative"
