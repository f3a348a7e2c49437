r"""KBNF, the grammars of Koishi's constrained decoding engine and of Formatron, as context-free grammars.

The notation is that of the crate `kbnf-syntax` 0.5. Texts may continue after the first point at which they are
complete, where the engine kbnf stops. Comments are allowed wherever spaces are.
"""

from __future__ import annotations

import re

from structkit.automaton.construct.compile_rule import rule_dfa
from structkit.errors import LimitExceeded, PatternError
from structkit.grammar.rules.cfg import Cfg
from structkit.grammar.syntax.expressions import Definitions, Expression, Source
from structkit.limits import Limits
from structkit.regex.charset import ANY
from structkit.regex.nodes import NEVER, Intersection, LiteralText, Node, Repeat, Substring, seq
from structkit.regex.pattern.empty_text import is_nullable
from structkit.regex.pattern.parse import parse
from structkit.regex.walk import children

__all__ = ["read_kbnf"]

_SPACE = re.compile(r"(?:[ \t\r\n]+|\(\*(?:[^*]|\*(?!\)))*\*\))*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TEXT = re.compile(r"""(#(?:substrs|ex|e)?)?(["'])""")
_ESCAPE = re.compile(
    r"""\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|([0-3][0-7]{0,2}|[4-7][0-7]?)|([bfnrt\\"'/]))"""
)
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_COUNTS = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_ANY_TEXT = Repeat(ANY)


def read_kbnf(
    text: str, start: str = "start", *, path: str | None = None, limits: Limits | None = None
) -> Cfg:
    """Return a grammar in KBNF.

    Args:
        text: The grammar.
        start: The rule of complete texts.
        path: The file of the grammar, for errors.
        limits: Bounds on sizes.

    >>> read_kbnf("start ::= 'a' [start];").rules["start"]  # doctest: +NORMALIZE_WHITESPACE
    ((Terminal(name='text', node=LiteralText(value='a'), ...), '$part0'),)

    Raises:
        GrammarError: The text is not a grammar, or has no texts.
        LimitExceeded: The grammar is too large.
    """
    reader = _Reader(Source(text, path, limits or Limits()))
    reader.read()
    return reader.definitions.cfg(start)


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.at = 0
        self.definitions = Definitions(source)
        self.transitions = 0

    def read(self) -> None:
        self.space()
        while self.at < len(self.text):
            self.rule()
            self.space()

    def space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        if self.text.startswith("(*", self.at):
            self.source.fail("the comment is not closed; write `*)` at its end", self.at)

    def rule(self) -> None:
        place = self.at
        found = _NAME.match(self.text, place)
        if found is None:
            self.source.fail(
                f"a rule begins with its name, not with {self.source.shown(place)}; write `name ::= ...;`",
                place,
            )
        self.at = found.end()
        self.space()
        if not self.text.startswith(("::=", "="), self.at):
            self.source.fail(
                f"expected `::=`, not {self.source.shown(self.at)}; write `name ::= ...;`", self.at
            )
        self.at += 1 if self.text[self.at] == "=" else 3
        self.definitions.define(found[0], self.expression(), place)

    def expression(self) -> Node:
        """Read up to the end of the rule."""
        found = Expression(self.definitions)
        while True:
            self.space()
            first = self.text[self.at : self.at + 1]
            if first in ("", ";"):
                break
            self.item(found, first)
        if found.bracket:
            self.source.fail(
                f"`{found.bracket}` is not closed; close it at the end of the group", found.opened
            )
        if not first:
            self.source.fail("`;` is missing at the end of the rule; write it", self.at)
        self.require_item(found)
        self.at += 1
        return found.node()

    def require_item(self, found: Expression) -> None:
        if found.is_empty:
            self.source.fail("an alternative needs at least one item; write `''` for the empty text", self.at)

    def item(self, found: Expression, first: str) -> None:
        place = self.at
        if text := _TEXT.match(self.text, place):
            self.at = text.end()
            found.add(self.text_node(text[1], self.quoted(text[2], place), place))
        elif name := _NAME.match(self.text, place):
            self.at = name.end()
            found.add(self.definitions.use(name[0], place))
        elif first in _COUNTS:
            if not found.has_operand:
                self.source.fail(
                    f"nothing comes before `{first}`; write what it repeats, or the character in quotation marks",
                    place,
                )
            self.at += 1
            found.repeat(*_COUNTS[first])
            found.skip()  # one operator per item
        else:
            self.punctuation(found, first)
            self.at += 1

    def punctuation(self, found: Expression, first: str) -> None:
        if first in _CLOSING:
            found.open(first, self.at)
        elif first == "|":
            self.require_item(found)
            found.alternative()
        elif first == ",":
            self.require_item(found)
        elif found.bracket and first == _CLOSING[found.bracket]:
            self.require_item(found)
            bracket = found.bracket
            found.close()
            if bracket != "(":
                found.repeat(0, 1 if bracket == "[" else None)
        elif first == "!":
            self.source.fail("KBNF has no `any!` and `except!` since version 0.5; write #ex'...'", self.at)
        else:
            is_rule = self.text.startswith("::=", self.at)
            remedy = "end the rule before this one with `;`" if is_rule else "remove it, or quote it"
            self.source.fail(f"unexpected {self.source.shown(self.at)}; {remedy}", self.at)

    def quoted(self, quote: str, place: int) -> str:
        letters = []
        while not self.text.startswith(quote, self.at):
            if self.at >= len(self.text):
                self.source.fail(f"the closing `{quote}` is missing; write it at the end", place)
            letters.append(self.character())
        self.at += 1
        return "".join(letters)

    def character(self) -> str:
        place = self.at
        letter = self.text[place]
        if letter == "\\":
            found = _ESCAPE.match(self.text, place)
            if found is None:
                message = (
                    f"invalid escape `{self.text[place : place + 2]}`; in regular expressions double `\\`"
                )
                self.source.fail(message, place)
            self.at = found.end()
            if found[5]:
                return _CONTROLS.get(found[5], found[5])
            code = int(found[4], 8) if found[4] else int(found[1] or found[2] or found[3], 16)
        else:
            self.at += 1
            code = ord(letter)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            self.source.fail(f"U+{code:04X} is not a character; write another one", place)
        return chr(code)

    def text_node(self, kind: str | None, value: str, place: int) -> Node:
        """Return the language of a text in quotes with the given sign before it."""
        if not kind:
            return LiteralText(value)
        if kind == "#substrs":
            return Repeat(Substring(value, whole_words=False), 0, 1) if value else LiteralText("")
        pattern = self.pattern(value, place)
        if kind == "#":
            return pattern
        some_text = Repeat(ANY, 1)
        if kind == "#e":
            pattern = Intersection(pattern, LiteralText(""), negate=True) if is_nullable(pattern) else pattern
            node = Intersection(pattern, seq(pattern, some_text), negate=True)
        else:
            node = Intersection(some_text, seq(_ANY_TEXT, pattern, _ANY_TEXT), negate=True)
        found = rule_dfa(node, self.source.limits)
        self.transitions += found.targets.size
        if self.transitions > self.source.limits.transitions // 4:
            message = "the complements and first matches of regular expressions"
            raise LimitExceeded(
                "transitions", self.source.limits.transitions, message, place=self.source.path
            )
        return NEVER if found.is_empty else node

    def pattern(self, value: str, place: int) -> Node:
        try:
            node = parse(
                value, search=False, unicode=True, rust=True, engine="rust", limits=self.source.limits
            )
        except PatternError as error:
            shown = f"`{value:.40}`, column {error.column + 1}"
            self.source.fail(f"invalid regular expression {shown}: {error.message}", place)
        pending = [node]
        while pending:
            part = pending.pop()
            if isinstance(part, Intersection):
                self.source.fail(
                    "regular expressions of KBNF have no lookarounds; write rules instead", place
                )
            pending += children(part)
        return node
