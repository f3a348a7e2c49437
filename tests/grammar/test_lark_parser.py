"""How Lark's parsers are built."""

from __future__ import annotations

from lark import lexer

from structkit.grammar.syntax.lark_parser import without_interegular


def test_lark_compares_no_terminals_with_interegular() -> None:
    before = lexer.has_interegular
    with without_interegular():
        assert not lexer.has_interegular
    assert lexer.has_interegular == before
