r"""GBNF, the grammars of llama.cpp, as context-free grammars over code points.

The notation is that of llama.cpp's `src/llama-grammar.cpp`. A line break ends a rule, except inside parentheses and
after `|` and `::=`. A later definition of a rule replaces an earlier one. Left recursion is allowed. `!<name>*` is any
text and the other tokens that the grammar names.
"""

from __future__ import annotations

import re
from typing import NoReturn

from structkit.errors import LimitExceeded
from structkit.grammar.rules.cfg import Cfg
from structkit.grammar.syntax.expressions import Definitions, Expression, Source, count_of
from structkit.limits import Limits
from structkit.regex.charset import ANY, char_class, complement
from structkit.regex.nodes import CharClass, LiteralText, RuleRef, choice

__all__ = ["CONTROL", "read_gbnf"]

_SPACE = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
_SPACE_AND_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPE = re.compile(r'\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([nrt\\"\[\]-]))')
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
_COUNTS = re.compile(r"\{\s*([0-9]+)\s*(?:(,)\s*([0-9]+)?\s*)?\}")
_NEXT_RULE = re.compile(r"([A-Za-z0-9_-]+)[ \t]*\Z")
_TOKEN = re.compile(r"<(?:\[[0-9]{1,9}\]|[^<>\[\]\r\n][^<>\r\n]*)>")
_REPEATED = re.compile(r"[ \t]*[*+]")
_OPENED = re.compile(r"\(\s*\Z")
_CLOSED = re.compile(r"\s*\)[ \t]*[*+]")
_LINES = "write a rule as `name ::= ...`, and its next line in parentheses or behind `|`"
_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": r" \t\r\n"}
_CHARACTERS = {"b": r"\x08", "f": r"\x0C", "0": r"\x00"}
_DIGITS = {"x": 2, "u": 4, "U": 8}
_OTHERS = "$not"
_LIMIT = 0x110000
CONTROL = "\udcff"
"""What stands before the name of a token; see `structkit.vocabulary.control_tokens`."""


