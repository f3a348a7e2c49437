"""Texts read under a guide, byte by byte."""

from __future__ import annotations

import structkit as sk

__all__ = ["reads"]


def reads(cursor: sk.Cursor, text: bytes) -> bool:
    """Whether the cursor, whose tokens are bytes, takes a text; it may be in the middle of a value then."""
    try:
        for byte in text:
            cursor.advance(byte)
    except sk.TokenRejected:
        return False
    return True
