"""The syntax of patterns: what engines read differently, and that of Python's `re`, as its own parser reads it."""

from __future__ import annotations

import re
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from structkit.errors import PatternError

if TYPE_CHECKING or sys.version_info < (3, 11):
    import sre_parse
else:
    from re import _parser as sre_parse

__all__ = [
    "UNSUPPORTED_REFERENCE",
    "Flags",
    "Syntax",
    "check_syntax",
    "match_quantifier",
    "parse_syntax",
    "unsupported_group_message",
]

Syntax: TypeAlias = Literal["python", "ecma", "rust", "shared"]
"""The engine that reads a pattern; `shared` refuses what `re` and Rust's `regex` read differently."""


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of a group, as far as they decide what a part of it matches."""

    ignore_case: bool = False
    dot_all: bool = False
    ascii_only: bool = False
    verbose: bool = False


UNSUPPORTED_REFERENCE = (
    "a back-reference is not regular, unless its group has at most 64 texts and no quantifier, and the reference is "
    "behind it in the same alternative; repeat the content of the group"
)
"""Why a back-reference is refused."""

_QUANTIFIER = re.compile(r"[*+?]|\{([0-9]*)(,?)([0-9]*)\}")
_QUANTIFIER_OF_RUST = re.compile(r"[*+?]|\{\s*([0-9]+)\s*(,?)\s*([0-9]*)\s*\}")
_COUNT = re.compile(r"\{[\s0-9,]*\}")


def parse_syntax(pattern: str, flags: int = 0) -> Any:
    """Return what the parser of `re` reads, whose form depends on the version of Python.

    Raises:
        PatternError: `re` rejects the pattern.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return sre_parse.parse(pattern, flags)
    except re.error as error:
        message = f"re rejects it: {error.msg}; correct it at the column"
        raise PatternError(message, pattern=pattern, column=error.pos or 0) from None
    except (OverflowError, RecursionError) as error:
        raise PatternError(str(error), pattern=pattern, column=0) from None


def check_syntax(pattern: str) -> None:
    r"""Check that `re.compile` accepts a pattern, without the cost of compiling it.

    >>> check_syntax(r"\d+(?i:ab)")
    >>> check_syntax(r"\p{L}")
    Traceback (most recent call last):
    structkit.errors.PatternError: re rejects it: bad escape \p
      \p{L}
      ^
      correct it at the column

    Raises:
        PatternError: `re` rejects the pattern.
    """
    pending: list[Any] = list(parse_syntax(pattern))
    while pending:
        item = pending.pop()
        if isinstance(item, sre_parse.SubPattern):
            pending.extend(item.data)
        elif isinstance(item, tuple | list):
            if len(item) == 2 and str(item[0]) in ("ASSERT", "ASSERT_NOT") and item[1][0] < 0:
                least, most = item[1][1].getwidth()
                if least != most:  # `re` finds this when it compiles
                    message = "re rejects it: look-behind requires fixed-width pattern; give one length to all of it"
                    raise PatternError(message, pattern=pattern, column=0)
            pending.extend(item)


def match_quantifier(pattern: str, position: int, syntax: Syntax) -> re.Match[str] | None:
    r"""Return the quantifier at a position, with its minimum, comma and maximum; `None` if a character is there.

    >>> match_quantifier("a{2, 3}", 1, "rust").groups(), match_quantifier("a{2, 3}", 1, "python")
    (('2', ',', '3'), None)

    Raises:
        PatternError: `re` reads a character, and Rust a quantifier.
    """
    found = (_QUANTIFIER_OF_RUST if syntax == "rust" else _QUANTIFIER).match(pattern, position)
    is_plain = found is not None and (found[0][0] != "{" or bool(found[1]))
    if is_plain or pattern[position] != "{":
        return found
    if syntax == "rust" or (syntax == "shared" and _COUNT.match(pattern, position)):
        message = "engines read this `{` differently; write `\\{` for the character"
        raise PatternError(message, pattern=pattern, column=position)
    return found if found is not None and found[0] != "{}" and syntax == "python" else None


def unsupported_group_message(opening: str) -> str:
    """Return why a group is not supported."""
    if opening.startswith("(?P="):
        return UNSUPPORTED_REFERENCE
    if opening.startswith("(?("):
        return "a conditional is not regular; write both cases as alternatives"
    return "this kind of group is not supported"
