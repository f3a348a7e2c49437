from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st

from structkit.automaton.construct.compile_rule import regular, rule_dfa
from structkit.automaton.construct.utf8 import byte_sequences
from structkit.automaton.core.dfa import DEAD
from structkit.automaton.core.kernels import BITS
from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.errors import LimitExceeded, UnsatisfiableSchema
from structkit.limits import Limits
from structkit.regex.nodes import (
    NEVER,
    Alt,
    Both,
    Call,
    Chars,
    Joined,
    Multiple,
    Node,
    Part,
    Repeat,
    Rules,
    Seq,
    Text,
    Unique,
)
from tests.languages import matches, nodes, pattern, plain_nodes, texts

_LETTER = Chars(((0x61, 0x7A),))


@given(nodes, texts)
def test_automaton_is_fullmatch(node: Node, text: str) -> None:
    assert regular(node).accepts(text.encode()) == matches(node, text)


@given(plain_nodes, texts)
def test_linked_rules_are_fullmatch(node: Node, text: str) -> None:
    automaton = _linked(node)
    assert (automaton is not None and Reader(automaton).accepts(text.encode())) == matches(node, text)


def _linked(node: Node) -> Automaton | None:
    try:
        return link(Rules(node, {}))
    except UnsatisfiableSchema:
        return None


@pytest.mark.parametrize(
    ("low", "high"), [(0, 0x10FFFF), (0x7F, 0x800), (0xD7FF, 0xE000), (0xFFFF, 0x10000), (0xE9, 0x2FA1)]
)
def test_utf8_ranges_hold_exactly_their_code_points(low: int, high: int) -> None:
    sequences = byte_sequences(((low, high),))
    for code in {low - 1, low, low + 1, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, high - 1, high, high + 1}:
        if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            continue
        spelling = chr(code).encode()
        held = sum(
            len(spelling) == len(sequence)
            and all(a <= byte <= b for byte, (a, b) in zip(spelling, sequence, strict=True))
            for sequence in sequences
        )
        assert held == (low <= code <= high)


def test_language_is_not_leftmost_first() -> None:
    assert regular(Alt((Text("a"), Text("ab")))).accepts(b"ab")


@pytest.mark.parametrize("of", [1, 2, 3, 7, 12, 97])
def test_multiples(of: int) -> None:
    dfa = regular(Multiple(of))
    for number in range(0, 1200):
        assert dfa.accepts(str(number).encode()) == (number % of == 0)
    assert not dfa.accepts(b"00") and not dfa.accepts(b"")


@pytest.mark.parametrize(("least", "most"), [(0, 200), (70, 100), (100, 100), (99, None)])
@pytest.mark.parametrize("end", ["!", ""])
def test_counted_repetition(least: int, most: int | None, end: str) -> None:
    node = Seq((Text("<"), Repeat(Alt((_LETTER, Text("éé"))), least, most), Text(end)))
    dfa = rule_dfa(node, Limits())
    assert len(dfa.final) < 20, "counts are not unrolled"
    automaton = link(Rules(node, {}))
    expected = re.compile(pattern(node))
    for rounds in (0, 1, 69, 70, 99, 100, 101, 199, 200, 201, 500):
        for text in ("<" + "x" * rounds + end, "<" + "éé" * rounds + end, "<" + "x" * rounds + "é" + end):
            assert Reader(automaton).accepts(text.encode()) == bool(expected.fullmatch(text)), text


def test_ambiguous_rounds_are_unrolled() -> None:
    node = Repeat(Alt((Text("a"), Text("aa"), Text("aaa"))), 50, 60)
    automaton = link(Rules(node, {}))
    assert [Reader(automaton).accepts(b"a" * n) for n in (49, 50, 180, 181)] == [False, True, True, False]


def test_recursion_has_no_depth() -> None:
    nested = Rules(Call("a"), {"a": Alt((Text("x"), Seq((Text("("), Call("a"), Text(")")))))})
    automaton = link(nested)
    assert Reader(automaton).accepts(b"(" * 3000 + b"x" + b")" * 3000)
    assert not Reader(automaton).accepts(b"(" * 3000 + b"x" + b")" * 2999)


@pytest.mark.parametrize(
    "rules",
    [
        Rules(NEVER, {}),
        Rules(Call("a"), {"a": Seq((Text("("), Call("a"), Text(")")))}),
        Rules(Both(Text("a"), Text("b")), {}),
        Rules(Seq((Text("a"), Call("b"))), {"b": NEVER}),
    ],
)
def test_empty_language_is_refused(rules: Rules) -> None:
    with pytest.raises(UnsatisfiableSchema):
        link(rules)


def test_dead_ends_are_cut() -> None:
    automaton = link(Rules(Alt((Text("ab"), Seq((Text("ac"), Call("never"))))), {"never": NEVER}))
    assert not automaton.step(automaton.step(automaton.first(), ord("a")), ord("c"))


