"""The parser that Lark builds for a grammar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from structkit.grammar.syntax.holes import Hole, set_matchers

if TYPE_CHECKING:
    from lark import Lark

__all__ = ["build_parser", "without_interegular"]


def build_parser(lark: Lark, holes: Sequence[Hole]) -> Lark:
    """Build the parser of a grammar; return the grammar."""
    from lark import Lark

    with without_interegular():
        lark.parser = Lark._build_parser(lark)
    set_matchers(lark, holes)
    return lark


@contextmanager
def without_interegular() -> Iterator[None]:
    """Let Lark not compare terminals with interegular, which only warns, and fails for some; a lock is held."""
    from lark import lexer

    has_interegular = lexer.has_interegular
    lexer.has_interegular = False
    try:
        yield
    finally:
        lexer.has_interegular = has_interegular
