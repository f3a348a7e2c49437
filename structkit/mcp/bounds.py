"""Bounds on what an MCP server can send, where the client of the package `mcp` has none.

The client bounds an event of a stream to 1 MiB, which is at most 34 MB as objects of Python. It bounds neither a line
of a subprocess nor a reply of a server behind a URL.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import AsyncIterator
from functools import cache
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from httpx2 import AsyncByteStream, Response

__all__ = ["MAX_MESSAGE", "MAX_VALUES", "bound_response", "bounded_lines"]

MAX_MESSAGE = 1 << 24
"""Maximum bytes of a message; an image of 12 MB fits in base64."""

MAX_VALUES = 1 << 18
"""Maximum values of a message: at most 90 MB as objects of Python, up to 330 bytes each."""

_ENCODING = "structkit-mcp-utf-8"

_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_NO_TOKENS = bytes(set(range(256)) - set(b'",[{'))


class _Message:
    """The length of a message that arrives in parts, and a count that its JSON values do not exceed by more than one.

    Each value but the first follows a comma or an opening bracket that is not part of a string.
    """

    def __init__(self) -> None:
        self.length = 0
        self.values = 0
        self._in_string = False
        self._is_escaped = False

    def add(self, data: bytes) -> None:
        """Count the next part."""
        self.length += len(data)
        rest = _ESCAPED.sub(b"", b"\\" + data if self._is_escaped else data)
        self._is_escaped = rest.endswith(b"\\")
        parts = rest.translate(None, _NO_TOKENS).split(b'"')
        self.values += sum(map(len, parts[self._in_string :: 2]))
        self._in_string ^= not len(parts) % 2

    @property
    def excess(self) -> str:
        """What exceeds a bound, for a message; empty if nothing does."""
        if self.length > MAX_MESSAGE:
            return f"of more than {MAX_MESSAGE:,} bytes"
        return f"of more than {MAX_VALUES:,} values" if self.values > MAX_VALUES else ""


@cache
def bounded_lines() -> str:
    """Return the name of an encoding: UTF-8 whose decoder drops what exceeds a bound on messages in a line.

    The client reads the lines of a subprocess itself, into a buffer without a bound, and its only parameter for what it
    reads is the name of the encoding. The cut line is no valid message, so its call ends with the timeout, and the
    messages after it are read.

    >>> codecs.getincrementaldecoder(bounded_lines())().decode("é".encode())
    'é'
    """
    codecs.register(_search)
    return _ENCODING


class _Decoder(codecs.IncrementalDecoder):
    """Decodes UTF-8 with bounded lines."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self.reset()

    def decode(self, data: bytes, final: bool = False) -> str:  # type: ignore[override]
        first, *others = bytes(data).split(b"\n")
        lines = [self._bounded(first)]
        for line in others:
            self._message = _Message()
            lines.append(self._bounded(line))
        return self._inner.decode(b"\n".join(lines), final)

    def reset(self) -> None:
        self._inner = codecs.getincrementaldecoder("utf-8")("replace")  # a character may be cut
        self._message = _Message()

    def _bounded(self, part: bytes) -> bytes:
        """Return what is kept of the next part of a line."""
        if self._message.excess:
            return b""
        room = MAX_MESSAGE - self._message.length
        self._message.add(part)
        return b"" if self._message.values > MAX_VALUES else part[:room]


def _search(name: str) -> codecs.CodecInfo | None:
    # Names are passed with `_` in place of other characters, from Python 3.9.
    if name.replace("_", "-") != _ENCODING:
        return None
    utf_8 = codecs.lookup("utf-8")
    return codecs.CodecInfo(
        name=_ENCODING,
        encode=utf_8.encode,
        decode=utf_8.decode,
        incrementalencoder=utf_8.incrementalencoder,
        incrementaldecoder=_Decoder,
    )


async def bound_response(response: Response) -> None:
    """Bound a reply that is no event stream; a hook of the HTTP client, which calls it before the body is read.

    A compressed reply fails as well: the request does not allow it, and a few bytes of it could become many.
    """
    is_compressed = response.headers.get("content-encoding", "identity").lower() != "identity"
    # As the client decides which replies it reads as events; a parameter can contain the word.
    is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    if is_compressed or not is_stream:
        response.stream = _bounded(cast("AsyncByteStream", response.stream), is_compressed)


def _bounded(stream: AsyncByteStream, is_compressed: bool) -> AsyncByteStream:
    from httpx2 import AsyncByteStream, StreamError

    class Bounded(AsyncByteStream):
        """The parts of a stream; where it exceeds a bound, an error that the client reports as that of the request."""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            message = _Message()
            async for part in stream:
                message.add(part)
                excess = "that is compressed without need" if is_compressed else message.excess
                if part and excess:
                    raise StreamError(f"the server sent a reply {excess}")
                yield part

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()
