"""The grammars and texts of the tests of Lark 1.3.1 (MIT licence): with each parser and lexer, Lark's own answers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from lark import Lark
from lark.exceptions import LarkError

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.grammar.read import GrammarSource
from structkit.grammar.syntax.lark_grammar import LarkOptions, Lexer, Parser
from structkit.grammar.syntax.lark_parser import without_interegular
from tests.grammar.test_against_lark import accepts, lark_accepts
from tests.shared import ALL

SUITE = Path(__file__).parent / "data" / "lark_suite.jsonl"
CASES: list[dict[str, Any]] = [*map(json.loads, SUITE.read_text(encoding="utf-8").splitlines())]
LEXERS: list[tuple[Parser, Lexer]] = [
    ("earley", "dynamic"),
    ("earley", "dynamic_complete"),
    ("earley", "basic"),
    ("lalr", "basic"),
    ("lalr", "contextual"),
]


def similar(text: str) -> set[str]:
    """Return the text, and texts that differ from it in one place."""
    found = {text, text + text[-1:], text[1:], text[1:2] + text[:1] + text[2:]}
    return found | {text[:at] + text[at + 1 :] for at in range(0, len(text), 1 + len(text) // 6)}


def read(grammar: str, options: LarkOptions) -> Automaton | None:
    """Return the automaton of a grammar; `None` if no text is in the language."""
    try:
        return link(GrammarSource(grammar, options=options).rules)
    except sk.GrammarError as error:
        if "no text is in the language" not in str(error):
            raise
        return None


@pytest.mark.long(every=8)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_lark_gives_the_same_answers(number: int) -> None:
    case = dict(CASES[number])
    grammar, texts = case.pop("grammar"), case.pop("texts")
    texts = sorted({each for text in texts for each in similar(text)})
    for parser, lexer in LEXERS if ALL else LEXERS[number // 8 % 2 :: 2]:
        forest = {"ambiguity": "forest"} if parser == "earley" else {}
        options = LarkOptions(parser=parser, lexer=lexer, **case)
        try:
            with without_interegular():
                lark = Lark(grammar, parser=parser, lexer=lexer, **forest, **case)
        except (LarkError, re.error):
            with pytest.raises(sk.GrammarError):
                read(grammar, options)
            continue
        automaton = read(grammar, options)
        for text in texts:
            expected = lark_accepts(lark, text)
            assert (automaton is not None and accepts(automaton, text)) == expected, (parser, lexer, text)
