"""Conversion of pieces, the strings in a tokenizer's tables, to the bytes that they add in the middle of a text."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["METASPACE", "is_control", "read_byte_level", "read_metaspace"]

METASPACE = "\N{LOWER ONE EIGHTH BLOCK}"
"""The character that sentencepiece writes for a space."""

_BYTE_PIECE = re.compile(r"<0x([0-9A-F]{2})>")
_CONTROL = re.compile(r"<[|\N{FULLWIDTH VERTICAL LINE}]|[<\[](?:unused|reserved)")


def read_byte_level(pieces: Sequence[str]) -> list[bytes]:
    r"""Convert pieces of byte-level BPE, in which every character represents one byte.

    The alphabet is GPT-2's (`bytes_to_unicode` in its `encoder.py`): printable Latin-1 characters represent their own
    bytes, the characters from U+0100 on represent the other 68 bytes in order. Pieces with other characters are
    literal.

    >>> read_byte_level(["\u0120caf\u00c3\u00a9", "\u010a", "\u2581"])
    [b' caf\xc3\xa9', b'\n', b'\xe2\x96\x81']
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    alphabet = {byte: byte for byte in printable} | {0x100 + i: byte for i, byte in enumerate(others)}
    # Latin-1 characters outside the alphabet map to U+0100, which cannot be encoded, so that their pieces are literal.
    table = alphabet | dict.fromkeys(others, 256)
    tokens: list[bytes] = []
    for piece in pieces:
        try:
            tokens.append(piece.translate(table).encode("latin-1"))
        except UnicodeEncodeError:
            tokens.append(piece.encode("utf-8", "surrogatepass"))
    return tokens


def read_metaspace(pieces: Sequence[str], *, byte_fallback: bool) -> list[bytes]:
    r"""Convert pieces of sentencepiece: `▁` is a space; with byte fallback, `<0x0A>` is a byte.

    >>> read_metaspace(["\u2581a", "<0x0A>"], byte_fallback=True)
    [b' a', b'\n']
    >>> read_metaspace(["<0x0A>"], byte_fallback=False)
    [b'<0x0A>']
    """
    tokens: list[bytes] = []
    for piece in pieces:
        byte = _BYTE_PIECE.fullmatch(piece) if byte_fallback else None
        tokens.append(bytes([int(byte[1], 16)]) if byte else piece.replace(METASPACE, " ").encode())
    return tokens


def is_control(content: str) -> bool:
    """Return whether an added token looks like a control token although its tokenizer does not mark it as special.

    Examples are DeepSeek's `<｜User｜>` and Gemma's `<unused7>`. `<think>` is text: it is part of the answer.

    >>> is_control("<|tool|>"), is_control("<think>"), is_control("    ")
    (True, False, False)
    """
    return _CONTROL.match(content) is not None
