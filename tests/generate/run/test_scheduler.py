from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import AfterValidator, BaseModel, Field

import structkit as sk
from structkit.generate.decode import decode
from structkit.generate.decode.config import Flow
from structkit.generate.input.prompt import Prompt
from structkit.generate.input.settings import BatchSettings, Settings
from structkit.generate.run.batch import run_many
from structkit.generate.schedule import rows as schedule_rows
from structkit.generate.schedule.locks import ModelLocks
from structkit.generate.threads.flows import Cancelled
from structkit.testing import RandomModel, ScriptedModel
from tests.generate.driving import run_flows


class _Slow(RandomModel):
    """A model that takes its time and notes who is at work."""

    def __init__(self, seconds: float) -> None:
        super().__init__(0)
        self.seconds = seconds
        self.steps = 0
        self.busy = 0
        self.most_busy = 0

    def session(self) -> _SlowSession:
        return _SlowSession(self)


class _SlowSession:
    length = 0

    def __init__(self, model: _Slow) -> None:
        self.model = model

    def logits(self, token_ids: Sequence[int]) -> np.ndarray:
        model = self.model
        model.steps += 1
        model.busy += 1
        model.most_busy = max(model.most_busy, model.busy)
        time.sleep(model.seconds)
        model.busy -= 1
        return np.zeros(model.vocabulary.size, np.float32)

    def crop(self, length: int) -> None:
        raise NotImplementedError


def test_the_event_loop_goes_on_and_a_model_takes_one_sequence_at_a_time() -> None:
    model = _Slow(0.02)

    async def main() -> int:
        beats = 0
        calls = asyncio.gather(*(sk.aextract(model, "x", int, max_tokens=5) for _ in range(4)))
        while not calls.done():
            beats += 1
            await asyncio.sleep(0.001)
        await calls
        return beats

    assert asyncio.run(main()) > 5
    assert model.most_busy == 1


def test_sync_calls_work_inside_of_a_running_event_loop() -> None:
    async def main() -> bool:
        return sk.extract(ScriptedModel(["true"]), "x", bool)

    assert asyncio.run(main()) is True


def test_a_cancelled_task_stops_its_model() -> None:
    model = _Slow(0.01)
    sk.compile(str, model.vocabulary)

    async def main() -> None:
        task = asyncio.create_task(sk.aextract(model, "x", str, max_tokens=1000))
        while not model.steps:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())  # waits for the worker thread
    assert model.steps < 100


def test_an_error_of_the_model_is_chained() -> None:
    class Broken(_Slow):
        def session(self) -> _SlowSession:
            session = super().session()
            session.logits = lambda token_ids: 1 / 0
            return session

    with pytest.raises(sk.ModelError, match="ZeroDivisionError") as caught:
        sk.extract(Broken(0), "x", int)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_fault_of_our_own_is_not_that_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def choose(logits: np.ndarray, asks: object) -> object:
        raise TypeError("a fault of the loop")

    monkeypatch.setattr(schedule_rows, "select_tokens", choose)
    with pytest.raises(TypeError, match="a fault of the loop"):
        sk.extract(RandomModel(), "x", int)
    monkeypatch.undo()
    monkeypatch.setattr(decode.Attempt, "append", choose)
    with pytest.raises(TypeError):
        sk.extract(RandomModel(), "x", list[int])
    monkeypatch.undo()
    assert isinstance(sk.extract(RandomModel(), "x", int), int)  # nothing is left locked


class _OwnRows:
    """The rows of somebody's model, which break where they are told to."""

    max_rows, overhead = None, 10

    def __init__(self, breaks: str, size: int) -> None:
        self.breaks, self.size, self.count = breaks, size, 0

    def _does(self, what: str) -> None:
        if what == self.breaks:
            raise RuntimeError(f"{what} is out of order")

    def add(self, sequences: Sequence[Sequence[int]]) -> np.ndarray:
        self._does("add")
        self.count += len(sequences)
        return self._logits()[-len(sequences) :]

    def feed(self, token_ids: Sequence[Sequence[int]]) -> np.ndarray:
        self._does("feed")
        return self._logits()

    def score(self, row: int, branches: Sequence[Sequence[int]]) -> list[np.ndarray]:
        self._does("score")
        return [np.zeros(len(branch), np.float32) for branch in branches]

    def rollback(self, row: int, count: int) -> None:
        self._does("back")

    def select(self, rows: Sequence[int]) -> None:
        self.count = len(rows)

    def _logits(self) -> np.ndarray:
        if self.breaks == "shape":
            return np.zeros(self.size, np.float32)
        if self.breaks == "type":
            return [[0.0] * self.size] * self.count  # type: ignore[return-value]
        return np.zeros((self.count, self.size), np.float32)


