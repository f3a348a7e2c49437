"""What can follow the start of an answer: a few texts, or a description; and the shortest end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TypeAlias

import numpy as np

from structkit.generate.decode.retokenize import complete_characters
from structkit.generate.output.json_reader import JsonReader
from structkit.guide.guide import Cursor

__all__ = ["Continuations", "allowed_bytes", "continuations", "named_choice", "shortest_end"]

_MAX_CHOICES = 64
"""Maximum number of texts that are offered."""

_MAX_LENGTH = 200
"""Maximum length of an offered text, in bytes."""

_MAX_START = 40
"""Length of a start that is offered, in characters."""

_MAX_BRANCHES = 16
"""Number of next bytes from which a text is described instead of enumerated."""

Continuations: TypeAlias = "tuple[tuple[str, ...], str]"
"""The texts that can follow, if they are few; otherwise none, and a description."""


def continuations(cursor: Cursor, text: bytes) -> Continuations:
    """Return what can follow a text.

    Args:
        cursor: A cursor after the text; it is not moved.
        text: The text.

    >>> import structkit as sk
    >>> from structkit.testing import byte_vocabulary
    >>> continuations(sk.compile(bool, byte_vocabulary()).cursor(), b"")
    (('false', 'true'), '')
    >>> continuations(sk.compile(int, byte_vocabulary()).cursor(), b"")
    ((), 'text that starts with one of -, 0-9')
    """
    choices = _choices(cursor, text)
    return (choices, "") if choices else ((), f"text that starts with one of {', '.join(_starts(cursor))}")


def allowed_bytes(cursor: Cursor, budget: int | None = None) -> list[int]:
    """Return the bytes that can come next."""
    mask = np.empty(cursor.guide.vocabulary.mask_words, np.uint32)
    cursor.fill_mask(mask, budget)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[:256]
    return [int(byte) for byte in np.flatnonzero(bits)]


def shortest_end(cursor: Cursor) -> bytes:
    """Return one of the shortest texts that complete the value; the cursor is moved to its end."""
    text, budget = bytearray(), cursor.min_tokens_to_end()
    while not cursor.is_accepting:
        allowed = allowed_bytes(cursor, budget - len(text))
        # A printable character, where any would do.
        byte = min(allowed, key=lambda byte: (not 0x30 <= byte < 0x7F, byte))
        cursor.advance(byte)
        text.append(byte)
    return bytes(text)


def _choices(cursor: Cursor, text: bytes) -> tuple[str, ...]:
    """Return the texts up to the end of the current value, if they are few."""
    reader = None
    if cursor.guide.is_json:
        reader = JsonReader()
        reader.read(text)
        reader = reader.fork()
    found: list[bytes] = []
    pending = [(cursor.fork(), b"", reader)]
    while pending:
        at, written, read = pending.pop()
        allowed = allowed_bytes(at)
        if written and at.is_accepting:
            found.append(written)
        if len(allowed) > _MAX_BRANCHES or len(written) > _MAX_LENGTH:
            return ()
        for byte in allowed:
            after, read_after, added = (
                at.fork(),
                None if read is None else read.fork(),
                written + bytes([byte]),
            )
            after.advance(byte)
            length = 0 if read_after is None else _end_of_value(read_after, added)
            if length:
                found.append(added[:length])
            else:
                pending.append((after, added, read_after))
        if len(found) + len(pending) > _MAX_CHOICES:
            return ()
    return tuple(dict.fromkeys(choice.decode(errors="replace") for choice in sorted(found)))


def _end_of_value(reader: JsonReader, added: bytes) -> int:
    """Read the last byte; return the length of the text up to the end of a key or value, or the start of a container.

    0 if there is no such end.
    """
    in_key = reader.in_key
    reader.read(added[-1:])
    changes = reader.take_changes()
    if any(ended and field.kind == "number" for field, ended in changes):
        return len(added) - 1  # the byte after the number
    if in_key and not reader.in_key:
        return len(added)
    is_end = any(ended or field.kind in ("object", "array") for field, ended in changes)
    return len(added) if is_end else 0


def _starts(cursor: Cursor) -> list[str]:
    """Return the starts of the texts that can follow, each as long as nothing else can follow it."""
    allowed = allowed_bytes(cursor)
    starts, single = [], []
    for byte in allowed if len(allowed) <= _MAX_CHOICES else ():
        after = cursor.fork()
        after.advance(byte)
        start = complete_characters(bytes([byte]) + after.forced_bytes())
        if len(start) > 1:
            starts.append(f"`{start[:_MAX_START]}`")
        else:
            single.append(byte)
    return starts + _ranges(single if starts else allowed)


def _ranges(allowed: list[int]) -> list[str]:
    """Return bytes as characters and ranges.

    >>> _ranges([45, 48, 49, 50, 57, 200])
    ['-', '0-2', '9', 'other characters']
    """
    parts = []
    for _, run in groupby(enumerate(byte for byte in allowed if byte < 0x80), lambda each: each[1] - each[0]):
        codes = [byte for _, byte in run]
        first, last = _name(codes[0]), _name(codes[-1])
        parts.append(first if len(codes) == 1 else f"{first}-{last}")
    if any(byte >= 0x80 for byte in allowed):
        parts.append("other characters")
    return parts


def _name(byte: int) -> str:
    return chr(byte) if 0x20 < byte < 0x7F else repr(chr(byte)) if byte == 0x20 else f"\\x{byte:02x}"


def named_choice(reply: bytes, choices: Sequence[str]) -> bytes:
    """Return the offered text that a reply names, apart from case, quotes and punctuation; empty if there is none.

    >>> named_choice(b"High.", ('"high"', '"low"'))
    b'"high"'
    """
    named = [choice for choice in choices if _bare(choice) == _bare(reply.decode(errors="replace"))]
    return named[0].encode() if len(named) == 1 else b""


def _bare(text: str) -> str:
    return text.strip(" \t\r\n\"'`*.,;:!").casefold()
