"""A reply of a text model in a thread of its own: its pieces, its bounds, its errors, and the lock of the model."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pytest

from structkit.errors import ModelError
from structkit.generate.threads.reply import CLOSE_SECONDS, Reply
from structkit.models.capabilities import Capabilities
from structkit.models.text.protocol import TextRequest

REQUEST = TextRequest(prompt="hi")
LONG = 20.0


@dataclass
class Model:
    """A text model with given pieces; a piece that is an error is raised."""

    pieces: tuple[str | BaseException, ...] = ("a", "b")
    timeout: float | None = None
    lock: threading.Lock | None = field(default_factory=threading.Lock)
    is_async: bool = False
    is_closed: bool = False
    sent: list[TextRequest] = field(default_factory=list)
    name = "fake"
    capabilities = Capabilities()
    max_calls = 1

    def request(self, request: TextRequest) -> Iterator[str] | AsyncIterator[str]:
        self.sent.append(request)
        return self._async() if self.is_async else self._sync()

    def _sync(self) -> Iterator[str]:
        try:
            for piece in self.pieces:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            self.is_closed = True

    async def _async(self) -> AsyncIterator[str]:
        try:
            for piece in self._sync():
                yield piece
        finally:
            self.is_closed = True


def _becomes_true(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + LONG
    while not condition() and time.monotonic() < end:
        time.sleep(0.001)
    return condition()


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("read", [0, 1, 3])
def test_the_lock_is_held_until_the_reply_ends_or_is_closed(is_async: bool, read: int) -> None:
    lock = threading.Lock()
    model = Model(is_async=is_async, lock=lock)
    with closing(Reply(model, REQUEST, None)) as reply:
        assert [reply.next() for _ in range(read)] == ["a", "b", None][:read]
        assert _becomes_true(lock.locked)
    assert not lock.locked() and model.is_closed == (read > 0)
    assert len(model.sent) == (read > 0)


def test_the_lock_of_another_is_left_alone() -> None:
    lock = threading.Lock()
    with lock:
        model = Model(lock=lock)
        with closing(Reply(model, REQUEST, time.perf_counter() + 0.01)) as reply:
            with pytest.raises(TimeoutError, match="the reply took too long"):
                reply.next()
            assert lock.locked()
        assert lock.locked()
    reply._thread.result(LONG)
    assert not lock.locked() and not model.sent


@pytest.mark.parametrize("waits_for_lock", [False, True])
def test_a_caller_that_cancels_does_not_wait(waits_for_lock: bool) -> None:
    lock, cancelled, ends = threading.Lock(), threading.Event(), threading.Event()

    class Hanging(Model):
        def _sync(self) -> Iterator[str]:
            cancelled.set()
            ends.wait(LONG)
            yield "a"

    if waits_for_lock:
        lock.acquire()
        cancelled.set()
    reply = Reply(Hanging(lock=lock), REQUEST, None, cancelled)
    with pytest.raises(InterruptedError):
        reply.next()
    begun = time.monotonic()
    reply.close()  # nothing ends the piece, so there is no wait
    assert waits_for_lock or time.monotonic() - begun < CLOSE_SECONDS / 2
    ends.set()
    reply._thread.result(LONG)


@pytest.mark.parametrize(
    ("timeout", "left", "expected"),
    [(None, None, 3600.0), (30.0, None, 30.0), (None, 20.0, 20.0), (30.0, 20.0, 20.0), (20.0, 30.0, 20.0)],
)
def test_the_model_has_a_moment_longer_than_the_caller(
    timeout: float | None, left: float | None, expected: float
) -> None:
    model = Model(timeout=timeout)
    deadline = None if left is None else time.perf_counter() + left
    with closing(Reply(model, REQUEST, deadline)) as reply:
        assert reply.next() == "a"
    seconds = model.sent[0].seconds
    assert seconds is not None and expected - 10 < seconds - CLOSE_SECONDS <= expected


def test_a_timeout_releases_the_lock() -> None:
    ends, lock = threading.Event(), threading.Lock()

    class Hanging(Model):
        def _sync(self) -> Iterator[str]:
            yield "a" if ends.wait(LONG) else "b"

    model = Hanging(timeout=0.01, lock=lock)
    with closing(Reply(model, REQUEST, None)) as reply:
        with pytest.raises(TimeoutError, match="the reply took too long"):
            reply.next()
        assert lock.acquire(timeout=0)  # the model hangs; others do not wait
        ends.set()
    reply._thread.result(LONG)
    assert lock.locked()


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (
            ValueError("bad"),
            ModelError,
            r"^at `fake`:\n  the model failed: ValueError: bad\n  see its traceback above$",
        ),
        (ModelError("down", place="x"), ModelError, r"^at `x`:\n  down$"),
        (SystemExit("stop"), SystemExit, r"^stop$"),
    ],
)
def test_errors_of_the_model(error: BaseException, kind: type[BaseException], message: str) -> None:
    lock = threading.Lock()
    with closing(Reply(Model(("a", error), lock=lock), REQUEST, None)) as reply:
        assert reply.next() == "a"
        with pytest.raises(kind, match=message) as raised:
            reply.next()
    assert raised.value is error or raised.value.__cause__ is error
    assert not lock.locked()
