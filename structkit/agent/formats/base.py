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

from structkit.agent.tools.prepared import PreparedTool
from structkit.generate.output.json_reader import JsonReader
from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.models.protocols import Conversation
from structkit.models.protocols import Message as Turn
from structkit.regex.nodes import Rules
from structkit.targets.targets import RulesOptions, Target
from structkit.vocabulary.control_tokens import control_text, display_text, to_bytes

__all__ = ["ArgumentsReader", "Delimiters", "Format", "JsonArgumentsReader", "short_id"]


_PREAMBLE_HINT = "You may say something first; then leave a line empty."


@dataclass(frozen=True, slots=True)
class Delimiters:
    """What stands around the calls of one step: before the first, between two, after the last.

    `wraps_single`: around a single call, too.
    """

    before: str
    between: str
    after: str
    wraps_single: bool = False


class ArgumentsReader(Protocol):
    """The arguments of one call, read as they are written."""

    @property
    def is_complete(self) -> bool:
        """Whether they are complete."""
        ...

    def read(self, text: bytes) -> tuple[int, str]:
        """Read on: how many of the bytes belong to the arguments, and the JSON that is certain now."""
        ...


class JsonArgumentsReader:
    """Arguments that are written as JSON.

    >>> JsonArgumentsReader().read(b'{"a": "}"}}, ...')
    (10, '{"a": "}"}')
    """

    def __init__(self) -> None:
        self._fields = JsonReader()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.is_complete = False

    def read(self, text: bytes) -> tuple[int, str]:
        """See `Arguments`."""
        end = 0
        while end < len(text) and not self.is_complete:
            end += 1
            self._fields.read(text[end - 1 : end])
            self.is_complete = not self._fields.open_fields
        return end, self._decoder.decode(text[:end])


