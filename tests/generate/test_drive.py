from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest

import structkit as sk
from structkit.generate.drive import Turns
from structkit.testing import RandomModel, ScriptedModel


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
    model = _Slow(0.002)

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

    with pytest.raises(sk.ModelFailed, match="ZeroDivisionError") as caught:
        sk.extract(Broken(0), "x", int)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


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
    turns = Turns()
    first, second = RandomModel(), RandomModel()
    assert turns.of(first) is turns.of(first)
    assert turns.of(first) is not turns.of(second)
    del first, second
    assert len(turns._locks) == 0
