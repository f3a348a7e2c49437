"""Reading of texts with a cursor, byte by byte."""

from __future__ import annotations

import structkit as sk

__all__ = ["accepts", "reads"]


def reads(cursor: sk.Cursor, text: bytes) -> bool:
    """Return whether a cursor over byte tokens accepts a text as a prefix of a value."""
    try:
        for byte in text:
            cursor.advance(byte)
    except sk.TokenRejected:
        return False
    return True


def accepts(guide: sk.Guide, text: str) -> bool:
    """Return whether a guide over byte tokens accepts a complete text."""
    cursor = guide.cursor()
    return reads(cursor, text.encode()) and cursor.is_accepting
