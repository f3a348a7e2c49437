"""The bound on the events of a hosted service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from structkit.models.hosted import bounds
from structkit.models.servers.faults import Fault

MAX = 5


def _passed(parts: list[bytes]) -> int:
    """Return how many parts pass, by the definition: no event so far is longer than the bound."""
    for count in range(len(parts)):
        text = b"".join(parts[: count + 1])
        ends = [at for at in range(len(text) + 1) if text[:at].endswith((b"\n\n", b"\n\r\n"))]
        if len(text) - max(ends, default=0) > MAX:
            return count
    return len(parts)


def _read(parts: list[bytes], *, is_async: bool) -> tuple[list[bytes], Fault | None]:
    """Return the parts that a bounded stream gives, and its error."""

    async def aiter_bytes() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    async def read() -> None:
        async for part in response.aiter_bytes():
            found.append(part)

    response: Any = SimpleNamespace(iter_bytes=lambda: iter(parts), aiter_bytes=aiter_bytes)
    bounds.bound_events(SimpleNamespace(response=response))
    found: list[bytes] = []
    try:
        if is_async:
            asyncio.run(read())
        else:
            for part in response.iter_bytes():
                found.append(part)
    except Fault as error:
        return found, error
    return found, None


def test_the_bound_counts_from_the_last_end_of_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_EVENT", MAX)
    random = Random(1)
    refused = 0
    for case in range(400):
        text = bytes(random.choice(b"a\n\n\r") for _ in range(random.randrange(1, 24)))
        cuts = sorted({0, len(text), *(random.randrange(len(text)) for _ in range(random.randrange(8)))})
        parts = [text[a:b] for a, b in pairwise(cuts)]
        found, error = _read(parts, is_async=case % 20 == 0)
        passed = _passed(parts)
        assert found == parts[:passed] and (error is None) == (passed == len(parts)), parts
        if error is not None:
            refused += 1
            assert not error.is_transient and "an event of more than 5 bytes" in str(error)
    assert 50 < refused < 350


def test_a_stream_that_does_not_show_its_response_has_no_bound() -> None:
    bounds.bound_events(object())
    bounds.bound_events(SimpleNamespace(response=SimpleNamespace(status=200)))