@dataclass(frozen=True, kw_only=True)
class Format(ABC):
    """How calls are written and shown.

    Attributes:
        multiple_calls: Whether there can be several calls in a step.
        arguments_key: What the arguments of a call are called in it, where it is JSON.
        markers: What of the format may be a control token, that which begins a call first.
        control_tokens: The marks that are control tokens of the model, so that no text spells them.
        calls_as_text: Whether a chat template is given the calls as what the assistant says, for it writes them
            otherwise.
        system_role: Whether a chat template shows a system message wherever there is one; else the user says it.
    """

    multiple_calls: ClassVar[bool] = True
    arguments_key: ClassVar[str] = "arguments"
    markers: ClassVar[tuple[str, ...]] = ()

    control_tokens: frozenset[str] = frozenset()
    calls_as_text: bool = False
    system_role: bool = True

    @property
    def text_separator(self) -> str:
        """What stands between free text and the calls that follow it; an empty line may, in every format."""
        return "\n\n"

    @abstractmethod
    def call_prefix(self, name: str) -> str:
        """What stands before the arguments of a call."""

    @abstractmethod
    def call_suffix(self) -> str:
        """What stands after them."""

    @abstractmethod
    def delimiters(self) -> Delimiters:
        """What stands around the calls."""

    @property
    @abstractmethod
    def is_json(self) -> bool:
        """Whether a step is JSON."""

    def rules(self, tool: PreparedTool, **style: Unpack[RulesOptions]) -> Rules:
        """The language of the arguments of a tool's calls."""
        return tool.target.rules(**style)

    def arguments_reader(self) -> ArgumentsReader:
        """What reads the arguments of a call."""
        return JsonArgumentsReader()

    def format_arguments(self, arguments: str) -> str:
        """Arguments, from JSON."""
        return arguments

    def rendered_calls(self, calls: Sequence[CallPart]) -> str:
        """What a chat template makes of calls."""
        return self.calls_text(calls)

    def marker(self, name: str) -> str:
        """A mark of the format in the text of a step: a control token if it is one, else as it reads."""
        return control_text(name) if name in self.control_tokens else name

    def describe(
        self,
        tools: Sequence[PreparedTool],
        output: Target[object],
        max_calls: int,
        *,
        allow_text: bool = False,
    ) -> str:
        """What the model is told of the tools and the result, where no template tells it."""
        answer = output.description() or output.name
        if not tools:
            return f"Answer with {answer}"
        around = self.delimiters()
        listed = "in a list" if around.before else "one after another"
        several = f", or several {listed}, up to {max_calls}" if max_calls > 1 else ""
        begin = "Answer with JSON. To" if self.is_json and not allow_text else "To"
        lines = [f"{begin} call a function and be told what it returns, one of these{several}:"]
        rest: list[str] = []
        for tool in tools:
            first, *more = (tool.target.description() or "").split("\n", 1)[-1].split("\n")
            arguments = first.removeprefix(f"{tool.target.name} = ")
            before, after = (around.before, around.after) if around.wraps_single else ("", "")
            lines.append(f"{before}{self.call_prefix(tool.name)}{arguments}{self.call_suffix()}{after}")
            rest += [line for line in more if line not in rest]
        ends = [f"When you know the answer, {answer}", *([_PREAMBLE_HINT] if allow_text else [])]
        return "\n".join([*lines, *rest, *ends])

    def describe_output(self, output: Target[object], max_calls: int, *, allow_text: bool = False) -> str:
        """What the model is told of the result and of the number of calls, where a template tells of the tools."""
        several = f"Call up to {max_calls} functions at once. " if max_calls > 1 else ""
        said = f"\n{_PREAMBLE_HINT}" if allow_text else ""
        return f"{several}When you know the answer, answer with {output.description() or output.name}{said}"

    def turns(self, messages: Sequence[Message], description: str, instructions: str | None) -> list[Turn]:
        """Turns of the user and the assistant, and nobody else."""
        turns = [] if instructions is None else [Turn(role="system", content=instructions)]
        begun = False
        for message in _grouped(messages):
            match message:
                case User(content=content):
                    turns.append(_user_turn(content, "" if begun else description))
                    begun = True
                case Calls():
                    turns.append(Turn(role="assistant", content=display_text(self.step_text(message))))
                case Output(content=content):
                    turns.append(Turn(role="user", content=content))
                case Answer():
                    turns.append(Turn(role="assistant", content=_answer_text(message)))
        return turns

    def conversation(
        self,
        messages: Sequence[Message],
        description: str,
        instructions: str | None,
        tools: Sequence[Mapping[str, object]],
    ) -> Conversation:
        """Turns with tools, calls and outputs, for a template that renders them."""
        system = instructions is not None and self.system_role
        turns = [Turn(role="system", content=instructions or "")] if system else []
        asked = None if system else instructions
        begun = False
        for message in messages if self.multiple_calls else _split_parallel(messages):
            match message:
                case User(content=content):
                    content = f"{asked}\n\n{content}" if asked and not begun else content
                    turns.append(_user_turn(content, "" if begun else description))
                    begun = True
                case Calls() if self.calls_as_text:
                    turns.append(Turn(role="assistant", content=self.step_text(message)))
                case Calls(calls=calls, text=text):
                    said = [
                        (short_id(call.id), call.name, self.format_arguments(call.arguments))
                        for call in calls
                    ]
                    whole = display_text(self.step_text(message))
                    turns.append(Turn(role="assistant", content=whole, tool_calls=said, text=text))
                case Output(id=id, name=name):
                    turns.append(
                        Turn(role="tool", content=_result_text(message), name=name, tool_call_id=short_id(id))
                    )
                case Answer():
                    turns.append(Turn(role="assistant", content=_answer_text(message)))
        return Conversation(tuple(turns), tuple(tools))

    def step_text(self, message: Calls) -> str:
        """The text of a step."""
        said = f"{message.text}{self.text_separator}" if message.text else ""
        return said + self.calls_text(message.calls)

    def calls_text(self, calls: Sequence[CallPart]) -> str:
        """The text of calls."""
        each = [
            f"{self.call_prefix(call.name)}{self.format_arguments(call.arguments)}{self.call_suffix()}"
            for call in calls
        ]
        around = self.delimiters()
        if len(each) == 1 and not around.wraps_single:
            return each[0]
        return f"{around.before}{around.between.join(each)}{around.after}"

    def start_delimiters(self, *, multiple: bool) -> tuple[str, ...]:
        """What may stand before the first call of a step, which may have several."""
        around = self.delimiters()
        if around.wraps_single:
            return (around.before,)
        return ("", around.before) if multiple and around.before else ("",)

    def parse_calls(self, text: str, names: Sequence[str]) -> list[tuple[str, str]] | None:
        """The names and arguments of the calls in a text of the language; `None` if it is a result."""
        opened = {to_bytes(self.call_prefix(name)): name for name in names}
        after = to_bytes(self.call_suffix() + self.delimiters().between)
        whole = to_bytes(text)
        for before in map(to_bytes, self.start_delimiters(multiple=True)):
            found: list[tuple[str, str]] = []
            rest = whole.removeprefix(before)
            while (begun := next((each for each in opened if rest.startswith(each)), None)) is not None:
                end, arguments = self.arguments_reader().read(rest[len(begun) :])
                found.append((opened[begun], arguments))
                rest = rest[len(begun) + end :].removeprefix(after)
            if found:
                return found
        return None


def _user_turn(content: str, description: str) -> Turn:
    return Turn(role="user", content=f"{content}\n\n{description}" if description else content)


def _answer_text(answer: Answer) -> str:
    return f"{answer.text}\n\n{answer.content}" if answer.text else answer.content


def _result_text(message: Output) -> str:
    """What a tool says in its own turn."""
    told = f"Error: {message.content}" if message.failed else message.content
    return f"{told}\n{message.note}" if message.note else told


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


def _split_parallel(messages: Sequence[Message]) -> Iterator[Message]:
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
