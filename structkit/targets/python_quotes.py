r"""Strings of Python in single quotes, beside those in double quotes that are canonical JSON.

Each value has one text in each kind of quotes: in single quotes, `'` is escaped and `"` is not. A string has both kinds
if it is a constant, a key, or free text, as in `special='black'`. Strings with a pattern, a format or a quoted source
are in double quotes, and so is all that must be distinct, such as the keys of a dict: there a value has one text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from structkit.regex.charset import char_class, complement, intersection, union
from structkit.regex.json_string import JSON_CHAR, QUOTE
from structkit.regex.nodes import (
    CharClass,
    Choice,
    Distinct,
    LiteralText,
    Node,
    Repeat,
    RuleRef,
    Rules,
    SeparatedList,
    Seq,
    Substring,
    choice,
    seq,
)
from structkit.regex.walk import children, map_children, referenced_rules

__all__ = ["single_quoted", "with_single_quotes"]

_STRING = re.compile(r'("(?:[^"\\]|\\.)*")')
_SPECIAL = re.compile(r"\\.|'")
_BODY = " in single quotes"
_DOUBLE, _SINGLE = char_class([(0x22, 0x22)]), char_class([(0x27, 0x27)])
_OTHERS = complement(union([_DOUBLE, _SINGLE]))


def single_quoted(text: str) -> str:
    r"""Return a canonical JSON string in single quotes.

    >>> print(single_quoted('"a\'b"'), single_quoted(r'"\"\\\n"'))
    'a\'b' '"\\\n'
    """
    spelled = {'\\"': '"', "'": "\\'"}
    return f"'{_SPECIAL.sub(lambda found: spelled.get(found[0], found[0]), text[1:-1])}'"


def with_single_quotes(rules: Rules) -> Rules:
    r"""Return the language of Python literals in which strings can also be in single quotes.

    >>> found = with_single_quotes(Rules(LiteralText('a="x"'), {}))
    >>> found.start.parts
    (LiteralText(value='a='), Choice(parts=(LiteralText(value='"x"'), LiteralText(value="'x'"))))
    """
    quotes = _Quotes(rules)
    start = quotes.value(rules.start)[0]
    found = {**rules.rules, **quotes.changed(), **quotes.bodies}
    lazy = rules.lazy | {name for name in quotes.bodies if name.removesuffix(_BODY) in rules.lazy}
    return replace(rules, start=start, rules=found, lazy=lazy)


class _Quotes:
    """Adds single quotes to the rules of a language.

    Attributes:
        bodies: The rules of free texts in single quotes, with the closing quote.
    """

    def __init__(self, rules: Rules) -> None:
        self.bodies: dict[str, Node] = {}
        self._rules = rules.rules
        self._kept = _kept([rules.start, *rules.rules.values()], rules.rules)
        self._called: dict[str, None] = {}

    def changed(self) -> dict[str, Node]:
        """Return the rules that are called outside strings, with both kinds of quotes."""
        found: dict[str, Node] = {}
        while self._called.keys() - found.keys():
            found |= {name: self.value(self._rules[name])[0] for name in [*self._called] if name not in found}
        return found

    def value(self, node: Node) -> tuple[Node, bool]:
        """Return what begins outside strings, with both kinds of quotes, and whether it certainly ends outside them."""
        match node:
            case LiteralText():
                return self._sequence([node])
            case Seq(parts):
                return self._sequence(parts)
            case Choice(parts):
                found = [self.value(part) for part in parts]
                return choice(part for part, _ in found), all(is_whole for _, is_whole in found)
            case Repeat(part):
                inner, is_whole = self.value(part)
                return (replace(node, part=inner), True) if is_whole else (node, False)
            case SeparatedList(parts):
                items = [(part, *self.value(part.node)) for part in parts]
                listed = tuple(
                    replace(part, node=item) if is_whole else part for part, item, is_whole in items
                )
                return replace(node, parts=listed), all(is_whole for *_, is_whole in items)
            case RuleRef(name):
                if name not in self._kept:
                    self._called[name] = None
                return node, True
            case Distinct(inner):
                return node, self.value(inner)[1]
            case _:
                return node, not _has_quote(node)

    def _sequence(self, parts: Iterable[Node]) -> tuple[Node, bool]:
        """Return parts in sequence; from a string on that is neither a constant nor free text, they are unchanged."""
        found: list[Node] = []
        pending = list(parts)
        while pending:
            part = pending.pop(0)
            if not isinstance(part, LiteralText):
                changed, is_whole = self.value(part)
                found.append(changed if is_whole else part)
                if not is_whole:
                    return seq(*found, *pending), False
                continue
            *whole, rest = _STRING.split(part.value)
            found += [_either(text) if text[:1] == '"' else LiteralText(text) for text in whole]
            before, quote, begun = rest.partition('"')
            found.append(LiteralText(before))
            if quote:
                behind = pending[:]
                body = pending.pop(0) if pending else None
                if begun or not isinstance(body, RuleRef) or not _is_tail(self._rules[body.rule]):
                    return seq(*found, LiteralText(quote + begun), *behind), False
                found.append(self._string(body))
        return seq(*found), True

    def _string(self, body: RuleRef) -> Node:
        """Return a string, from the rule of its text and closing quote."""
        string = seq(QUOTE, body)
        match self._rules[body.rule]:
            case Seq((Repeat(part, least, most), end)) if part == JSON_CHAR and end == QUOTE:
                name = body.rule + _BODY
                self.bodies[name] = Seq((Repeat(_CHARACTER, least, most), LiteralText("'")))
                return choice([string, seq("'", RuleRef(name))])
            case _:
                return string


def _either(text: str) -> Node:
    return choice([LiteralText(text), LiteralText(single_quoted(text))])


def _is_tail(node: Node) -> bool:
    """Return whether a rule certainly ends with the closing quote of the string in which it begins."""
    if isinstance(node, Seq):
        node = node.parts[-1]
    if isinstance(node, Choice):
        return bool(node.parts) and all(map(_is_tail, node.parts))
    return isinstance(node, LiteralText) and _STRING.fullmatch(f'"{node.value}') is not None


def _has_quote(node: Node) -> bool:
    """Return whether a text of a node, without those of rules, may have a double quote."""
    match node:
        case LiteralText(text):
            return '"' in text
        case CharClass():
            return bool(intersection(node, _DOUBLE).ranges)
        case Substring():
            return True
        case _:
            return any(map(_has_quote, children(node)))


def _kept(nodes: Iterable[Node], rules: Mapping[str, Node]) -> set[str]:
    """Return the rules that are called where a value has one text: it must be distinct, or others are excluded."""
    found: set[str] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, (Seq, Choice, Repeat, SeparatedList)):
            pending += children(node)
            continue
        called = referenced_rules(node) if not isinstance(node, RuleRef) else set()
        while called:
            name = called.pop()
            found.add(name)
            called |= referenced_rules(rules[name]) - found
    return found


def _swapped(node: Node) -> Node:
    """Return the spellings of a character in single quotes, from those in double quotes."""
    if not isinstance(node, CharClass):
        return map_children(node, _swapped)
    quotes = [
        other for quote, other in ((_DOUBLE, _SINGLE), (_SINGLE, _DOUBLE)) if intersection(node, quote).ranges
    ]
    return union([intersection(node, _OTHERS), *quotes])


_CHARACTER = _swapped(JSON_CHAR)
