"""Validation of the messages and the suspended state from which a run continues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, replace

from structkit.agent.prompt.history import check_messages
from structkit.agent.run.actions import Decisions
from structkit.agent.run.budget import RunBudget, UsageLimits, max_steps_of
from structkit.agent.run.config import AgentConfig
from structkit.agent.run.state import RunState, RunSuspended, decisions_example
from structkit.agent.tools.approval import Approvals, Approve, Decision, Deny, Return
from structkit.agent.tools.prepared import PreparedTool
from structkit.errors import AgentError
from structkit.generate.input.examples import membership_test, write_value
from structkit.messages import Calls
from structkit.rejected import Rejected
from structkit.schema.python.json_codec import json_text_of

__all__ = ["check_decisions", "check_prompt", "check_state", "not_a_state"]


def check_prompt(given: object) -> None:
    """Check the prompt of a run.

    Raises:
        TypeError: It is not a text.
    """
    if isinstance(given, str):
        return
    remedy = 'write agent.run("...")'
    if isinstance(given, RunSuspended | RunState):
        remedy = f"write {_resume_call(given)}"
    elif isinstance(given, list | tuple):
        remedy = 'a conversation goes into messages: write agent.run("...", messages=result.messages)'
    raise TypeError(f"the prompt of an agent is a text, not {given!r:.60}; {remedy}")


def not_a_state(given: object) -> TypeError:
    """Return the error of an object that is not the state of a suspended run."""
    remedy = "write agent.resume(error.state, approvals=True), with the error of the run"
    if isinstance(given, RunSuspended):
        remedy = f"write {_resume_call(given)}"
    elif isinstance(given, str | bytes):
        remedy = (
            "write agent.resume(structkit.RunState.loads(text), approvals=True), with the text of dumps()"
        )
    return TypeError(
        f"resume takes the state of a RunSuspended, or of RunState.loads, not {given!r:.60}; {remedy}"
    )


def _resume_call(given: RunSuspended | RunState) -> str:
    """Return the call that resumes a run."""
    state, name = (given.state, "error.state") if isinstance(given, RunSuspended) else (given, "state")
    return f"agent.resume({name}, approvals={decisions_example(state.pending)})"


def check_state(given: RunState, config: AgentConfig, allowed: UsageLimits) -> RunState:
    """Validate a state for this agent.

    Whether a run of the agent can reach the state is not checked: anyone who can change a state can approve its calls.

    Raises:
        AgentError: The state belongs to another agent, its parts are inconsistent, or no step remains for the result.
        BudgetTooSmall: The remaining tokens of the run do not suffice for the shortest result.
    """
    if all(isinstance(each, tuple) for each in (given.messages, given.step_usage)):
        _check_steps(given, config, allowed)  # before the contents are read, which takes far longer
    try:
        state = RunState.loads(replace(given, metadata={}).dumps())  # it may be handwritten
        state = replace(state, metadata=dict(given.metadata))
    except ValueError as error:
        raise _state_error(f"invalid state of a run: {error}") from error
    if state.agent_fingerprint != config.fingerprint:
        raise _state_error("the state belongs to an agent with other tools or another output type")
    check_messages(state.messages, "state")
    _check_amounts(state)
    _check_waiting(state)
    _check_steps(state, config, allowed)
    RunBudget(config, state, allowed).check()
    return state


def _check_steps(state: RunState, config: AgentConfig, allowed: UsageLimits) -> None:
    """Check that a step remains for the result."""
    max_steps = max_steps_of(config, allowed)
    if state.steps >= max_steps:
        raise _state_error(
            f"the run in the state has used {state.steps} steps, and max_steps={max_steps} leaves none for the result; "
            "increase it"
        )


def check_decisions(
    state: RunState, approvals: Approvals, config: AgentConfig, context: object = None
) -> tuple[RunState, Decisions]:
    """Validate the decisions about the pending calls of a state.

    Returns:
        The state, with the arguments that were changed, and a decision for each pending call.

    Raises:
        AgentError: A pending call has no decision, or a decision that does not fit it, or a decision is about another
            call.
        TypeError: A decision has the wrong type.
    """
    pending = {each.id: each for each in state.pending}
    waiting = ", ".join(f"{each.id} ({each.name})" for each in state.pending) or "none"
    given: object = dict.fromkeys(pending, approvals) if isinstance(approvals, bool) else approvals
    if not isinstance(given, Mapping):
        raise TypeError(
            f"approvals must be True, False or a dict of decisions by call id, not {given!r:.60}; write "
            f"approvals={decisions_example(state.pending)}"
        )
    decisions = {id: _decision(id, each) for id, each in given.items()}
    unknown = [id for id in decisions if id not in pending]
    if unknown or not pending:
        what = f"{unknown[0]} is not a pending call" if unknown else "there is no pending call"
        raise AgentError(f"{what} in this state; the pending calls are {waiting}", place="approvals")
    missing = [id for id in pending if id not in decisions]
    if missing:
        raise AgentError(
            f"there is no decision about {', '.join(missing)}; write approvals={decisions_example(state.pending)}",
            place="approvals",
        )
    by_name = {tool.name: tool for tool in config.tools}
    for id, decision in decisions.items():
        tool = by_name.get(pending[id].name)
        if tool is None:
            raise _state_error(f"the state calls {pending[id].name}, which is not a tool of this agent")
        place = f"approvals[{id!r}]"
        if isinstance(decision, Return):
            _check_result(decision, place)
        elif isinstance(decision, Approve) and tool.tool.defer:
            raise AgentError(
                f"{tool.name} is deferred, so the agent cannot execute its call; supply the result as "
                "structkit.Return(value), or deny the call",
                place=place,
            )
        elif isinstance(decision, Approve) and decision.arguments is not None:
            state = _with_arguments(
                state, id, _written_arguments(tool, decision.arguments, config, place, context)
            )
    return state, decisions


def _decision(id: object, given: object) -> Decision:
    if isinstance(given, bool):
        return Approve() if given else Deny()
    if isinstance(given, (Approve, Deny, Return)):
        return given
    if isinstance(given, str):
        remedy = f"to deny the call, write structkit.Deny({given!r:.60})"
    elif isinstance(given, type) and issubclass(given, (Approve, Deny, Return)):
        remedy = f"write structkit.{given.__name__}({'value' if given is Return else ''})"
    else:
        remedy = f"to supply the result, write structkit.Return({given!r:.60})"
    raise TypeError(
        f"the decision about {id} must be True, False, structkit.Approve(), structkit.Deny(reason) or "
        f"structkit.Return(value), not {given!r:.60}; {remedy}"
    )


def _check_result(decision: Return, place: str) -> None:
    try:
        json_text_of(decision.value)
    except ValueError as error:
        raise AgentError(
            f"the result cannot be written as JSON: {error}; return a value of the output type", place=place
        ) from error


def _written_arguments(
    tool: PreparedTool, arguments: Mapping[str, object], config: AgentConfig, place: str, context: object
) -> str:
    """Return changed arguments as the model would write them.

    Raises:
        AgentError: The tool rejects them.
    """
    settings, target, place = config.settings.compile_settings, tool.target, f"{place}.arguments"
    names = [] if tool.is_schema else [name for name in arguments if name not in tool.parameter_names]
    if names:
        raise AgentError(
            f"{tool.name} has no parameter {names[0]}; its parameters are {', '.join(tool.parameter_names)}",
            place=place,
        )
    text = write_value(
        dict(arguments),
        target,
        settings,
        membership_test(target, settings),
        config.settings.source or "",
        context,
    )
    if isinstance(text, Rejected):
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in text.path)
        raise AgentError(
            f"{tool.name} rejects the arguments: {text.message}; give others", place=place + path
        ) from text.cause
    if text is None:
        raise AgentError(
            f"the grammar of {tool.name} does not contain these arguments; write others", place=place
        )
    return text


def _with_arguments(state: RunState, id: str, arguments: str) -> RunState:
    """Return the state with other arguments of a pending call."""
    *before, last = state.messages
    if isinstance(last, Calls):
        parts = (replace(part, arguments=arguments) if part.id == id else part for part in last.calls)
        last = replace(last, calls=tuple(parts))
    pending = (replace(each, arguments=arguments) if each.id == id else each for each in state.pending)
    return replace(state, messages=(*before, last), pending=tuple(pending))


def _check_waiting(state: RunState) -> None:
    """Check that each call of the last step is pending or has an output, under its own name, and metadata a call."""
    last = state.messages[-1] if state.messages else None
    if not isinstance(last, Calls):
        raise _state_error("the last message of the state has no calls")
    calls = {call.id: (call.name, call.arguments) for call in last.calls}
    found = [*(each.id for each in state.pending), *(each.id for each in state.tool_results)]
    if sorted(found) != sorted(calls) or any(
        calls[each.id] != (each.name, each.arguments) for each in state.pending
    ):
        raise _state_error("the pending calls of the state are not the calls of its last message")
    known = {call.id for each in state.messages if isinstance(each, Calls) for call in each.calls}
    for id in state.metadata.keys() - known:
        raise _state_error(f"the metadata of the state is of {id:.80}, which is no call of its messages")
    for each in state.tool_results:
        if each.name != (name := calls[each.id][0]):
            raise _state_error(f"the output of {each.id} is of {each.name:.80}, and its call of {name}")


def _check_amounts(state: RunState) -> None:
    """Check that no amount is negative: it would allow the run more than its limits."""
    amounts = (*astuple(state.usage), *(amount for each in state.step_usage for amount in astuple(each)))
    if min(state.elapsed_seconds, *amounts) < 0:
        raise _state_error("a time or a count of the state is negative; pass the state unchanged")


def _state_error(message: str) -> AgentError:
    return AgentError(message, place="state")
