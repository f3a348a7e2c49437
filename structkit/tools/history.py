"""What runs go on from, checked before anything is done with it: it may have been stored, and changed, by anyone."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields

from structkit.errors import AgentError
from structkit.generate.result import Usage
from structkit.messages import Answer, CallPart, Calls, Message, Output, User, dumps
from structkit.tools.ready import Ready
from structkit.tools.room import Room, UsageLimits
from structkit.tools.setup import Setup
from structkit.tools.state import RunState, counts_of, failures_of
from structkit.vocabulary.marks import to_bytes

__all__ = ["check_history", "check_state"]

_ID = 200
"""Characters of the id of a call; a number in it is read, and Python reads none of more than 4,300 figures."""


def check_history(messages: object) -> tuple[Message, ...]:
    """The messages of earlier runs.

    Raises:
        TypeError: They are something else.
        AgentError: They are of no run: a call has no output, or an output no call, or arguments are not JSON.
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


def check_state(given: RunState, setup: Setup, allowed: UsageLimits) -> RunState:
    """A state that a run of this agent may have left behind.

    What follows from the messages (steps, calls, failures) is not stored, so it cannot contradict them. Tokens and
    seconds are believed, as far as they are possible.

    Raises:
        AgentError: No run of the agent leaves such a state; the error says what does not fit together.
        BudgetTooSmall: The tokens of the run that are left do not suffice for the shortest result.
    """
    try:
        state = RunState.loads(given.dumps())  # it may have been made by hand
    except ValueError as error:
        raise _wrong(f"this is no state of a run: {error}") from error
    if state.agent != setup.fingerprint:
        raise _wrong("the state is that of an agent with other tools or another result")
    _check(state.messages, "state")
    last = state.messages[-1] if state.messages else None
    if not isinstance(last, Calls):
        raise _wrong("the last message of the state has no calls to decide about")
    run = state.messages[state.first :]
    if not isinstance(run[0], User) or any(isinstance(each, Answer) for each in run):
        raise _wrong("the calls of the state belong to no question")
    _check_waiting(state, last)
    room = Room(setup, state, allowed)
    _check_limits(run, setup, room.max_steps)
    _check_written(last, setup)
    _check_usage(state)
    room.check()
    return state


def _check(messages: Sequence[Message], place: str) -> list[CallPart]:
    """Check that every output is that of a call before it, in order; the calls that have none at the end."""
    try:
        dumps(messages)  # strings where there should be strings
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
        if len(call.id) > _ID:
            raise AgentError(f"the id {call.id:.20}... is longer than {_ID} characters", place=place)
        seen.add(call.id)
        try:
            arguments: object = json.loads(call.arguments, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise AgentError(f"the arguments of {call.id} are not JSON: {error}", place=place) from error
        if not isinstance(arguments, dict):
            raise AgentError(f"the arguments of {call.id} are no object", place=place)


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no number of JSON")


def _check_waiting(state: RunState, last: Calls) -> None:
    """Each call of the last step waits, or something came of it."""
    waiting = [(each.id, each.name, each.arguments) for each in state.pending]
    done = [(each.id, each.name) for each in state.done]
    calls = {call.id: (call.id, call.name, call.arguments) for call in last.calls}
    answered = [*(id for id, _, _ in waiting), *(id for id, _ in done)]
    fits = (
        sorted(answered) == sorted(calls)
        and all(each == calls[each[0]] for each in waiting)
        and all(each == calls[each[0]][:2] for each in done)
    )
    if not fits:
        raise _wrong("the calls that wait in the state are not those of its last message")


def _check_limits(run: Sequence[Message], setup: Setup, max_steps: int) -> None:
    """The run keeps to the limits of the agent: no step has calls that could not be written in it."""
    tools: Mapping[str, Ready] = {each.name: each for each in setup.tools}
    steps = [at for at, each in enumerate(run) if isinstance(each, Calls)]
    if len(steps) >= max_steps:
        raise _wrong(
            f"the run in the state has made {len(steps)} steps, and max_steps={max_steps} leaves none for the result"
        )
    for at in steps:
        step, before = run[at], run[:at]
        failures, counts = failures_of(before), counts_of(run[: at + 1])
        calls = step.calls if isinstance(step, Calls) else ()
        if len(calls) > setup.parallel:
            raise _wrong(
                f"a step of the state has {len(calls)} calls, and the agent's parallel={setup.parallel}"
            )
        for call in calls:
            ready = tools.get(call.name)
            if ready is None:
                raise _wrong(f"the state has a call of {call.name}, which is no tool of this agent")
            tool = ready.tool
            if failures.get(call.name, 0) > tool.retries:
                raise _wrong(
                    f"{call.name} is called in the state after more errors than retries={tool.retries}"
                )
            if tool.max_calls is not None and counts[call.name] > tool.max_calls:
                raise _wrong(f"{call.name} is called more often in the state than max_calls={tool.max_calls}")


def _check_written(last: Calls, setup: Setup) -> None:
    """The calls that wait are of the language that the agent writes them in."""
    offers = [offer for tool in setup.tools if (offer := setup.offer(tool, 0))]
    automaton = setup.compiled(setup.target(offers)).guide.automaton
    for call in last.calls:
        if not any(automaton.accepts(to_bytes(text)) for text in setup.format.spellings(call)):
            raise _wrong(
                f"the arguments of {call.id} in the state are not such as this agent writes for {call.name}"
            )


def _check_usage(state: RunState) -> None:
    usage = state.usage
    figures = [*(getattr(usage, each.name) for each in fields(Usage)), state.seconds]
    if not all(math.isfinite(figure) and figure >= 0 for figure in figures):
        raise _wrong("a figure of what the run in the state took is negative, or none")
    if (
        usage.generated_tokens < usage.forced_tokens
        or usage.written_tokens < state.steps
        or usage.drafted_tokens < usage.accepted_tokens
    ):
        raise _wrong("the tokens in the state are fewer than the calls in it took")


def _wrong(message: str) -> AgentError:
    return AgentError(message, place="state")
