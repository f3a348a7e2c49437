"""The methods of an agent that continue a suspended run."""

from __future__ import annotations

from typing import Generic, cast

from typing_extensions import TypeVar

from structkit.agent.override import Configured
from structkit.agent.run.actions import Decisions
from structkit.agent.run.budget import UsageLimits
from structkit.agent.run.driver import drive_async, drive_events, drive_events_async, drive_sync
from structkit.agent.run.run import Run
from structkit.agent.run.state import AgentResult, RunState
from structkit.agent.run_arguments import names_run_arguments
from structkit.agent.stream import AgentStream, AsyncAgentStream
from structkit.agent.tools.approval import Approvals
from structkit.agent.validate import check_decisions, check_state, not_a_state

__all__ = ["Resumable"]

NO_LIMITS = UsageLimits()

T_co = TypeVar("T_co", covariant=True)
D_contra = TypeVar("D_contra", contravariant=True, default=object)


class Resumable(Configured[D_contra], Generic[T_co, D_contra]):
    """The methods of an agent that continue a suspended run."""

    @names_run_arguments
    def resume(
        self,
        state: RunState,
        *,
        approvals: Approvals,
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AgentResult[T_co]:
        """Continue a suspended run, in this process or another.

        Args:
            state: The state of `RunSuspended`, or the one that `RunState.loads` returns.
            approvals: A decision about each pending call, by its id: `True` or `structkit.Approve()` executes the call,
                `Approve(arguments=...)` with other arguments; `False` or `structkit.Deny("reason")` reports an error
                to the model; `structkit.Return(value)` supplies the result. `True` or `False` decides about all.
            deps: See `run`.
            usage_limits: See `run`; they apply to the complete run, and the state does not contain them.

        Raises:
            AgentError: Before anything is executed: the tools, the output type or the limits of this agent do not fit
                the state, the state is inconsistent, a pending call has no decision, a decision is about a call that
                is not pending, the tool refuses the arguments, or a result cannot be written as JSON.
            BudgetTooSmall: The remaining tokens of the run do not suffice for the shortest result.
            TypeError: The state is not a `RunState`, or a decision has another type.
            Exception: See `run`.

        >>> import structkit as sk
        >>> from structkit.testing import ScriptedModel
        >>> def pay(euros: float) -> str:
        ...     return f"paid {euros:.2f}"
        >>> model = ScriptedModel(['{"name": "pay", "arguments": {"euros": 1250}}', "Paid."])
        >>> agent = sk.Agent(model, tools=[sk.require_approval(pay)])
        >>> try:
        ...     agent.run("Pay the invoice.")
        ... except sk.RunSuspended as suspended:
        ...     state = suspended.state
        >>> result = agent.resume(state, approvals={"call_1": sk.Approve(arguments={"euros": 12.5})})
        >>> result.calls[0].tool_result
        'paid 12.50'
        """
        run, decisions = self._resumed(state, approvals, deps, usage_limits)
        return cast("AgentResult[T_co]", drive_sync(run, self._config.model, decisions))

    @names_run_arguments
    async def aresume(
        self,
        state: RunState,
        *,
        approvals: Approvals,
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AgentResult[T_co]:
        """Async version of `resume`."""
        run, decisions = self._resumed(state, approvals, deps, usage_limits)
        return cast("AgentResult[T_co]", await drive_async(run, self._config.model, decisions))

    @names_run_arguments
    def stream_resume(
        self,
        state: RunState,
        *,
        approvals: Approvals,
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AgentStream[T_co]:
        """Continue a suspended run as `resume` does, and stream events as `stream` does.

        The first events are the `ToolResult` of the pending calls.
        """
        run, decisions = self._resumed(state, approvals, deps, usage_limits)
        return AgentStream(drive_events(run, self._config.model, decisions))

    @names_run_arguments
    def astream_resume(
        self,
        state: RunState,
        *,
        approvals: Approvals,
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AsyncAgentStream[T_co]:
        """Async version of `stream_resume`."""
        run, decisions = self._resumed(state, approvals, deps, usage_limits)
        return AsyncAgentStream(drive_events_async(run, self._config.model, decisions))

    def _resumed(
        self, state: RunState, approvals: Approvals, deps: object, usage_limits: UsageLimits
    ) -> tuple[Run, Decisions]:
        if not isinstance(state, RunState):
            raise not_a_state(state)
        state = check_state(state, self._config, usage_limits)
        deps = self._deps(deps)
        context = self._config.validation_context(deps)
        state, decisions = check_decisions(state, approvals, self._config, context)
        return Run(self._config, state, deps, usage_limits), decisions
