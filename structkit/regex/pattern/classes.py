"""Classes of characters as the parser of `re` returns them."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from structkit.regex.charset import ANY, char_class, complement, intersection, union
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

__all__ = ["Item", "class_of"]

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
