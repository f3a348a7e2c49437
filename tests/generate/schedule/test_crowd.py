"""Calls of all kinds, from several threads and event loops, that end or are left at any time: none affects another."""

from __future__ import annotations

import asyncio
import gc
import random
import re
import threading
import time
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, create_model

pytest.importorskip("transformers", reason="needs transformers")

import structkit as sk
from structkit.generate.schedule.scheduler import SCHEDULERS
from structkit.generate.threads.event_loop import start_thread
from structkit.models.transformers.kv_batch import TransformersBatch
from tests.shared import cases

CALLS = cases(60, of=200)

SECONDS = 200
"""Bound of a run."""

OPTIONS: list[dict[str, Any]] = [
    {},
    {"temperature": 1.2, "seed": 3},
    {"temperature": 0.7, "top_k": 5},
    {"temperature": 2.0, "min_p": 0.1},
    {"repetition_penalty": 1.2},
    {"prompt_lookup": False},
    {"fast_forward": False},
    {"limits": sk.Limits(batch_rows=2)},
    {"limits": sk.Limits(batch_tokens=400)},
    {"timeout": 0.05},
    {"max_tokens": 40},
]


def targets(number: int) -> list[tuple[Any, Callable[[Any], bool]]]:
    """Return targets whose values tell the number of their call, and whether a value is one of them."""
    low = 10 * number
    schema = {
        "type": "object",
        "properties": {
            "key": {"const": f"k{number}"},
            "all": {"type": "array", "maxItems": 4, "items": {"minimum": low, "maximum": low + 9, "type": "integer"}},
        },
        "required": ["key", "all"],
        "additionalProperties": False,
    }  # fmt: skip
    named = create_model(
        "Named", key=(Literal[number], ...), name=(Annotated[str, Field(max_length=12)], ...)
    )
    return [
        (sk.Choice([f"order {number}", f"note {number}"]), lambda value: value.endswith(f" {number}")),
        (sk.Regex(f"n{number}: [a-z]{{2,9}}"), lambda value: value.startswith(f"n{number}: ")),
        (sk.Grammar(f'start: "n{number}(" /[a-z]/~1..4 ")"'), lambda value: value.startswith(f"n{number}(")),
        (Annotated[list[Literal[number]], Field(min_length=5, max_length=30)], lambda value: {*value} == {number}),
        (named, lambda value: value.key == number),
        (schema, lambda value: value["key"] == f"k{number}" and all(low <= each < low + 10 for each in value["all"])),
    ]  # fmt: skip


