"""Calls that run at the same time share one batch of their model, and each gets what it gets alone."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from pydantic import AfterValidator, BaseModel, Field

pytest.importorskip("transformers", reason="needs transformers")

import structkit as sk
from structkit.generate.decode.config import Flow
from structkit.generate.input.options import ResultOptions
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.run.batch import run_steps
from structkit.generate.run.request import compile_request, encode_request
from structkit.generate.schedule.job import Job, Row
from structkit.generate.schedule.rows import Rows
from structkit.generate.schedule.scheduler import SCHEDULERS
from structkit.models.single_row import new_batch
from structkit.models.transformers.kv_batch import TransformersBatch
from structkit.testing import RandomModel, ScriptedModel

PEOPLE = [
    "Ana Souza, 34, works as a nurse in Porto.",
    "Tom is 7.",
    "Maria Silva is a 51-year-old engineer from Lisbon, and she has two brothers.",
    "Hello, I am Luca, I am 20.",
    "John Smith (45), teacher",
    "Ben, 61.",
]


class Person(BaseModel):
    name: str = Field(max_length=30)
    age: int
    job: str | None = None


TARGETS: list[Any] = [Person, int, list[str], Literal["old", "young"], sk.Regex("[A-Z][a-z]{2,8}"), bool]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"temperature": 1.2, "seed": 3},
    {"max_tokens": 20, "prompt_lookup": False},
    {"fast_forward": False},
    {"top_k": 5, "temperature": 0.7, "seed": 1, "include_schema": False},
    {"repetition_penalty": 1.2},
]
SYSTEM = (
    "You extract what a text says about people. Copy names as they are written, and leave out what is not said. "
    * 4
)


@pytest.fixture(scope="module")
def demo() -> Any:
    return sk.load()


@pytest.fixture(autouse=True)
def nothing_is_left(demo: Any) -> Iterator[None]:
    yield
    deadline = time.perf_counter() + 60
    while not SCHEDULERS.of(demo).is_idle and time.perf_counter() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert SCHEDULERS.of(demo).is_idle


class Watch:
    """Counts what the model reads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, each: Callable[[], None] = lambda: None) -> None:
        self.rows: list[int] = []
        self.longest: list[int] = []
        forward = TransformersBatch._forward

        def watched(batch: TransformersBatch, ids: Sequence[Sequence[int]], last: int) -> Any:
            self.rows.append(len(ids))
            self.longest.append(max(map(len, ids)))
            each()
            return forward(batch, ids, last)

        monkeypatch.setattr(TransformersBatch, "_forward", watched)


async def _gather(demo: Any, count: int) -> list[object]:
    calls = [
        sk.aextract(demo, PEOPLE[n % 6], TARGETS[n * 7 % 6], **({"max_tokens": 60} | OPTIONS[n % 5]))
        for n in range(count)
    ]
    return await asyncio.gather(*calls)


def _alone(demo: Any, count: int) -> list[object]:
    return [
        sk.extract(demo, PEOPLE[n % 6], TARGETS[n * 7 % 6], **({"max_tokens": 60} | OPTIONS[n % 5]))
        for n in range(count)
    ]


