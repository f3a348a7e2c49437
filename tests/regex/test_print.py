"""Printed regexes match the language: compared with a naive printer and with the automaton."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.errors import LimitExceeded
from structkit.limits import Limits
from structkit.regex.charset import DIGIT
from structkit.regex.json_string import QUOTE, escape
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    CharClass,
    Choice,
    Distinct,
    Intersection,
    ListPart,
    LiteralText,
    MultipleOf,
    Node,
    Repeat,
    RuleRef,
    Rules,
    SeparatedList,
    Seq,
    seq,
)
from structkit.regex.print import format_regex
from structkit.regex.walk import is_recursive
from tests.languages import matches, nodes, plain_nodes, texts
from tests.regex.oracle import holds


@given(nodes, texts)
def test_printed_nodes_match_their_language(node: Node, text: str) -> None:
    assert holds(node, text) == matches(node, text)


@given(plain_nodes, plain_nodes, st.booleans(), st.text('abé0,"', max_size=6))
def test_printed_intersections_end_at_their_lookahead(
    left: Node, right: Node, negate: bool, text: str
) -> None:
    quoted = seq(QUOTE, escape(Intersection(left, right, negate)), QUOTE)
    twice = json.dumps(text, ensure_ascii=False) * 2
    assert holds(Repeat(quoted), twice) == (matches(left, text) and matches(right, text) is not negate)


optional = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from([(0, 1), (1, 1), (0, None), (2, 3), (0, 0)])),
    max_size=7,
)


@given(optional, st.lists(st.sampled_from("abcd"), max_size=6).map(",".join))
def test_printed_lists_of_optional_parts_match_the_automaton(
    parts: list[tuple[str, tuple[int, int | None]]], text: str
) -> None:
    node = SeparatedList(tuple(ListPart(LiteralText(letter), *bounds) for letter, bounds in parts), ",")
    assert holds(node, text) == regular_dfa(node).accepts(text.encode())


@pytest.mark.parametrize("of", [1, 2, 3, 4, 5, 6, 7, 8, 10, 15, 16, 20, 25, 100])
def test_printed_multiples_match_exactly_the_multiples(of: int) -> None:
    members = [value for value in range(300) if holds(MultipleOf(of), str(value))]
    assert members == list(range(0, 300, of))
    assert not any(holds(MultipleOf(of), text) for text in ("00", f"0{of}", "", "-0"))


def test_many_remainders_exceed_the_limit() -> None:
    with pytest.raises(
        LimitExceeded, match="printed regex of `multipleOf` exceeds the limit regex_nodes=100000"
    ):
        format_regex(Rules(MultipleOf(97), {}), Limits(regex_nodes=100_000))


@given(st.lists(st.integers(1, 12), max_size=5), st.integers(0, 3))
def test_printed_distinct_texts_reject_repetitions(values: list[int], min_count: int) -> None:
    number = Seq((Repeat(DIGIT, 1, 2),))
    node = Seq(
        (
            LiteralText("["),
            SeparatedList(
                (ListPart(LiteralText("x"), 0, 1), ListPart(Distinct(number), min_count, None)), ", "
            ),
            LiteralText("]"),
        )
    )
    expected = len(set(values)) == len(values) >= min_count
    text = ", ".join(map(str, values))
    assert holds(node, f"[{text}]") == expected
    assert holds(node, f"[x, {text}]" if values else "[x]") == expected


def test_printed_distinct_keys_reject_repetitions() -> None:
    entry = Seq((Distinct(CharClass(((0x61, 0x63),))), LiteralText(":"), DIGIT))
    node = Seq((LiteralText("{"), SeparatedList((ListPart(entry, 0, None),), ","), LiteralText("}")))
    assert [text for text in ("{}", "{a:1}", "{a:1,b:1}", "{a:1,b:1,a:2}", "{b:1,c:2,c:2}") if holds(node, text)] == [
        "{}", "{a:1}", "{a:1,b:1}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("node", "printed"),
    [
        (EMPTY, ""),
        (NEVER, "(?!)"),
        (LiteralText("a.b\n\x00é😀"), r"a\.b\n\x00\xe9\U0001f600"),
        (LiteralText('{"a": [1]}'), r'\{"a": \[1\]\}'),
        (Choice((LiteralText("a"), LiteralText("b"), LiteralText("cd"))), "[ab]|cd"),
        (Choice((LiteralText("ab"), EMPTY)), "(?:ab)?"),
        (Repeat(Repeat(LiteralText("a"), 0, None), 0, 1), "(?:a*)?"),
        (Seq((Choice((LiteralText("ab"), LiteralText("cd"))), LiteralText("e"))), "(?:ab|cd)e"),
        (CharClass(((0x20, 0x21), (0x23, 0x10FFFF))), r'[^\x00-\x1f"]'),
        (CharClass(((0x2D, 0x2D), (0x5B, 0x5E))), r"[\-\[-\^]"),
        (Repeat(DIGIT, 2, 2), "[0-9]{2}"),
        (Repeat(DIGIT, 2, None), "[0-9]{2,}"),
        (SeparatedList((ListPart(LiteralText("a"), 0, 1), ListPart(LiteralText("b"))), ", "), "a, b|b"),
        (Intersection(LiteralText("a"), LiteralText("b"), negate=True, lookahead='"'), '(?!b")a'),
    ],
)
def test_nodes_are_printed_readably(node: Node, printed: str) -> None:
    assert format_regex(Rules(node, {})) == printed
    re.compile(printed)


def test_rules_are_inlined_or_named() -> None:
    flat = Rules(
        Seq((RuleRef("a"), RuleRef("a"))),
        {"a": Choice((LiteralText("xx"), RuleRef("b"))), "b": LiteralText("yy")},
    )
    assert format_regex(flat) == "(?:xx|yy)(?:xx|yy)"
    deep = Rules(RuleRef("a"), {"a": Seq((LiteralText("("), Repeat(RuleRef("a")), LiteralText(")")))})
    assert format_regex(deep) == "start = <a>\na = \\(<a>*\\)"
    assert is_recursive(deep)
    assert not is_recursive(flat)


def test_long_regexes_are_rejected() -> None:
    rules: dict[str, Node] = {f"r{level}": Seq((RuleRef(f"r{level + 1}"),) * 10) for level in range(20)}
    with pytest.raises(LimitExceeded, match="printed regex"):
        format_regex(Rules(RuleRef("r0"), rules | {"r20": LiteralText("a")}))
