"""Texts of patterns, compared with `re`."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from structkit.regex.example import example_text
from structkit.regex.nodes import NEVER, CharClass, Choice, Intersection, LiteralText, Node, Repeat, Seq
from tests.regex.oracle import holds
from tests.regex.strategies import NODES

_LETTERS = CharClass(((0x61, 0x7A),))


@given(NODES, st.integers(0, 9), st.none() | st.integers(0, 9))
@example(Seq((Repeat(_LETTERS), LiteralText("-"), Repeat(_LETTERS, 0, 1))), 4, 4)
@example(Repeat(Repeat(LiteralText("ab"), 0, 1), 0, 4), 5, 8)
def test_a_text_is_one_of_the_pattern_and_of_the_lengths(node: Node, least: int, most: int | None) -> None:
    text = example_text(node, least, most)
    if text is not None:
        assert holds(node, text)
        assert least <= len(text) and (most is None or len(text) <= most)


@given(NODES)
def test_every_pattern_without_intersections_has_a_text(node: Node) -> None:
    assert example_text(node) is not None


def test_a_text_is_as_long_as_the_repetitions_allow() -> None:
    words = Seq((Repeat(Seq((Repeat(_LETTERS, 1, None), LiteralText(" "))), 0, 3), Repeat(_LETTERS, 1, 2)))
    assert example_text(words) == "a"
    assert example_text(words, 8) == "a a a aa"
    assert example_text(Repeat(LiteralText("ab"), 0, 3), 7) is None
    assert example_text(Repeat(LiteralText("ab"), 3, 9), 0, 5) is None
    assert example_text(Choice((LiteralText("a"), Repeat(LiteralText("b"), 0, 4))), 3) == "bbb"
    assert example_text(Repeat(LiteralText("a"), 20_000, None)) is None
    assert (example_text(Repeat(NEVER, 0, 3)), example_text(Repeat(NEVER, 1, 3))) == ("", None)


def test_characters_without_an_escape_come_first() -> None:
    assert example_text(CharClass(((0, 0x22), (0x41, 0x5A)))) == " "
    assert example_text(CharClass(((0x22, 0x22), (0x5C, 0x5C), (0x5E, 0x7A)))) == "^"
    assert example_text(CharClass(((0x22, 0x22),))) == '"'
    assert example_text(CharClass(((0x7F, 0x7F), (0xE9, 0xE9)))) == "\x7f"
    assert example_text(CharClass(())) is None


def test_an_intersection_has_no_known_text() -> None:
    assert example_text(Seq((LiteralText("a"), Intersection(_LETTERS, LiteralText("b"))))) is None