def read_gbnf(
    text: str, start: str = "root", *, path: str | None = None, limits: Limits | None = None
) -> Cfg:
    """Return a grammar in llama.cpp's notation.

    Args:
        text: The grammar.
        start: The rule of complete texts.
        path: The file of the grammar, for errors.
        limits: Bounds on sizes.

    >>> read_gbnf('root ::= "a" root | "b"').rules["root"]  # doctest: +NORMALIZE_WHITESPACE
    ((Terminal(name='text', node=LiteralText(value='b'), ...),),
     (Terminal(name='text', node=LiteralText(value='a'), ...), 'root'))

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
        self.excluded: set[str] = set()
        self.broken: int | None = None
        """The first text with a line break, whose quotation mark is missing if those of the grammar are not even."""

    def read(self) -> None:
        self.space(lines=True)
        while self.at < len(self.text):
            self.rule()
            self.space(lines=True)
        self.define_other_tokens()

    def space(self, *, lines: bool) -> None:
        found = (_SPACE_AND_LINES if lines else _SPACE).match(self.text, self.at)
        self.at = found.end() if found else self.at

    def fail(self, message: str, place: int | None = None) -> NoReturn:
        self.source.fail(message, self.at if place is None else place)

    def unexpected(self, found: Expression) -> NoReturn:
        """Raise an error about a character that no rule has here."""
        if self.text.startswith("::=", self.at) and (name := _NEXT_RULE.search(self.text, 0, self.at)):
            if found.bracket:
                fault = f"`(` is not closed before the rule `{name[1]}`; write `)` at the end of the group"
                self.fail(fault, found.opened)
            remedy = 'begin it on a line of its own, and write `""` for an empty alternative before it'
            self.fail(f"the rule `{name[1]}` begins inside another one; {remedy}", name.start())
        first = self.text[self.at]
        if first in "\"'\u201c\u201d\u2018\u2019":
            remedy = "write texts in double quotation marks"
        else:
            remedy = "write a blank" if first.isspace() else "remove it, or quote it"
        self.fail(f"unexpected {self.source.shown(self.at)}; {remedy}")

    def rule(self) -> None:
        place = self.at
        found = _NAME.match(self.text, place)
        if found is None:
            if self.text[place] == "|":
                self.fail(
                    "a line begins with `|`; write it at the end of the line before, or use parentheses"
                )
            self.fail(f"a rule begins with its name, not with {self.source.shown(place)}; {_LINES}")
        self.at = found.end()
        self.space(lines=False)
        if not self.text.startswith("::=", self.at):
            self.fail(f"`::=` is missing; {_LINES}")
        self.at += 3
        self.space(lines=True)
        expression = self.expression()
        if self.at < len(self.text) and self.text[self.at] not in "\r\n":
            self.unexpected(expression)
        self.definitions.rules.pop(found[0], None)
        self.definitions.define(found[0], expression.node(), place)

    def expression(self) -> Expression:
        """Read up to the end of the rule."""
        found = Expression(self.definitions)
        while self.at < len(self.text) and self.item(found, self.text[self.at]):
            self.space(lines=bool(found.bracket))
        if found.bracket:
            if self.at < len(self.text):
                self.unexpected(found)
            self.fail("`(` is not closed; write `)` at the end of the group", found.opened)
        return found

    def item(self, found: Expression, first: str) -> bool:
        """Read an item or an operator; return whether there is one."""
        place = self.at
        if first == '"':
            text = self.literal()
            if text:
                found.add(LiteralText(text))
            else:
                found.skip()
        elif first == "[":
            found.add(self.char_class())
        elif first == "<":
            found.add(LiteralText(CONTROL + self.token()))
        elif first == "!":
            found.add(self.other_tokens())
        elif first in "*+?{":
            self.repeat(found, first)
        elif name := _NAME.match(self.text, place):
            self.at = name.end()
            found.add(self.definitions.use(name[0], place))
        else:
            return self.punctuation(found, first)
        return True

    def punctuation(self, found: Expression, first: str) -> bool:
        if first == ".":
            found.add(ANY)
        elif first == "(":
            found.open("(", self.at)
        elif first == ")" and found.bracket:
            found.close()
        elif first == "|":
            found.alternative()
        else:
            return False
        self.at += 1
        if first in "(|":
            self.space(lines=True)
        return True

    def token(self) -> str:
        """Read the name of a token."""
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            self.fail("a terminal that is a token is written `<name>` or `<[id]>`")
        self.at = found.end()
        self.definitions.tokens.add(found[0])
        return found[0]

    def other_tokens(self) -> RuleRef:
        """Read a terminal that is any token but one: repeated, it is any text without this token."""
        place = self.at
        self.at += 1
        name = self.token()
        if _REPEATED.match(self.text, self.at) is None and not (
            _OPENED.search(self.text, max(place - 1_000, 0), place) and _CLOSED.match(self.text, self.at)
        ):
            self.fail(f"one token has no fixed text; write `!{name}*` or `!{name}+`", place)
        self.excluded.add(name)
        return RuleRef(_OTHERS + name)

    def define_other_tokens(self) -> None:
        """Define the characters and tokens that a terminal such as `!<name>` allows."""
        for name in self.excluded:
            others = sorted(self.definitions.tokens - {name})
            tokens = [LiteralText(CONTROL + other) for other in others]
            self.definitions.rules[_OTHERS + name] = [choice([ANY, *tokens])]

    def literal(self) -> str:
        place = self.at
        self.at += 1
        letters = []
        while not self.text.startswith('"', self.at):
            start = self.at
            code = self.character('`"`', place)
            if code >= _LIMIT or 0xD800 <= code < 0xE000:
                remedy = r"write one up to U+10FFFF as `\UHHHHHHHH`"
                self.fail(f"U+{code:04X} is not a character; {remedy}", start)
            letters.append(chr(code))
        if self.broken is None and "\n" in self.text[place : self.at]:
            self.broken = place
        self.at += 1
        return "".join(letters)

    def character(self, closing: str, opened: int) -> int:
        """Read a character of a text or a class."""
        if self.at >= len(self.text):
            place = opened if self.broken is None else self.broken
            self.fail(f"the closing {closing} is missing; write it at the end", place)
        if self.text[self.at] != "\\":
            self.at += 1
            return ord(self.text[self.at - 1])
        found = _ESCAPE.match(self.text, self.at)
        if found is None:
            escaped = self.text[self.at + 1 : self.at + 2]
            self.fail(f"invalid escape `\\{escaped}`; {_escape_remedy(escaped, in_class=closing == '`]`')}")
        self.at = found.end()
        if found[4]:
            return ord(_CONTROLS.get(found[4], found[4]))
        return int(found[1] or found[2] or found[3], 16)

    def char_class(self) -> CharClass:
        place = self.at
        self.at += 1
        negate = self.text.startswith("^", self.at)
        self.at += negate
        ranges = []
        while not self.text.startswith("]", self.at):
            start = self.at
            first = last = self.character("`]`", place)
            if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
                self.at += 1
                last = self.character("`]`", place)
            if first > last:
                self.fail(
                    f"the range `{self.text[start : self.at]}` is in reverse order; swap its ends", start
                )
            ranges.append((first, min(last, _LIMIT - 1)))
        self.at += 1
        charset = char_class(ranges)
        charset = complement(charset) if negate else charset
        if not ranges or not charset.ranges:
            self.fail(f"`{self.text[place : self.at]:.40}` contains no character; write at least one", place)
        return charset

    def repeat(self, found: Expression, operator: str) -> None:
        place = self.at
        if not found.has_operand:
            self.fail(
                f"nothing comes before `{operator}`; write what it repeats, or the character in quotation marks"
            )
        if operator != "{":
            self.at += 1
            found.repeat(int(operator == "+"), 1 if operator == "?" else None)
            return
        counts = _COUNTS.match(self.text, place)
        if counts is None or (not found.bracket and re.search(r"[\r\n]", counts[0])):
            self.fail("invalid count; write `{m}`, `{m,}` or `{m,n}`")
        self.at = counts.end()
        limits = self.source.limits
        low = count_of(counts[1], limits)
        high = count_of(counts[3], limits) if counts[3] else None if counts[2] else low
        if low > limits.iterations:
            raise LimitExceeded("iterations", limits.iterations, f"the count `{counts[0]:.40}`")
        if high is not None and high < low:
            self.fail(f"the maximum of `{counts[0]}` is below its minimum; swap them", place)
        found.repeat(low, None if high is None or high > limits.iterations else high)


def _escape_remedy(escaped: str, *, in_class: bool) -> str:
    """Return what to write for an escape that other notations have."""
    if count := _DIGITS.get(escaped):
        return f"write {count} hexadecimal digits behind it"
    meant = _CHARACTERS.get(escaped, escaped)
    if ranges := _CLASSES.get(escaped):
        meant = ranges if in_class else f"[{ranges}]"
    return f"write `{meant}`, or `\\\\` for a backslash" if meant.isprintable() and meant else "write `\\\\`"
