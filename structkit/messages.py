"""The messages of an agent's run: typed values that can be stored as JSON and given to another run.

`dumps(result.messages)` is a text; `agent.run("And tomorrow?", messages=loads(text))` goes on with the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from structkit.schema.python.json_codec import JsonCodec

__all__ = ["Answer", "CallPart", "Calls", "Message", "Output", "User", "dumps", "loads"]


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """What the user said."""

    content: str
    kind: Literal["user"] = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPart:
    """A call as the model wrote it."""

    id: str
    """What names the call among those of its run and of the runs before it."""

    name: str
    """The tool."""

    arguments: str
    """JSON: an object with the arguments that were written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The calls that the model wrote in one step."""

    calls: tuple[CallPart, ...]
    text: str = ""
    """What the model said before them; see `structkit.Agent`."""

    kind: Literal["calls"] = "calls"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What came of a call, as the model is told."""

    id: str
    name: str
    content: str
    """What the tool returned: a text as it is, all else as JSON, with `NaN` and `Infinity` as Python writes them. Or
    what went wrong."""

    failed: bool = False
    note: str = ""
    """What the model should know about its next step, such as that a tool cannot be called any more."""

    kind: Literal["output"] = "output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result, as the model wrote it."""

    content: str
    text: str = ""
    """What the model said before it; see `structkit.Agent`."""

    kind: Literal["answer"] = "answer"


Message: TypeAlias = User | Calls | Output | Answer


def dumps(messages: Sequence[Message]) -> str:
    """Messages as JSON.

    >>> dumps([User(content="Hi")])
    '[{"content":"Hi","kind":"user"}]'
    """
    return _json_codec().dumps(tuple(messages))


def loads(text: str | bytes) -> tuple[Message, ...]:
    """Messages from what `dumps` wrote.

    Raises:
        ValueError: The text is something else.

    >>> loads('[{"content":"Hi","kind":"user"}]')
    (User(content='Hi', kind='user'),)
    """
    return _json_codec().loads(text)


@lru_cache(maxsize=1)
def _json_codec() -> JsonCodec[tuple[Message, ...]]:
    return JsonCodec(tuple[Message, ...])
