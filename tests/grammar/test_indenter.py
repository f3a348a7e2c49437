"""Lark's Indenter: the same texts as Lark's own, and no mask that leads to a dead end."""

from __future__ import annotations

import random

import numpy as np
import pytest
from lark import Lark
from lark.exceptions import LarkError
from lark.indenter import Indenter, PythonIndenter

import structkit as sk
from structkit.grammar.syntax.indenter import read_indenter
from structkit.grammar.syntax.lark_grammar import LarkGrammar, LarkOptions
from structkit.testing import byte_vocabulary
from tests.reading import accepts
from tests.shared import cases

_TREE = r"""
start: _NL* tree
tree: NAME _NL [_INDENT tree+ _DEDENT]
NAME: /[a-c]+/
_NL: /(\r?\n[\t ]*)+/
%declare _INDENT _DEDENT
"""

_BLOCKS = r"""
start: (_NL | line)*
line: "b" ":" block | item _NL
block: _NL _INDENT line+ _DEDENT | item _NL
item: "a" | "(" [item] ")"
_NL: /(\r?\n[\t ]*|#[^\n]*)+/
%ignore /[ \t]+/
%ignore /#[^\n]*/
%declare _INDENT _DEDENT
"""


class _Lines(Indenter):
    NL_type, INDENT_type, DEDENT_type = "_NL", "_INDENT", "_DEDENT"
    OPEN_PAREN_types: list[str] = []  # noqa: RUF012
    CLOSE_PAREN_types: list[str] = []  # noqa: RUF012
    tab_len = 8


class _Brackets(_Lines):
    OPEN_PAREN_types: list[str] = ["LPAR"]  # noqa: RUF012
    CLOSE_PAREN_types: list[str] = ["RPAR"]  # noqa: RUF012


_GRAMMARS = {"tree": (_TREE, _Lines()), "blocks": (_BLOCKS, _Brackets())}
_PARSERS = [("lalr", "contextual"), ("lalr", "basic"), ("earley", "basic")]
_TOKENS = [bytes([byte]) for byte in range(256)] + [b"\n  ", b"\n    ", b"a\n", b"b:\n ", b")\n", b"  a"]
_V = sk.Vocabulary(tokens=[*_TOKENS, b"<end>"], eos_token_ids={len(_TOKENS)})


def _lark_accepts(lark: Lark, text: str) -> bool:
    try:
        lark.parse(text)
    except (LarkError, AssertionError, IndexError):
        return False
    return True


def _texts(name: str, count: int) -> list[str]:
    """Random texts, many of which are almost right."""
    draw = random.Random(name)
    pieces = ["\n", "\n ", "\n  ", "\n    ", "\n\t", "a", "b", " "]
    pieces += ["c"] if name == "tree" else [":", "b:\n  ", "(", ")", "a\n", "(\n", "# c", "b: a\n"]
    found = ["", "a", "a\n", "a\n b\n", "b:\n  a\n  a\na\n", "b:\n  b:\n    a\n a\n", "b:\n a\n\n\n a\n"]
    return found + ["".join(draw.choices(pieces, k=draw.randint(1, 9))) for _ in range(count)]


@pytest.mark.parametrize(("parser", "lexer"), _PARSERS)
@pytest.mark.parametrize("name", _GRAMMARS)
def test_the_texts_are_those_of_lark(name: str, parser: str, lexer: str) -> None:
    text, postlex = _GRAMMARS[name]
    grammar = sk.Grammar(text, parser=parser, lexer=lexer, postlex=postlex)  # type: ignore[arg-type, call-overload]
    guide = sk.compile(grammar, _V)
    lark = Lark(text, parser=parser, lexer=lexer, postlex=postlex)  # type: ignore[arg-type]
    wrong = [
        each
        for each in _texts(name, cases(1_000, of=3_000))
        if accepts(guide, each) != _lark_accepts(lark, each)
    ]
    assert wrong == []
    assert sum(_lark_accepts(lark, each) for each in _texts(name, 300)) > 3


