"""Classes of characters, as the parser of `re` returns them and as Rust's `regex` reads them."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

from structkit.regex.charset import ANY, char_class, complement, intersection, single_char, union
from structkit.regex.nodes import CharClass
from structkit.regex.pattern.unicode import Dialect, UncertainClass, cased, dot, shorthand

if TYPE_CHECKING or sys.version_info < (3, 11):
    import sre_compile
    import sre_constants
    import sre_parse
else:
    from re import _compiler as sre_compile
    from re import _constants as sre_constants
    from re import _parser as sre_parse

__all__ = ["ClassScanner", "Item", "class_of", "read_class_of_rust"]

_CLASS_FLAGS = re.IGNORECASE | re.ASCII | re.DOTALL | re.UNICODE

_Frozen: TypeAlias = "int | str | tuple[_Frozen, ...] | None"

Item: TypeAlias = tuple[object, Any]
"""An operation of the parser of `re` and its argument, whose form depends on the operation."""


def class_of(
    operation: str, argument: object, flags: int, dialect: Dialect, *, possible: bool = False
) -> CharClass:
    r"""Return the code points that an operation of the parser of `re` on one character matches.

    Args:
        operation: The name of the operation, such as `LITERAL`.
        argument: Its argument, whose form depends on the operation.
        flags: The flags of `re`.
        dialect: The engine that defines the classes of characters.
        possible: Whether characters count about which the versions of the engine differ.

    >>> class_of("LITERAL", ord("a"), re.IGNORECASE, "python")
    CharClass(ranges=((65, 65), (97, 97)))
    """
    return _class_of(operation, _frozen(argument), flags & _CLASS_FLAGS, dialect, possible)


def _frozen(argument: object) -> _Frozen:
    """Return a hashable copy of the argument of an operation."""
    if isinstance(argument, (list, tuple)):
        return tuple(_frozen(part) for part in argument)
    return str(argument) if isinstance(argument, sre_constants._NamedIntConstant) else argument  # type: ignore[return-value]


@lru_cache(maxsize=1024)
def _class_of(operation: str, argument: _Frozen, flags: int, dialect: Dialect, possible: bool) -> CharClass:
    """Return the code points that an operation on one character matches, certainly or possibly."""
    ignores_case = flags & re.IGNORECASE
    span = _span(operation, argument, flags if dialect != "python" else flags & ~re.IGNORECASE, dialect)
    plain = span.possible if possible else span.certain
    if not ignores_case or dialect != "python":
        return plain
    # `re` itself decides which characters with case match; the others match as without the flag.
    item: Any = _thawed(operation, argument)
    parsed = sre_parse.SubPattern(sre_parse.State(), [item])
    parsed.state.flags = flags | (0 if flags & re.ASCII else re.UNICODE)
    matcher = sre_compile.compile(parsed, parsed.state.flags)
    found = char_class((ord(character),) * 2 for character in matcher.findall(cased()))
    return union([intersection(plain, _uncased()), found])


@lru_cache(maxsize=1)
def _uncased() -> CharClass:
    """Return the class of the characters that have one case."""
    return complement(char_class((ord(character),) * 2 for character in cased()))


def _thawed(operation: str, argument: _Frozen) -> Item:
    """Return an operation as the parser of `re` returns it."""
    constant = getattr(sre_constants, operation)
    if operation == "IN":
        parts = argument if isinstance(argument, tuple) else ()
        return constant, [_thawed(str(part[0]), part[1]) for part in parts if isinstance(part, tuple)]
    if operation == "CATEGORY":
        return constant, getattr(sre_constants, str(argument))
    return constant, argument


def _span(operation: str, argument: _Frozen, flags: int, dialect: Dialect) -> UncertainClass:
    """Return the code points of an operation."""
    exactly = UncertainClass.exactly

    def fold(span: UncertainClass) -> UncertainClass:
        ascii_only = bool(flags & re.ASCII)
        return span.with_case(dialect, ascii_only=ascii_only) if flags & re.IGNORECASE else span

    match operation, argument:
        case "LITERAL", int(code):
            return fold(exactly(char_class([(code, code)])))
        case "NOT_LITERAL", int(code):
            return fold(exactly(char_class([(code, code)]))).negated()
        case "RANGE", (int(first), int(last)):
            return exactly(char_class([(first, last)]))
        case "ANY", _:
            return exactly(ANY if flags & re.DOTALL else dot(dialect))
        case "CATEGORY", str(name):
            letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[name.rsplit("_", 1)[1]]
            letter = letter.upper() if "NOT" in name else letter
            return shorthand(letter, dialect, ascii_only=bool(flags & re.ASCII))
        case "IN", tuple(parts):
            items = [part for part in parts if isinstance(part, tuple)]
            negate = bool(items) and items[0][0] == "NEGATE"
            plain = flags & ~re.IGNORECASE
            inner = [(str(op), _span(str(op), arg, plain, dialect)) for op, arg in items[negate:]]
            shorthands = [span for op, span in inner if op == "CATEGORY" and dialect != "ecma"]
            others = [span for op, span in inner if op != "CATEGORY" or dialect == "ecma"]
            found = UncertainClass.union([fold(UncertainClass.union(others)), *shorthands])
            return found.negated() if negate else found
    raise AssertionError(operation)


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
