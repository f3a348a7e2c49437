"""What runs a run: it has the model write, has calls made, and tells the run what came of them."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from structkit.generate.drive import in_thread
from structkit.generate.generation import Job, begin_rows, run_job
from structkit.generate.result import Result
from structkit.models.base import LogitsModel
from structkit.tools.execute import Executor, execute
from structkit.tools.run import Do, Flow, Outcome, Write
from structkit.tools.state import AgentResult

__all__ = ["drive", "drive_async"]


def drive(flow: Flow, model: LogitsModel) -> AgentResult[object]:
    """Run a run to its end."""
    with Executor() as executor:
        conversation = _Conversation(flow)
        while (asked := conversation.asked) is not None:
            try:
                answer: Result[object] | Sequence[Outcome] = (
                    executor.execute(asked.calls)
                    if isinstance(asked, Do)
                    else run_job(job_of(asked, model), begin_rows(model, asked.settings))
                )
            except Exception as error:
                conversation.fail(error)
            else:
                conversation.tell(answer)
        return conversation.result


async def drive_async(flow: Flow, model: LogitsModel) -> AgentResult[object]:
    """Run a run to its end, the model in a thread while the event loop goes on."""
    conversation = _Conversation(flow)
    while (asked := conversation.asked) is not None:
        try:
            answer: Result[object] | Sequence[Outcome]
            if isinstance(asked, Do):
                answer = await execute(asked.calls)
            else:
                job, rows = job_of(asked, model), begin_rows(model, asked.settings)
                answer = await in_thread(
                    lambda cancelled, job=job, rows=rows: run_job(job, rows, cancelled)  # type: ignore[misc]
                )
        except Exception as error:
            conversation.fail(error)
        else:
            conversation.tell(answer)
    return conversation.result


def job_of(write: Write, model: LogitsModel) -> Job:
    """The generation of a step."""
    return Job(write.number, model, write.prompt, write.target, write.settings)


class _Conversation:
    """A flow that is asked and told, one after the other.

    Attributes:
        asked: What it asks for now; `None` when it has ended.
    """

    def __init__(self, flow: Flow) -> None:
        self._flow: Generator[Write | Do, object, AgentResult[object]] = flow  # type: ignore[assignment]
        self._result: AgentResult[object] | None = None
        self.asked: Write | Do | None = None
        self._advance(None)

    @property
    def result(self) -> AgentResult[object]:
        """What came of it."""
        if self._result is None:
            raise RuntimeError("the run has not ended")
        return self._result

    def tell(self, answer: object) -> None:
        """Answer what was asked."""
        self._advance(answer)

    def fail(self, error: Exception) -> None:
        """Tell that it failed; most often this raises the error."""
        try:
            self.asked = self._flow.throw(error)
        except StopIteration as end:
            self.asked, self._result = None, end.value

    def _advance(self, answer: object) -> None:
        try:
            self.asked = self._flow.send(answer)
        except StopIteration as end:
            self.asked, self._result = None, end.value
