"""Marks: control tokens that a language may hold at places of its own, although no text can spell them.

A mark is written as a byte that UTF-8 never uses (RFC 3629, section 1) and its name. In a Python text that byte is the
lone surrogate U+DCFF, as Python's own `surrogateescape` has it (PEP 383): no free text holds one, so a mark stands only
where a language says so.
"""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache

from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["MARK", "control", "marked", "readable", "to_bytes", "to_text"]

MARK = b"\xff"
"""What a mark begins with."""

_SIGN = "\udcff"
"""The same in a text."""


def control(name: str) -> str:
    r"""A mark in a text.

    >>> to_bytes(control("[TOOL_CALLS]"))
    b'\xff[TOOL_CALLS]'
    """
    return _SIGN + name


def to_bytes(text: str) -> bytes:
    """A text that may hold marks."""
    return text.encode(errors="surrogateescape")


def to_text(text: bytes) -> str:
    """Bytes that may hold marks."""
    return text.decode(errors="surrogateescape")


def readable(text: str) -> str:
    """A text with marks as people read them.

    >>> readable(control("[TOOL_CALLS]") + "[]")
    '[TOOL_CALLS][]'
    """
    return text.replace(_SIGN, "")


@lru_cache(maxsize=8)
def marked(vocabulary: Vocabulary, marks: Set[tuple[int, str]]) -> Vocabulary:
    r"""A vocabulary in which some control tokens are marks.

    The byte that marks begin with is in no other token of it: so a mark is spelled by its token, and by no other.

    Args:
        vocabulary: The tokens; those of the marks have no bytes there.
        marks: The ids and names of the marks.

    >>> marked(Vocabulary([b"a", b"\xff", None], end_ids={3}), frozenset({(2, "[X]")})).tokens
    (b'a', b'', b'\xff[X]', b'')
    """
    tokens = [b"" if MARK in token else token for token in vocabulary.tokens]
    for token_id, name in marks:
        tokens[token_id] = MARK + name.encode()
    return Vocabulary(tokens, vocabulary.end_ids)
