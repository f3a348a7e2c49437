"""Single steps of an agent, for callers that have their own loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, cast

from typing_extensions import TypeVar

from structkit.agent.override import Configured
from structkit.agent.prompt.history import check_history
from structkit.agent.run.budget import UsageLimits
from structkit.agent.run.driver import drive_async, drive_events, drive_events_async, drive_sync
from structkit.agent.run.state import AgentStep, RunState
from structkit.agent.run_arguments import names_run_arguments
from structkit.agent.single_step import SingleStep
from structkit.agent.stream import AsyncStepStream, StepStream
from structkit.errors import AgentError
from structkit.messages import Answer, Message

__all__ = ["Steps"]

NO_LIMITS = UsageLimits()

T_co = TypeVar("T_co", covariant=True)
D_contra = TypeVar("D_contra", contravariant=True, default=object)


class Steps(Configured[D_contra], Generic[T_co, D_contra]):
    """The methods of an agent that generate one step."""

    @names_run_arguments
    def step(
        self,
        messages: Sequence[Message],
        *,
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AgentStep[T_co]:
        """Generate the step that a run would generate after these messages, and execute nothing.

        Use it where the loop belongs to the caller, such as another framework. The limits of the agent apply to the
        messages since the last one of the user: `max_steps`, and of each tool `max_calls` and `retries`. The value of
        an output function is its `Call`.

        Args:
            messages: The conversation. The last message is one of the user, or the output of a call.
            deps: The dependencies, for the predicates that decide which tools are available.
            usage_limits: Limits of this step; a limit that is set replaces that of the agent.

        Raises:
            UsageLimitExceeded: The step reached a limit, with `on_limit="raise"`.
            OutputValidationError: Validators rejected the result, or the arguments of a call, and all retries.
            BudgetTooSmall: `max_tokens`, or the context, is smaller than the shortest result.
            AgentError: The messages have a call without an output, or the last one is a result.
            StructkitError: See `structkit.generate`.
            TypeError: An object is not a message, or `deps` has the wrong type for a tool.

        >>> import structkit as sk
        >>> from structkit.messages import Output, User
        >>> from structkit.testing import ScriptedModel
        >>> def add(a: int, b: int) -> int:
        ...     return a + b
        >>> model = ScriptedModel(['{"name": "add", "arguments": {"a": 2, "b": 3}}', "It is 5."])
        >>> agent = sk.Agent(model, tools=[add], output_type=str)
        >>> messages = [User(content="What is 2 + 3?")]
        >>> step = agent.step(messages)
        >>> step.calls
        (Call(add(a=2, b=3)),)
        >>> messages += [step.message, Output(id=step.message.calls[0].id, name="add", content="5")]
        >>> agent.step(messages).value
        'It is 5.'
        """
        run = self._single_step(messages, deps, usage_limits)
        return cast("AgentStep[T_co]", drive_sync(run, self._config.model))

    @names_run_arguments
    async def astep(
        self,
        messages: Sequence[Message],
        *,
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AgentStep[T_co]:
        """Async version of `step`; the model runs in a thread."""
        run = self._single_step(messages, deps, usage_limits)
        return cast("AgentStep[T_co]", await drive_async(run, self._config.model))

    @names_run_arguments
    def stream_step(
        self,
        messages: Sequence[Message],
        *,
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> StepStream[T_co]:
        """Generate a step as `step` does, and stream events.

        Returns:
            An iterator of `ThinkingEvent`, `PreambleDelta`, `ToolCallStart`, `ToolCallDelta`, `PartialOutput`,
            `TextDelta`, `StepRetracted` and a final `StepEnd`. It raises the errors of the step.
        """
        run = self._single_step(messages, deps, usage_limits)
        return StepStream(drive_events(run, self._config.model), run)

    @names_run_arguments
    def astream_step(
        self,
        messages: Sequence[Message],
        *,
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AsyncStepStream[T_co]:
        """Async version of `stream_step`."""
        run = self._single_step(messages, deps, usage_limits)
        return AsyncStepStream(drive_events_async(run, self._config.model), run)

    def _single_step(
        self, messages: Sequence[Message], deps: object, usage_limits: UsageLimits
    ) -> SingleStep:
        history = check_history(messages)
        if not history or isinstance(history[-1], Answer):
            what = "there are no messages" if not history else "the last message is a result"
            raise AgentError(
                f"{what}; a step follows a message of the user, or the output of a call", place="messages"
            )
        state = RunState(agent_fingerprint=self._config.fingerprint, messages=history, pending=())
        return SingleStep(self._config, state, self._deps(deps), usage_limits)
