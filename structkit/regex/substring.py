r"""Word boundaries and byte encoding of the source of a quote.

Word boundaries follow Unicode UTS 18, annex C (`\b`), but each character of a script without spaces is a word.
"""

from __future__ import annotations

import json
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structkit.regex.nodes import Substring

__all__ = [
    "END",
    "INSIDE",
    "MAYBE",
    "Boundaries",
    "EncodedSource",
    "boundaries",
    "encode_source",
    "find",
    "substrings",
]

INSIDE, MAYBE, END = 0, 1, 2
"""Whether a substring can end at a position: never; not here, because the word continues; yes."""

_UNSPACED = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2E80, 0xA4CF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F),
    (0x1B000, 0x1B16F), (0x20000, 0x3FFFF),
)  # fmt: skip
"""Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Chinese and Japanese."""

_SPACE, _SINGLE, _LETTER, _MARK = range(4)


def substrings(words: bool = True, source: str | None = None) -> Substring:
    """Return the language of the quotes of a source.

    >>> substrings(source="Ana")
    Substring(source='Ana', whole_words=True, json_escaped=False, with_end_quote=False)
    """
    return Substring(source or "", words)


class Boundaries(NamedTuple):
    """Positions at which quotes of a source can begin and end. A position is the index of the next character.

    Attributes:
        starts: bool[characters + 1], whether a quote can begin at the position.
        ends: uint8[characters + 1], `INSIDE`, `MAYBE` or `END`.
        surrogate: bool[characters], whether the character is a lone surrogate, which UTF-8 cannot encode.
    """

    starts: NDArray[np.bool_]
    ends: NDArray[np.uint8]
    surrogate: NDArray[np.bool_]


def boundaries(source: str, *, whole_words: bool) -> Boundaries:
    """Return the positions at which quotes can begin and end.

    >>> found = boundaries("Ana, 34", whole_words=True)
    >>> found.starts.nonzero()[0].tolist(), (found.ends == END).nonzero()[0].tolist()
    ([0, 3, 5], [3, 4, 7])
    """
    codes = _codes(source)
    surrogate = (codes >= 0xD800) & (codes <= 0xDFFF)
    starts, ends = np.zeros(len(codes) + 1, bool), np.full(len(codes) + 1, INSIDE, np.uint8)
    if not whole_words:
        starts[:-1] = ~surrogate
        ends[1:][~surrogate] = END
        return Boundaries(starts, ends, surrogate)
    kinds = _kinds(codes)
    # A combining mark belongs to the character before it.
    continues_word = np.zeros(len(codes) + 1, bool)
    continues_word[1:-1] = (kinds[1:] == _MARK) | ((kinds[:-1] >= _LETTER) & (kinds[1:] == _LETTER))
    is_content = ~surrogate & (kinds != _SPACE)
    starts[:-1] = is_content & ~continues_word[:-1]
    ends[1:][is_content] = np.where(continues_word[1:][is_content], MAYBE, END)
    return Boundaries(starts, ends, surrogate)


class EncodedSource(NamedTuple):
    """The encoded bytes of a source, and the byte positions at which quotes can begin and end.

    Attributes:
        codes: int16[bytes + 1], the bytes; -1 where no quote can continue.
        starts: int32[...], the positions at which quotes can begin.
        ends: uint8[bytes + 1], as in `Boundaries`.
        continuation: bool[bytes + 1], whether the byte is not the first byte of a character.
    """

    codes: NDArray[np.int16]
    starts: NDArray[np.int32]
    ends: NDArray[np.uint8]
    continuation: NDArray[np.bool_]


@lru_cache(maxsize=2)
def encode_source(node: Substring) -> EncodedSource:
    """Return the encoded source of a node."""
    found = boundaries(node.source, whole_words=node.whole_words)
    codes = np.where(found.surrogate, 0xFFFD, _codes(node.source)).astype("<u4")
    text = codes.tobytes().decode("utf-32-le")
    distinct, inverse = np.unique(codes, return_inverse=True)
    sizes = np.array([len(_encode(chr(code), node)) for code in distinct.tolist()], np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes[inverse.reshape(-1)])])
    content = np.frombuffer(_encode(text, node), np.uint8)
    encoded = np.full(len(content) + 1, -1, np.int16)
    encoded[:-1] = content
    for index in np.flatnonzero(found.surrogate).tolist():
        encoded[offsets[index] : offsets[index + 1]] = -1
    ends = np.full(len(content) + 1, INSIDE, np.uint8)
    ends[offsets] = found.ends
    within = np.ones(len(content) + 1, bool)
    within[offsets] = False
    return EncodedSource(encoded, offsets[found.starts].astype(np.int32), ends, within)


def find(source: str, quote: str, *, whole_words: bool) -> int:
    """Return the index of the first occurrence of a quote in its source, or -1.

    >>> find("Savannah and Anna", "Anna", whole_words=True), find("Savannah and Anna", "nna", whole_words=False)
    (13, 4)
    """
    found = boundaries(source, whole_words=whole_words)
    index = source.find(quote) if quote else -1
    while index >= 0 and not (found.starts[index] and found.ends[index + len(quote)] == END):
        index = source.find(quote, index + 1)
    return index


def _codes(source: str) -> NDArray[np.uint32]:
    """Return the code points of a text."""
    return np.frombuffer(source.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32)


def _encode(text: str, node: Substring) -> bytes:
    if node.json_escaped:
        text = json.dumps(text, ensure_ascii=False)[1:-1]
    return text.encode()


def _kinds(codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Return the kind of each character: white space, single-character word or sign, letter of a word, or mark."""
    distinct, inverse = np.unique(codes, return_inverse=True)
    kinds = np.array([_kind(chr(code)) for code in distinct.tolist()], np.uint8)
    found: NDArray[np.uint8] = kinds[inverse.reshape(-1)] if len(kinds) else kinds
    return found


def _kind(character: str) -> int:
    if character.isspace():
        return _SPACE
    if unicodedata.category(character)[0] == "M" or character == "\u200d":
        return _MARK
    code = ord(character)
    if any(first <= code <= last for first, last in _UNSPACED):
        return _SINGLE
    return _LETTER if character.isalnum() or character == "_" else _SINGLE