@pytest.mark.long(every=4)
@pytest.mark.parametrize("budget", [8, 20, 60])
@pytest.mark.parametrize("name", _GRAMMARS)
def test_no_mask_leads_to_a_dead_end(name: str, budget: int) -> None:
    text, postlex = _GRAMMARS[name]
    guide = sk.compile(sk.Grammar(text, parser="lalr", postlex=postlex), _V)
    lark = Lark(text, parser="lalr", postlex=postlex)
    draw = random.Random(budget)
    mask = np.zeros(_V.mask_words, np.uint32)
    for _ in range(cases(20, of=40)):
        cursor, written = guide.cursor(), b""
        for remaining in range(budget, -1, -1):
            cursor.fill_mask(mask, remaining)
            allowed = [token for token in range(len(_TOKENS)) if int(mask[token >> 5]) >> (token & 31) & 1]
            assert allowed or cursor.is_accepting, written
            if not allowed or (cursor.is_accepting and draw.random() < 0.1):
                break
            token = draw.choice(allowed)
            cursor.advance(token)
            written += _TOKENS[token]
        assert cursor.is_accepting
        assert _lark_accepts(lark, written.decode())


_ONLY_BREAKS = r"""
start: line
line: "a" _NL _INDENT _NL _DEDENT
_NL: /(;|\r?\n[\t ]*)+/
%ignore /\\\n/
%ignore " "
%declare _INDENT _DEDENT
"""


def test_a_budget_that_is_said_to_be_enough_is_enough() -> None:
    # The bound is looser after the line break, where the rules of the block are entered.
    guide = sk.compile(
        sk.Grammar(_ONLY_BREAKS, parser="lalr", postlex=_Lines()), byte_vocabulary(), cache=False
    )
    cursor, written = guide.cursor(), b""
    mask = np.zeros(guide.vocabulary.mask_words, np.uint32)
    for remaining in range(cursor.min_tokens_to_end(), 0, -1):
        if cursor.is_accepting:
            break
        cursor.fill_mask(mask, remaining)
        token = next((token for token in range(256) if int(mask[token >> 5]) >> (token & 31) & 1), None)
        assert token is not None, written
        cursor.advance(token)
        written += bytes([token])
    assert cursor.is_accepting
    assert _lark_accepts(Lark(_ONLY_BREAKS, parser="lalr", postlex=_Lines()), written.decode())


def test_a_dedent_needs_a_column_of_the_stack() -> None:
    guide = sk.compile(sk.Grammar(_BLOCKS, parser="lalr", postlex=_Brackets()), _V)
    assert accepts(guide, "b:\n    b:\n      a\n    a\n")
    assert not accepts(guide, "b:\n    b:\n      a\n     a\n")
    assert accepts(guide, "(\n  a\n)\n")  # inside brackets, lines have no columns
    assert not accepts(guide, "a)\n")
    assert accepts(guide, "b:\n\ta\n        a\n")  # a tab is eight columns


def test_a_grammar_with_a_postlex_is_a_target() -> None:
    grammar = sk.Grammar(_BLOCKS, parser="lalr", postlex=_Brackets(), value="tree")
    model = sk.testing.ScriptedModel(["b:\n  a\n  (a)\n"])
    tree = sk.extract(model, "A block", grammar)
    assert tree.data == "start"
    assert len(list(tree.find_data("line"))) == 3
    with pytest.raises(sk.SchemaError, match="each indentation"):
        sk.to_gbnf(grammar)


def test_random_models_write_valid_texts() -> None:
    grammar = sk.Grammar(_BLOCKS, parser="lalr", postlex=_Brackets())
    lark = Lark(_BLOCKS, parser="lalr", postlex=_Brackets())
    for seed in range(8):
        text = sk.extract(sk.testing.RandomModel(seed=seed), "Some lines", grammar, max_tokens=60)
        assert _lark_accepts(lark, text)


class _Changed(PythonIndenter):
    def handle_NL(self, token):  # type: ignore[no-untyped-def]
        yield token