@dataclass
class Call:
    """One call; each method is a way to call, and ends after the check of its value."""

    model: Any
    number: int
    seed: int
    ways: Counter[str]
    options: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(1_000 * self.seed + self.number)
        self.target, self._is_own = self.rng.choice(targets(self.number))
        self.options = {"max_tokens": 80, "include_schema": False} | self.rng.choice(OPTIONS)
        self.prompt = self.rng.choice(
            ["Ana is 34.", "x" * self.rng.randrange(1, 200), f"number {self.number}"]
        )

    def check(self, value: object) -> None:
        assert self._is_own(value), (self.number, value)

    def call(self) -> None:
        self.check(sk.extract(self.model, self.prompt, self.target, **self.options))
        self.ways["call"] += 1

    async def run(self) -> None:
        """Call in some way, and wait until it ends, cancel it, or let it time out."""
        await asyncio.sleep(self.rng.random())
        way = self.rng.choice(
            [self.extract, self.samples, self.many, self.stream, self.stream_many, self.agent]
        )
        end = self.rng.choice(["end", "end", "cancel", "time out"])
        task = asyncio.ensure_future(way())
        if end == "cancel":
            await asyncio.sleep(self.rng.random() ** 2)
            task.cancel()
        seconds = self.rng.random() if end == "time out" else 100
        with suppress(asyncio.CancelledError, *([asyncio.TimeoutError] if end == "time out" else [])):
            await asyncio.wait_for(task, seconds)
        self.ways[f"{way.__name__}, {end}"] += 1

    async def extract(self) -> None:
        self.check(await sk.aextract(self.model, self.prompt, self.target, **self.options))

    async def samples(self) -> None:
        options = {"temperature": 1.0} | self.options
        for result in await sk.agenerate(self.model, self.prompt, self.target, n=3, **options):
            self.check(result.value)

    async def many(self) -> None:
        prompts, size = [self.prompt] * self.rng.randrange(1, 5), self.rng.randrange(1, 4)
        for value in await sk.aextract_many(
            self.model, prompts, self.target, batch_size=size, progress=False, **self.options
        ):
            self.check(value)

    async def stream(self) -> None:
        stream = sk.astream(self.model, self.prompt, self.target, **self.options)
        if not await self._left(stream):
            self.check((await stream.result()).value)

    async def stream_many(self) -> None:
        prompts = (self.prompt for _ in range(9))
        results = sk.astream_many(
            self.model, prompts, self.target, batch_size=2, progress=False, **self.options
        )
        await self._left(results, lambda pair: self.check(pair[1].value))

    async def agent(self) -> None:
        def ask(key: int) -> str:
            """Ask for a key."""
            return f"{key} of {self.number}"

        options = {name: value for name, value in self.options.items() if name in ("temperature", "seed")}
        output = create_model("Out", number=(Literal[self.number], ...))
        agent = sk.Agent(self.model, tools=[ask], output_type=output, max_steps=3, **options)
        events: list[Any] = []
        with suppress(sk.UsageLimitExceeded):
            await self._left(agent.astream(self.prompt), events.append)
        for event in events:
            if isinstance(event, sk.ToolResult) and event.call.error is None:
                assert event.call.tool_result.endswith(f" of {self.number}")
        if events and isinstance(events[-1], sk.RunEnd):
            assert events[-1].result.value.number == self.number

    async def _left(self, items: AsyncIterator[Any], each: Callable[[Any], None] = lambda item: None) -> bool:
        """Read items, slowly at times; return whether they were left before their end, closed or not."""
        last = self.rng.choice([None, None, 0, 1, 3])
        number = 0
        async for item in items:
            each(item)
            if number == last:
                if self.rng.random() < 0.5:
                    await items.aclose()  # type: ignore[attr-defined]
                return True
            number += 1
            if self.rng.random() < 0.1:
                await asyncio.sleep(0.01)
        return False


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> weakref.WeakSet[Any]:
    """The batches of the model that have a key-value cache."""
    found: weakref.WeakSet[Any] = weakref.WeakSet()
    init = TransformersBatch.__init__

    def noted(batch: Any, *arguments: Any, **options: Any) -> None:
        init(batch, *arguments, **options)
        found.add(batch)

    monkeypatch.setattr(TransformersBatch, "__init__", noted)
    return found


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::structkit.LowAgreementWarning")
@pytest.mark.parametrize("seed", range(cases(1, of=3)))
def test_each_call_gets_its_own_value_and_nothing_is_left(seed: int, batches: weakref.WeakSet[Any]) -> None:
    model, ways = sk.load(), Counter[str]()
    calls = [Call(model, number, seed, ways) for number in range(1, CALLS + 1)]

    def on_loop(some: list[Call]) -> None:
        async def main() -> None:
            await asyncio.gather(*(call.run() for call in some))

        asyncio.run(main())

    # Daemon threads: calls that wait for a row without end make the test fail, and nothing waits for them.
    jobs = [start_thread(partial(on_loop, calls[start::4]), "crowd") for start in range(3)]
    jobs.append(start_thread(lambda: [call.call() for call in calls[3::4]], "crowd"))
    deadline = time.monotonic() + SECONDS
    for job in jobs:
        job.result(deadline - time.monotonic())
    assert sum(ways.values()) == CALLS
    assert len(ways) > 8
    scheduler, deadline = SCHEDULERS.of(model), time.monotonic() + 20
    while (batches or not scheduler.is_idle) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.02)
    assert scheduler.is_idle
    assert scheduler.active_rows == 0
    assert not [*batches]
    assert not [thread for thread in threading.enumerate() if re.match("structkit-validators", thread.name)]
