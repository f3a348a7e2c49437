"""Control tokens that a language may contain at fixed positions, although no ordinary text can spell them.

A control token is written as a byte that UTF-8 never uses (RFC 3629, section 1), followed by its name. In a `str` this
byte is the lone surrogate U+DCFF, as in Python's `surrogateescape` (PEP 383). Free text never contains a surrogate, so
a control token occurs only where the language requires it.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from structkit.errors import VocabularyError
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = [
    "CONTROL_BYTE",
    "control_text",
    "display_text",
    "text_mask",
    "to_bytes",
    "to_text",
    "with_control_tokens",
    "with_named_tokens",
]

CONTROL_BYTE = b"\xff"
"""First byte of a control token."""

_CONTROL_CHARACTER = "\udcff"
"""`CONTROL_BYTE` in a `str`."""


def control_text(name: str) -> str:
    r"""Return a control token as a `str`.

    >>> to_bytes(control_text("[TOOL_CALLS]"))
    b'\xff[TOOL_CALLS]'
    """
    return _CONTROL_CHARACTER + name


def to_bytes(text: str) -> bytes:
    """Encode a text that may contain control tokens."""
    return text.encode(errors="surrogateescape")


def to_text(text: bytes) -> str:
    """Decode bytes that may contain control tokens."""
    return text.decode(errors="surrogateescape")


def display_text(text: str) -> str:
    """Return a text with its control tokens shown by name.

    >>> display_text(control_text("[TOOL_CALLS]") + "[]")
    '[TOOL_CALLS][]'
    """
    return text.replace(_CONTROL_CHARACTER, "")


@lru_cache(maxsize=8)
def with_control_tokens(vocabulary: Vocabulary, control_tokens: Set[tuple[int, str]]) -> Vocabulary:
    r"""Return a vocabulary in which the given control tokens have bytes.

    Other tokens that contain `CONTROL_BYTE` become `b""`, so a control token is spelled by its own token only.

    Args:
        vocabulary: The tokens; the control tokens have no bytes in it.
        control_tokens: Ids and names of the control tokens.

    >>> with_control_tokens(Vocabulary([b"a", b"\xff", None], eos_token_ids={3}), frozenset({(2, "[X]")})).tokens
    (b'a', b'', b'\xff[X]', b'')
    """
    tokens = [b"" if CONTROL_BYTE in token else token for token in vocabulary.tokens]
    for token_id, name in control_tokens:
        tokens[token_id] = CONTROL_BYTE + name.encode()
    return Vocabulary(tokens, vocabulary.eos_token_ids, vocabulary.named_tokens)


def with_named_tokens(vocabulary: Vocabulary, names: Set[str]) -> Vocabulary:
    r"""Return a vocabulary in which tokens that a grammar names are control tokens.

    Args:
        vocabulary: The tokens.
        names: The names: those of `Vocabulary.named_tokens`, or `<[id]>`.

    Raises:
        VocabularyError: There is no such token, two names are those of one token, or the token ends a sequence.

    >>> vocabulary = Vocabulary([b"a", None], eos_token_ids={2}, named_tokens={"<|tool|>": 1})
    >>> with_named_tokens(vocabulary, {"<|tool|>"}).tokens
    (b'a', b'\xff<|tool|>', b'')
    """
    found: dict[int, str] = {}
    for name in sorted(names):
        numbered = re.fullmatch(r"<\[([0-9]{1,9})\]>", name)
        token_id = int(numbered[1]) if numbered else vocabulary.named_tokens.get(name)
        if token_id is None or token_id >= vocabulary.size:
            raise VocabularyError(
                f"the vocabulary has no token {name}; write `<[id]>`, or pass named_tokens to Vocabulary"
            )
        if token_id in vocabulary.eos_token_ids:
            raise VocabularyError(f"the token {name} ends a sequence, so no text contains it; remove it")
        if token_id in found:
            raise VocabularyError(f"{found[token_id]} and {name} are one token; write one of them")
        found[token_id] = name
    return with_control_tokens(vocabulary, frozenset(found.items()))


def text_mask(vocabulary: Vocabulary) -> NDArray[np.uint32]:
    """Return uint32[words], the mask of the text tokens."""
    is_text = np.zeros(32 * vocabulary.mask_words, bool)
    is_text[: vocabulary.size] = [
        bool(token) and not token.startswith(CONTROL_BYTE) for token in vocabulary.tokens
    ]
    return np.packbits(is_text, bitorder="little").view(np.uint32)
