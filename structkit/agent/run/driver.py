"""What runs a run: it has the model write, has calls made, and tells the run what came of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator
from threading import Event, Lock
from typing import TypeAlias, cast

from structkit.agent.run.events import AgentEvent, CallDone, RunFinished, Teller, Thought
from structkit.agent.run.execute import Executor, answered
from structkit.agent.run.run import Asked, Decisions, Run, Told, Write
from structkit.agent.run.state import AgentResult, RunPaused
from structkit.generate.output.result import Result
from structkit.generate.run.batch import begin_rows, run_job
from structkit.generate.run.prefix_cache import KeptRow, keeping
from structkit.generate.run.request import Job
from structkit.generate.run.scheduler import TURNS, drive_all, in_thread
from structkit.models.protocols import LogitsModel, Rows

__all__ = ["aevents", "drive", "drive_async", "events"]

Events: TypeAlias = "Generator[AgentEvent[object], None, None]"
AsyncEvents: TypeAlias = "AsyncGenerator[AgentEvent[object], None]"


def drive(
    run: Run,
    model: LogitsModel,
    decisions: Decisions | None = None,
    *,
    keep: bool = True,
    cancelled: Event | None = None,
) -> AgentResult[object]:
    """Run a run to its end.

    Args:
        run: The run.
        model: Its model.
        decisions: Those about calls that wait.
        keep: Whether what the model has read in one step is kept for the next.
        cancelled: When it is set, all is given up before the model's next step.
    """
    talk = _Talk(run, model, decisions, keep=keep)
    with Executor() as executor:
        while (asked := talk.asked) is not None:
            if isinstance(asked, Write):
                job = talk.job(asked)
                talk.answer(lambda asked=asked, job=job: run_job(job, talk.rows(job, asked), cancelled))  # type: ignore[misc]
            else:
                talk.tell(executor.answer(asked))
    return talk.result


async def drive_async(
    run: Run, model: LogitsModel, decisions: Decisions | None = None
) -> AgentResult[object]:
    """Run a run to its end, the model in a thread while the event loop goes on."""
    talk = _Talk(run, model, decisions)
    while (asked := talk.asked) is not None:
        if not isinstance(asked, Write):
            talk.tell(await answered(asked))
            continue
        job = talk.job(asked)
        try:
            result = await in_thread(
                lambda cancelled, asked=asked, job=job: run_job(job, talk.rows(job, asked), cancelled)  # type: ignore[misc]
            )
        except Exception as error:  # a model is anyone's code, and the run most often raises it again
            talk.fail(error)
        else:
            talk.tell(result)
    return talk.result


def events(run: Run, model: LogitsModel, decisions: Decisions | None = None) -> Events:
    """Run a run to its end, and tell what happens."""
    talk = _Talk(run, model, decisions)
    with Executor() as executor:
        while (asked := talk.asked) is not None:
            if isinstance(asked, Write):
                steps = _Steps(talk, asked)
                for told in steps:
                    yield from told
                talk.answer(steps.result)
            else:
                talk.tell(executor.answer(asked))
            yield from talk.done()
        yield RunFinished(talk.result)


async def aevents(run: Run, model: LogitsModel, decisions: Decisions | None = None) -> AsyncEvents:
    """`events` for async programs: each step of the model is awaited from a thread."""
    talk = _Talk(run, model, decisions)
    while (asked := talk.asked) is not None:
        if isinstance(asked, Write):
            steps = _Steps(talk, asked)
            try:
                while (told := await asyncio.to_thread(next, steps, None)) is not None:
                    for event in told:
                        yield event
            finally:
                # A step of the model that a cancelled task left behind is waited for.
                await asyncio.to_thread(steps.close)
            talk.answer(steps.result)
        else:
            talk.tell(await answered(asked))
        for each in talk.done():
            yield each
    yield RunFinished(talk.result)


class _Talk:
    """A run that is asked and told, one after the other, and what its model remembers.

    Attributes:
        run: The run.
        asked: What it asks for now; `None` when it has ended, or waits for somebody to decide.
    """

    def __init__(
        self, run: Run, model: LogitsModel, decisions: Decisions | None, *, keep: bool = True
    ) -> None:
        self.run = run
        self.asked: Asked | None = None
        self._model = model
        self._keep = keep
        self._rows: KeptRow | None = None
        self._result: AgentResult[object] | RunPaused | None = None
        self._done = 0
        self._flow = run.flow(decisions)
        self._advance(lambda: next(self._flow))

    @property
    def result(self) -> AgentResult[object]:
        """What came of it.

        Raises:
            RunPaused: It waits for somebody to decide.
        """
        if self._result is None:
            raise RuntimeError("the run has not ended")
        if isinstance(self._result, RunPaused):
            raise self._result
        return self._result

    def done(self) -> list[CallDone]:
        """The calls that something came of since this was asked."""
        made = self.run.made[self._done :]
        self._done += len(made)
        return [CallDone(call) for call in made]

    def job(self, asked: Write) -> Job:
        """The generation of a step."""
        return Job(
            asked.number,
            self._model,
            asked.prompt,
            asked.target,
            asked.settings,
            vocabulary=self.run.vocabulary,
            asked=time.perf_counter(),
        )

    def rows(self, job: Job, asked: Write) -> Rows:
        """The rows of a step: those of the last one, or of a run before, where they remember it."""
        if self._rows is None:
            if self._keep and (begun := self.run.shelf.take(job.encoded())):
                self._rows = begun
                return begun
            rows = begin_rows(self._model, asked.settings)
            kept = keeping(rows) if self._keep else rows
            if not isinstance(kept, KeptRow):
                return rows
            self._rows = kept
        return self._rows

    def tell(self, answer: Told) -> None:
        """Answer what was asked."""
        self._advance(lambda: self._flow.send(answer))

    def fail(self, error: Exception) -> None:
        """Tell that it failed; most often this raises the error."""
        self._advance(lambda: self._flow.throw(error))

    def answer(self, work: Callable[[], Result[object]]) -> None:
        """Answer with what work returns, or tell that it failed."""
        try:
            answer = work()
        except Exception as error:  # a model is anyone's code
            self.fail(error)
        else:
            self.tell(answer)

    def _advance(self, go_on: Callable[[], Asked]) -> None:
        try:
            self.asked = go_on()
        except StopIteration as end:
            self.asked, self._result = None, cast("AgentResult[object]", end.value)
            self._shelve()
        except RunPaused as paused:
            self.asked, self._result = None, paused
            self._shelve()

    def _shelve(self) -> None:
        """Keep what the model has read for a run that goes on from here; after an error it may be anything."""
        if self._rows is not None:
            self.run.shelf.put(self._rows)
            self._rows = None


class _Steps:
    """A step being written: an iterator of what can be told after each step of the model."""

    def __init__(self, talk: _Talk, asked: Write) -> None:
        self._job = talk.job(asked)
        self._rows = talk.rows(self._job, asked)
        self._teller = Teller(self._job.written, asked.target, talk.run.calls_before)
        self._outcome: Result[object] | Exception | None = None
        self._told = self._run()
        self._lock = Lock()

    def __iter__(self) -> _Steps:
        return self

    def __next__(self) -> list[AgentEvent[object]]:
        with self._lock:
            return next(self._told)

    def close(self) -> None:
        """Give up."""
        with self._lock:
            self._told.close()

    def result(self) -> Result[object]:
        """What was written, or the error that ended it."""
        if not isinstance(self._outcome, Result):
            raise cast("Exception", self._outcome)
        return self._outcome

    def _run(self) -> Generator[list[AgentEvent[object]], None, None]:
        steps = drive_all([self._job.flow()], self._rows, 1)
        try:
            while True:
                with TURNS.held(*self._job.models):  # others may use the model between two steps
                    step = next(steps)
                if step is not None:
                    break
                yield list(self._teller.look())
        finally:
            steps.close()
        self._outcome = self._job.outcome(step)
        thoughts = self._outcome.thinking if isinstance(self._outcome, Result) else None
        yield [*([Thought(thoughts)] if thoughts else []), *self._teller.look()]
