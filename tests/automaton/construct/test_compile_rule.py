"""Compiled rules compared with `re.fullmatch`, and their limits."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st

from structkit.automaton.construct import compile_rule
from structkit.automaton.construct.compile_rule import nfa_of, regular_dfa, rule_dfa
from structkit.automaton.construct.utf8 import byte_sequences
from structkit.automaton.core.dfa import DEAD, Dfa, append_text, intersection
from structkit.automaton.core.kernels import OPERATION_BITS
from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.errors import LimitExceeded, UnsatisfiableSchema
from structkit.limits import Limits
from structkit.regex.nodes import (
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
)
from tests.languages import matches, nodes, pattern, plain_nodes, texts

_LETTER = CharClass(((0x61, 0x7A),))


@given(nodes, texts)
def test_automaton_equals_fullmatch(node: Node, text: str) -> None:
    assert regular_dfa(node).accepts(text.encode()) == matches(node, text)


@given(plain_nodes, texts)
def test_linked_rules_equal_fullmatch(node: Node, text: str) -> None:
    automaton = _linked(node)
    assert (automaton is not None and Reader(automaton).accepts(text.encode())) == matches(node, text)


@given(nodes, nodes, st.booleans(), st.sampled_from(["!", "!!", "!a!", "a", "b!a"]), st.data())
def test_a_text_behind_a_product_is_appended(
    left: Node, right: Node, negate: bool, end: str, data: st.DataObject
) -> None:
    product = Intersection(left, right, negate)
    text = data.draw(texts)
    try:
        dfa = regular_dfa(Seq((product, LiteralText(end))))
    except LimitExceeded:
        reject()  # a random repetition of a repetition
    accepted = regular_dfa(product).accepts(text.encode())
    assert dfa.accepts((text + end).encode()) == accepted
    cut = text.removesuffix(end)
    assert dfa.accepts(text.encode()) == (cut != text and regular_dfa(product).accepts(cut.encode()))


def test_a_text_is_appended_only_where_one_state_tells() -> None:
    dfa = regular_dfa(Choice((LiteralText("a"), LiteralText("ab"))))
    after = append_text(dfa, b"xx", 100, 1_000)
    assert after is not None and [after.accepts(text) for text in (b"axx", b"abxx", b"ab", b"abx")] == [
        True,
        True,
        False,
        False,
    ]
    assert append_text(dfa, b"b", 100, 1_000) is None  # "ab" and "abb" go on after "ab"
    assert append_text(dfa, b"xx", len(dfa.final) + 1, 1_000) is None


def _linked(node: Node) -> Automaton | None:
    try:
        return link(Rules(node, {}))
    except UnsatisfiableSchema:
        return None


@pytest.mark.parametrize(
    ("low", "high"), [(0, 0x10FFFF), (0x7F, 0x800), (0xD7FF, 0xE000), (0xFFFF, 0x10000), (0xE9, 0x2FA1)]
)
def test_utf8_ranges_contain_exactly_their_code_points(low: int, high: int) -> None:
    sequences = byte_sequences(((low, high),))
    for code in {low - 1, low, low + 1, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, high - 1, high, high + 1}:
        if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            continue
        encoding = chr(code).encode()
        count = sum(
            len(encoding) == len(sequence)
            and all(a <= byte <= b for byte, (a, b) in zip(encoding, sequence, strict=True))
            for sequence in sequences
        )
        assert count == (low <= code <= high)


def test_language_is_not_leftmost_first() -> None:
    assert regular_dfa(Choice((LiteralText("a"), LiteralText("ab")))).accepts(b"ab")


@pytest.mark.parametrize("of", [1, 2, 3, 7, 12, 97])
def test_multiples_are_accepted_exactly(of: int) -> None:
    dfa = regular_dfa(MultipleOf(of))
    for number in range(0, 1200):
        assert dfa.accepts(str(number).encode()) == (number % of == 0)
    assert not dfa.accepts(b"00") and not dfa.accepts(b"")


@pytest.mark.parametrize(("min_count", "max_count"), [(0, 200), (70, 100), (100, 100), (99, None)])
@pytest.mark.parametrize("end", ["!", ""])
def test_a_counted_repetition_accepts_exactly_its_counts(
    min_count: int, max_count: int | None, end: str
) -> None:
    item = Choice((_LETTER, LiteralText("éé")))
    node = Seq((LiteralText("<"), Repeat(item, min_count, max_count), LiteralText(end)))
    dfa = rule_dfa(node, Limits())
    assert len(dfa.final) < 20, "counts are not unrolled"
    automaton = link(Rules(node, {}))
    expected = re.compile(pattern(node))
    for n in (0, 1, 69, 70, 99, 100, 101, 199, 200, 201, 500):
        for text in ("<" + "x" * n + end, "<" + "éé" * n + end, "<" + "x" * n + "é" + end):
            assert Reader(automaton).accepts(text.encode()) == bool(expected.fullmatch(text)), text


def test_repeated_letters_are_counted_unless_a_larger_repetition_is() -> None:
    letters, digits = CharClass(((0x41, 0x5A), (0x61, 0x7A))), CharClass(((0x30, 0x39),))
    for node, max_count, unrolled in (
        (Seq((Repeat(letters, 1, 64), LiteralText("!"))), 64, 0),
        (Seq((Repeat(letters, 17, 20), Repeat(digits, 0, 100))), 100, 17),
        (Seq((Repeat(letters, 1, 16), LiteralText("!"))), None, 16),
        (Seq((Repeat(digits, 1, 40), LiteralText("!"))), None, 40),
    ):
        dfa = rule_dfa(node, Limits())
        assert dfa.max_count == max_count and len(dfa.final) >= unrolled
        expected = re.compile(pattern(node))
        automaton = link(Rules(node, {}))
        for n in (0, 1, 16, 17, 20, 21, 40, 41, 64, 65):
            for text in ("x" * n, "x" * n + "!", "7" * n + "!", "x" * n + "7"):
                assert Reader(automaton).accepts(text.encode()) == bool(expected.fullmatch(text)), text


def test_repetitions_of_an_automaton_for_a_product_are_not_counted() -> None:
    node, limits = Repeat(LiteralText("a"), 5, None), Limits(iterations=3)
    assert nfa_of(node, limits, {}).max_count is None
    with pytest.raises(LimitExceeded, match="iterations"):
        nfa_of(node, limits)


def test_ambiguous_iterations_are_unrolled() -> None:
    node = Repeat(Choice((LiteralText("a"), LiteralText("aa"), LiteralText("aaa"))), 50, 60)
    automaton = link(Rules(node, {}))
    assert [Reader(automaton).accepts(b"a" * n) for n in (49, 50, 180, 181)] == [False, True, True, False]


def test_recursion_depth_is_unlimited() -> None:
    nested = Rules(
        RuleRef("a"),
        {"a": Choice((LiteralText("x"), Seq((LiteralText("("), RuleRef("a"), LiteralText(")")))))},
    )
    automaton = link(nested)
    assert Reader(automaton).accepts(b"(" * 3000 + b"x" + b")" * 3000)
    assert not Reader(automaton).accepts(b"(" * 3000 + b"x" + b")" * 2999)


@pytest.mark.parametrize(
    "rules",
    [
        Rules(NEVER, {}),
        Rules(RuleRef("a"), {"a": Seq((LiteralText("("), RuleRef("a"), LiteralText(")")))}),
        Rules(Intersection(LiteralText("a"), LiteralText("b")), {}),
        Rules(Seq((LiteralText("a"), RuleRef("b"))), {"b": NEVER}),
    ],
)
def test_empty_language_is_rejected(rules: Rules) -> None:
    with pytest.raises(UnsatisfiableSchema):
        link(rules)


def test_dead_ends_are_removed() -> None:
    automaton = link(
        Rules(Choice((LiteralText("ab"), Seq((LiteralText("ac"), RuleRef("never"))))), {"never": NEVER})
    )
    assert not automaton.step(automaton.step(automaton.start_frames(), ord("a")), ord("c"))


def test_errors_name_the_limit() -> None:
    with pytest.raises(LimitExceeded, match="states=50"):
        rule_dfa(Choice(tuple(LiteralText(f"{n}:{n * n}") for n in range(100))), Limits(states=50))
    with pytest.raises(LimitExceeded, match="nfa_states=1000"):
        rule_dfa(Repeat(Choice((LiteralText("a"), LiteralText("aa"))), 0, 10_000), Limits(nfa_states=1000))
    with pytest.raises(LimitExceeded, match="product_states=20"):
        regular_dfa(
            Intersection(Repeat(LiteralText("aaaa")), Repeat(LiteralText("aaaaaaa"))),
            Limits(product_states=20),
        )


@pytest.mark.parametrize("min_count", [0, 30, 90])
@pytest.mark.parametrize("max_count", [None, 90, 100_000])
def test_pattern_with_large_lengths_is_counted(min_count: int, max_count: int | None) -> None:
    letter = CharClass(((0x61, 0x7A), (0xE9, 0xE9)))
    body = Intersection(
        Repeat(Choice((LiteralText("ab"), LiteralText("éé"), LiteralText("c")))),
        Repeat(letter, min_count, max_count),
    )
    automaton = link(Rules(Seq((LiteralText('"'), body, LiteralText('"'))), {}))
    assert len(automaton.row) < 200 + 5 * min_count, "only the required iterations are unrolled"
    for n in (0, 29, 30, 44, 45, 89, 90, 91, 2000):
        for text in ("c" * n, "ab" * n, "éé" * n, "c" * n + "a"):
            in_range = min_count <= len(text) and (max_count is None or len(text) <= max_count)
            expected = not text.endswith("a") and in_range
            assert Reader(automaton).accepts(f'"{text}"'.encode()) == expected


@given(plain_nodes, st.integers(0, 40), st.none() | st.integers(0, 60))
@example(
    Seq(
        (
            Repeat(LiteralText("a"), 1, None),
            Repeat(Seq((LiteralText("."), Repeat(LiteralText("b"), 1, None)))),
        )
    ),
    0,
    33,
)
@example(Repeat(LiteralText("ab")), 0, 29)
@example(Repeat(LiteralText("ab")), 19, 0)
@example(Repeat(Choice((LiteralText("a" * 9), LiteralText("é")))), 20, 20)
@example(Seq((Repeat(LiteralText("a")), LiteralText("b" * 12))), 0, 50)
@example(Choice((Repeat(LiteralText("a")), LiteralText("b" * 80), LiteralText("é" * 50))), 31, 8)
@example(Repeat(Seq((LiteralText("a"), Repeat(LiteralText("b" * 70), 0, 1)))), 0, 60)
def test_a_pattern_of_bounded_length_has_no_dead_ends(node: Node, min_count: int, slack: int | None) -> None:
    max_count = None if slack is None else min_count + slack
    bounded = Intersection(node, Repeat(CharClass(((0, 0x10FFFF),)), min_count, max_count))
    try:
        regular_dfa(node)
    except LimitExceeded:  # the pattern alone is too large
        reject()
    try:
        automaton, unrolled = _linked(bounded), regular_dfa(bounded)
    except LimitExceeded as error:
        if error.limit != "product_states":
            raise
        reject()
    assert (automaton is None) == unrolled.is_empty
    if automaton is None:
        return
    reached = {(automaton.start_frames(), 0): b""}
    pending = list(reached)
    for frames, state in pending:
        row, text = unrolled.targets[state, unrolled.classes], reached[frames, state]
        assert set(automaton.next_bytes(frames)) == set(np.flatnonzero(row != DEAD).tolist()), text
        assert automaton.is_accepting(frames) == unrolled.final[state], text
        for target, byte in zip(*np.unique(row, return_index=True), strict=True):
            after = automaton.step(frames, byte), int(target) >> OPERATION_BITS
            if target != DEAD and after not in reached and len(reached) < 500:
                reached[after] = text + bytes((byte,))
                pending.append(after)


@pytest.mark.parametrize(("min_count", "max_count"), [(0, 30), (2, 30), (25, 40), (30, None), (0, 1000)])
@pytest.mark.parametrize("declared", [False, True])
def test_many_distinct_texts_are_counted_and_differ(
    min_count: int, max_count: int | None, declared: bool
) -> None:
    item = Distinct(Seq((LiteralText("<"), Repeat(_LETTER, 1, None), LiteralText(">"))))
    parts = (ListPart(LiteralText("k"), 0, 1),) if declared else ()
    items = SeparatedList((*parts, ListPart(item, min_count, max_count)), ",")
    node = Seq((LiteralText("["), items, LiteralText("]")))
    automaton = link(Rules(RuleRef("set"), {"set": node}))
    names = [f"<{chr(97 + i // 26)}{chr(97 + i % 26)}>" for i in range(60)]
    for count in (0, 1, 2, 3, 24, 25, 26, 30, 31, 40, 41, 60):
        expected = min_count <= count and (max_count is None or count <= max_count)
        assert Reader(automaton).accepts(f"[{','.join(names[:count])}]".encode()) == expected, count
        if declared:
            assert Reader(automaton).accepts(f"[{','.join(['k', *names[:count]])}]".encode()) == expected, (
                count
            )
        if count > 1:
            assert not Reader(automaton).accepts(f"[{','.join([*names[: count - 1], names[0]])}]".encode())


def test_a_difference_from_one_pattern_more_is_one_product_more(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(left: Dfa, right: Dfa, max_states: int, *, negate: bool = False) -> Dfa | None:
        made.append(negate)
        return intersection(left, right, max_states, negate=negate)

    monkeypatch.setattr(compile_rule, "intersection", counted)
    words = [Seq((Repeat(CharClass(((0x61, 0x7A),))), LiteralText(f"{n}"))) for n in range(40)]
    for count in range(1, len(words) + 1):
        rest = Intersection(Repeat(CharClass(((0x20, 0x7A),))), Choice(tuple(words[:count])), negate=True)
        dfa = regular_dfa(rest)
        assert dfa.accepts(f"ab{count}".encode())
        assert not dfa.accepts(f"ab{count - 1}".encode()) and not dfa.accepts(b"ab0")
    assert len(made) == len(words)
