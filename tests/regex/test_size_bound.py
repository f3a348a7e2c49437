"""Patterns whose automata are small: the claims, compared with the automata."""

from __future__ import annotations

from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.regex.nodes import CharClass, Choice, LiteralText, Node, Repeat, Seq
from structkit.regex.size_bound import Ranges, edges_if_unambiguous, have_distinct_starts, is_small_string

_LEAVES = st.text("abc", max_size=2).map(LiteralText) | st.sampled_from(
    [CharClass(((0x61, 0x62),)), CharClass(((0x63, 0x63),))]
)
_COUNTS = st.sampled_from([(0, None), (1, None), (0, 1), (2, 2), (0, 3), (1, 2)])


def _larger(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
    repeated = st.builds(lambda node, counts: Repeat(node, *counts), inner, _COUNTS)
    return repeated | parts.map(Seq) | parts.map(Choice)


_NODES: st.SearchStrategy[Node] = st.recursive(_LEAVES, _larger, max_leaves=5)
_TEXTS = ["".join(letters) for size in range(6) for letters in product("abc", repeat=size)]


def _letters(ranges: Ranges) -> set[str]:
    return {letter for letter in "abc" if any(low <= ord(letter) <= high for low, high in ranges)}


@given(_NODES)
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


@given(_NODES)
def test_an_ambiguous_pattern_has_no_edges(node: Node) -> None:
    assert edges_if_unambiguous(Seq((Repeat(CharClass(((0x61, 0x63),))), LiteralText("a"), node))) is None
    assert edges_if_unambiguous(Choice((LiteralText("a"), Seq((LiteralText("a"), node))))) is None


@given(_NODES, st.integers(1, 30))
def test_the_automaton_of_a_small_string_has_few_states(node: Node, count: int) -> None:
    repeated = Repeat(Seq((LiteralText("d"), node)), count, count)
    for each in (node, repeated):
        if is_small_string(each):
            assert len(regular_dfa(each).final) <= 2**12 + 1
            if each is repeated and count > 12:
                assert len(regular_dfa(each).final) <= 40 * count


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
