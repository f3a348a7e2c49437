"""Formats: how calls stand in the text of a step, and how a conversation is shown to the model.

A format is texts around JSON: what opens a call before its arguments, what closes it, and what stands around and
between several calls. Any model can be shown a conversation in it as plain turns; one whose chat template writes calls
in it is shown the conversation as the template renders it.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.models.base import Conversation
from structkit.models.base import Message as Turn
from structkit.schema.policy import Whitespace

if TYPE_CHECKING:
    from structkit.targets import Target
    from structkit.tools.ready import Ready

__all__ = ["Format", "HermesFormat", "JsonFormat"]


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

    def described(self, tools: Sequence[Ready], result: Target[object], most: int) -> str:
        """What the model is told of the tools and the result, where no template tells it."""
        answer = result.description() or result.name
        if not tools:
            return f"Answer with {answer}"
        listed = "in a list" if self.around().before else "one after another"
        several = f", or several {listed}, up to {most}" if most > 1 else ""
        begin = "Answer with JSON. To" if self.is_json else "To"
        lines = [f"{begin} call a function and be told what it returns, one of these{several}:"]
        rest: list[str] = []
        for tool in tools:
            first, *more = (tool.target.description() or "").split("\n", 1)[-1].split("\n")
            arguments = first.removeprefix(f"{tool.target.name} = ")
            lines.append(f"{self.opened(tool.name)}{arguments}{self.closed()}")
            rest += [line for line in more if line not in rest]
        return "\n".join([*lines, *rest, f"When you know the answer, {answer}"])

    def described_result(self, result: Target[object], most: int) -> str:
        """What the model is told of the result and of the number of calls, where a template tells of the tools."""
        several = f"Call up to {most} functions at once. " if most > 1 else ""
        return f"{several}When you know the answer, answer with {result.description() or result.name}"

    def turns(self, messages: Sequence[Message], description: str, instructions: str | None) -> list[Turn]:
        """Turns of the user and the assistant, and nobody else."""
        turns = [] if instructions is None else [Turn(role="system", content=instructions)]
        begun = False
        for message in _grouped(messages):
            match message:
                case User(content=content):
                    turns.append(_asked(content, "" if begun else description))
                    begun = True
                case Calls(calls=calls):
                    turns.append(Turn(role="assistant", content=self.text(calls)))
                case Output(content=content):
                    turns.append(Turn(role="user", content=content))
                case Answer(content=content):
                    turns.append(Turn(role="assistant", content=content))
        return turns

    def conversation(
        self,
        messages: Sequence[Message],
        description: str,
        instructions: str | None,
        tools: Sequence[Mapping[str, object]],
    ) -> Conversation:
        """Turns with tools, calls and outputs, for a template that renders them."""
        turns = [] if instructions is None else [Turn(role="system", content=instructions)]
        begun = False
        for message in messages:
            match message:
                case User(content=content):
                    turns.append(_asked(content, "" if begun else description))
                    begun = True
                case Calls(calls=calls):
                    said = [(call.name, call.arguments) for call in calls]
                    turns.append(Turn(role="assistant", content=self.text(calls), calls=said))
                case Output(name=name):
                    turns.append(Turn(role="tool", content=_told(message), name=name))
                case Answer(content=content):
                    turns.append(Turn(role="assistant", content=content))
        return Conversation(tuple(turns), tuple(tools))

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


@dataclass(frozen=True, slots=True)
class HermesFormat(Format):
    """`<tool_call>`, a line `{"name": "f", "arguments": {...}}`, `</tool_call>`: Hermes, Qwen and those after them."""

    def opened(self, name: str) -> str:
        """The mark, and `{"name": "f", "arguments": `."""
        return f'<tool_call>\n{{"name": {json.dumps(name, ensure_ascii=False)}, "arguments": '

    def closed(self) -> str:
        """`}` and the mark of the end."""
        return "}\n</tool_call>"

    def around(self) -> Around:
        """One after another, each in a line of its own."""
        return Around("", "\n", "")

    @property
    def is_json(self) -> bool:
        """It is not, for the marks."""
        return False


def _asked(content: str, description: str) -> Turn:
    return Turn(role="user", content=f"{content}\n\n{description}" if description else content)


def _told(output: Output) -> str:
    """What a tool says in its own turn."""
    told = f"Error: {output.content}" if output.failed else output.content
    return f"{told}\n{output.note}" if output.note else told


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
