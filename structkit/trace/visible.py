"""Texts of models made visible: no character controls a terminal, a page or the direction of writing."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

__all__ = ["columns", "cut_middle", "divide", "visible"]

_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def visible(text: str) -> str:
    r"""Return a text with escapes for the characters that cannot be printed.

    >>> visible("a\n\x1b[2J\u202eb\udc80")
    'a\\n\\x1b[2J\\u202eb\\udc80'
    """
    return text if text.isprintable() else "".join(map(_escape, text))


def columns(text: str) -> int:
    r"""Return the number of columns of a visible text in a terminal.

    >>> columns("a漢"), columns("e\u0301")
    (3, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(char) in ("Mn", "Me") else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def divide(text: str, width: int) -> Iterator[str]:
    """Yield the pieces of a visible text, each of at most `width` columns and characters.

    >>> list(divide("abcdefg", 3)), list(divide("", 3))
    (['abc', 'def', 'g'], [])
    """
    start = used = 0
    for end, char in enumerate(text):
        wide = columns(char)
        if end > start and (used + wide > width or end - start >= width):
            yield text[start:end]
            start, used = end, 0
        used += wide
    if start < len(text):
        yield text[start:]


def cut_middle(text: str, width: int) -> str:
    """Return a text made visible, with dots in place of its middle if it has more than `width` columns.

    >>> cut_middle("a text of many words", 16)
    'a text o... ords'
    """
    shown = visible(text[: 2 * width] + text[max(2 * width, len(text) - width) :])
    if len(text) <= 2 * width and len(shown) <= width and columns(shown) <= width:
        return shown
    end_width = (width - 4) // 3
    start = next(divide(shown, max(2, width - 4 - end_width)), "")
    return f"{start}... {next(divide(shown[::-1], max(2, end_width)), '')[::-1]}"


def _escape(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    return _SHORT.get(char) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )
