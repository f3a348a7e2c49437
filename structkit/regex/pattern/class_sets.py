"""Classes in brackets as Rust's `regex` reads them: nested classes, POSIX classes, and operations on sets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NoReturn, Protocol

from structkit.regex.charset import char_class, single_char
from structkit.regex.nodes import CharClass
from structkit.regex.pattern.unicode import UncertainClass

__all__ = ["ClassScanner", "read_class_of_rust"]

_MAX_NESTING = 50
"""Maximum nesting of classes."""

_POSIX = re.compile(r"\[:(\^?)([a-z]+):\]")

_OPERATIONS = ("&&", "--", "~~")


class ClassScanner(Protocol):
    """The part of the scanner of a pattern that a class needs."""

    pattern: str
    position: int

    def fail(self, message: str, column: int | None = None) -> NoReturn:
        """Raise the error at a column, by default the position."""

    def escaped(self) -> UncertainClass:
        """Read an escape of one character or a class."""

    def fold(self, span: UncertainClass) -> UncertainClass:
        """Return a class without case distinctions where the flags say so."""

    def skip_spaces(self) -> None:
        """Skip what a verbose pattern ignores."""


def read_class_of_rust(scanner: ClassScanner, depth: int = 1) -> UncertainClass:
    """Read a class whose `[` is at the position.

    The operators have no precedence: `[a-z&&[^aeiou]--x]` is the difference of the intersection and `x`.

    Raises:
        PatternError: The class is not closed, or nested too deeply, or has an invalid range.
    """
    column = scanner.position
    if depth > _MAX_NESTING:
        scanner.fail(f"classes are nested more than {_MAX_NESTING} levels deep; write fewer levels")
    negate = _skip(scanner, 1, column) == "^"
    following = _skip(scanner, 1, column) if negate else _following(scanner)
    items: list[UncertainClass] = []
    while following == "-":  # any number of them, at the start, are characters
        items.append(_exactly("-"))
        following = _skip(scanner, 1, column)
    if following == "]" and not items:
        items.append(_exactly("]"))
        following = _skip(scanner, 1, column)
    left, operation = UncertainClass.union([]), ""
    while following != "]":
        if scanner.pattern[scanner.position : scanner.position + 2] in _OPERATIONS:
            left = _combine(left, operation, UncertainClass.union(items), scanner)
            operation, items = scanner.pattern[scanner.position : scanner.position + 2], []
            following = _skip(scanner, 2, column)
            continue
        if following == "[":
            posix = _POSIX.match(scanner.pattern, scanner.position)
            if posix is not None and posix[2] in _CLASSES:
                scanner.position = posix.end()
                named = scanner.fold(UncertainClass.exactly(_CLASSES[posix[2]]))
                items.append(named.negated() if posix[1] else named)
            else:
                items.append(read_class_of_rust(scanner, depth + 1))
        else:
            items.append(_range(scanner, column))
        following = _skip(scanner, 0, column)
    scanner.position += 1
    found = scanner.fold(_combine(left, operation, UncertainClass.union(items), scanner))
    return found.negated() if negate else found


def _combine(
    left: UncertainClass, operation: str, right: UncertainClass, scanner: ClassScanner
) -> UncertainClass:
    """Return the result of an operation; without one, the right side."""
    if not operation:
        return right
    left, right = scanner.fold(left), scanner.fold(right)
    if operation == "&&":
        return left.intersection(right)
    outside = left.intersection(right.negated())
    if operation == "--":
        return outside
    return UncertainClass.union([outside, right.intersection(left.negated())])


def _range(scanner: ClassScanner, start: int) -> UncertainClass:
    """Read a character, an escape or a range."""
    column = scanner.position
    low = _member(scanner)
    if _skip(scanner, 0, start) != "-":
        return low
    dash = scanner.position
    if _skip(scanner, 1, start) in ("]", "-"):  # the `-` is a character, or the start of an operation
        scanner.position = dash
        return low
    high = _member(scanner)
    if low.single is None or high.single is None:
        scanner.fail("a range needs a single character on each side", column)
    if low.single > high.single:
        scanner.fail("the start of this range is greater than its end", column)
    return UncertainClass.exactly(char_class([(low.single, high.single)]))


def _member(scanner: ClassScanner) -> UncertainClass:
    if _following(scanner) == "\\":
        return scanner.escaped()
    scanner.position += 1
    return _exactly(scanner.pattern[scanner.position - 1])


def _skip(scanner: ClassScanner, count: int, column: int) -> str:
    """Skip some characters and ignored white space, and return the next character."""
    scanner.position += count
    scanner.skip_spaces()
    if scanner.position >= len(scanner.pattern):
        scanner.fail("this class is not closed; end it with `]`, or write `\\[` for the character", column)
    return _following(scanner)


def _following(scanner: ClassScanner) -> str:
    return scanner.pattern[scanner.position : scanner.position + 1]


def _exactly(character: str) -> UncertainClass:
    return UncertainClass.exactly(single_char(character))


def _ascii(*ranges: str) -> CharClass:
    return char_class((ord(each[0]), ord(each[-1])) for each in ranges)


_CLASSES: Mapping[str, CharClass] = MappingProxyType(
    {
        "alnum": _ascii("09", "AZ", "az"),
        "alpha": _ascii("AZ", "az"),
        "ascii": _ascii("\x00\x7f"),
        "blank": _ascii("\t", " "),
        "cntrl": _ascii("\x00\x1f", "\x7f"),
        "digit": _ascii("09"),
        "graph": _ascii("!~"),
        "lower": _ascii("az"),
        "print": _ascii(" ~"),
        "punct": _ascii("!/", ":@", "[`", "{~"),
        "space": _ascii("\t\r", " "),
        "upper": _ascii("AZ"),
        "word": _ascii("09", "AZ", "_", "az"),
        "xdigit": _ascii("09", "AF", "af"),
    }
)
"""The POSIX classes, which have characters of ASCII only."""
