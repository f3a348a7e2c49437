"""Rules as a grammar of Lark."""

from __future__ import annotations

import re

from structkit.export.notation import ATOM, REPEATED, SEQUENCE, Notation, Piece, brackets, character
from structkit.export.plain import plain_rules
from structkit.limits import Limits
from structkit.regex.charset import ANY
from structkit.regex.nodes import CharClass, Repeat, Rules

__all__ = ["format_lark"]


def format_lark(rules: Rules, start: str = "start", limits: Limits = Limits()) -> str:  # noqa: B008
    r"""Print rules as a grammar for Lark's Earley parser.

    Each terminal has texts of one length, so that the dynamic lexers cut a text in every possible way.

    >>> from structkit.regex.nodes import LiteralText, RuleRef, seq
    >>> digits = Repeat(CharClass(((0x30, 0x39),)), 1, 3)
    >>> print(format_lark(Rules(seq(LiteralText("["), RuleRef("#digits"), LiteralText("]")), {"#digits": digits})))
    start: "[" digits "]"
    digits: /[0-9]/~1..3
    <BLANKLINE>

    Raises:
        LimitExceeded: The grammar would be too large.
        SchemaError: The rules contain keys in any order, quotes of a source, or bytes that are not UTF-8.
        UnsatisfiableSchema: The language is empty.
    """
    return _Lark(plain_rules(rules, limits), start, limits).text()


class _Lark(Notation):
    is_sign = ": "
    names = "the name of a rule has lowercase letters, digits and underscores, and begins with a letter"

    def literal(self, text: str) -> Piece:
        if not text:
            return "", SEQUENCE
        return '"' + "".join(character(ord(each), '"\\', "\\") for each in text) + '"', ATOM

    def charset(self, node: CharClass) -> str:
        return "/./s" if node == ANY else f"/{brackets(node, '[]^-&~|/' + chr(92), chr(92))}/"

    def repeat(self, node: Repeat, depth: int) -> Piece:
        low, high = node.min_count, node.max_count
        operand = self.atom(node.part, depth)
        if high is None:
            return f"{operand}~{low} {operand}*", SEQUENCE
        counts = f"{low}" if low == high else f"{low}..{high}"
        return f"{operand}~{counts}", REPEATED

    def name(self, name: str) -> str:
        found = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
        return found if found[:1].isalpha() else f"rule_{found}".rstrip("_")
