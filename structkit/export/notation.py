"""Plain rules as text: what the notations of grammars have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

from structkit.errors import LimitExceeded
from structkit.export.characters import not_utf8
from structkit.limits import Limits
from structkit.regex.charset import ANY, complement
from structkit.regex.nodes import EMPTY, CharClass, Choice, LiteralText, Node, Repeat, RuleRef, Rules, Seq

__all__ = ["ATOM", "REPEATED", "SEQUENCE", "Notation", "Piece", "brackets", "character"]

_CHOICE, SEQUENCE, REPEATED, ATOM = range(4)
"""Precedence of a printed node; a node of lower precedence than its context needs parentheses."""

Piece: TypeAlias = "tuple[str, int]"

_MAX_DEPTH = 8
"""Nested parentheses; a rule replaces deeper ones, because llama.cpp's parser calls itself for each."""

_MAX_GROUP = 300
"""Characters in parentheses; a rule replaces longer ones, because llama.cpp bounds the rules in them."""


class Notation(ABC):
    """Prints plain rules; a subclass writes each part.

    Args:
        rules: Plain rules.
        start: The name of the rule of complete texts.
        limits: Bounds on the size of the text.
    """

    is_sign: str
    """What is between the name of a rule and what it is."""

    def __init__(self, rules: Rules, start: str, limits: Limits) -> None:
        if self.name(start) != start:
            raise ValueError(f"{start!r} is not the name of a rule; {self.names}")
        self._limits = limits
        self._rules = rules.rules
        self._names: dict[str, str] = {}
        self._taken = {start}
        self._parts: dict[Node, str] = {}
        self._pending: list[tuple[str, Node]] = [(start, rules.start)]
        self._called: set[str] = set()

    names: str
    """What the name of a rule is made of, for errors."""

    def text(self) -> str:
        """Return the grammar.

        Raises:
            LimitExceeded: The grammar is longer than `limits.regex_nodes`.
        """
        lines: list[str] = []
        size = 0
        while self._pending:
            self._current, node = self._pending.pop(0)
            lines.append(f"{self._current}{self.is_sign}{self.piece(node, 0)[0]}".rstrip(" "))
            size += len(lines[-1])
            if size > self._limits.regex_nodes:
                raise LimitExceeded("regex_nodes", self._limits.regex_nodes, "the printed grammar")
        return "".join(f"{line}\n" for line in lines)

    @abstractmethod
    def literal(self, text: str) -> Piece:
        """Return the piece of a text that is not empty."""

    @abstractmethod
    def charset(self, node: CharClass) -> str:
        """Return a class, in square brackets."""

    @abstractmethod
    def repeat(self, node: Repeat, depth: int) -> Piece:
        """Return the piece of a repetition other than `?`, `*` and `+`."""

    @abstractmethod
    def name(self, name: str) -> str:
        """Return the nearest valid name of a rule."""

    def atom(self, node: Node, depth: int) -> str:
        """Return the text of a node that an operator can follow."""
        return self._grouped(node, ATOM, depth)

    def call(self, node: Node) -> str:
        """Return the name of a rule for a node."""
        if isinstance(node, RuleRef):
            return self._rule(node.rule)
        name = self._parts.get(node)
        if name is None:
            name = self._parts[node] = self._unique(self._current)
            self._pending.append((name, node))
        return name

    def piece(self, node: Node, depth: int) -> Piece:
        """Return the text of a node and its precedence; `depth` parentheses are open."""
        match node:
            case LiteralText(value):
                if any("\ud800" <= character <= "\udfff" for character in value):
                    raise not_utf8()
                return self.literal(value)
            case CharClass():
                return (
                    self.literal(chr(node.ranges[0][0])) if _is_single(node) else (self.charset(node), ATOM)
                )
            case Seq(parts):
                return " ".join(self._grouped(part, SEQUENCE, depth) for part in parts), SEQUENCE
            case Choice(parts):
                if EMPTY in parts:
                    rest = tuple(part for part in parts if part != EMPTY)
                    inner = rest[0] if len(rest) == 1 else Choice(rest)
                    return f"{self.atom(inner, depth)}?", REPEATED
                return " | ".join(self._grouped(part, SEQUENCE, depth) for part in parts), _CHOICE
            case Repeat(part, 0, 1):
                return f"{self.atom(part, depth)}?", REPEATED
            case Repeat(part, 0, None):
                return f"{self.atom(part, depth)}*", REPEATED
            case Repeat(part, 1, None):
                return f"{self.atom(part, depth)}+", REPEATED
            case Repeat():
                return self.repeat(node, depth)
            case RuleRef(rule):
                return self._rule(rule), ATOM
            case _:
                raise TypeError(f"{type(node).__name__} is not plain")

    def _grouped(self, node: Node, precedence: int, depth: int) -> str:
        if depth >= _MAX_DEPTH and not isinstance(node, (LiteralText, CharClass, RuleRef)):
            return self.call(node)
        text, own = self.piece(node, depth + 1)
        if own >= precedence:
            return text
        return self.call(node) if len(text) > _MAX_GROUP else f"({text})"

    def _rule(self, rule: str) -> str:
        name = self._names.get(rule)
        if name is None:
            name = self._names[rule] = self._unique(rule)
            self._pending.append((name, self._rules[rule]))
        return name

    def _unique(self, rule: str) -> str:
        base = name = self.name(rule)
        number = 1
        while name in self._taken:
            number += 1
            name = self.name(f"{base}-{number}")
        self._taken.add(name)
        return name


def _is_single(node: CharClass) -> bool:
    return len(node.ranges) == 1 and node.ranges[0][0] == node.ranges[0][1]


def brackets(node: CharClass, special: str, escape: str = "") -> str:
    """Return a class in square brackets, negated if it has the last character.

    Args:
        node: The class.
        special: Characters that are escaped.
        escape: What escapes them; by default they are written as numbers.
    """
    negate = node.ranges[-1][1] == ANY.ranges[-1][1] and node != ANY
    ranges = complement(node).ranges if negate else node.ranges
    body = ""
    for first, last in ranges:
        ends = [character(code, special, escape) for code in (first, last)]
        body += ends[0] if first == last else "".join(ends) if last == first + 1 else "-".join(ends)
    return f"[{'^' if negate else ''}{body}]"


def character(code: int, special: str, escape: str = "") -> str:
    r"""Return a character, or its escape sequence if it is special or cannot be seen.

    >>> character(0x22, '"'), character(0x22, '"', "\\"), character(0x41, '"'), character(0xA0, '"')
    ('\\x22', '\\"', 'A', '\\xa0')
    """
    text = chr(code)
    if text in special and escape:
        return escape + text
    if text in "\n\r\t":
        return {"\n": r"\n", "\r": r"\r", "\t": r"\t"}[text]
    if text.isprintable() and text not in special:
        return text
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
