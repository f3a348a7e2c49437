"""LALR grammars whose rules begin with themselves behind empty rules: exactly the texts of Lark."""

from __future__ import annotations

import random
import signal
from itertools import product
from typing import Any, Literal

import pytest
from lark import Lark
from lark.exceptions import LarkError

import structkit as sk
from tests.grammar.test_against_lark import accepts, lark_accepts
from tests.grammar.test_lexers import LEXERS, read, seconds
from tests.shared import cases

needs_timer = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs a timer of the process")

LALR = [lexer for parser, lexer in LEXERS if parser == "lalr"]

TEXTS = ["".join(letters) for length in range(5) for letters in product("abcd", repeat=length)]


@pytest.mark.parametrize("lexer", LALR)
@pytest.mark.parametrize(
    "grammar",
    [
        'start: e start "d" | "b"\ne: "a"?',
        'start: e start "d" | e "b"\ne: "a"?',
        'start: e start "a" | "b"\ne: | "c" e',
        # `b` may follow the empty `e`, but nothing that begins `start` may.
        'start: e u "d" | "c"\nu: start "a" | "b"\ne: "a"?',
        'start: e u "d" | "c"\nu: f start "a" | "b"\ne: "a"?\nf: "d"?',
        'start: e start "d" | f "b"\ne: "a"?\nf.2: "c"?',
        'start: s\ns: e f s "c" | e "d"\ne: "a" | "b" |\nf: "d"*',
    ],
)
def test_the_texts_of_lark(grammar: str, lexer: Literal["basic", "contextual"]) -> None:
    lark = Lark(grammar, parser="lalr", lexer=lexer)
    automaton = read(grammar, "lalr", lexer)
    words = [text for text in TEXTS if lark_accepts(lark, text)]
    assert len(words) > 1
    assert [text for text in TEXTS if accepts(automaton, text)] == words


def random_grammar(choose: random.Random) -> str:
    def production() -> str:
        before = choose.choice(["e ", "f ", "e f ", "e ", "f ", ""])
        first = choose.choice(["s", "u", "s", "u", '"a"', '"b"', '"c"'])
        return before + first + choose.choice(["", ' "a"', ' "b"', ' "c"', ' "d"', ' e "d"', " u", ' "d" s'])

    lines = ["start: " + choose.choice(["s", "u", "s", "e s"])]
    for rule in "su":
        found = [production() for _ in range(choose.randint(1, 3))]
        found.append(choose.choice(['"a"', '"b"', '"c"', 'e "d"', 'f "c"', f'"d" {rule}', "e"]))
        lines.append(f"{rule}{choose.choice(['', '.2'])}: {' | '.join(found)}")
    for rule in "ef":
        body = choose.choice(['"a"?', '"b"?', '"c"?', "", '"d"*', '"a"? "b"?', '"a" | "b" |', '"d" |'])
        lines.append(f"{rule}{choose.choice(['', '.2', '.3'])}: {body}")
    return "\n".join(lines)


@needs_timer
@pytest.mark.long(every=5)
@pytest.mark.parametrize("seed", range(cases(15, of=300)))
def test_random_grammars(seed: int) -> None:
    """Where Lark reduces empty rules without end, it accepts no text, and neither do we."""
    grammar, lexer = random_grammar(random.Random(seed)), LALR[seed % 2]
    try:
        lark = Lark(grammar, parser="lalr", lexer=lexer)
    except LarkError:
        with pytest.raises(sk.GrammarError):
            read(grammar, "lalr", lexer)
        return
    try:
        automaton: Any = read(grammar, "lalr", lexer)
    except sk.GrammarError:
        automaton = None
    endless = 0
    for text in TEXTS:
        try:
            with seconds(1):
                expected = lark_accepts(lark, text)
        except TimeoutError:
            expected, endless = False, endless + 1
            if endless > 2:
                return
        assert (automaton is not None and accepts(automaton, text)) == expected, (grammar, text)


def test_what_lark_expects_in_no_order_is_refused() -> None:
    """Lark unites the terminals behind rules on a cycle of empty ones, as far as its sets are ordered so."""
    grammar = 'start: s\ns.2: s "a" | e s "d" | f u | e "d"\nu: s e "d" | s e "b" | e\ne.2: "c"?\nf.3: "d" |'
    with pytest.raises(sk.GrammarError, match="without a character, and what Lark's LALR parser expects"):
        sk.Grammar(grammar, parser="lalr")