@pytest.mark.parametrize("breaks", ["add", "feed", "score", "back", "shape", "type", "nothing"])
def test_what_a_model_raises_is_its_fault_wherever_it_raises_it(breaks: str) -> None:
    class Own(RandomModel):
        def batch(self) -> _OwnRows:
            return _OwnRows(breaks, self.vocabulary.size)

    def never(value: bool) -> bool:
        raise ValueError("no")

    class Answer(BaseModel):
        sure: Annotated[bool, AfterValidator(never)]
        why: str

    wrong = sk.ModelError if breaks != "nothing" else sk.OutputValidationError
    if breaks == "back":
        wrong = sk.OutputValidationError  # the retry needs the rollback
    with pytest.raises(wrong) as caught:
        sk.generate(Own(), "x", Answer, max_tokens=20)
    cause = caught.value.__cause__
    if breaks == "back":
        assert isinstance(cause, sk.ModelError)
        cause = cause.__cause__
    if wrong is sk.ModelError and breaks not in ("shape", "type"):
        assert isinstance(cause, RuntimeError)


def test_rows_that_a_fault_kept_from_entering_do_not_enter_with_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Own(RandomModel):
        def batch(self) -> _OwnRows:
            return _OwnRows("nothing", self.vocabulary.size)

    read, faults = schedule_rows.Rows._read, [TypeError("a fault of the loop")]

    def fault_once(rows: schedule_rows.Rows, entering: list[Any], source: Any) -> None:
        if faults:
            raise faults.pop()
        read(rows, entering, source)

    monkeypatch.setattr(schedule_rows.Rows, "_read", fault_once)
    answers = sk.extract_many(Own(), ["x"] * 8, bool, batch_size=2, return_exceptions=True, progress=False)
    assert [type(answer) for answer in answers] == [TypeError] * 2 + [bool] * 6


def test_answers_of_one_token_are_told_of_as_they_come() -> None:
    """A prompt that needs no second step makes room at once, and nothing waits for the last of them."""
    cancelled, seen = threading.Event(), []

    def stop(value: str) -> str:
        seen.append(value)
        if len(seen) == 5:
            cancelled.set()
        return value

    targets = [Annotated[str, AfterValidator(stop), Field(pattern="^$")]] * 50
    model = ScriptedModel(['""'] * 50)
    settings = Settings.read("extract_many", {"include_schema": False, "fast_forward": False})
    with pytest.raises(Cancelled):
        run_many(model, ["x"] * 50, targets, settings, BatchSettings(progress=False), cancelled)
    assert len(seen) == 5


_SETTINGS = Settings.read("extract_many", {"include_schema": False})


class _IdleRows:
    """The rows of a model that is not asked to write."""

    max_rows, overhead = None, 1

    def add(self, sequences: Sequence[Sequence[int]]) -> np.ndarray:
        raise AssertionError("it is asked to write")

    feed = add

    def select(self, rows: Sequence[int]) -> None:
        pass


def test_no_prompt_is_encoded_that_nobody_waits_for() -> None:
    cancelled, encoded = threading.Event(), []

    class Counting(RandomModel):
        def encode(self, prompt: Prompt) -> list[int]:
            encoded.append(prompt)
            if len(encoded) == 3:
                cancelled.set()
            return super().encode(prompt)

        def batch(self) -> _IdleRows:
            return _IdleRows()

    with pytest.raises(Cancelled):
        run_many(Counting(), ["x"] * 50, [int] * 50, _SETTINGS, BatchSettings(progress=False), cancelled)
    assert len(encoded) == 3


def test_no_target_is_read_that_nobody_waits_for() -> None:
    cancelled, read = threading.Event(), []

    class Targets(list):
        def __iter__(self) -> Iterator[object]:
            for target in super().__iter__():
                read.append(target)
                if len(read) == 3:
                    cancelled.set()
                yield target

    with pytest.raises(Cancelled):
        run_many(
            RandomModel(),
            ["x"] * 50,
            Targets([int] * 50),
            _SETTINGS,
            BatchSettings(progress=False),
            cancelled,
        )
    assert len(read) == 3


def test_no_flow_is_begun_that_nobody_waits_for() -> None:
    """A flow compiles the target of a prompt with quotes when it starts."""
    cancelled, begun = threading.Event(), []

    def flow(number: int) -> Flow:
        begun.append(number)
        cancelled.set()
        raise RuntimeError("it is not asked")
        yield

    with pytest.raises(Cancelled):
        list(run_flows(map(flow, range(50)), _IdleRows(), 50, cancelled))
    assert begun == [0]


@pytest.mark.parametrize("given", [None, [0.0], 1.0])
def test_logits_that_are_no_array_are_named(given: object) -> None:
    class Broken(_Slow):
        def session(self) -> _SlowSession:
            session = super().session()
            session.logits = lambda token_ids: given  # type: ignore[method-assign,assignment,return-value]
            return session

    with pytest.raises(sk.ModelError, match=f"returned a {type(given).__name__} as logits"):
        sk.extract(Broken(0), "x", int)


def test_a_model_may_ask_itself() -> None:
    model = ScriptedModel([lambda prompt: str(sk.extract(model, "inner", int)), "7"])
    model_answers = []

    def work() -> None:
        model_answers.append(sk.extract(model, "outer", int))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(timeout=20)
    assert model_answers == [7]


def test_turns_are_kept_by_model_and_forgotten_with_it() -> None:
    turns = ModelLocks()
    first, second = RandomModel(), RandomModel()
    assert turns.lock_of(first) is turns.lock_of(first)
    assert turns.lock_of(first) is not turns.lock_of(second)
    del first, second
    assert len(turns._locks) == 0
