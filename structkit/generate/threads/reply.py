"""Replies of a text model, each read in a thread of its own, so that a model that hangs blocks no caller."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue

from structkit.error_notes import type_and_message
from structkit.errors import ModelError, StructkitError
from structkit.generate.threads.event_loop import EventLoopThread, await_on_loop, start_thread
from structkit.models.text.protocol import CancellablePieces, TextModel, TextRequest

__all__ = ["CLOSE_SECONDS", "Reply"]

_LOOP = EventLoopThread("structkit-replies")
"""The event loop of async models that are called from code that is not async. It is never closed: objects of a model,
such as connections, are bound to it."""

_POLL_SECONDS = 0.05
"""Seconds between two checks of whether the caller cancelled."""

CLOSE_SECONDS = 1.0
"""Seconds to wait until a reply is closed: the event loop of the caller may end soon after."""

_LONG = 3_600.0
"""Seconds of a wait that is not bounded; the wait is repeated."""


class Reply:
    """One reply of a text model. Its pieces are made only when they are needed.

    The timeout of the model counts from the time at which the lock of the model is free.

    Args:
        model: The model.
        request: The request.
        deadline: The time, by `time.perf_counter()`, at which the reply is given up in any case; `None` for no such
            time.
        cancelled: If set, `next` raises.
    """

    def __init__(
        self,
        model: TextModel,
        request: TextRequest,
        deadline: float | None,
        cancelled: threading.Event | None = None,
    ) -> None:
        self._model = model
        self._request = request
        self._deadline = deadline
        self._cancelled = cancelled
        self._started_at: float | None = None
        self._closed = threading.Event()
        self._lock_guard = threading.Lock()
        self._holds_lock = False
        self._wanted: SimpleQueue[bool] = SimpleQueue()
        self._made: SimpleQueue[str | BaseException | None] = SimpleQueue()
        self._is_asked = False
        self._pieces: Iterator[str] | AsyncIterator[str] | None = None
        self._given_up = threading.Event()
        self._thread = start_thread(self._run, "structkit-reply")

    def next(self) -> str | None:
        """Return the next piece; `None` at the end.

        Raises:
            ModelError: The model failed.
            TimeoutError: The reply takes too long; the model is not interrupted.
            InterruptedError: The caller cancelled.
            BaseException: The model raised one that is no `Exception`, such as `SystemExit`.
        """
        self._is_asked = True
        self._wanted.put(True)
        piece = self._wait()
        self._is_asked = False
        if isinstance(piece, StructkitError):
            raise piece
        if isinstance(piece, Exception):
            message = f"the model failed: {type_and_message(piece)}; see its traceback above"
            raise ModelError(message, place=self._model.name) from piece
        if isinstance(piece, BaseException):
            raise piece
        return piece

    def close(self) -> None:
        """Close the reply; wait for a moment until it is closed.

        A piece that is awaited is cancelled, and so is one of `CancellablePieces`. Nothing ends another one that blocks
        its thread, so there is no wait for it.
        """
        self._closed.set()
        self._wanted.put(False)
        pieces, ends = self._pieces, not self._is_asked
        if not ends:
            ends = (
                pieces.cancel()
                if isinstance(pieces, CancellablePieces)
                else isinstance(pieces, AsyncIterator)
            )
        if ends:
            wait([self._thread], CLOSE_SECONDS)
        self._given_up.set()

    def _wait(self) -> str | BaseException | None:
        while True:
            seconds = self._seconds_left()
            polls = self._cancelled is not None or self._started_at is None
            with suppress(Empty):
                return self._made.get(timeout=min(seconds, _POLL_SECONDS) if polls else seconds)
            if self._cancelled is not None and self._cancelled.is_set():
                raise InterruptedError
            if self._seconds_left() <= 0:
                self._release_lock()
                raise TimeoutError("the reply took too long")

    def _seconds_left(self) -> float:
        ends = [] if self._deadline is None else [self._deadline]
        if self._model.timeout is not None and self._started_at is not None:
            ends.append(self._started_at + self._model.timeout)
        return max(0.0, min(ends) - time.perf_counter()) if ends else _LONG

    def _run(self) -> None:
        """Make the pieces while the lock of the model is held; runs in the thread of the reply."""
        lock = self._model.lock
        while lock is not None and not lock.acquire(timeout=_POLL_SECONDS):
            if self._closed.is_set():
                return
        self._holds_lock = lock is not None
        self._started_at = time.perf_counter()
        try:
            self._make_pieces()
        finally:
            self._release_lock()

    def _release_lock(self) -> None:
        """Release the lock, unless it is released: a model that hangs does not keep others waiting."""
        with self._lock_guard:
            if self._holds_lock and self._model.lock is not None:
                self._model.lock.release()
            self._holds_lock = False

    def _make_pieces(self) -> None:
        try:
            while self._wanted.get() and not self._closed.is_set():
                try:
                    if self._pieces is None:
                        # A moment longer than the caller waits, whose timeout comes first.
                        seconds = self._seconds_left() + CLOSE_SECONDS
                        self._pieces = self._model.request(replace(self._request, seconds=seconds))
                        if self._closed.is_set():  # `close` may not have seen the pieces
                            return
                    piece = self._next_of(self._pieces)
                except BaseException as error:  # code of the user; raised again in the thread of the caller
                    self._made.put(error)
                    return
                self._made.put(piece)
        finally:
            with suppress(Exception):  # the caller does not wait for the reply
                self._close(self._pieces)

    def _next_of(self, pieces: Iterator[str] | AsyncIterator[str]) -> str | None:
        if isinstance(pieces, AsyncIterator):
            return await_on_loop(_next_async(pieces), _LOOP, self._closed)
        return next(pieces, None)

    def _close(self, pieces: Iterator[str] | AsyncIterator[str] | None) -> None:
        close = getattr(pieces, "aclose" if isinstance(pieces, AsyncIterator) else "close", None)
        if close is None:
            return
        if isinstance(pieces, AsyncIterator):
            await_on_loop(_close_async(close), _LOOP, self._given_up)
        else:
            close()


async def _close_async(close: Callable[[], Awaitable[object]]) -> None:
    await close()


async def _next_async(pieces: AsyncIterator[str]) -> str | None:
    try:
        return await pieces.__anext__()
    except StopAsyncIteration:
        return None