@pytest.mark.long
def test_gathered_calls_share_a_batch_and_get_what_they_get_alone(
    demo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = _alone(demo, 40)
    watch = Watch(monkeypatch)
    assert asyncio.run(_gather(demo, 40)) == alone
    assert 8 < max(watch.rows) <= sk.Limits().batch_rows
    assert SCHEDULERS.of(demo).is_idle


def test_threads_and_event_loops_share_it_too(demo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = _alone(demo, 12)
    watch = Watch(monkeypatch)

    def many(_: int) -> list[object]:
        return sk.extract_many(demo, PEOPLE, Person, batch_size=3, progress=False)  # type: ignore[return-value]

    with ThreadPoolExecutor(6) as pool:
        loops = [pool.submit(lambda: asyncio.run(_gather(demo, 12))) for _ in range(2)]
        batches = [pool.submit(many, n) for n in range(2)]
        calls = pool.map(lambda n: _alone(demo, n + 1)[n], range(4))
        assert list(calls) == alone[:4]
        assert [each.result() for each in loops] == [alone] * 2
        assert [each.result() for each in batches] == [many(0)] * 2
    assert max(watch.rows) > 6


def test_streams_and_agents_run_beside_calls(demo: Any) -> None:
    def calculate(expression: str) -> int:
        """Calculate an expression."""
        return 391

    agent = sk.Agent(demo, tools=[calculate], output_type=int, max_steps=4)
    alone = agent.run("Calculate 17 * 23.")
    expected = [list(map(str, sk.stream(demo, person, Person)))[:-1] for person in PEOPLE]

    async def streamed(person: str) -> list[str]:
        return [str(event) async for event in sk.astream(demo, person, Person)]

    async def main() -> tuple[list[sk.AgentResult[int]], list[list[str]]]:
        runs = asyncio.gather(*(agent.arun("Calculate 17 * 23.") for _ in range(4)))
        streams = asyncio.gather(*map(streamed, PEOPLE))
        return await runs, await streams

    runs, streams = asyncio.run(main())
    assert [run.messages for run in runs] == [alone.messages] * 4
    for events, before in zip(streams, expected, strict=True):
        fields = [event for event in events if event.startswith("FieldEnd")]
        assert fields == [event for event in before if event.startswith("FieldEnd")]


def test_a_prefix_is_read_once(demo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    length = len(demo.encode([{"role": "system", "content": SYSTEM}]))
    watch = Watch(monkeypatch)

    async def main() -> None:
        first = asyncio.create_task(sk.aextract(demo, PEOPLE[2], Person, system=SYSTEM, prompt_lookup=False))
        while not watch.rows:
            await asyncio.sleep(0)
        await asyncio.gather(*(sk.aextract(demo, each, Person, system=SYSTEM) for each in PEOPLE))
        await first

    asyncio.run(main())
    assert len([longest for longest in watch.longest if longest > length / 2]) == 1
    watch.longest.clear()
    sk.extract_many(demo, PEOPLE, Person, system=SYSTEM, batch_size=1)
    assert len([longest for longest in watch.longest if longest > length / 2]) == 1


def test_a_call_joins_between_two_steps_and_overtakes_a_long_one(demo: Any) -> None:
    done: list[str] = []

    async def call(name: str, target: Any) -> None:
        await sk.aextract(demo, PEOPLE[0], target, max_tokens=200)
        done.append(name)

    async def main() -> None:
        long = asyncio.create_task(call("long", Annotated[list[int], Field(min_length=40)]))
        while not SCHEDULERS.of(demo).active_rows:
            await asyncio.sleep(0)
        await call("short", bool)
        await long

    asyncio.run(main())
    assert done == ["short", "long"]


def test_waiting_is_fair(demo: Any) -> None:
    """A call waits behind those that came before it, not behind all prompts of a long list."""
    limits = sk.Limits(batch_rows=2)
    done = 0

    def count(value: object) -> None:
        nonlocal done
        done += 1

    def many() -> None:
        sk.extract_many(demo, PEOPLE * 6, bool, batch_size=2, limits=limits, validate=count, progress=False)

    thread = threading.Thread(target=many)
    thread.start()
    while not done:
        time.sleep(0.001)
    sk.extract(demo, PEOPLE[0], bool, limits=limits)
    assert done < 30
    thread.join()


@pytest.mark.long
def test_rows_stay_within_their_tokens(demo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that would take more leave, and are read again."""
    options: dict[str, Any] = {"max_tokens": 150, "progress": False, "prompt_lookup": False}
    target = Annotated[list[int], Field(min_length=25, max_length=25)]
    expected = sk.extract_many(demo, PEOPLE, target, **options)
    most, scheduler = 0, SCHEDULERS.of(demo)

    def look() -> None:
        nonlocal most
        rows = scheduler._rows
        batch = None if rows is None else rows._batch
        if isinstance(batch, TransformersBatch):
            most = max(most, batch._cache.length * len(batch._lengths))

    watch = Watch(monkeypatch, look)
    limits = sk.Limits(batch_tokens=500)
    assert sk.extract_many(demo, PEOPLE, target, limits=limits, **options) == expected
    assert 200 < most <= 500
    assert max(watch.rows) > 1
    options.pop("progress")
    one = sk.extract(
        demo, PEOPLE[0], target, limits=sk.Limits(batch_tokens=1), **options
    )  # one row always fits
    assert one == expected[0]


@pytest.mark.long(every=4)
@pytest.mark.parametrize("kind", ["task", "timeout", "loop"])
@pytest.mark.parametrize("steps", [0, 1, 3, 8])
def test_who_goes_away_frees_the_row_at_once(
    demo: Any, kind: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(monkeypatch, lambda: time.sleep(0.005))
    long: Any = Annotated[list[int], Field(min_length=100)]
    options: dict[str, Any] = {"max_tokens": 400, "prompt_lookup": False}

    async def others() -> list[object]:
        return list(await asyncio.gather(*(sk.aextract(demo, each, int) for each in PEOPLE[:3])))

    async def begun() -> asyncio.Task[Any]:
        task = asyncio.create_task(sk.aextract(demo, PEOPLE[0], long, **options))
        while len(watch.rows) < steps:
            await asyncio.sleep(0.001)
        return task

    async def main() -> list[object]:
        if kind == "timeout":
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(sk.aextract(demo, PEOPLE[0], long, **options), 0.01 * steps)
        else:
            (await begun()).cancel()
        return await others()

    async def left() -> None:
        await begun()  # the end of the loop cancels it

    expected = [sk.extract(demo, each, int) for each in PEOPLE[:3]]
    watch.rows.clear()
    if kind == "loop":
        asyncio.run(left())
        assert asyncio.run(others()) == expected
    else:
        assert asyncio.run(main()) == expected
    assert len(watch.rows) < 100


def test_a_stream_that_nobody_reads_holds_up_nobody_and_ends_when_it_is_dropped(demo: Any) -> None:
    stream = sk.stream(demo, PEOPLE[0], Annotated[list[int], Field(min_length=50)], max_tokens=300)
    next(stream)
    assert SCHEDULERS.of(demo).active_rows == 1
    assert sk.extract(demo, PEOPLE[1], int) == 7
    assert next(stream) is not None
    del stream
    gc.collect()
    assert SCHEDULERS.of(demo).is_idle


def test_who_has_news_lets_another_lead(demo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two streams have news of the same step, and are not read for a time; a third call goes on meanwhile."""
    settings = Settings.read("generate", {"max_tokens": 300, "prompt_lookup": False}, ResultOptions)
    steps = []
    for person in PEOPLE[:2]:
        target = Annotated[list[int], Field(min_length=50)]
        request = Request(model=demo, prompt=person, target=target, settings=settings)
        steps.append(run_steps(request, encode_request(compile_request(request))))
        next(steps[-1]), next(steps[-1])  # the model has read the prompt
    next(steps[0])  # the step in which the second prompt was read
    scheduler, started = SCHEDULERS.of(demo), list[Any]()

    def until_both_wait() -> None:
        for call in (lambda: next(steps[1]), lambda: sk.extract(demo, PEOPLE[1], int))[len(started) :]:
            started.append(pool.submit(call))
            while len(scheduler._followers) < len(started):
                time.sleep(0.001)

    with ThreadPoolExecutor(2) as pool:
        Watch(monkeypatch, until_both_wait)
        try:
            next(steps[0])  # leads, for all three
            assert started[1].result(20) == 7
        finally:
            for each in steps:
                each.close()


def test_a_call_may_end_while_another_thread_hands_over(demo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class SlowDict(dict[Any, None]):
        """Lets other threads run between the choice of a follower and its removal."""

        def __iter__(self) -> Iterator[Any]:
            followers = [*super().__iter__()]
            time.sleep(0.002)
            return iter(followers)

    monkeypatch.setattr(SCHEDULERS.of(demo), "_followers", SlowDict())
    target = sk.Choice(["order 1", "note 1"])
    with ThreadPoolExecutor(16) as pool:
        values = [*pool.map(lambda _: sk.extract(demo, PEOPLE[0], target), range(100))]
    assert len({*values}) == 1


@pytest.mark.parametrize("questions", range(4))
def test_who_goes_away_while_rows_are_dropped_is_told(questions: int) -> None:
    class Late(threading.Event):
        """An event that another thread sets after some questions."""

        def is_set(self) -> bool:
            nonlocal questions
            questions -= 1
            return questions < 0

    rows, gone, job = Rows(lambda: new_batch(RandomModel(0))), Job[object]((), 1), Job[object]((), 1, Late())
    gone.close()
    flows: list[Flow[object]] = [(request for request in ()) for _ in range(2)]
    rows.submit([Row(gone, 0, flows[0]), Row(job, 0, flows[1])])
    for _ in range(10):
        rows.drop_dead()
    assert job.signal.is_set()
    assert not rows._waiting


def test_a_stream_goes_on_in_other_threads_and_tells_the_same(demo: Any) -> None:
    expected = sk.generate(demo, PEOPLE[2], Person).value
    stream = sk.stream(demo, PEOPLE[2], Person)
    events = [next(stream)]
    sk.extract_many(demo, PEOPLE, Person, progress=False)  # its steps are steps of the stream too
    with ThreadPoolExecutor(1) as pool:
        events += pool.submit(list, stream).result()
    assert stream.result.value == expected
    fields = {event.path: event.value for event in events if isinstance(event, sk.FieldEnd)}
    assert fields["$"] == expected
    text = "".join(event.text for event in events if isinstance(event, sk.TextDelta) and event.path == "name")
    assert text == expected.name


def test_a_bad_request_fails_alone(demo: Any) -> None:
    def never(value: int) -> int:
        raise KeyError(value)

    bad: list[tuple[Any, str, type[Exception]]] = [
        ({"type": "integer", "minimum": 3, "maximum": 2}, PEOPLE[0], sk.UnsatisfiableSchema),
        (int, "Ana " * 3000, sk.GenerationError),
        (Annotated[int, AfterValidator(never)], PEOPLE[0], KeyError),
        (Annotated[list[int], Field(min_length=90)], PEOPLE[0], sk.BudgetTooSmall),
    ]

    async def main() -> list[object]:
        calls = [sk.aextract(demo, prompt, target, max_tokens=50) for target, prompt, _ in bad]
        good = [sk.aextract(demo, each, Person) for each in PEOPLE]
        return await asyncio.gather(*calls, *good, return_exceptions=True)

    outcomes = asyncio.run(main())
    for outcome, (_, _, error) in zip(outcomes, bad, strict=False):
        assert isinstance(outcome, error)
    assert outcomes[4:] == [sk.extract(demo, each, Person) for each in PEOPLE]


def test_a_slow_validator_keeps_nobody_waiting(demo: Any) -> None:
    entered, leave = threading.Event(), threading.Event()
    seen: list[object] = []

    def slow(value: object) -> None:
        seen.append(value)
        entered.set()
        assert leave.wait(20)
        if len(seen) == 1:
            raise ValueError("say something else")

    with ThreadPoolExecutor(1) as pool:
        slowly = pool.submit(lambda: sk.generate(demo, PEOPLE[0], int, validate=slow))
        assert entered.wait(20)
        assert sk.extract(demo, PEOPLE[1], int) == 7
        leave.set()
        assert slowly.result(20).value != seen[0]
    alone = sk.generate(demo, PEOPLE[0], int, validate=lambda value: None if value != seen[0] else _refuse())
    assert slowly.result().token_ids == alone.token_ids


def _refuse() -> None:
    raise ValueError("say something else")


_user: ContextVar[str] = ContextVar("_user", default="nobody")


def test_validators_of_a_type_see_the_context_of_their_call(demo: Any) -> None:
    seen: list[str] = []

    def note(value: int) -> int:
        seen.append(_user.get())
        return value

    async def call(user: str) -> None:
        _user.set(user)
        await sk.aextract(demo, PEOPLE[1], Annotated[int, AfterValidator(note)])

    async def main() -> None:
        await asyncio.gather(*(asyncio.create_task(call(str(n))) for n in range(8)))

    asyncio.run(main())
    assert sorted(seen) == [str(n) for n in range(8)]


def test_an_interrupt_of_the_thread_that_leads_is_its_own(demo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in one thread, which runs the model for others, does not end their calls."""
    main, expected = threading.get_ident(), [sk.extract(demo, each, Person) for each in PEOPLE[:3]]
    scheduler, others = SCHEDULERS.of(demo), []
    interrupts = 0

    def interrupt() -> None:
        nonlocal interrupts
        time.sleep(0.002)
        if threading.get_ident() != main:
            return
        if not others:
            others.extend(pool.submit(sk.extract, demo, each, Person) for each in PEOPLE[:3])
        if scheduler.active_rows == 4 and not interrupts:
            interrupts += 1
            raise KeyboardInterrupt

    with ThreadPoolExecutor(3) as pool:
        Watch(monkeypatch, interrupt)
        long: Any = Annotated[list[int], Field(min_length=60)]
        with pytest.raises(KeyboardInterrupt):
            sk.extract(demo, PEOPLE[0], long, max_tokens=400, prompt_lookup=False)
        assert [each.result(20) for each in others] == expected
    assert interrupts == 1


def test_models_without_batches_take_turns() -> None:
    model = RandomModel(1)

    async def main() -> list[object]:
        return list(
            await asyncio.gather(*(sk.aextract(model, "x", list[bool], max_tokens=30) for _ in range(20)))
        )

    assert all(isinstance(value, list) for value in asyncio.run(main()))
    scripted = ScriptedModel([lambda prompt: str(len(prompt))] * 9, context_length=200)

    async def ask() -> list[int]:
        calls = (sk.aextract(scripted, "x" * n, int, include_schema=False) for n in range(1, 10))
        return list(await asyncio.gather(*calls))

    assert asyncio.run(ask()) == list(range(1, 10))
    assert SCHEDULERS.of(model).is_idle
    assert SCHEDULERS.of(scripted).is_idle


@pytest.mark.long
def test_a_soak_of_calls_that_come_and_go(demo: Any) -> None:
    """Nobody gets the value of another."""
    generator = np.random.default_rng(0)

    async def call(number: int) -> None:
        await asyncio.sleep(float(generator.random()) * 0.2)
        target = sk.Choice([f"order {number}", f"note {number}"])
        coroutine = sk.aextract(demo, PEOPLE[number % 6], target, include_schema=False)
        if number % 5 == 0:
            task = asyncio.create_task(coroutine)
            await asyncio.sleep(float(generator.random()) * 0.02)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        elif number % 7 == 0:
            with pytest.raises(sk.UnsatisfiableSchema):
                await sk.aextract(demo, "x", {"type": "integer", "minimum": 3, "maximum": 2})
            coroutine.close()
        else:
            assert str(await coroutine).endswith(f" {number}")

    async def main() -> None:
        await asyncio.gather(*map(call, range(200)))

    asyncio.run(main())
