"""Bounds on what an MCP server can send, where the client of the package `mcp` has none.

The client bounds an event of a stream, and neither a line of a subprocess nor a reply of a server behind a URL.
"""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator
from functools import cache
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from httpx2 import AsyncByteStream, Response

__all__ = ["MAX_MESSAGE", "bound_response", "bounded_lines"]

MAX_MESSAGE = 1 << 24
"""Maximum bytes of a message; an image of 12 MB fits in base64."""

_ENCODING = "structkit-mcp-utf-8"


@cache
def bounded_lines() -> str:
    """Return the name of an encoding: UTF-8 whose decoder drops what exceeds `MAX_MESSAGE` bytes in a line.

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
        self._inner = codecs.getincrementaldecoder("utf-8")("replace")  # a character may be cut
        self._length = 0

    def decode(self, data: bytes, final: bool = False) -> str:  # type: ignore[override]
        first, *others = bytes(data).split(b"\n")
        lines = [first[: max(0, MAX_MESSAGE - self._length)], *(other[:MAX_MESSAGE] for other in others)]
        self._length = len(others[-1]) if others else self._length + len(first)
        return self._inner.decode(b"\n".join(lines), final)

    def reset(self) -> None:
        self._inner.reset()
        self._length = 0


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
    if is_stream and not is_compressed:
        return
    response.stream = _bounded(cast("AsyncByteStream", response.stream), 0 if is_compressed else MAX_MESSAGE)


def _bounded(stream: AsyncByteStream, most: int) -> AsyncByteStream:
    from httpx2 import AsyncByteStream, StreamError

    class Bounded(AsyncByteStream):
        """The first bytes of a stream; an error that the client reports as that of the request if there are more."""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            length = 0
            async for part in stream:
                length += len(part)
                if length > most:
                    what = f"of more than {most:,} bytes" if most else "that is compressed without need"
                    raise StreamError(f"the server sent a reply {what}")
                yield part

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()
