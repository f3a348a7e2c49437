"""Targets of clients that are not trusted: nothing in them names a file of this machine."""

from __future__ import annotations

from structkit.schema.markers.grammar import GRAMMAR_KEYWORD

__all__ = ["grammar_text", "private_keyword"]

_PRIVATE = "structkit:"
"""The start of keywords that only Python types have."""


def grammar_text(text: str) -> str:
    r"""Return a text that `Grammar` reads as a grammar: one that ends in `.lark` would be the name of a file.

    >>> grammar_text("secret.lark")
    'secret.lark\n'
    """
    return f"{text}\n"


def private_keyword(schema: object) -> str | None:
    """Return a keyword of a JSON Schema that only Python types have, such as that of grammars, which names files.

    >>> private_keyword({"properties": {"a": {"x-structkit-grammar": ["start: A", "/etc/a.lark", "lark", []]}}})
    'x-structkit-grammar'
    """
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            for name in value:
                if isinstance(name, str) and (name == GRAMMAR_KEYWORD or name.startswith(_PRIVATE)):
                    return name
            pending += value.values()
        elif isinstance(value, (list, tuple)):
            pending += value
    return None
