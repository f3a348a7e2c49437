"""A run of one step, in which nothing is executed."""

from __future__ import annotations

from structkit.agent.formats.step import calls_or_result
from structkit.agent.run.actions import Decisions, RunFlow
from structkit.agent.run.record import attach_record
from structkit.agent.run.run import Run
from structkit.agent.run.state import AgentStep, new_calls
from structkit.messages import Answer

__all__ = ["SingleStep"]


class SingleStep(Run):
    """A run that ends after one step, with its calls or the result; it has no span of its own."""

    def flow(self, decisions: Decisions | None = None) -> RunFlow:
        """Generate the step; see `Run.flow`."""
        try:
            yield from self._read_prompt()
            return (yield from self._steps_to_result(decisions))
        except Exception as error:  # the model is user code
            attach_record(error, self.record())
            raise

    def _steps_to_result(self, decisions: Decisions | None) -> RunFlow:
        result, plan = yield from self.generate()
        step, calls = calls_or_result(result.value, result.text)
        if calls:
            written = [(each.tool.name, each.arguments) for each in calls]
            message = new_calls(self.messages, written, step.text)
            self.messages.append(message)
            self.check_calls(result.usage)
            return AgentStep(
                message=message,
                calls=tuple(each.call for each in calls),
                value=None,
                usage=self.usage,
                finish_reason="calls",
                thinking=result.thinking,
                trace=result.trace,
            )
        return AgentStep(
            message=Answer(content=step.body, text=step.text),
            calls=(),
            value=step.value,
            usage=self.usage,
            finish_reason=self.finish_reason(plan, result),
            thinking=result.thinking,
            trace=result.trace,
        )
