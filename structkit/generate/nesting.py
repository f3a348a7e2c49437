"""How deep a value is nested: pydantic's reader of JSON refuses arrays and objects in more than 200 others."""

from __future__ import annotations

import re

__all__ = ["is_deep"]

_DEEPEST = 190
"""So deep a value is brought to its end, with some levels left for what must still be opened to end it."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)


def is_deep(text: bytearray) -> bool:
    """Whether the beginning of a JSON text is nested as deep as it should be.

    >>> is_deep(bytearray(b"[" * 200)), is_deep(bytearray(b'["' + b"[" * 200)), is_deep(bytearray(b"[]" * 200))
    (True, False, False)
    """
    if text.count(b"{") + text.count(b"[") < _DEEPEST:
        return False
    bare = _STRING.sub(b"", text)
    return bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]") >= _DEEPEST
