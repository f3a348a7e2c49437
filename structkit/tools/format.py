"""Formats: how calls stand in the text of a step, and how a conversation is shown to the model.

A format is texts around JSON: what opens a call before its arguments, what closes it, and what stands around and
between several calls.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.models.base import Message as Turn
from structkit.schema.policy import Whitespace

if TYPE_CHECKING:
    from structkit.targets import Target
    from structkit.tools.ready import Ready

__all__ = ["Format", "JsonFormat"]


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around several calls in one step: before the first, between two, after the last."""

    before: str
    between: str
    after: str


class Format(ABC):
    """How calls are written and shown."""

    @abstractmethod
    def opened(self, name: str) -> str:
        """What stands before the arguments of a call."""

    @abstractmethod
    def closed(self) -> str:
        """What stands after them."""

    @abstractmethod
    def around(self) -> Around:
        """What stands around several calls."""

    @property
    @abstractmethod
    def is_json(self) -> bool:
        """Whether a step is JSON."""

    @abstractmethod
    def described(self, tools: Sequence[Ready], result: Target[object], most: int) -> str:
        """What the model is told of the tools and the result."""

    @abstractmethod
    def turns(self, messages: Sequence[Message], description: str, instructions: str | None) -> list[Turn]:
        """The conversation as the model's chat template takes it."""

    def text(self, calls: Sequence[CallPart]) -> str:
        """The text of a step, from its calls."""
        each = [f"{self.opened(call.name)}{call.arguments}{self.closed()}" for call in calls]
        if len(each) == 1:
            return each[0]
        around = self.around()
        return f"{around.before}{around.between.join(each)}{around.after}"

    def split(self, text: str, names: Sequence[str]) -> list[tuple[str, str]] | None:
        """The names and arguments of the calls in a text of the language; `None` if it is a result."""
        around = self.around()
        inside = text.removeprefix(around.before)
        opened = {self.opened(name): name for name in names}
        found: list[tuple[str, str]] = []
        decoder = json.JSONDecoder()
        for rest in (text, inside):
            while (begun := next((each for each in opened if rest.startswith(each)), None)) is not None:
                _, end = decoder.raw_decode(rest, len(begun))
                found.append((opened[begun], rest[len(begun) : end]))
                rest = rest[end:].removeprefix(self.closed()).removeprefix(around.between)
            if found:
                return found
        return None


@dataclass(frozen=True, slots=True)
class JsonFormat(Format):
    """`{"name": "f", "arguments": {...}}`, several in a list; outputs are told by the user, so any model will do.

    Attributes:
        whitespace: The style of the JSON around the arguments.
    """

    whitespace: Whitespace = "spaced"

    def opened(self, name: str) -> str:
        """`{"name": "f", "arguments": `."""
        comma, colon = (", ", ": ") if self.whitespace == "spaced" else (",", ":")
        return f'{{"name"{colon}{json.dumps(name, ensure_ascii=False)}{comma}"arguments"{colon}'

    def closed(self) -> str:
        """`}`."""
        return "}"

    def around(self) -> Around:
        """A list."""
        return Around("[", ", " if self.whitespace == "spaced" else ",", "]")

    @property
    def is_json(self) -> bool:
        """It is."""
        return True

    def described(self, tools: Sequence[Ready], result: Target[object], most: int) -> str:
        """The calls and the result as types."""
        answer = result.description() or result.name
        if not tools:
            return f"Answer with {answer}"
        several = f", or several in a list, up to {most}" if most > 1 else ""
        lines = [f"Answer with JSON. To call a function and be told what it returns, one of these{several}:"]
        rest: list[str] = []
        for tool in tools:
            first, *more = (tool.target.description() or "").split("\n", 1)[-1].split("\n")
            arguments = first.removeprefix(f"{tool.target.name} = ")
            lines.append(f"{self.opened(tool.name)}{arguments}{self.closed()}")
            rest += [line for line in more if line not in rest]
        return "\n".join([*lines, *rest, f"When you know the answer, {answer}"])

    def turns(self, messages: Sequence[Message], description: str, instructions: str | None) -> list[Turn]:
        """Turns of the user and the assistant, and nobody else."""
        turns = [] if instructions is None else [Turn(role="system", content=instructions)]
        begun = False
        for message in _grouped(messages):
            match message:
                case User(content=content):
                    turns.append(
                        Turn(role="user", content=content if begun else f"{content}\n\n{description}")
                    )
                    begun = True
                case Calls(calls=calls):
                    turns.append(Turn(role="assistant", content=self.text(calls)))
                case Output(content=content):
                    turns.append(Turn(role="user", content=content))
                case Answer(content=content):
                    turns.append(Turn(role="assistant", content=content))
        return turns


def _grouped(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages, the outputs of one step as one."""
    waiting: Output | None = None
    for message in messages:
        if isinstance(message, Output):
            told = f"{message.name} {'failed' if message.failed else 'returned'}: {message.content}"
            told = f"{told}\n{message.note}" if message.note else told
            content = told if waiting is None else f"{waiting.content}\n{told}"
            waiting = replace(message, content=content, note="")
            continue
        if waiting is not None:
            yield waiting
            waiting = None
        yield message
    if waiting is not None:
        yield waiting
