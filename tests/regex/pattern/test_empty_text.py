"""Nodes that are made smaller beside any text: the same texts are found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from structkit.regex.charset import ANY
from structkit.regex.nodes import Node, Repeat, Seq
from structkit.regex.pattern.empty_text import shorten
from tests.regex.oracle import holds
from tests.regex.strategies import NODES

ANYTHING = Repeat(ANY, 0, None)


@given(NODES, st.text("abc", max_size=6), st.booleans())
def test_a_shortened_node_is_found_in_the_same_texts(node: Node, text: str, at_start: bool) -> None:
    def found(part: Node) -> bool:
        return holds(Seq((ANYTHING, part) if at_start else (part, ANYTHING)), text)

    assert found(shorten(node, at_start=at_start)) == found(node)
