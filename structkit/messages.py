"""Messages of an agent's run: typed values that can be stored as JSON and passed to another run.

`dumps(result.messages)` returns a string; `agent.run("And tomorrow?", messages=loads(text))` continues the
conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, get_args

from structkit.arguments.names import missing_attribute
from structkit.schema.python.json_codec import EXACT_KEYS, ByKind, JsonCodec

__all__ = ["Answer", "CallPart", "Calls", "Message", "Output", "User", "dumps", "loads"]

_OTHER_ATTRIBUTES = {
    "args": ".arguments",
    "parts": ".calls or .content",
    "result": ".content",
    "role": ".kind",
    "text": ".content",
    "tool_call_id": ".id",
    "tool_calls": ".calls",
    "tool_name": ".name",
    "type": ".kind",
}
"""What other libraries call the attributes of messages."""


class _Part:
    """A message or a part of one."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> object:
            """Name the attribute that other libraries call otherwise."""
            raise missing_attribute(self, name, _OTHER_ATTRIBUTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class User(_Part):
    """A message of the user."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = EXACT_KEYS

    content: str
    kind: Literal["user"] = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPart(_Part):
    """A tool call as written by the model."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = EXACT_KEYS

    id: str
    """Identifier of the call, unique in its run and the runs before it."""

    name: str
    """The name of the tool."""

    arguments: str
    """The arguments as a JSON object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls(_Part):
    """The calls of one step."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = EXACT_KEYS

    calls: tuple[CallPart, ...]
    text: str = ""
    """Text before the calls; see `structkit.Agent`."""

    kind: Literal["calls"] = "calls"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output(_Part):
    """The output of a call, as the model reads it."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = EXACT_KEYS

    id: str
    name: str
    content: str
    """The return value of the tool, or an error message. A string is unchanged; other values are JSON, with `NaN` and
    `Infinity` as Python writes them."""

    failed: bool = False
    note: str = ""
    """A note for the model's next step, such as that a tool is not available."""

    kind: Literal["output"] = "output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(_Part):
    """The final output of a run, as written by the model."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = EXACT_KEYS

    content: str
    text: str = ""
    """Text before the answer; see `structkit.Agent`."""

    kind: Literal["answer"] = "answer"


Message: TypeAlias = User | Calls | Output | Answer


def dumps(messages: Sequence[Message]) -> str:
    """Serialize messages as JSON.

    Raises:
        TypeError: `messages` is not a sequence of messages.

    >>> dumps([User(content="Hi")])
    '[{"content":"Hi","kind":"user"}]'
    """
    given: object = messages
    if not isinstance(given, Sequence) or not all(isinstance(each, get_args(Message)) for each in given):
        raise TypeError(
            f"messages must be a list of messages, not {given!r:.60}; pass the messages of a result"
        )
    return _json_codec().dumps(tuple(messages))


def loads(text: str | bytes) -> tuple[Message, ...]:
    """Deserialize messages from the output of `dumps`.

    Raises:
        ValueError: The text is not a JSON list of messages.

    >>> loads('[{"content":"Hi","kind":"user"}]')
    (User(content='Hi', kind='user'),)
    """
    try:
        return _json_codec().loads(text)
    except ValueError as error:
        raise ValueError(f"{error}; pass a text that structkit.messages.dumps returned") from error


@lru_cache(maxsize=1)
def _json_codec() -> JsonCodec[tuple[Message, ...]]:
    return JsonCodec(tuple[ByKind[Message], ...])
