"""A user's pattern as regex nodes: the only file that knows interegular.

`scan` leaves only the structure of the pattern, interegular parses it, `resolve` removes anchors and lookarounds.
"""

from __future__ import annotations

import re
from functools import lru_cache

from structkit.errors import LimitExceeded, PatternError
from structkit.limits import Limits
from structkit.regex.nodes import EMPTY, NEVER, CharClass, Choice, LiteralText, Node, Repeat, Seq, choice, seq
from structkit.regex.pattern.resolve import (
    AnchoredNode,
    Lookaround,
    UnsupportedAnchor,
    anchored_choice,
    anchored_repeat,
    anchored_seq,
    resolve,
)
from structkit.regex.pattern.scan import Atom, LookaroundMarker, Scan, scan
from structkit.regex.pattern.unicode import Dialect

__all__ = ["compose", "parse"]


def parse(
    pattern: str,
    *,
    search: bool,
    unicode: bool,
    rust: bool = False,
    limits: Limits = Limits(),  # noqa: B008
    path: str | None = None,
) -> Node:
    r"""The raw texts that a pattern matches.

    Args:
        pattern: A regular expression in the syntax that Python, ECMA-262 and Rust share, and most of what one of them
            adds. `$` is the end of the text, never before a last line break.
        search: Whether the pattern may match anywhere in the text, as in JSON Schema, instead of the whole text.
        unicode: Whether `\d`, `\w`, `\s` are those of Python's `re` on `str`; otherwise those of ECMA-262.
        rust: With `unicode`, whether classes are narrowed to what Rust's `regex`, pydantic's engine, accepts too.
        limits: `pattern_length` characters.
        path: The schema path, for errors.

    >>> parse(r"^[ab]\.$", search=True, unicode=True)
    Seq(parts=(CharClass(ranges=((97, 98),)), LiteralText(value='.')))

    Raises:
        PatternError: The pattern cannot be read, or says what no regular language can.
        LimitExceeded: The pattern is too long.
    """
    dialect: Dialect = "ecma" if not unicode else "rust" if rust else "python"
    if len(pattern) > limits.pattern_length:
        raise LimitExceeded("pattern_length", limits.pattern_length, "a pattern", place=path)
    try:
        return _parse(pattern, search, dialect)
    except PatternError as error:
        raise PatternError(error.message, pattern=pattern, column=error.column, place=path) from None


def compose(pattern: str, /, **parts: Node) -> Node:
    r"""The raw texts of a pattern in which `<name>` stands for a language, so that each part is parsed once.

    Args:
        pattern: A regular expression as `parse` reads it for ECMA-262, in which `.` is any character.
        parts: The languages by their names.

    >>> compose(r"<two>(?:-<two>)?", two=LiteralText("ab"))
    Seq(parts=(LiteralText(value='ab'), Repeat(part=LiteralText(value='-ab'), min_count=0, max_count=1)))
    """
    letters = {name: chr(_PRIVATE + number) for number, name in enumerate(parts)}
    whole = re.sub(r"<(\w+)>", lambda found: letters[found[1]], pattern)
    standing = {letters[name]: node for name, node in parts.items()}
    return _put_in(parse(f"(?s:{whole})", search=False, unicode=False), standing)


_PRIVATE = 0xF0000
"""Characters from here on are private, so that no standard names one of them alone."""


def _put_in(node: Node, placeholders: dict[str, Node]) -> Node:
    """The node with languages in the places of the characters that stand for them."""
    match node:
        case LiteralText(value) if not placeholders.keys().isdisjoint(value):
            return seq(*(placeholders.get(letter) or LiteralText(letter) for letter in value))
        case Seq(parts):
            return seq(*(_put_in(part, placeholders) for part in parts))
        case Choice(parts):
            return choice(_put_in(part, placeholders) for part in parts)
        case Repeat(part, least, most):
            return Repeat(_put_in(part, placeholders), least, most)
        case _:
            return node


@lru_cache(maxsize=256)
def _parse(pattern: str, search: bool, dialect: Dialect) -> Node:
    found = scan(pattern, dialect)
    try:
        return resolve(_structure(found), search=search)
    except UnsupportedAnchor as refused:
        raise PatternError(refused.message, pattern=pattern, column=refused.column) from None
    except RecursionError:
        message = "groups are nested too deep here; write the pattern flatter"
        raise PatternError(message, pattern=pattern, column=found.max_depth) from None


def _structure(scanned: Scan) -> AnchoredNode:
    """Let interegular parse the structure, and put the atoms back."""
    from interegular import parse_pattern

    return _tree(parse_pattern(scanned.text), scanned.atoms)


def _tree(part: object, atoms: dict[str, Atom]) -> AnchoredNode:
    """Interegular's tree of the structure as ours."""
    from interegular.patterns import Pattern, _CharGroup, _Concatenation, _NonCapturing, _Repeated

    match part:
        case Pattern():
            return anchored_choice(_tree(option, atoms) for option in part.options)
        case _Concatenation():
            return anchored_seq(_tree(each, atoms) for each in part.parts)
        case _Repeated():
            return anchored_repeat(_tree(part.base, atoms), part.min, part.max)
        case _CharGroup():
            return _leaf(atoms["".join(part.chars)])
        case _NonCapturing():
            column = _lookaround_column(part.inner, atoms)
            return Lookaround(_tree(part.inner, atoms), not part.backwards, part.negate, column)
    raise TypeError(f"interegular read something that is not structure: {part!r}")


def _leaf(atom: Atom) -> AnchoredNode:
    if not isinstance(atom, CharClass):
        return EMPTY if isinstance(atom, LookaroundMarker) else atom
    if not atom.ranges:
        return NEVER
    (first, last), *others = atom.ranges
    return LiteralText(chr(first)) if first == last and not others else atom


def _lookaround_column(inner: object, atoms: dict[str, Atom]) -> int:
    """The column of a lookaround, put into it as its first atom."""
    from interegular.patterns import Pattern, _CharGroup, _Concatenation

    if isinstance(inner, Pattern | _Concatenation):
        return _lookaround_column(inner.options[0] if isinstance(inner, Pattern) else inner.parts[0], atoms)
    atom = atoms["".join(inner.chars)] if isinstance(inner, _CharGroup) else None
    return atom.column if isinstance(atom, LookaroundMarker) else 0
