"""The history of a run: validation of the messages of earlier runs, and the functions that process them."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from structkit.agent.prompt.callback import Callback, read_callback
from structkit.errors import AgentError
from structkit.messages import Answer, CallPart, Calls, Message, Output, User, dumps

__all__ = [
    "AnyHistory",
    "HistoryFunction",
    "HistoryOptions",
    "check_history",
    "check_last",
    "check_messages",
    "order_outputs",
    "read_history_options",
    "turn_starts",
]

HistoryFunction: TypeAlias = "Callable[..., Sequence[Message] | Awaitable[Sequence[Message]]]"
"""A function, sync or async, of messages, or of the run's context and messages."""

HistoryName: TypeAlias = Literal["cut", "shorten"]
"""What structkit does itself with messages that are too long for the context of the model."""

AnyHistory: TypeAlias = "HistoryName | HistoryFunction | Sequence[HistoryName | HistoryFunction]"
"""The types that an agent accepts as `history`."""


@dataclass(frozen=True, slots=True)
class HistoryOptions:
    """How an agent processes messages.

    Attributes:
        functions: The functions of the messages of earlier runs, in order.
        processors: The functions of all messages, which choose what the model reads in a step, in order.
        cut: Whether a history that is too long for the context of the model is cut.
        shorten: Whether the oldest outputs of tools are shortened, those of the run itself too, if the messages are too
            long for the context of the model.
    """

    functions: tuple[Callback, ...] = ()
    processors: tuple[Callback, ...] = ()
    cut: bool = False
    shorten: bool = False


def read_history_options(
    given: AnyHistory | None,
    processors: HistoryFunction | Sequence[HistoryFunction],
    deps_type: object,
) -> HistoryOptions:
    """Read the `history` and the `history_processors` of an agent.

    Raises:
        TypeError: A part is neither `"cut"`, `"shorten"` nor a function of the messages.
        AgentError: A function expects other dependencies than `deps_type`.
    """
    listed = _listed(() if given is None else given)
    functions: list[Callback] = []
    for position, part in enumerate(listed):
        location = f"history[{position}]" if listed is given else "history"
        if callable(part) and not isinstance(part, type):
            functions.append(read_callback(part, location, ("messages",), deps_type))
        elif part not in ("cut", "shorten"):
            raise TypeError(
                f"{location} must be 'cut', 'shorten', or a function of messages, not {part!r:.60}"
            )
    each_step = [
        read_callback(part, f"history_processors[{position}]", ("messages",), deps_type)
        for position, part in enumerate(_functions(processors))
    ]
    return HistoryOptions(
        tuple(functions), tuple(each_step), cut="cut" in listed, shorten="shorten" in listed
    )


def _listed(given: object) -> Sequence[object]:
    return given if isinstance(given, (list, tuple)) else [given]


def _functions(processors: object) -> Iterator[HistoryFunction]:
    for position, part in enumerate(_listed(processors)):
        if not callable(part) or isinstance(part, type):
            raise TypeError(
                f"history_processors[{position}] must be a function of messages, not {part!r:.60}; write "
                "def f(messages): return messages[-5:]"
            )
        yield part


def turn_starts(messages: Sequence[Message]) -> list[int]:
    """Return where a history can be cut: before each message of the user, and after the last message."""
    return [*(at for at, each in enumerate(messages) if isinstance(each, User)), len(messages)]


def check_history(
    messages: object, tools: Collection[str] | None = None, place: str = "messages"
) -> tuple[Message, ...]:
    """Validate the messages of earlier runs.

    Args:
        messages: The messages.
        tools: The names of the tools that they may call; by default any.
        place: Where the messages come from, for errors.

    Raises:
        TypeError: An object is not a message.
        AgentError: A chat template cannot render the messages: a call has no output, an output has no call, or
            arguments are not JSON; or they call another tool.
    """
    known: list[Message] = []
    if isinstance(messages, str):
        user = f"structkit.messages.User(content={messages!r:.60})"
        raise TypeError(f"{place} must be a sequence of messages, not {messages!r:.60}; write [{user}]")
    if isinstance(messages, bytes) or not isinstance(messages, Iterable):
        raise TypeError(
            f"{place} must be a sequence of messages, not {messages!r:.60}; write {place}=result.messages"
            if place == "messages"
            else f"{place} must be a sequence of messages, not {messages!r:.60}; return a list of messages"
        )
    for message in messages:
        if not isinstance(message, (User, Calls, Output, Answer)):
            raise TypeError(
                f"{place} must be instances of the classes in structkit.messages, not {message!r:.60}; pass the "
                "messages of a result, or write structkit.messages.User(content='...')"
            )
        known.append(message)
    waiting = check_messages(known, place)
    if waiting:
        raise AgentError(
            f"the call {waiting[0].id} in the messages has no output; add an Output with its id, or continue a "
            "suspended run with agent.resume(state, approvals=...)",
            place=place,
        )
    if tools is not None:
        _check_tools(known, tools, place)
    return tuple(known)


