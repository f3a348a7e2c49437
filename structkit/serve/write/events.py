"""Server-sent events."""

from __future__ import annotations

import json

from structkit.serve.bounds.api_error import ApiError

__all__ = ["DONE", "dumped", "event", "failure"]

DONE = b"data: [DONE]\n\n"
"""The last event of a stream of completions."""


def event(value: object, name: str | None = None) -> bytes:
    r"""Return an event, which may have a name.

    >>> event({"n": 1}, "count")
    b'event: count\ndata: {"n":1}\n\n'
    """
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + dumped(value) + b"\n\n"


def failure(error: ApiError) -> bytes:
    """Return the last events of a stream of completions that fails."""
    return event(error.body()) + DONE


def dumped(value: object) -> bytes:
    """Return JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
