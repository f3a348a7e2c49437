"""Grammars against a brute-force recogniser."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.link import link
from structkit.automaton.runtime.stack import Frame, stack_frames
from structkit.errors import UnsatisfiableSchema
from structkit.grammar.product.network import rules_of
from structkit.grammar.rules.cfg import Cfg, Terminal
from structkit.grammar.syntax.gbnf import read_gbnf
from structkit.regex.nodes import LiteralText

TERMINALS = [Terminal(text, LiteralText(text)) for text in ("a", "b", "ab", "c")]
NAMES = ["s", "t", "u"]
SYMBOLS = st.sampled_from(NAMES) | st.sampled_from(TERMINALS)
GRAMMARS = st.fixed_dictionaries(
    {name: st.lists(st.lists(SYMBOLS, max_size=3).map(tuple), max_size=4).map(tuple) for name in NAMES}
).map(lambda rules: Cfg("s", rules))
TEXTS = ["".join(letters) for length in range(6) for letters in product("abc", repeat=length)]


def derives(cfg: Cfg, text: str) -> bool:
    """CYK-like: a least fixpoint over all spans of the text."""
    found: set[tuple[str, int, int]] = set()
    spans = [(i, j) for i in range(len(text) + 1) for j in range(i, len(text) + 1)]

    def reads(production: tuple[object, ...], i: int, j: int) -> bool:
        ends = {i}
        for symbol in production:
            if isinstance(symbol, Terminal):
                name = symbol.name
                ends = {e + len(name) for e in ends if text.startswith(name, e)}
            else:
                ends = {k for e in ends for k in range(e, j + 1) if (symbol, e, k) in found}
        return j in ends

    changed = True
    while changed:
        changed = False
        for rule, production in cfg.productions():
            for i, j in spans:
                if (rule, i, j) not in found and reads(production, i, j):
                    found.add((rule, i, j))
                    changed = True
    return (cfg.start, 0, len(text)) in found


@given(GRAMMARS, st.lists(st.sampled_from(TEXTS), min_size=5, max_size=15))
def test_the_automaton_accepts_what_the_grammar_derives(cfg: Cfg, texts: list[str]) -> None:
    try:
        automaton = link(rules_of(cfg))
    except UnsatisfiableSchema:
        assert cfg.start not in cfg.productive
        return
    for text in texts:
        frames = automaton.start_frames()
        for byte in text.encode():
            frames = automaton.step(frames, byte)
        accepted = bool(frames) and automaton.is_accepting(frames)
        assert accepted == derives(cfg, text), (cfg.rules, text)


@given(GRAMMARS)
def test_each_frame_has_a_continuation(cfg: Cfg) -> None:
    if cfg.start not in cfg.productive:
        return
    automaton = link(rules_of(cfg))
    for text in TEXTS[:100]:
        frames = automaton.start_frames()
        for byte in text.encode():
            frames = automaton.step(frames, byte)
        if frames and not automaton.is_accepting(frames):
            assert any(automaton.step(frames, byte) for byte in b"abc"), (cfg.rules, text)


@lru_cache(maxsize=1)
def ambiguous() -> Cfg:
    a = TERMINALS[0]
    return Cfg("s", {"s": (("s", "s"), (a,), ())})


def test_ambiguity_takes_a_constant_number_of_frames() -> None:
    automaton = link(rules_of(ambiguous()))
    frames = automaton.start_frames()
    for _ in range(2_000):
        frames = automaton.step(frames, ord("a"))
    assert len(frames) <= 2


def test_rules_that_derive_each_other_alone_are_one_rule() -> None:
    grammar = 'root ::= a "x"\na ::= b*\nb ::= "x"? d "y"* | a* a "y" | "x" | ""\nd ::= b+ d* b*'
    automaton = link(rules_of(read_gbnf(grammar)))
    frames = automaton.start_frames()
    for byte in b"yyyxxxyyxyxyyxyxxxxxyxy" * 3:  # of three rules, 60 bytes have too many parses
        frames = automaton.step(frames, byte)
        assert frames


def test_right_recursion_takes_a_constant_stack() -> None:
    a, b = TERMINALS[:2]
    cfg = Cfg("s", {"s": ((a, "t"), (a,)), "t": ((b, "s"), (b,))})
    automaton = link(rules_of(cfg))
    frames = automaton.start_frames()
    for _ in range(10_000):
        frames = automaton.step(automaton.step(frames, ord("a")), ord("b"))
    assert len(frames) == 1
    assert all(frame.below is None for frame in frames)


@pytest.mark.parametrize(
    ("grammar", "accepted", "rejected"),
    [
        ('root ::= s\ns ::= s s s | "x" | ""', ["", "x", "x" * 99], ["y"]),
        ('root ::= s\ns ::= "x" (s | "y")*', ["x", "xyxxy", "x" * 60 + "y"], ["", "y", "xz"]),
        # Behind a `z` a rule only ends, and an outer one goes on: not as many `y` as there are rules would be right.
        ('root ::= s\ns ::= "x" (s | "y")* | "z"', ["z", "xzy", "xxzyy", "xyzxy"], ["zy", "zx", "zz", "y"]),
        ('root ::= s\ns ::= "x" (s "y"?)? | "z" "y"', ["xxzy", "xxzyyy", "zy"], ["xxzyyyy", "zyy", "xz"]),
    ],
)
def test_a_rule_that_goes_on_behind_itself_as_at_its_ends(
    grammar: str, accepted: list[str], rejected: list[str]
) -> None:
    automaton = link(rules_of(read_gbnf(grammar)))

    def frames(text: str) -> frozenset[Frame]:
        found = automaton.start_frames()
        for byte in text.encode():
            found = automaton.step(found, byte)
        return found

    assert all(automaton.is_accepting(frames(text)) for text in accepted)
    assert not any(automaton.is_accepting(frames(text)) for text in rejected)
    if '"z"' not in grammar:  # no stack grows
        assert len({below for frame in frames(accepted[-1]) for below in stack_frames(frame)}) < 5
