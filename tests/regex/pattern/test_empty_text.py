"""Nodes that are made smaller beside any text: the same texts are found."""

from __future__ import annotations

from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.regex.charset import ANY
from structkit.regex.nodes import Choice, Intersection, LiteralText, Node, Repeat, Seq
from structkit.regex.pattern.empty_text import is_nullable, shorten, without_empty_text
from tests.regex.oracle import holds
from tests.regex.strategies import NODES

ANYTHING = Repeat(ANY, 0, None)


@given(NODES, st.text("abc", max_size=6), st.booleans())
def test_a_shortened_node_is_found_in_the_same_texts(node: Node, text: str, at_start: bool) -> None:
    def found(part: Node) -> bool:
        return holds(Seq((ANYTHING, part) if at_start else (part, ANYTHING)), text)

    assert found(shorten(node, at_start=at_start)) == found(node)


@given(NODES, NODES, st.booleans())
@example(LiteralText(""), LiteralText("a"), False)
@example(Choice((LiteralText(""), LiteralText("a"))), LiteralText("a"), True)
@example(LiteralText("a"), LiteralText("b"), True)
@example(Seq((Repeat(LiteralText("a"), 0, 2), Repeat(LiteralText("b"), 0, None))), LiteralText("a"), False)
def test_a_node_without_the_empty_text_has_the_other_texts(left: Node, right: Node, negate: bool) -> None:
    texts = ["".join(letters) for size in range(5) for letters in product("abc", repeat=size)]
    for node in (left, Intersection(left, right, negate)):
        accepted = regular_dfa(node).accepts_each([text.encode() for text in texts])
        assert is_nullable(node) == accepted[0]
        others = regular_dfa(without_empty_text(node)).accepts_each([text.encode() for text in texts])
        assert others == [False, *accepted[1:]]