def order_outputs(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return messages with the outputs of a step in the order of its calls.

    Other libraries have them in the order in which the calls ended.

    >>> calls = Calls(calls=(CallPart(id="1", name="f", arguments="{}"), CallPart(id="2", name="g", arguments="{}")))
    >>> outputs = [Output(id="2", name="g", content="b"), Output(id="1", name="f", content="a")]
    >>> [message.content for message in order_outputs([calls, *outputs])[1:]]
    ['a', 'b']
    """
    ordered: list[Message] = []
    ids: list[str] = []
    for message in messages:
        at = len(ordered)
        if isinstance(message, Calls):
            ids = [call.id for call in message.calls]
        elif isinstance(message, Output) and message.id in ids:
            later = ids[ids.index(message.id) :]
            while isinstance(before := ordered[at - 1], Output) and before.id in later:
                at -= 1
        ordered.insert(at, message)
    return tuple(ordered)


def check_last(messages: Sequence[Message], place: str) -> None:
    """Check that messages end with one to which the model can reply.

    Raises:
        AgentError: There are no messages, or the last one is of the model.
    """
    if not messages or not isinstance(messages[-1], (User, Output)):
        what = f"end with those of the model, {messages[-1]!r:.60}" if messages else "are none"
        raise AgentError(
            f"the messages {what}, and the model must reply to one of the user or to an output; keep the last message",
            place=place,
        )


def check_messages(messages: Sequence[Message], place: str) -> list[CallPart]:
    """Check that outputs follow their calls in order; return the calls without an output at the end."""
    try:
        dumps(messages)  # checks the types of the fields
    except ValueError as error:
        raise AgentError(
            f"a field of the messages has the wrong type: {error}; pass messages of structkit", place=place
        ) from error
    waiting: deque[CallPart] = deque()
    seen: set[str] = set()
    for message in messages:
        if isinstance(message, Output):
            if not waiting or (message.id, message.name) != (waiting[0].id, waiting[0].name):
                raise AgentError(
                    f"the output {message.id} of {message.name} does not follow its call; put it after the Calls "
                    "message, or leave out both",
                    place=place,
                )
            waiting.popleft()
            continue
        if waiting:
            raise AgentError(
                f"the call {waiting[0].id} in the messages has no output; add an Output with its id",
                place=place,
            )
        if isinstance(message, Calls):
            _check_calls(message.calls, seen, place)
            waiting.extend(message.calls)
    return list(waiting)


def _check_tools(messages: Sequence[Message], tools: Collection[str], place: str) -> None:
    for position, message in enumerate(messages):
        for call in message.calls if isinstance(message, Calls) else ():
            if call.name not in tools:
                raise AgentError(
                    f"the messages are those of another agent: they call {call.name}, and the tools of this agent "
                    f"are {', '.join(tools) or 'none'}; pass the messages of its own runs, or only those whose kind is "
                    "'user' or 'answer'",
                    place=f"{place}[{position}]",
                )


def _check_calls(calls: Sequence[CallPart], seen: set[str], place: str) -> None:
    if not calls:
        raise AgentError("a Calls message has no calls; leave the message out", place=place)
    for call in calls:
        if call.id in seen:
            raise AgentError(f"two calls have the id {call.id}; give each its own", place=place)
        seen.add(call.id)
        try:
            arguments: object = json.loads(call.arguments)
        except (ValueError, RecursionError) as error:
            raise AgentError(
                f"the arguments of {call.id} are not JSON: {error}; write JSON", place=place
            ) from error
        if not isinstance(arguments, dict):
            raise AgentError(
                f"the arguments of {call.id} are not a JSON object; write one, such as {{}}", place=place
            )
