"""Typed holes: rules of a grammar whose texts are the texts of a target."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from structkit.errors import PatternError
from structkit.grammar.rules.cfg import Terminal
from structkit.regex.charset import char_class
from structkit.regex.nodes import CharClass, LiteralText, Node, RuleRef, Rules
from structkit.regex.pattern.program import read_pattern
from structkit.regex.pattern.syntax import parse_syntax
from structkit.regex.pattern.threads import TerminalAutomaton, build_terminal
from structkit.regex.walk import map_children

if TYPE_CHECKING:
    from lark import Lark

__all__ = ["Hole", "fill", "hole_terminal", "lark_definitions", "set_matchers", "with_prefix"]

_JSON_FIRST = char_class((ord(first),) * 2 for first in '"{[tfn')
_JSON_FIRST_WITH_NUMBERS = char_class((ord(first),) * 2 for first in '"{[-0123456789tfn')

_FLAGS = re.compile(r"\(\?([aimsux]+)\)")
_ESCAPES = {"\n": r"\n", "/": r"\/"}
_PYTHON_RULES = r"""
_literal_arguments: _literal_argument ("," _LITERAL_SPACE? _literal_argument)* | "**" _literal_object
_literal_argument: _LITERAL_NAME "=" _literal_value
_literal_value: _LITERAL_STRING | _LITERAL_NUMBER | _LITERAL_WORD | _literal_object | _literal_array
_literal_object: "{" _LITERAL_SPACE? (_literal_pair ("," _LITERAL_SPACE? _literal_pair)*)? "}"
_literal_pair: _LITERAL_STRING _LITERAL_SPACE? ":" _LITERAL_SPACE? _literal_value _LITERAL_SPACE?
_literal_array: "[" _LITERAL_SPACE? (_literal_item ("," _LITERAL_SPACE? _literal_item)*)? "]"
_literal_item: _literal_value _LITERAL_SPACE?
_LITERAL_NAME: /[^\W\d]\w*/
_LITERAL_STRING: /"(?:[^"\\\x00-\x1f]|\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/
    | /'(?:[^'\\\x00-\x1f]|\\(?:['\\bfnrt]|u[0-9a-fA-F]{4}))*'/
_LITERAL_NUMBER: /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?/
_LITERAL_WORD: "True" | "False" | "None"
_LITERAL_SPACE: /[ \t\r\n]+/
"""
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
"""Python refuses to read an integer of more than 4,300 digits."""


@dataclass(frozen=True)
class Hole:
    """A rule whose texts are those of a target.

    Attributes:
        rule: The name of the rule.
        pattern: The pattern of its texts, for texts that are not JSON. Lark reads them as those of any terminal.
        options: The possible texts, for a choice; also read by Lark.
        functions: The names of the functions, for calls in Python notation.
        can_be_number: Whether a text can be a JSON number, which characters behind it could continue.
        accepts: Whether a JSON text is one of the target; `None` lets Lark read any JSON.
    """

    rule: str
    pattern: str | None = None
    options: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    can_be_number: bool = False
    accepts: Callable[[str], bool] | None = field(default=None, compare=False)

    @property
    def has_own_rules(self) -> bool:
        """Whether the texts are those of the rules that `fill` adds; otherwise Lark's definition is exact."""
        return self.pattern is None and not self.options

    @property
    def is_json(self) -> bool:
        """Whether the texts are JSON."""
        return self.has_own_rules and not self.functions

    @property
    def can_be_empty(self) -> bool:
        """Whether a text can be empty, which Lark allows no terminal."""
        if self.pattern is None:
            return "" in self.options
        return bool(parse_syntax(self.pattern).getwidth()[0] == 0)

    @property
    def first(self) -> CharClass:
        """The characters that the texts can begin with, or more."""
        if self.functions:
            return char_class((ord(name[0]),) * 2 for name in self.functions)
        return _JSON_FIRST_WITH_NUMBERS if self.can_be_number else _JSON_FIRST


def lark_definitions(holes: Sequence[Hole]) -> str:
    """Return the definitions of holes in a Lark grammar, which accept at least the texts of their targets.

    The terminals of JSON have no pattern that is used; see `set_matchers`.
    """
    lines = [""]
    for hole in holes:
        if hole.pattern is not None:
            lines.append(f"{hole.rule}: /{_written(hole.pattern)}/")
        elif hole.options:
            lines.append(f"{hole.rule}: {_alternatives(hole.options)}")
        elif hole.functions:
            lines.append(f'{hole.rule}: ({_alternatives(hole.functions)}) "(" _literal_arguments? ")"')
        else:
            lines.append(f"{hole.rule}: {_json_terminal(hole)}\n{_json_terminal(hole)}: /[\\s\\S]/")
    if any(hole.functions for hole in holes):
        lines.append(_PYTHON_RULES)
    return "\n".join([*lines, ""])


def _written(pattern: str) -> str:
    r"""Return a pattern as it stands between slashes, with its flags for a group, since Lark joins patterns.

    >>> print(_written("(?i)a/b"), _written(r"\/|a"))
    (?i:a\/b) (?:\/|a)
    """
    flags = _FLAGS.match(pattern)
    found = "" if flags is None else flags[1]
    body = _without_anchors(pattern if flags is None else pattern[flags.end() :])
    end = "\n" if "x" in found else ""  # of a comment
    escaped = re.sub(r"\\?\n|\\.|/", lambda part: _ESCAPES.get(part[0][-1:], part[0]), body + end)
    return f"(?{found}:{escaped})"


def _without_anchors(pattern: str) -> str:
    r"""Return a pattern without the anchors at its ends: a hole is matched whole, and they would see its neighbours.

    >>> [_without_anchors(pattern) for pattern in ("^a$", r"\A(?:a|b)\Z", "^a|b$", "^a|^b", r"a\$")]
    ['a', '(?:a|b)', '^a|b$', '^a|^b', 'a\\$']
    """
    for anchor, others in ((r"\A(?:\^|\\A)", slice(1, None)), (r"(?:\$|\\Z)\Z", slice(-1))):
        left = re.sub(anchor, "", pattern)
        with suppress(PatternError):
            # An anchor of one alternative is no part of the whole.
            is_part = [*map(repr, parse_syntax(left))] == [*map(repr, parse_syntax(pattern))][others]
            pattern = left if is_part else pattern
    return pattern


def _alternatives(texts: Iterable[str]) -> str:
    return " | ".join(json.dumps(text, ensure_ascii=False) for text in texts)


def set_matchers(lark: Lark, holes: Iterable[Hole]) -> None:
    """Let Lark's dynamic lexer read JSON where the grammar has holes of JSON."""
    found = {_json_terminal(each): _JsonPattern(each.accepts) for each in holes if each.is_json}
    if found:
        parser: Any = lark.parser
        parser.parser.term_matcher.__self__.regexps.update(found)


@dataclass(frozen=True)
class _JsonPattern:
    """A JSON text, with the methods of `re.Pattern` and `re.Match` that Lark calls."""

    accepts: Callable[[str], bool] | None

    def match(self, text: str, start: int = 0) -> _JsonMatch | None:
        try:
            _, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            return None
        if self.accepts is None:
            return _JsonMatch(text[start:end], end)
        shortest = start + 1 if text[end - 1].isdigit() else end  # a part of a number is one, too
        ends = range(end, shortest - 1, -1)
        return next((_JsonMatch(text[start:at], at) for at in ends if self.accepts(text[start:at])), None)


class _JsonMatch(NamedTuple):
    text: str
    position: int

    def group(self, _number: int) -> str:
        return self.text

    def end(self) -> int:
        return self.position


def _json_terminal(hole: Hole) -> str:
    return f"_HOLE_{hole.rule.upper()}"


def hole_terminal(hole: Hole) -> Terminal:
    """Return the terminal of a hole with rules of its own, a call of the rules that `fill` adds."""
    longer = _longer_number() if hole.can_be_number else None
    return Terminal(hole.rule, RuleRef(_name(hole.rule)), first=hole.first, longer=longer)


@cache
def _longer_number() -> TerminalAutomaton:
    """Return the automaton of what continues a number: Lark reads a longer number then, and not what follows."""
    return build_terminal(read_pattern(r"[0-9]|\.[0-9]|[eE][+\-]?[0-9]"))


def fill(rules: Rules, languages: Mapping[str, Rules]) -> Rules:
    """Return the rules of a grammar with the rules of its holes."""
    if not languages:
        return rules
    found: dict[str, Node] = dict(rules.rules)
    lazy = set(rules.lazy)
    unenforced = list(rules.unenforced)
    for hole, language in languages.items():
        named = with_prefix(language, f"{_name(hole)}:")
        found[_name(hole)] = named.start
        found.update(named.rules)
        lazy.update(named.lazy)
        unenforced += named.unenforced
    return Rules(rules.start, found, tuple(unenforced), frozenset(lazy))


def with_prefix(rules: Rules, prefix: str) -> Rules:
    """Return the rules with other names.

    >>> with_prefix(Rules(RuleRef("a"), {"a": LiteralText("x")}), "b:").rules
    {'b:a': LiteralText(value='x')}
    """

    def renamed(node: Node) -> Node:
        if isinstance(node, RuleRef):
            return RuleRef(prefix + node.rule)
        return node if isinstance(node, LiteralText) else map_children(node, renamed)

    named = {prefix + name: renamed(node) for name, node in rules.rules.items()}
    return Rules(
        renamed(rules.start), named, rules.unenforced, frozenset(prefix + name for name in rules.lazy)
    )


def _name(rule: str) -> str:
    return f"hole:{rule}"
