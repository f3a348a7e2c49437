"""Lark's indenters: read from objects of `lark.indenter.Indenter`, and made again for Lark's own parser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any

from structkit.grammar.rules.cfg import Terminal
from structkit.grammar.rules.layout import MAX_INDENT, line_columns
from structkit.grammar.rules.lexing import Indenting

__all__ = ["indenter_fault", "indenter_of", "read_indenter", "shared_indenter_of"]

_METHODS = ("process", "_process", "handle_NL", "always_accept")
_NAMES = ("NL_type", "INDENT_type", "DEDENT_type", "OPEN_PAREN_types", "CLOSE_PAREN_types", "tab_len")


def read_indenter(postlex: object) -> Indenting:
    """Return the names of the terminals of an indenter.

    Raises:
        TypeError: It is no `lark.indenter.Indenter`, or overrides how one works.
        ValueError: Its names are not those of terminals, or its tabs have no columns.
    """
    from lark.indenter import Indenter

    if isinstance(postlex, type) and issubclass(postlex, Indenter):
        raise TypeError(f"postlex must be an object, not a class; write postlex={postlex.__name__}()")
    if not isinstance(postlex, Indenter):
        raise TypeError(
            f"postlex must be a lark.indenter.Indenter, not {type(postlex).__name__}; of other postlexers it is not "
            "known which texts they allow"
        )
    changed = [name for name in _METHODS if getattr(type(postlex), name) is not getattr(Indenter, name)]
    if changed:
        raise TypeError(
            f"the postlex {type(postlex).__name__} overrides {', '.join(changed)}; "
            "only the names and the tab length of an Indenter can be chosen"
        )
    newline, indent, dedent, opening, closing, tab_length = (getattr(postlex, name) for name in _NAMES)
    names = [newline, indent, dedent, *opening, *closing]
    if not all(isinstance(name, str) and name for name in names) or len({newline, indent, dedent}) < 3:
        raise ValueError(
            "the types of the postlex must be names of terminals, three different ones for lines"
        )
    if not isinstance(tab_length, int) or tab_length < 1:
        raise ValueError(f"tab_len of the postlex must be a positive integer, not {tab_length!r}")
    return Indenting(newline, indent, dedent, tuple(opening), tuple(closing), tab_length)


def indenter_of(indenting: Indenting) -> Any:
    """Return an object of `lark.indenter.Indenter`."""
    from lark.indenter import Indenter

    values = (
        indenting.newline,
        indenting.indent,
        indenting.dedent,
        list(indenting.opening),
        list(indenting.closing),
        indenting.tab_length,
    )
    return type("Indenter", (Indenter,), dict(zip(_NAMES, values, strict=True)))()


def shared_indenter_of(indenting: Indenting) -> Any:
    """Return an indenter for several threads: each text has its own columns and brackets."""
    plain = indenter_of(indenting)

    def process(self: Any, stream: Iterator[Any]) -> Iterator[Any]:
        found: Iterator[Any] = copy(plain).process(stream)
        return found

    return type("Indenter", (type(plain),), {"process": process})()


def indenter_fault(indenting: Indenting, terminals: Mapping[str, Terminal]) -> tuple[str, str] | None:
    """Return why a grammar does not fit an indenter, and the terminal that does not; `None` if it fits."""
    newline = indenting.newline
    if newline not in terminals:
        return (
            f"the terminal {newline} of the postlex is not defined; define it, or let NL_type name the terminal of "
            "line breaks",
            newline,
        )
    for name in (indenting.indent, indenting.dedent):
        if name in terminals:
            return (
                f"the postlex makes the terminal {name}, which has a pattern, too; write `%declare {name}`",
                name,
            )
    if newline in (*indenting.opening, *indenting.closing):
        return (
            f"the terminal {newline} of the postlex is both a line break and a bracket; give them two terminals",
            newline,
        )
    columns = line_columns(terminals[newline].node, indenting.tab_length)
    missing = next((column for column in range(MAX_INDENT + 1) if column not in columns), None)
    if missing is None:
        return None
    return (
        f"the terminal {newline} of the postlex cannot end with {missing} blanks behind a line break; "
        r"let it end with any number, as /\r?\n[\t ]*/ does",
        newline,
    )
