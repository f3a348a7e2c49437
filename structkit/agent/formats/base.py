"""Formats: how calls stand in the text of a step, and how a conversation is shown to the model.

A format is texts around JSON: what opens a call before its arguments, what closes it, and what stands around and
between several calls. Any model can be shown a conversation in it as plain turns; one whose chat template writes calls
in it is shown the conversation as the template renders it.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from typing_extensions import Unpack

from structkit.agent.tools.prepared import Ready
from structkit.generate.output.json_reader import JsonReader
from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.models.protocols import Conversation
from structkit.models.protocols import Message as Turn
from structkit.regex.nodes import Rules
from structkit.targets.targets import Style, Target
from structkit.vocabulary.control_tokens import control, readable, to_bytes

__all__ = ["Arguments", "Around", "Format", "JsonArguments", "short_id"]


_SAY_FIRST = "You may say something first; then leave a line empty."


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around the calls of one step: before the first, between two, after the last.

    `alone`: around a single call, too.
    """

    before: str
    between: str
    after: str
    alone: bool = False


class Arguments(Protocol):
    """The arguments of one call, read as they are written."""

    @property
    def done(self) -> bool:
        """Whether they are complete."""
        ...

    def read(self, text: bytes) -> tuple[int, str]:
        """Read on: how many of the bytes belong to the arguments, and the JSON that is certain now."""
        ...


class JsonArguments:
    """Arguments that are written as JSON.

    >>> JsonArguments().read(b'{"a": "}"}}, ...')
    (10, '{"a": "}"}')
    """

    def __init__(self) -> None:
        self._fields = JsonReader()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.done = False

    def read(self, text: bytes) -> tuple[int, str]:
        """See `Arguments`."""
        end = 0
        while end < len(text) and not self.done:
            end += 1
            self._fields.read(text[end - 1 : end])
            self.done = not self._fields.open
        return end, self._decoder.decode(text[:end])


