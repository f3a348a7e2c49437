"""Random patterns over three letters."""

from __future__ import annotations

from hypothesis import strategies as st

from structkit.regex.charset import ANY
from structkit.regex.nodes import CharClass, Choice, LiteralText, Node, Repeat, Seq

_LEAVES = st.text("abc", max_size=2).map(LiteralText) | st.sampled_from(
    [CharClass(((0x61, 0x62),)), CharClass(((0x63, 0x63),))]
)
_COUNTS = st.sampled_from([(0, None), (1, None), (0, 1), (2, 2), (0, 3), (1, 2)])


def _larger(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
    repeated = st.builds(lambda node, counts: Repeat(node, *counts), inner, _COUNTS)
    return repeated | parts.map(Seq) | parts.map(Choice)


NODES: st.SearchStrategy[Node] = st.recursive(_LEAVES, _larger, max_leaves=5)
"""Texts, classes, repetitions, sequences and alternatives."""

WIDE_NODES: st.SearchStrategy[Node] = st.recursive(
    _LEAVES | st.sampled_from([ANY, CharClass(((0, 0x60), (0x62, 0x2028)))]), _larger, max_leaves=8
)
"""The same, with classes of many characters."""
