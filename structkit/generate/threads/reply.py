"""Replies of a text model, each read in a thread of its own, so that a model that hangs is left to itself."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue

from structkit.errors import ModelError, StructkitError
from structkit.generate.threads.event_loop import EventLoopThread, await_on_loop, start_thread
from structkit.models.text.protocol import TextModel, TextRequest

__all__ = ["Reply"]

_LOOP = EventLoopThread("structkit-replies")
"""The event loop of async models that are called from code that is not async. It is never closed: objects of a model,
such as connections, are bound to it."""

_POLL_SECONDS = 0.05
"""Seconds between two checks of whether the caller cancelled."""


class Reply:
    """One reply of a text model. Its pieces are made only when they are asked for.

    Args:
        model: The model.
        request: The request.
        seconds: The maximum number of seconds of the reply; `None` if it is not bounded.
        cancelled: If set, `next` raises at once.
    """

    def __init__(
        self,
        model: TextModel,
        request: TextRequest,
        seconds: float | None,
        cancelled: threading.Event | None = None,
    ) -> None:
        self._model = model
        self._request = request
        self._deadline = None if seconds is None else time.perf_counter() + seconds
        self._cancelled = cancelled
        self._closed = threading.Event()
        self._wanted: SimpleQueue[bool] = SimpleQueue()
        self._made: SimpleQueue[str | Exception | None] = SimpleQueue()
        start_thread(self._produce, "structkit-reply")

    def next(self) -> str | None:
        """Return the next piece; `None` at the end.

        Raises:
            ModelError: The model failed.
            TimeoutError: The reply takes too long.
            InterruptedError: The caller cancelled.
        """
        self._wanted.put(True)
        piece = self._wait()
        if isinstance(piece, StructkitError):
            raise piece
        if isinstance(piece, Exception):
            message = f"the model failed: {type(piece).__name__}: {piece}"
            raise ModelError(message, place=self._model.name) from piece
        return piece

    def close(self) -> None:
        """Close the reply, without waiting for the model."""
        self._closed.set()
        self._wanted.put(False)

    def _wait(self) -> str | Exception | None:
        while True:
            seconds = _POLL_SECONDS if self._cancelled is not None else None
            if self._deadline is not None:
                left = max(0.0, self._deadline - time.perf_counter())
                seconds = left if seconds is None else min(seconds, left)
            with suppress(Empty):
                return self._made.get(timeout=seconds)
            if self._cancelled is not None and self._cancelled.is_set():
                raise InterruptedError
            if self._deadline is not None and time.perf_counter() >= self._deadline:
                raise TimeoutError("the reply took too long")

    def _produce(self) -> None:
        """Make the pieces; runs in the thread of the reply."""
        pieces: Iterator[str] | AsyncIterator[str] | None = None
        try:
            while self._wanted.get():
                try:
                    if pieces is None:
                        pieces = self._model.request(self._request)
                    piece = self._next_of(pieces)
                except Exception as error:  # code of the user
                    self._made.put(error)
                    return
                self._made.put(piece)
        finally:
            with suppress(Exception):  # nobody waits for the reply
                self._close(pieces)

    def _next_of(self, pieces: Iterator[str] | AsyncIterator[str]) -> str | None:
        if isinstance(pieces, AsyncIterator):
            return await_on_loop(_next_async(pieces), _LOOP, self._closed)
        return next(pieces, None)

    def _close(self, pieces: Iterator[str] | AsyncIterator[str] | None) -> None:
        close = getattr(pieces, "aclose" if isinstance(pieces, AsyncIterator) else "close", None)
        if close is None:
            return
        closing = close()
        if isinstance(pieces, AsyncIterator):
            await_on_loop(closing, _LOOP)


async def _next_async(pieces: AsyncIterator[str]) -> str | None:
    try:
        return await pieces.__anext__()
    except StopAsyncIteration:
        return None
