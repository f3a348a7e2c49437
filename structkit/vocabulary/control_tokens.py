"""Marks: control tokens that a language may hold at places of its own, although no text can spell them.

A mark is written as a byte that UTF-8 never uses (RFC 3629, section 1) and its name. In a Python text that byte is the
lone surrogate U+DCFF, as Python's own `surrogateescape` has it (PEP 383): no free text holds one, so a mark stands only
where a language says so.
"""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache

from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["CONTROL_BYTE", "control_text", "display_text", "to_bytes", "to_text", "with_control_tokens"]

CONTROL_BYTE = b"\xff"
"""What a mark begins with."""

_CONTROL_CHARACTER = "\udcff"
"""The same in a text."""


def control_text(name: str) -> str:
    r"""A mark in a text.

    >>> to_bytes(control_text("[TOOL_CALLS]"))
    b'\xff[TOOL_CALLS]'
    """
    return _CONTROL_CHARACTER + name


def to_bytes(text: str) -> bytes:
    """A text that may hold marks."""
    return text.encode(errors="surrogateescape")


def to_text(text: bytes) -> str:
    """Bytes that may hold marks."""
    return text.decode(errors="surrogateescape")


def display_text(text: str) -> str:
    """A text with marks as people read them.

    >>> display_text(control_text("[TOOL_CALLS]") + "[]")
    '[TOOL_CALLS][]'
    """
    return text.replace(_CONTROL_CHARACTER, "")


@lru_cache(maxsize=8)
def with_control_tokens(vocabulary: Vocabulary, control_tokens: Set[tuple[int, str]]) -> Vocabulary:
    r"""A vocabulary in which some control tokens are marks.

    The byte that marks begin with is in no other token of it: so a mark is spelled by its token, and by no other.

    Args:
        vocabulary: The tokens; those of the marks have no bytes there.
        control_tokens: The ids and names of the marks.

    >>> with_control_tokens(Vocabulary([b"a", b"\xff", None], eos_token_ids={3}), frozenset({(2, "[X]")})).tokens
    (b'a', b'', b'\xff[X]', b'')
    """
    tokens = [b"" if CONTROL_BYTE in token else token for token in vocabulary.tokens]
    for token_id, name in control_tokens:
        tokens[token_id] = CONTROL_BYTE + name.encode()
    return Vocabulary(tokens, vocabulary.eos_token_ids)
