"""Comma-separated values with typed columns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin

from structkit.grammars.iso8601 import DATE
from structkit.grammars.text import FLOAT, INTEGER, alternatives, quoted
from structkit.targets.grammar import Grammar

__all__ = ["csv"]

_PATTERNS = {
    int: f"-?{INTEGER}",
    float: f"-?{FLOAT}",
    bool: "true|false",
    date: DATE,
}

_TERMINALS = r"""
PLAIN: /[^",\x00-\x1f\x7f]+/
ESCAPED: /"(?:[^"\x00-\x09\x0b-\x1f\x7f]|"")*"/
"""


def csv(columns: Mapping[str, object], newline: Literal["\n", "\r\n"] = "\n") -> Grammar[str]:
    r"""Return the grammar of CSV text with a header and typed columns, quoted as in RFC 4180.

    Each line ends with a newline; there may be no row behind the header. Strings have no control characters other than
    line feeds, which are quoted.

    Args:
        columns: The type of each column: `int`, `float`, `str`, `bool` (`true` or `false`), `datetime.date`, a
            `Literal`, or one of them `| None`, where an empty field stands for `None`.
        newline: The end of a line. RFC 4180 has `"\r\n"`.

    Raises:
        TypeError: A column has another type.
        ValueError: There are no columns.

    >>> import structkit as sk
    >>> from structkit.testing import ScriptedModel
    >>> people = sk.grammars.csv({"name": str, "age": int | None})
    >>> sk.extract(ScriptedModel(["name,age\nAda,36\n"]), "Who is here?", people)
    'name,age\nAda,36\n'
    """
    if not columns:
        raise ValueError("columns is empty; give at least one column")
    if newline not in ("\n", "\r\n"):
        raise ValueError(rf"newline must be '\n' or '\r\n', not {newline!r}")
    header = ",".join(_field(name) for name in columns) + newline
    cells = [_cell(name, form, is_alone=len(columns) == 1) for name, form in columns.items()]
    rules = "".join(f"column{number}: {cell}\n" for number, cell in enumerate(cells))
    row = ' "," '.join(f"column{number}" for number in range(len(cells)))
    return Grammar(f"start: {quoted(header)} row*\nrow: {row} {quoted(newline)}\n{rules}{_TERMINALS}")


def _field(text: str) -> str:
    """Return a text as a field. An empty one has quotes, since an empty line is no row."""
    is_plain = text and not any(character in '",' or character < " " for character in text)
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def _cell(name: str, form: object, *, is_alone: bool) -> str:
    """Return the texts of a column in Lark's grammar language."""
    members = get_args(form) if get_origin(form) in (Union, UnionType) else (form,)
    types = [member for member in members if member not in (None, NoneType)]
    if len(types) != 1:
        raise TypeError(f"the column {name!r} has the type {form!r}; give one type, or one type `| None`")
    empty = r'| "\"\""' if is_alone else "|"
    if types[0] is str:
        return f"PLAIN | ESCAPED {'' if is_alone else '|'}"
    if get_origin(types[0]) is Literal:
        texts = [_literal(value) for value in get_args(types[0])]
    elif types[0] in _PATTERNS:
        texts = []
    else:
        raise TypeError(
            f"the column {name!r} has the type {form!r}; expected int, float, str, bool, date or Literal"
        )
    cell = alternatives(texts) if texts else f"/{_PATTERNS[types[0]]}/"
    return f"{cell} {empty if len(types) < len(members) else ''}"


def _literal(value: object) -> str:
    return _field(str(value).lower() if isinstance(value, bool) else str(value))