def test_limits_are_named() -> None:
    with pytest.raises(LimitExceeded, match="states=50"):
        rule_dfa(Alt(tuple(Text(f"{n}:{n * n}") for n in range(100))), Limits(states=50))
    with pytest.raises(LimitExceeded, match="nfa_states=1000"):
        rule_dfa(Repeat(Alt((Text("a"), Text("aa"))), 0, 10_000), Limits(nfa_states=1000))
    with pytest.raises(LimitExceeded, match="products=20"):
        regular(Both(Repeat(Text("aaaa")), Repeat(Text("aaaaaaa"))), Limits(products=20))


@pytest.mark.parametrize("least", [0, 30, 90])
@pytest.mark.parametrize("most", [None, 90, 100_000])
def test_pattern_with_large_lengths_is_counted(least: int, most: int | None) -> None:
    letter = Chars(((0x61, 0x7A), (0xE9, 0xE9)))
    body = Both(Repeat(Alt((Text("ab"), Text("éé"), Text("c")))), Repeat(letter, least, most))
    automaton = link(Rules(Seq((Text('"'), body, Text('"'))), {}))
    assert len(automaton.row) < 200 + 5 * least, "only the rounds that are needed are written out"
    for rounds in (0, 29, 30, 44, 45, 89, 90, 91, 2000):
        for text in ("c" * rounds, "ab" * rounds, "éé" * rounds, "c" * rounds + "a"):
            fits = not text.endswith("a") and least <= len(text) and (most is None or len(text) <= most)
            assert Reader(automaton).accepts(f'"{text}"'.encode()) == fits


@given(plain_nodes, st.integers(0, 40), st.none() | st.integers(0, 60))
@example(Seq((Repeat(Text("a"), 1, None), Repeat(Seq((Text("."), Repeat(Text("b"), 1, None)))))), 0, 33)
@example(Repeat(Text("ab")), 0, 29)
@example(Repeat(Text("ab")), 19, 0)
@example(Repeat(Alt((Text("a" * 9), Text("é")))), 20, 20)
@example(Seq((Repeat(Text("a")), Text("b" * 12))), 0, 50)
@example(Alt((Repeat(Text("a")), Text("b" * 80), Text("é" * 50))), 31, 8)
@example(Repeat(Seq((Text("a"), Repeat(Text("b" * 70), 0, 1)))), 0, 60)
def test_a_pattern_of_bounded_length_has_no_dead_ends(node: Node, least: int, room: int | None) -> None:
    bounded = Both(node, Repeat(Chars(((0, 0x10FFFF),)), least, None if room is None else least + room))
    try:
        regular(node)
    except LimitExceeded:  # by itself, bounded or not
        reject()
    try:
        automaton, written_out = _linked(bounded), regular(bounded)
    except LimitExceeded as error:
        if error.limit != "products":
            raise
        reject()
    assert (automaton is None) == written_out.is_empty
    if automaton is None:
        return
    places = {(automaton.first(), 0): b""}
    waiting = list(places)
    for frames, state in waiting:
        row, text = written_out.targets[state, written_out.classes], places[frames, state]
        assert set(automaton.next_bytes(frames)) == set(np.flatnonzero(row != DEAD).tolist()), text
        assert automaton.can_end(frames) == written_out.final[state], text
        for target, byte in zip(*np.unique(row, return_index=True), strict=True):
            after = automaton.step(frames, byte), int(target) >> BITS
            if target != DEAD and after not in places and len(places) < 500:
                places[after] = text + bytes((byte,))
                waiting.append(after)


@pytest.mark.parametrize(("least", "most"), [(0, 30), (2, 30), (25, 40), (30, None), (0, 1000)])
@pytest.mark.parametrize("declared", [False, True])
def test_many_unique_texts_are_counted_and_differ(least: int, most: int | None, declared: bool) -> None:
    item = Unique(Seq((Text("<"), Repeat(_LETTER, 1, None), Text(">"))))
    parts = (Part(Text("k"), 0, 1),) if declared else ()
    node = Seq((Text("["), Joined((*parts, Part(item, least, most)), ","), Text("]")))
    automaton = link(Rules(Call("set"), {"set": node}))
    names = [f"<{chr(97 + i // 26)}{chr(97 + i % 26)}>" for i in range(60)]
    for count in (0, 1, 2, 3, 24, 25, 26, 30, 31, 40, 41, 60):
        fits = least <= count and (most is None or count <= most)
        assert Reader(automaton).accepts(f"[{','.join(names[:count])}]".encode()) == fits, count
        if declared:
            assert Reader(automaton).accepts(f"[{','.join(['k', *names[:count]])}]".encode()) == fits, count
        if count > 1:
            assert not Reader(automaton).accepts(f"[{','.join([*names[: count - 1], names[0]])}]".encode())
