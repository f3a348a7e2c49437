"""Validation of the messages and the suspended state from which a run continues."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from structkit.agent.run.budget import RunBudget, UsageLimits
from structkit.agent.run.config import AgentConfig
from structkit.agent.run.state import RunState
from structkit.errors import AgentError
from structkit.messages import Answer, CallPart, Calls, Message, Output, User, dumps

__all__ = ["check_history", "check_state"]


def check_history(messages: object) -> tuple[Message, ...]:
    """Validate the messages of earlier runs.

    Raises:
        TypeError: An object is not a message.
        AgentError: A chat template cannot render the messages: a call has no output, an output has no call, or
            arguments are not JSON.
    """
    known: list[Message] = []
    if not isinstance(messages, Iterable):
        raise TypeError(
            f"messages are those of an AgentResult, and not {messages!r:.60}; write result.messages"
        )
    for message in messages:
        if not isinstance(message, (User, Calls, Output, Answer)):
            raise TypeError(
                f"messages are those of an AgentResult, or of structkit.messages; {message!r:.60} is none of them"
            )
        known.append(message)
    waiting = _check(known, "messages")
    if waiting:
        raise AgentError(
            f"the call {waiting[0].id} among the messages has no output; go on with Agent.resume(state)",
            place="messages",
        )
    return tuple(known)


def check_state(given: RunState, setup: AgentConfig, allowed: UsageLimits) -> RunState:
    """Validate a state for this agent.

    Whether a run of the agent can reach the state is not checked: anyone who can change a state can approve its calls.

    Raises:
        AgentError: The state belongs to another agent, its parts are inconsistent, or no step remains for the result.
        BudgetTooSmall: The remaining tokens of the run do not suffice for the shortest result.
    """
    try:
        state = RunState.loads(given.dumps())  # it may be handwritten
    except ValueError as error:
        raise _wrong(f"this is no state of a run: {error}") from error
    if state.agent_fingerprint != setup.fingerprint:
        raise _wrong("the state is that of an agent with other tools or another result")
    _check(state.messages, "state")
    _check_waiting(state)
    room = RunBudget(setup, state, allowed)
    if state.steps >= room.max_steps:
        raise _wrong(
            f"the run in the state has made {state.steps} steps, and max_steps={room.max_steps} leaves none for the "
            "result"
        )
    room.check()
    return state


def _check(messages: Sequence[Message], place: str) -> list[CallPart]:
    """Check that outputs follow their calls in order; return the calls without an output at the end."""
    try:
        dumps(messages)  # checks the types of the fields
    except ValueError as error:
        raise AgentError(f"the messages are not of their types: {error}", place=place) from error
    waiting: list[CallPart] = []
    seen: set[str] = set()
    for message in messages:
        if isinstance(message, Output):
            if not waiting or (message.id, message.name) != (waiting[0].id, waiting[0].name):
                raise AgentError(
                    f"the output {message.id} of {message.name} is not that of the call before it",
                    place=place,
                )
            del waiting[0]
            continue
        if waiting:
            raise AgentError(f"the call {waiting[0].id} among the messages has no output", place=place)
        if isinstance(message, Calls):
            _check_calls(message.calls, seen, place)
            waiting = list(message.calls)
    return waiting


def _check_calls(calls: Sequence[CallPart], seen: set[str], place: str) -> None:
    if not calls:
        raise AgentError("a message of calls has none", place=place)
    for call in calls:
        if call.id in seen:
            raise AgentError(f"two calls are named {call.id}", place=place)
        seen.add(call.id)
        try:
            arguments: object = json.loads(call.arguments)
        except (ValueError, RecursionError) as error:
            raise AgentError(f"the arguments of {call.id} are not JSON: {error}", place=place) from error
        if not isinstance(arguments, dict):
            raise AgentError(f"the arguments of {call.id} are no object", place=place)


def _check_waiting(state: RunState) -> None:
    """Check that each call of the last step is pending or has an output."""
    last = state.messages[-1] if state.messages else None
    if not isinstance(last, Calls):
        raise _wrong("the last message of the state has no calls to decide about")
    calls = {call.id: (call.name, call.arguments) for call in last.calls}
    found = [*(each.id for each in state.pending), *(each.id for each in state.tool_results)]
    if sorted(found) != sorted(calls) or any(
        calls[each.id] != (each.name, each.arguments) for each in state.pending
    ):
        raise _wrong("the calls that wait in the state are not those of its last message")


def _wrong(message: str) -> AgentError:
    return AgentError(message, place="state")
