"""Rules as GBNF, the notation of llama.cpp."""

from __future__ import annotations

import re

from structkit.export.notation import ATOM, REPEATED, Notation, Piece, brackets, character
from structkit.export.plain import plain_rules
from structkit.limits import Limits
from structkit.regex.charset import ANY
from structkit.regex.nodes import EMPTY, CharClass, LiteralText, Node, Repeat, Rules, choice, seq

__all__ = ["format_gbnf"]

_MAX_COUNT = 1_999
"""Maximum count: llama.cpp refuses `{m,n}` if n times the rules in its operand is 2,000 or more."""

_BASE = 1_000
"""Larger counts are written as nested repetitions of this many."""


def format_gbnf(rules: Rules, start: str = "root", limits: Limits = Limits()) -> str:  # noqa: B008
    r"""Print rules as GBNF.

    >>> from structkit.regex.nodes import RuleRef
    >>> digits = Repeat(CharClass(((0x30, 0x39),)), 1, 3)
    >>> print(format_gbnf(Rules(seq(LiteralText("["), RuleRef("#digits"), LiteralText("]")), {"#digits": digits})))
    root ::= "[" digits "]"
    digits ::= [0-9]{1,3}
    <BLANKLINE>

    Raises:
        LimitExceeded: The grammar would be too large.
        SchemaError: The rules contain keys in any order, quotes of a source, or bytes that are not UTF-8.
        UnsatisfiableSchema: The language is empty.
    """
    return _Gbnf(plain_rules(rules, limits), start, limits).text()


class _Gbnf(Notation):
    is_sign = " ::= "
    names = "a GBNF name has letters, digits and hyphens"

    def literal(self, text: str) -> Piece:
        if not text:
            return '""', ATOM
        return '"' + "".join(character(ord(each), '"\\', "\\") for each in text) + '"', ATOM

    def charset(self, node: CharClass) -> str:
        return "." if node == ANY else brackets(node, "[]\\^-")

    def repeat(self, node: Repeat, depth: int) -> Piece:
        low, high = node.min_count, node.max_count
        if max(low, high or 0) > _MAX_COUNT:
            return self.piece(_nested(node.part, low, high), depth)
        # llama.cpp copies the operand, and counts the rules that it makes for an operand in parentheses.
        is_simple = isinstance(node.part, (CharClass, LiteralText))
        operand = self.atom(node.part, depth) if is_simple else self.call(node.part)
        counts = f"{low}" if low == high else f"{low},{'' if high is None else high}"
        return f"{operand}{{{counts}}}", REPEATED

    def name(self, name: str) -> str:
        found = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
        return found if found[:1].isalpha() else f"rule-{found}".rstrip("-")


def _nested(part: Node, low: int, high: int | None) -> Node:
    """Return a repetition with small counts. Each text is read in one way."""
    if low:
        rest = None if high is None else high - low
        return seq(_times(part, low), *([] if rest == 0 else [_nested(part, 0, rest)]))
    if high is None or high <= _MAX_COUNT:
        return Repeat(part, 0, high) if high != 0 else EMPTY
    many, few = divmod(high + 1, _BASE)
    group = Repeat(part, _BASE, _BASE)
    fewer = seq(_nested(group, 0, many - 1), Repeat(part, 0, _BASE - 1))  # than `many` groups
    return choice([fewer, seq(_times(group, many), _nested(part, 0, few - 1))] if few else [fewer])


def _times(part: Node, count: int) -> Node:
    """Return a node as often as `count`."""
    if count <= _MAX_COUNT:
        return Repeat(part, count, count)
    many, few = divmod(count, _BASE)
    return seq(_times(Repeat(part, _BASE, _BASE), many), *([Repeat(part, few, few)] if few else []))
