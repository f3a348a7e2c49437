"""Where one reply ends and the next begins: the word there is written again, since only a part of it may be known."""

from __future__ import annotations

from collections.abc import Sequence

from structkit.generate.correct.continuations import allowed_bytes
from structkit.generate.decode.retokenize import complete_characters
from structkit.guide.guide import Cursor

__all__ = ["SPACES", "first_prefix", "shown_length", "word_start"]

_WORD = bytes(byte for byte in range(256) if byte >= 0x80 or chr(byte).isalnum() or chr(byte) in "_.+-")
SPACES = b" \t\r\n"
"""Whitespace that the end of a shown text does not have."""

_MAX_WORD = 40
"""Bytes of the longest word: some languages have no spaces, and encoded data neither."""


def word_start(text: bytes) -> int:
    r"""Return the start of the word or number that a text ends in; the length of the text if there is none.

    >>> word_start(b'{"name": "Ana Sou'), word_start(b'"a\\nb'), word_start(b'"Ana ')
    (14, 2, 5)
    """
    start = len(text) - len(text[-_MAX_WORD - 1 :]) + len(text[-_MAX_WORD - 1 :].rstrip(_WORD))
    if len(text) - start > _MAX_WORD:
        return len(text)
    # A letter after a backslash is a part of an escape.
    return len(text[:start].rstrip(b"\\")) if start < len(text) else start


def shown_length(cursor: Cursor, text: bytes, is_forced: Sequence[int]) -> int:
    r"""Return the length of the start of an answer that a request shows.

    Whitespace at the end is left out, because most tokens begin with a space, and so is a word that is forced and can
    continue: the model has tokens for the word, which need not end where the forced part ends.

    Args:
        cursor: A cursor after the text.
        text: The start of the answer.
        is_forced: For each byte, whether it was the only one possible.

    >>> import structkit as sk
    >>> from structkit.testing import byte_vocabulary
    >>> cursor = sk.compile(sk.Regex("on (Monday|Montag)"), byte_vocabulary()).cursor()
    >>> text = cursor.forced_bytes()
    >>> for byte in text:
    ...     cursor.advance(byte)
    >>> text, text[: shown_length(cursor, text, [1] * len(text))]
    (b'on Mon', b'on')
    """
    start = word_start(text)
    is_split = (
        start < len(text) and all(is_forced[start:]) and any(each in _WORD for each in allowed_bytes(cursor))
    )
    return len((text[:start] if is_split else text).rstrip(SPACES))


def first_prefix(cursor: Cursor) -> str:
    """Return the start of the answer that the first request shows; the cursor, at the start of the language, is moved.

    >>> import structkit as sk
    >>> from structkit.testing import byte_vocabulary
    >>> first_prefix(sk.compile(dict[str, int], byte_vocabulary()).cursor())
    '{'
    """
    text = complete_characters(cursor.forced_bytes()).encode()
    for byte in text:
        cursor.advance(byte)
    return text[: shown_length(cursor, text, [True] * len(text))].decode()
