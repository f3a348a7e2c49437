"""How Lark's parsers are built."""

from __future__ import annotations

import pytest
from lark import Lark, Tree, lexer

from structkit.errors import GrammarError
from structkit.grammar.syntax.lark_grammar import LarkGrammar, LarkOptions
from structkit.grammar.syntax.lark_parser import _needed, without_interegular


def test_lark_compares_no_terminals_with_interegular() -> None:
    before = lexer.has_interegular
    with without_interegular():
        assert not lexer.has_interegular
    assert lexer.has_interegular == before


_IMPORTS = [
    "%import common.SIGNED_NUMBER -> A\n%import common (WS, C_COMMENT)\nstart: A WS C_COMMENT",
    "%import python.file_input -> a\n%import python (NAME, atom_expr)\nstart: a NAME atom_expr",
    "%import lark.start -> a\nstart: a",
    "%import lark.name -> a\n%extend a: NAME\n%import common.CNAME -> NAME\nstart: a",
    '%import common.WORD\n%override WORD: "a"\nstart: WORD',
]


def definitions(lark: Lark) -> tuple[list[str], list[str]]:
    rules = [f"{rule!r} {rule.options!r} {rule.alias}" for rule in lark.rules]
    return rules, [f"{each!r} {each.priority}" for each in lark.terminals]


@pytest.mark.parametrize("text", _IMPORTS)
def test_only_what_is_imported_is_read_of_the_grammars_of_lark(text: str) -> None:
    expected = definitions(Lark(text, parser="earley", lexer="dynamic"))
    for _ in range(2):  # what was read is kept
        assert definitions(LarkGrammar(text, None, LarkOptions()).lark) == expected


@pytest.mark.parametrize("statement", ["override", "extend"])
def test_a_grammar_that_changes_what_it_imports_is_read_whole(statement: str) -> None:
    tree = Tree("start", [Tree("term", ["A"]), Tree(statement, [])])
    assert _needed(tree, ()) is tree and _needed(Tree("start", tree.children[:1]), ()).children == []


def test_an_unknown_name_of_a_grammar_of_lark() -> None:
    with pytest.raises(GrammarError, match="NUMBERS"):
        _ = LarkGrammar("%import common.NUMBERS\nstart: NUMBERS", None, LarkOptions()).lark
