"""User patterns as regex nodes. The only module that imports interegular.

`scan` replaces what is between groups by placeholders, interegular parses the remaining structure, and `resolve`
removes anchors and lookarounds.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, TypeAlias

from interegular import parse_pattern
from interegular.patterns import Pattern, _CharGroup, _Concatenation, _NonCapturing, _Repeated

from structkit.errors import LimitExceeded, PatternError
from structkit.limits import Limits
from structkit.regex.nodes import EMPTY, Choice, LiteralText, Node, Repeat, Seq, choice, seq
from structkit.regex.pattern.back_references import first_reference, without_references
from structkit.regex.pattern.match_network import match_network
from structkit.regex.pattern.program import read_pattern
from structkit.regex.pattern.resolve import (
    AnchoredNode,
    Lookaround,
    UnsupportedAnchor,
    anchored_choice,
    anchored_repeat,
    anchored_seq,
    resolve,
)
from structkit.regex.pattern.scan import LookaroundMarker, Part, Scan, scan
from structkit.regex.pattern.syntax import Syntax, check_syntax
from structkit.regex.pattern.unicode import Dialect

__all__ = ["Engine", "compose", "parse"]

Engine: TypeAlias = Literal["python", "rust"]
"""The engine of pydantic that reads a pattern."""


def parse(
    pattern: str,
    *,
    search: bool,
    unicode: bool,
    rust: bool = False,
    engine: Engine | None = None,
    limits: Limits = Limits(),  # noqa: B008
    path: str | None = None,
) -> Node:
    r"""Return the raw texts that a pattern matches.

    Args:
        pattern: A regular expression. `$` is the end of the text, never the position before a final line break.
        search: Whether the pattern may match anywhere in the text, as in JSON Schema, instead of the entire text.
        unicode: Whether the pattern is one of Python's `re` for `str`, instead of one of ECMA-262 with the flag `u`.
            In the latter, constructs that others have are read as there: `(?i)`, `(?P<name>a)`, `\\A`.
        rust: With `unicode`, whether the pattern is one of Rust's `regex`, the engine of pydantic. Its classes have the
            characters that Python and Rust accept.
        engine: With `rust`, the engine that alone reads the pattern; without it, a syntax that `re` and Rust read
            differently is an error.
        limits: The maximum `pattern_length`.
        path: The schema path, for errors.

    >>> parse(r"^[ab]\.$", search=True, unicode=True)
    Seq(parts=(CharClass(ranges=((97, 98),)), LiteralText(value='.')))

    Raises:
        PatternError: The pattern has a syntax error, or is not a regular expression in the formal sense.
        LimitExceeded: The pattern is too long.
    """
    dialect: Dialect = "ecma" if not unicode else "rust" if rust else "python"
    syntax: Syntax = dialect if dialect != "rust" else engine or "shared"
    if len(pattern) > limits.pattern_length:
        raise LimitExceeded("pattern_length", limits.pattern_length, "a pattern", place=path)
    plain = without_references(pattern, syntax) if syntax in ("python", "ecma") else pattern
    try:
        node = _parse(plain, search, dialect, syntax)
        if dialect == "python":
            check_syntax(pattern)
        return node
    except PatternError as error:
        column = error.column if plain == pattern else first_reference(pattern)
        raise PatternError(error.message, pattern=pattern, column=column, place=path) from None


def compose(pattern: str, /, **parts: Node) -> Node:
    r"""Return the raw texts of a pattern in which `<name>` stands for a language. Each part is parsed once.

    Args:
        pattern: A regular expression in the ECMA-262 dialect of `parse`, in which `.` matches any character.
        parts: The languages by name.

    >>> compose(r"<two>(?:-<two>)?", two=LiteralText("ab"))
    Seq(parts=(LiteralText(value='ab'), Repeat(part=LiteralText(value='-ab'), min_count=0, max_count=1)))
    """
    letters = {name: chr(_PRIVATE + number) for number, name in enumerate(parts)}
    substituted = re.sub(r"<(\w+)>", lambda found: letters[found[1]], pattern)
    languages = {letters[name]: node for name, node in parts.items()}
    return _substitute(parse(f"(?s:{substituted})", search=False, unicode=False), languages)


_PRIVATE = 0xF0000
"""The first placeholder: a private-use character, which standard patterns do not contain."""


def _substitute(node: Node, placeholders: dict[str, Node]) -> Node:
    """Replace placeholder characters by their languages."""
    match node:
        case LiteralText(value) if not placeholders.keys().isdisjoint(value):
            return seq(*(placeholders.get(letter) or LiteralText(letter) for letter in value))
        case Seq(parts):
            return seq(*(_substitute(part, placeholders) for part in parts))
        case Choice(parts):
            return choice(_substitute(part, placeholders) for part in parts)
        case Repeat(part, min_count, max_count):
            return Repeat(_substitute(part, placeholders), min_count, max_count)
        case _:
            return node


@lru_cache(maxsize=256)
def _parse(pattern: str, search: bool, dialect: Dialect, syntax: Syntax) -> Node:
    try:
        found = scan(pattern, dialect, syntax)
        return resolve(_structure(found), search=search)
    except UnsupportedAnchor as error:
        if (node := _by_threads(pattern, search, dialect, syntax)) is not None:
            return node
        raise PatternError(error.message, pattern=pattern, column=error.column) from None
    except RecursionError:
        message = "groups are nested too deeply; write the pattern with fewer levels"
        raise PatternError(
            message, pattern=pattern, column=scan(pattern, dialect, syntax).max_depth
        ) from None


@lru_cache(maxsize=256)
def _by_threads(pattern: str, search: bool, dialect: Dialect, syntax: Syntax) -> Node | None:
    """Return the texts of a pattern with lookarounds; `None` if it is not regular, or engines differ about it."""
    if syntax != "python" and not _is_read_alike(pattern):
        return None
    try:
        program = read_pattern(pattern, dialect=dialect, strict_end=True, search=search)
        return match_network(program)
    except (PatternError, LimitExceeded):
        return None


_TOKEN = re.compile(r"\\.|\[\^?\]|\[(?:\\.|[^\\\]])*\]|\{[\s0-9,]*\}|\(\?<[A-Za-z]|.", re.DOTALL)
"""An escape, a class in brackets, a quantifier or group that some engines do not have, or another character."""

_READ_OTHERWISE = re.compile(
    r"\{(?:,|[0-9,]*\s)|\(\?|\\[AZzGcpPXRuU<>]|\[(?:\^?\]|(?:[^\\]|\\.)*\[|.*(?:&&|~~|--|\|\||\\[GcpPXRuU]))",
    re.DOTALL,
)
"""What engines read differently at the start of a token; a pattern with such a token is refused."""


def _is_read_alike(pattern: str) -> bool:
    r"""Return whether all engines read a pattern in the same way, as far as this is known.

    >>> _is_read_alike(r"(?!--)[a-z]+\b"), _is_read_alike("[a--b]")
    (True, False)
    """
    return not any(map(_READ_OTHERWISE.match, _TOKEN.findall(pattern)))


def _structure(scanned: Scan) -> AnchoredNode:
    """Parse the structure with interegular and restore what the placeholders stand for."""
    if not scanned.text or scanned.text in scanned.parts:  # without groups there is no structure
        part = scanned.parts.get(scanned.text, EMPTY)
        return EMPTY if isinstance(part, LookaroundMarker) else part
    return _tree(parse_pattern(scanned.text), scanned.parts)


def _tree(part: object, parts: dict[str, Part]) -> AnchoredNode:
    """Convert interegular's tree."""
    match part:
        case Pattern():
            return anchored_choice(_tree(option, parts) for option in part.options)
        case _Concatenation():
            return anchored_seq(_tree(each, parts) for each in part.parts)
        case _Repeated():
            return anchored_repeat(_tree(part.base, parts), part.min, part.max)
        case _CharGroup():
            found = parts["".join(part.chars)]
            return EMPTY if isinstance(found, LookaroundMarker) else found
        case _NonCapturing():
            column = _lookaround_column(part.inner, parts)
            return Lookaround(_tree(part.inner, parts), not part.backwards, part.negate, column)
    raise TypeError(f"unexpected node of interegular: {part!r}")


def _lookaround_column(inner: object, parts: dict[str, Part]) -> int:
    """Return the column of a lookaround, which is stored in its first placeholder."""
    if isinstance(inner, Pattern | _Concatenation):
        return _lookaround_column(inner.options[0] if isinstance(inner, Pattern) else inner.parts[0], parts)
    found = parts["".join(inner.chars)] if isinstance(inner, _CharGroup) else None
    return found.column if isinstance(found, LookaroundMarker) else 0
