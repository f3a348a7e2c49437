"""Parts of grammar texts that several languages share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from keyword import iskeyword
from string import ascii_letters, digits

__all__ = ["FLOAT", "INTEGER", "alternatives", "names_or", "quoted", "words_except"]

INTEGER = "(?:0|[1-9][0-9]{0,14})"
"""A pattern of natural numbers; 15 digits are exact as `float`, and a model cannot write digits forever."""

FLOAT = rf"{INTEGER}(?:\.[0-9]{{1,15}})?(?:e[+-]?[1-9][0-9]?)?"
"""A pattern of numbers without a sign; all of them are finite."""


_LETTERS = ascii_letters + "_"
_WORD = _LETTERS + digits
_MORE = "[A-Za-z0-9_]*"


def quoted(text: str) -> str:
    r"""Return a string of Lark's grammar language.

    >>> print(quoted('a "b"' + "\n"))
    "a \"b\"\n"
    """
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escapes.get(character, character) for character in text) + '"'


def alternatives(texts: Iterable[str]) -> str:
    """Return a choice of texts in Lark's grammar language.

    >>> print(alternatives(["a", "b"]))
    "a" | "b"
    """
    return " | ".join(quoted(text) for text in dict.fromkeys(texts))


def words_except(words: Iterable[str]) -> str:
    r"""Return a pattern of ASCII identifiers without some words.

    A lookahead such as `(?!if\b)` means the same, but structkit supports no anchors inside lookaheads.
    """
    return _except(sorted(words), 0)


def _except(words: list[str], depth: int) -> str:
    """Return a pattern of what may follow the common beginning of words."""
    first = _LETTERS if depth == 0 else _WORD
    longer = {
        word[depth]: [w for w in words if w[depth : depth + 1] == word[depth]]
        for word in words
        if word[depth:]
    }
    others = "".join(character for character in first if character not in longer)
    ways = [character + _except(rest, depth + 1) for character, rest in longer.items()]
    ways.append(f"[{others}]{_MORE}")
    if depth and not any(len(word) == depth for word in words):
        ways.append("")
    return f"(?:{'|'.join(ways)})"


def names_or(pattern: str, names: Iterable[str] | None) -> str:
    """Return a choice of names in Lark's grammar language; without names, the pattern.

    Raises:
        ValueError: There are no names, or one is not an identifier of Python.
    """
    if names is None:
        return f"/{pattern}/"
    names = list(names)
    if not names:
        raise ValueError("names is empty; give at least one name, or None for any")
    for name in names:
        if not re.fullmatch(r"[^\W\d]\w*", name) or not name.isidentifier() or iskeyword(name):
            raise ValueError(f"{name!r} is not a name in Python")
    return alternatives(names)