@pytest.mark.parametrize(
    ("postlex", "error", "message"),
    [
        (PythonIndenter, TypeError, "write postlex=PythonIndenter\\(\\)"),
        ("lines", TypeError, "must be a lark.indenter.Indenter, not str"),
        (_Changed(), TypeError, "overrides handle_NL"),
    ],
)
def test_other_postlexers_are_refused(postlex: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sk.Grammar(_TREE, parser="lalr", postlex=postlex)  # type: ignore[arg-type, call-overload]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'start: "a" _INDENT\n%declare _INDENT _DEDENT',
            "(?s)the terminal _NL of the postlex is not defined.*define it",
        ),
        (
            'start: "a" _NL [_INDENT "b" _DEDENT]\n_NL: /\\n/\n%declare _INDENT _DEDENT',
            "cannot end with 1 blanks behind a line break",
        ),
        (
            'start: "a" _NL _INDENT "b" _NL\n_NL: /\\n[ ]*/\n%declare _INDENT _DEDENT',
            "`start` has _INDENT without _DEDENT in one alternative",
        ),
        (
            'start: "a" _NL [_INDENT "b" _DEDENT]\n_NL: /\\n[ ]*/\n_INDENT: "x"\n%declare _DEDENT',
            "the postlex makes the terminal _INDENT",
        ),
    ],
)
def test_grammars_that_do_not_fit_are_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(sk.GrammarError, match=message) as caught:
        sk.Grammar(text, parser="lalr", postlex=_Lines())
    assert caught.value.line is not None


def test_a_postlex_needs_tokens() -> None:
    with pytest.raises(sk.GrammarError, match="a postlex needs tokens"):
        sk.Grammar(_TREE, lexer="dynamic", postlex=_Lines())
    with pytest.raises(ValueError, match="only a Lark grammar has a postlex"):
        sk.Grammar('root ::= "a"', syntax="gbnf", postlex=_Lines())


def test_low_limits_refuse_a_grammar_whose_blocks_are_built_while_a_text_is_read() -> None:
    grammar = sk.Grammar(_BLOCKS, parser="lalr", postlex=_Brackets())
    with pytest.raises(sk.LimitExceeded, match="states=9999"):
        sk.compile(grammar, _V, limits=sk.Limits(states=9_999), cache=False)


@pytest.mark.parametrize(("parser", "lexer"), _PARSERS)
@pytest.mark.parametrize(
    ("rules", "texts"),
    [
        ('stmt: "b" ":" block\nblock: _NL _INDENT stmt _DEDENT', {""}),
        ('stmt: "a" _NL | "b" _NL "a" | "(" "a" ")"', {"", "a\n", "b\na", "(a)"}),
    ],
)
def test_a_first_rule_that_calls_no_other(rules: str, texts: set[str], parser: str, lexer: str) -> None:
    grammar = f"start: stmt?\n{rules}\n_NL: /\\n[ ]*/\n%declare _INDENT _DEDENT"
    found = sk.Grammar(grammar, parser=parser, lexer=lexer, postlex=_Brackets())
    guide = sk.compile(found, _V, cache=False)
    candidates = {"", "a", "b", "a\n", "b\na", "(a)", "b:\n b:\n ", "b\n"}
    assert {text for text in candidates if accepts(guide, text)} == texts


def test_texts_can_be_parsed_at_the_same_time() -> None:
    options = LarkOptions(parser="lalr", indenter=read_indenter(_Brackets()))
    lark = LarkGrammar(
        _BLOCKS.replace('"("', "LPAR").replace('")"', "RPAR") + 'LPAR: "("\nRPAR: ")"\n', None, options
    ).lark
    text = "b:\n  (\n)\n  a\na\n"
    found: list[list[str]] = [[], []]
    for both in zip(lark.lex(text), lark.lex(text), strict=True):  # as two threads would
        for types, token in zip(found, both, strict=True):
            types.append(token.type)
    assert found[0] == found[1] == [token.type for token in lark.lex(text)]
