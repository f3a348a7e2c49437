r"""Back-references to groups with few texts, written as alternatives.

`(['"])[a-z]*\1` has the texts of `(?:'[a-z]*'|"[a-z]*")`, in the same order of preference. A reference that is inside
what follows its group in one sequence always has the text that the group has just read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from structkit.errors import PatternError
from structkit.regex.pattern.syntax import parse_syntax
from structkit.regex.pattern.unicode import Dialect

__all__ = ["fault_beside", "first_reference", "without_references"]

_MAX_TEXTS = 64
"""Maximum number of texts of a group, also of groups inside each other together."""

_MAX_LENGTH = 20_000
"""Maximum length of a pattern without back-references."""

_MAX_NESTING = 50
"""Maximum nesting of groups."""

_REFERENCE = re.compile(r"\\(?:([1-9][0-9]?)|k<(\w+)>)|\(\?P=(\w+)\)")
_ESCAPE = re.compile(r"\\(?:[0-7]{3}|.)", re.DOTALL)
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\\\]])*\]", re.DOTALL)
_QUANTIFIER = re.compile(r"(?:[*+?]|\{[0-9]*,?[0-9]*\})[?+]?")
_OPENING = re.compile(r"\((?:\?(?:P?<(\w+)>|(?:[a-zA-Z]*(?:-[a-zA-Z]+)?:)|<?[=!]))?")
_FLAGS = re.compile(r"\(\?([a-zA-Z]+)\)")
_WIDE_CASES = "\u0130\u0131\u017f\u212a"
"""What `re` may compare equal to an ASCII letter, beside its other case."""


@dataclass(slots=True)
class _Reference:
    """A back-reference; `quantifier` is also a lazy or possessive one."""

    name: str
    quantifier: str = ""


@dataclass(slots=True)
class _Group:
    """A group.

    Attributes:
        opening: What it begins with; `(?:` for a group that captures.
        names: Its number and its name, if it captures.
        source: The pattern inside.
        flags: The flags of the place.
        options: Its alternatives.
        quantifier: The quantifier behind it.
    """

    opening: str
    names: tuple[str, ...]
    flags: str
    source: str = ""
    options: list[list[_Item]] = field(default_factory=lambda: [[]])
    quantifier: str = ""


_Item: TypeAlias = "str | _Reference | _Group"


class _Unsupported(Exception):
    """A reference that cannot be written as alternatives."""


def first_reference(pattern: str) -> int:
    r"""Return the column of the first back-reference; -1 without one.

    >>> first_reference(r"[\1]\\1(a)\1"), first_reference(r"\01")
    (10, -1)
    """
    position = 0 if _REFERENCE.search(pattern) else len(pattern)
    while position < len(pattern):
        if _REFERENCE.match(pattern, position) and not re.match(r"\\[1-3][0-7]{2}", pattern[position:]):
            return position
        found = _ESCAPE.match(pattern, position) or _CLASS.match(pattern, position)
        position = found.end() if found else position + 1
    return -1


@lru_cache(maxsize=256)
def without_references(pattern: str, dialect: Dialect, flags: int = 0) -> str:
    r"""Return a pattern with the same texts and no back-reference; the pattern itself if that is not possible.

    Args:
        pattern: The pattern.
        dialect: The engine that reads it; Rust's has no back-references.
        flags: The flags of `re` with which it is read.

    >>> without_references("([ab])x+\\1", "ecma")
    '(?:ax+(?:a)|bx+(?:b))'
    >>> without_references("(a+)\\1", "ecma")
    '(a+)\\1'
    """
    if dialect == "rust" or first_reference(pattern) < 0:
        return pattern
    letters = "".join(letter for letter in "aix" if flags & getattr(re, letter.upper()))
    try:
        if dialect == "python":
            parse_syntax(pattern, flags)  # an invalid pattern may become a valid one
        reader = _Reader(pattern, dialect, letters)
        return "".join(_Writer(reader.referenced, dialect).options(reader.read(), {}, 1))
    except (_Unsupported, PatternError, RecursionError):
        return pattern


def fault_beside(pattern: str, others: Iterable[str]) -> str | None:
    r"""Return why `re` reads the back-references of a pattern otherwise if it joins patterns as alternatives of one.

    >>> fault_beside(r"(?P<n>a)(?P=n)", ["b"]), fault_beside(r"(a)\1", ["b"])
    (None, 'the number of a group changes beside other terminals; write `(?P<name>...)` and `(?P=name)`')
    """
    if first_reference(pattern) < 0:
        return None
    if any(found[1] for found in _REFERENCE.finditer(pattern)):
        return "the number of a group changes beside other terminals; write `(?P<name>...)` and `(?P=name)`"
    names = set(re.findall(r"\(\?P<(\w+)>", pattern))
    if any(names.intersection(re.findall(r"\(\?P<(\w+)>", other)) for other in others):
        return "another terminal has a group of the same name; write another name"
    return None


class _Reader:
    def __init__(self, pattern: str, dialect: Dialect, flags: str) -> None:
        self.pattern, self.dialect, self.flags = pattern, dialect, flags
        self.captured = 0
        self.referenced: set[str] = set()

    def read(self) -> list[list[_Item]]:
        """Return the alternatives of the pattern."""
        pattern, position = self.pattern, 0
        stack = [_Group("", (), self.flags)]
        starts = [0]
        while position < len(pattern):
            items = stack[-1].options[-1]
            rest = pattern[position : position + 4]
            if found := _FLAGS.match(pattern, position):
                if position or len(stack) > 1:
                    raise _Unsupported
                stack[-1].flags += found[1]
                items.append(found[0])
            elif rest.startswith("(?P=") or (rest[0] == "\\" and first_reference(rest) == 0):
                found = _REFERENCE.match(pattern, position)
                if found is None or (found[2] and self.dialect == "python"):
                    raise _Unsupported
                items.append(_Reference(next(filter(None, found.groups()))))
                self.referenced.add(next(filter(None, found.groups())))
            elif found := _ESCAPE.match(pattern, position) or self.char_class(position):
                items.append(found[0])
            elif pattern[position] == "(":
                found = _OPENING.match(pattern, position)
                if found is None or pattern.startswith("?", found.end()) or len(stack) > _MAX_NESTING:
                    raise _Unsupported  # comments, conditionals and atomic groups
                group = self.group(found, stack[-1].flags)
                items.append(group)
                stack.append(group)
                starts.append(found.end())
            elif pattern[position] == ")":
                if len(stack) == 1:
                    raise _Unsupported
                stack.pop().source = pattern[starts.pop() : position]
                position += 1
                continue
            elif pattern[position] == "|":
                stack[-1].options.append([])
                position += 1
                continue
            elif items and (found := _QUANTIFIER.match(pattern, position)):  # or a text that looks like one
                last = items[-1]
                if isinstance(last, str):
                    items[-1] = last + found[0]
                else:
                    last.quantifier = found[0]
            else:
                found = None
                items.append(pattern[position])
            position = found.end() if found else position + 1
        if len(stack) > 1 or "x" in stack[0].flags:
            raise _Unsupported
        return stack[0].options

    def char_class(self, position: int) -> re.Match[str] | None:
        """Return the class in brackets at a position; `]` is its first character in Python only."""
        found = _CLASS.match(self.pattern, position)
        if found is not None and self.dialect != "python" and re.match(r"\[\^?\]", found[0]):
            raise _Unsupported
        return found

    def group(self, found: re.Match[str], flags: str) -> _Group:
        """Return the group that begins with an opening, which is empty so far."""
        opening, name = found[0], found[1]
        if opening == "(" or name:
            self.captured += 1
            return _Group("(?:", (str(self.captured), name or ""), flags)
        if opening.endswith(":"):
            added, _, removed = opening[2:-1].partition("-")
            if "x" in added:
                raise _Unsupported
            flags = "".join(letter for letter in flags + added if letter not in removed)
        return _Group(opening, (), flags)


class _Writer:
    def __init__(self, referenced: set[str], dialect: Dialect) -> None:
        self.referenced, self.dialect = referenced, dialect
        self.written = 0

    def options(self, options: list[list[_Item]], known: Mapping[str, str], ways: int) -> Iterator[str]:
        """Yield the pattern of alternatives, given the texts of groups."""
        for number, items in enumerate(options):
            yield "|" if number else ""
            yield from self.sequence(items, known, ways)

    def sequence(self, items: Sequence[_Item], known: Mapping[str, str], ways: int) -> Iterator[str]:
        for position, item in enumerate(items):
            if isinstance(item, str):
                yield self.counted(item)
            elif isinstance(item, _Reference):
                if item.name not in known:
                    raise _Unsupported
                yield self.counted(f"(?:{known[item.name]}){item.quantifier}")
            elif self.referenced.isdisjoint(item.names):
                yield self.counted(item.opening)
                yield from self.options(item.options, known, ways)
                yield f"){item.quantifier}"
            else:
                last = max((i for i, each in enumerate(items) if _refers(each, item)), default=-1)
                if item.quantifier or last < position:
                    raise _Unsupported
                yield from self.expanded(item, items[position + 1 : last + 1], known, ways)
                yield from self.sequence(items[last + 1 :], known, ways)
                return

    def expanded(
        self, group: _Group, after: Sequence[_Item], known: Mapping[str, str], ways: int
    ) -> Iterator[str]:
        """Yield the alternatives for the texts of a group, each with what follows."""
        flags = {each.flags for each in _places(after, group)} | {group.flags}
        found = (case for text in _texts(group, self.dialect) for case in self.cases(text, flags))
        texts = list(dict.fromkeys(found))
        if ways * len(texts) > _MAX_TEXTS:
            raise _Unsupported
        for number, text in enumerate(texts):
            yield "|" if number else "(?:"
            yield self.counted(text)
            yield from self.sequence(after, {**known, **dict.fromkeys(group.names, text)}, ways * len(texts))
        yield ")"

    def cases(self, text: str, flags: set[str]) -> list[str]:
        """Return the patterns of a text: characters between which a reference distinguishes are alternatives."""
        found = [""]
        if not any("i" in each for each in flags) or text.lower() == text.upper():
            return [re.escape(text)]
        if len({("i" in each, "a" in each) for each in flags}) > 1 or self.dialect != "python":
            raise _Unsupported
        ascii_only = re.ASCII if "a" in min(flags) else 0
        for letter in text:
            classes = _cases(letter, re.IGNORECASE | ascii_only)
            found = _bounded([before + each for before in found for each in classes])
        return found

    def counted(self, text: str) -> str:
        self.written += len(text)
        if self.written > _MAX_LENGTH:
            raise _Unsupported
        return text


def _cases(letter: str, flags: int) -> list[str]:
    """Return patterns of the characters that a letter matches without case, those equal for a reference in one."""
    if letter.lower() == letter.upper():
        return [re.escape(letter)]
    if not letter.isascii():
        raise _Unsupported
    left = [
        each for each in letter.lower() + letter.upper() + _WIDE_CASES if re.fullmatch(letter, each, flags)
    ]
    found = []
    while left:
        same = [each for each in left if re.fullmatch(r"(.)\1", left[0] + each, flags)]
        found.append(f"(?-i:[{''.join(same)}])")
        left = [each for each in left if each not in same]
    return found


def _refers(item: _Item, group: _Group) -> bool:
    """Return whether a reference to a group is in an item."""
    return next(_places([item], group), None) is not None


def _places(items: Sequence[_Item], group: _Group, around: _Group | None = None) -> Iterator[_Group]:
    """Yield the groups with references to a group, for their flags; the group itself for those in its sequence."""
    for item in items:
        if isinstance(item, _Reference) and item.name in group.names:
            yield around or group
        elif isinstance(item, _Group):
            for option in item.options:
                yield from _places(option, group, item)


def _texts(group: _Group, dialect: Dialect) -> list[str]:
    """Return the texts of a group, those that `re` prefers first."""
    if dialect != "python" and re.search(r"\\[^\W_]|\[\^?\]|&&|--|~~", group.source):
        raise _Unsupported
    return list(dict.fromkeys(_bounded(_read(list(parse_syntax(group.source))))))


def _read(parsed: Sequence[Any]) -> list[str]:
    """Return the texts of what the parser of `re` has read."""
    found = [""]
    for operator, argument in parsed:
        parts = _part(str(operator), argument)
        found = _bounded([before + part for before in found for part in parts])
    return found


def _bounded(texts: list[str]) -> list[str]:
    """Return the texts if they are few and short."""
    if len(texts) > _MAX_TEXTS or sum(map(len, texts)) > _MAX_LENGTH:
        raise _Unsupported
    return texts


def _part(operator: str, argument: Any) -> list[str]:
    if operator == "LITERAL":
        return [chr(argument)]
    if operator == "BRANCH":
        return [text for option in argument[1] for text in _read(list(option))]
    if operator == "SUBPATTERN" and not argument[1] and not argument[2]:
        return _read(list(argument[3]))
    if operator == "IN":
        codes: list[int] = []
        for kind, value in argument:
            if str(kind) not in ("LITERAL", "RANGE"):
                raise _Unsupported
            first, last = (value, value) if str(kind) == "LITERAL" else value
            codes += range(first, min(last, first + _MAX_TEXTS) + 1)
        return [chr(code) for code in codes]
    if operator in ("MAX_REPEAT", "MIN_REPEAT") and argument[1] <= _MAX_TEXTS:
        low, high, parts = argument[0], int(argument[1]), _read(list(argument[2]))
        if "" in parts:
            raise _Unsupported
        found = [""] if low == high else [*_further(parts, high - low, is_lazy=operator == "MIN_REPEAT")]
        for _ in range(low):
            found = _bounded([part + after for part in parts for after in found])
        return found
    raise _Unsupported


def _further(parts: Sequence[str], most: int, *, is_lazy: bool) -> list[str]:
    """Return the texts of up to `most` parts, those with more parts first unless it is lazy."""
    found = [""]
    for _ in range(most):
        more = [part + after for part in parts for after in found]
        found = _bounded(["", *more] if is_lazy else [*more, ""])
    return found