@dataclass(frozen=True, kw_only=True)
class Format(ABC):
    """How calls are written and shown.

    Attributes:
        several: Whether there can be several calls in a step.
        key: What the arguments of a call are called in it, where it is JSON.
        marks: What of the format may be a control token, that which begins a call first.
        controls: The marks that are control tokens of the model, so that no text spells them.
        as_text: Whether a chat template is given the calls as what the assistant says, for it writes them otherwise.
        system: Whether a chat template shows a system message wherever there is one; else the user says it.
    """

    several: ClassVar[bool] = True
    key: ClassVar[str] = "arguments"
    marks: ClassVar[tuple[str, ...]] = ()

    controls: frozenset[str] = frozenset()
    as_text: bool = False
    system: bool = True

    @property
    def spoken(self) -> str:
        """What stands between free text and the calls that follow it; an empty line may, in every format."""
        return "\n\n"

    @abstractmethod
    def opened(self, name: str) -> str:
        """What stands before the arguments of a call."""

    @abstractmethod
    def closed(self) -> str:
        """What stands after them."""

    @abstractmethod
    def around(self) -> Around:
        """What stands around the calls."""

    @property
    @abstractmethod
    def is_json(self) -> bool:
        """Whether a step is JSON."""

    def rules(self, tool: Ready, **style: Unpack[Style]) -> Rules:
        """The language of the arguments of a tool's calls."""
        return tool.target.rules(**style)

    def arguments(self) -> Arguments:
        """What reads the arguments of a call."""
        return JsonArguments()

    def written(self, arguments: str) -> str:
        """Arguments, from JSON."""
        return arguments

    def shown(self, calls: Sequence[CallPart]) -> str:
        """What a chat template makes of calls."""
        return self.text(calls)

    def mark(self, name: str) -> str:
        """A mark of the format in the text of a step: a control token if it is one, else as it reads."""
        return control(name) if name in self.controls else name

    def described(
        self, tools: Sequence[Ready], result: Target[object], most: int, *, text: bool = False
    ) -> str:
        """What the model is told of the tools and the result, where no template tells it."""
        answer = result.description() or result.name
        if not tools:
            return f"Answer with {answer}"
        around = self.around()
        listed = "in a list" if around.before else "one after another"
        several = f", or several {listed}, up to {most}" if most > 1 else ""
        begin = "Answer with JSON. To" if self.is_json and not text else "To"
        lines = [f"{begin} call a function and be told what it returns, one of these{several}:"]
        rest: list[str] = []
        for tool in tools:
            first, *more = (tool.target.description() or "").split("\n", 1)[-1].split("\n")
            arguments = first.removeprefix(f"{tool.target.name} = ")
            before, after = (around.before, around.after) if around.alone else ("", "")
            lines.append(f"{before}{self.opened(tool.name)}{arguments}{self.closed()}{after}")
            rest += [line for line in more if line not in rest]
        ends = [f"When you know the answer, {answer}", *([_SAY_FIRST] if text else [])]
        return "\n".join([*lines, *rest, *ends])

    def described_result(self, result: Target[object], most: int, *, text: bool = False) -> str:
        """What the model is told of the result and of the number of calls, where a template tells of the tools."""
        several = f"Call up to {most} functions at once. " if most > 1 else ""
        said = f"\n{_SAY_FIRST}" if text else ""
        return f"{several}When you know the answer, answer with {result.description() or result.name}{said}"

    def turns(self, messages: Sequence[Message], description: str, instructions: str | None) -> list[Turn]:
        """Turns of the user and the assistant, and nobody else."""
        turns = [] if instructions is None else [Turn(role="system", content=instructions)]
        begun = False
        for message in _grouped(messages):
            match message:
                case User(content=content):
                    turns.append(_asked(content, "" if begun else description))
                    begun = True
                case Calls():
                    turns.append(Turn(role="assistant", content=readable(self.step(message))))
                case Output(content=content):
                    turns.append(Turn(role="user", content=content))
                case Answer():
                    turns.append(Turn(role="assistant", content=_answered(message)))
        return turns

    def conversation(
        self,
        messages: Sequence[Message],
        description: str,
        instructions: str | None,
        tools: Sequence[Mapping[str, object]],
    ) -> Conversation:
        """Turns with tools, calls and outputs, for a template that renders them."""
        system = instructions is not None and self.system
        turns = [Turn(role="system", content=instructions or "")] if system else []
        asked = None if system else instructions
        begun = False
        for message in messages if self.several else _one_by_one(messages):
            match message:
                case User(content=content):
                    content = f"{asked}\n\n{content}" if asked and not begun else content
                    turns.append(_asked(content, "" if begun else description))
                    begun = True
                case Calls() if self.as_text:
                    turns.append(Turn(role="assistant", content=self.step(message)))
                case Calls(calls=calls, text=text):
                    said = [(short_id(call.id), call.name, self.written(call.arguments)) for call in calls]
                    whole = readable(self.step(message))
                    turns.append(Turn(role="assistant", content=whole, calls=said, said=text))
                case Output(id=id, name=name):
                    turns.append(Turn(role="tool", content=_told(message), name=name, id=short_id(id)))
                case Answer():
                    turns.append(Turn(role="assistant", content=_answered(message)))
        return Conversation(tuple(turns), tuple(tools))

    def step(self, message: Calls) -> str:
        """The text of a step."""
        said = f"{message.text}{self.spoken}" if message.text else ""
        return said + self.text(message.calls)

    def text(self, calls: Sequence[CallPart]) -> str:
        """The text of calls."""
        each = [f"{self.opened(call.name)}{self.written(call.arguments)}{self.closed()}" for call in calls]
        around = self.around()
        if len(each) == 1 and not around.alone:
            return each[0]
        return f"{around.before}{around.between.join(each)}{around.after}"

    def begins(self, *, several: bool) -> tuple[str, ...]:
        """What may stand before the first call of a step, which may have several."""
        around = self.around()
        if around.alone:
            return (around.before,)
        return ("", around.before) if several and around.before else ("",)

    def split(self, text: str, names: Sequence[str]) -> list[tuple[str, str]] | None:
        """The names and arguments of the calls in a text of the language; `None` if it is a result."""
        opened = {to_bytes(self.opened(name)): name for name in names}
        after = to_bytes(self.closed() + self.around().between)
        whole = to_bytes(text)
        for before in map(to_bytes, self.begins(several=True)):
            found: list[tuple[str, str]] = []
            rest = whole.removeprefix(before)
            while (begun := next((each for each in opened if rest.startswith(each)), None)) is not None:
                end, arguments = self.arguments().read(rest[len(begun) :])
                found.append((opened[begun], arguments))
                rest = rest[len(begun) + end :].removeprefix(after)
            if found:
                return found
        return None


def _asked(content: str, description: str) -> Turn:
    return Turn(role="user", content=f"{content}\n\n{description}" if description else content)


def _answered(answer: Answer) -> str:
    return f"{answer.text}\n\n{answer.content}" if answer.text else answer.content


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


def _one_by_one(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages, each of several calls with its output before the next."""
    outputs: dict[str, Output] = {}
    for message in reversed(messages):
        if isinstance(message, Output):
            outputs[message.id] = message
    told: set[str] = set()
    for message in messages:
        if isinstance(message, Calls) and len(message.calls) > 1:
            for number, call in enumerate(message.calls):
                yield replace(message, calls=(call,), text="" if number else message.text)
                if call.id in outputs:
                    told.add(call.id)
                    yield outputs[call.id]
        elif not (isinstance(message, Output) and message.id in told):
            yield message


def short_id(id: str) -> str:
    """The id of a call in nine letters and figures, as some templates want it.

    >>> short_id("call_12")
    'call00012'
    """
    if re.fullmatch("[0-9A-Za-z]{9}", id):
        return id
    number = re.fullmatch("call_([0-9]{1,5})", id)
    return f"call{number[1]:0>5}" if number else hashlib.sha256(id.encode()).hexdigest()[:9]
