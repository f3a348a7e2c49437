"""Formats: how calls are written in the text of a step, and how a conversation is rendered for the model.

A format consists of strings around JSON: prefix and suffix of a call, and delimiters around and between calls. Any
model can read a conversation in a format as plain turns. If the chat template of a model writes calls in the format,
the template renders the conversation.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Protocol

from typing_extensions import Unpack

from structkit.agent.tools.prepared import PreparedTool
from structkit.generate.output.json_reader import JsonReader
from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.models.protocols import Conversation
from structkit.models.protocols import Message as Turn
from structkit.regex.nodes import Rules
from structkit.targets.base import JsonPart
from structkit.targets.targets import RulesOptions, Target
from structkit.vocabulary.control_tokens import control_text, display_text, to_bytes

__all__ = ["ArgumentsReader", "Delimiters", "Format", "JsonArgumentsReader", "WrittenCall", "short_id"]


_PREAMBLE_HINT = "You may say something first; then leave a line empty."


@dataclass(frozen=True, slots=True)
class Delimiters:
    """Delimiters of the calls of one step: before the first, between two, after the last.

    `wraps_single`: whether a single call is delimited too.
    """

    before: str
    between: str
    after: str
    wraps_single: bool = False


class WrittenCall(NamedTuple):
    """A call in the text of a step.

    Attributes:
        name: The name of the tool.
        arguments: The arguments as JSON.
        start: The position of their first byte in the text.
        end: The position behind their last byte.
    """

    name: str
    arguments: str
    start: int
    end: int


class ArgumentsReader(Protocol):
    """Incremental reader of the arguments of one call."""

    @property
    def is_complete(self) -> bool:
        """Whether the arguments are complete."""
        ...

    def read(self, text: bytes) -> tuple[int, str]:
        """Read further bytes; return the number of bytes in the arguments, and the JSON that is final now."""
        ...


class JsonArgumentsReader:
    """Reader of arguments written as JSON.

    >>> JsonArgumentsReader().read(b'{"a": "}"}}, ...')
    (10, '{"a": "}"}')
    """

    def __init__(self) -> None:
        self._fields = JsonReader()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.is_complete = False

    def read(self, text: bytes) -> tuple[int, str]:
        """Read further bytes; see `ArgumentsReader`."""
        end = 0
        while end < len(text) and not self.is_complete:
            end += 1
            self._fields.read(text[end - 1 : end])
            self.is_complete = not self._fields.open_fields
        return end, self._decoder.decode(text[:end])


@dataclass(frozen=True, kw_only=True)
class Format(ABC):
    """Notation of calls, and rendering of conversations.

    Attributes:
        multiple_calls: Whether a step can have several calls.
        arguments_key: Key of the arguments of a call, in JSON formats.
        markers: Delimiters that may be control tokens; the one that starts a call comes first.
        control_tokens: Delimiters that are control tokens of the model, and so never occur in text.
        calls_as_text: Whether calls are passed to the chat template as assistant content, because the template writes
            structured calls in another notation.
        system_role: Whether the chat template renders system messages; otherwise the instructions are part of a user
            message.
    """

    multiple_calls: ClassVar[bool] = True
    arguments_key: ClassVar[str] = "arguments"
    markers: ClassVar[tuple[str, ...]] = ()

    control_tokens: frozenset[str] = frozenset()
    calls_as_text: bool = False
    system_role: bool = True

    @property
    def text_separator(self) -> str:
        """Separator between free text and calls; every format also accepts an empty line."""
        return "\n\n"

    @abstractmethod
    def call_prefix(self, name: str) -> str:
        """Return the text before the arguments of a call."""

    @abstractmethod
    def call_suffix(self) -> str:
        """Return the text after the arguments of a call."""

    @abstractmethod
    def delimiters(self) -> Delimiters:
        """Return the delimiters of the calls of a step."""

    @property
    @abstractmethod
    def is_json(self) -> bool:
        """Whether a step is JSON."""

    def rules(self, tool: PreparedTool, **style: Unpack[RulesOptions]) -> Rules:
        """Return the language of the arguments of a tool's calls."""
        return tool.target.rules(**style)

    def arguments_reader(self) -> ArgumentsReader:
        """Return a reader for the arguments of a call."""
        return JsonArgumentsReader()

    def format_arguments(self, arguments: str) -> str:
        """Convert arguments from JSON to the notation of the format."""
        return arguments

    def json_parts(self, arguments: str, text: bytes) -> Iterator[JsonPart]:
        """Yield the parts of the text of arguments that are JSON, with their paths in the arguments.

        Args:
            arguments: The arguments as JSON.
            text: The arguments in the notation of the format.
        """
        if text == to_bytes(arguments):
            yield JsonPart((), 0, len(text))

    def rendered_calls(self, calls: Sequence[CallPart]) -> str:
        """Return the text of calls as the chat template renders it."""
        return self.calls_text(calls)

    def marker(self, name: str) -> str:
        """Return a delimiter of the format in the text of a step: as control token if it is one, else as text."""
        return control_text(name) if name in self.control_tokens else name

    def describe(
        self,
        tools: Sequence[PreparedTool],
        output: Target[object],
        max_calls: int,
        *,
        allow_text: bool = False,
    ) -> str:
        """Describe the tools and the output type for the prompt, if no chat template describes the tools."""
        answer = output.description() or output.name
        if not tools:
            return f"Answer with {answer}"
        delimiters = self.delimiters()
        listed = "in a list" if delimiters.before else "one after another"
        several = f", or several {listed}, up to {max_calls}" if max_calls > 1 else ""
        begin = "Answer with JSON. To" if self.is_json and output.is_json and not allow_text else "To"
        lines = [f"{begin} call a function and be told what it returns, one of these{several}:"]
        rest: list[str] = []
        for tool in tools:
            first, *more = (tool.target.description() or "").split("\n", 1)[-1].split("\n")
            arguments = first.removeprefix(f"{tool.target.name} = ")
            before, after = (delimiters.before, delimiters.after) if delimiters.wraps_single else ("", "")
            lines.append(f"{before}{self.call_prefix(tool.name)}{arguments}{self.call_suffix()}{after}")
            rest += [line for line in more if line not in rest]
        ends = [f"When you know the answer, {answer}", *([_PREAMBLE_HINT] if allow_text else [])]
        return "\n".join([*lines, *rest, *ends])

    def describe_output(
        self,
        tools: Sequence[PreparedTool],
        output: Target[object],
        max_calls: int,
        *,
        allow_text: bool = False,
    ) -> str:
        """Describe the output type and the number of calls for the prompt, if a chat template describes the tools."""
        if not tools:
            return f"Answer with {output.description() or output.name}"
        several = f"Call up to {max_calls} functions at once. " if max_calls > 1 else ""
        hint = f"\n{_PREAMBLE_HINT}" if allow_text else ""
        return f"{several}When you know the answer, answer with {output.description() or output.name}{hint}"

    def turns(self, messages: Sequence[Message], description: str, instructions: str | None) -> list[Turn]:
        """Return the conversation as turns of system, user and assistant only."""
        turns = [] if instructions is None else [Turn(role="system", content=instructions)]
        started = False
        for message in _grouped(messages):
            match message:
                case User(content=content):
                    turns.append(_user_turn(content, "" if started else description))
                    started = True
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
        """Return the conversation with tools, calls and outputs, for a chat template that renders them."""
        system = instructions is not None and self.system_role
        turns = [Turn(role="system", content=instructions or "")] if system else []
        prefix = None if system else instructions
        started = False
        for message in messages if self.multiple_calls else _split_parallel(messages):
            match message:
                case User(content=content):
                    content = f"{prefix}\n\n{content}" if prefix and not started else content
                    turns.append(_user_turn(content, "" if started else description))
                    started = True
                case Calls() if self.calls_as_text:
                    turns.append(Turn(role="assistant", content=self.step_text(message)))
                case Calls(calls=calls, text=text):
                    tool_calls = [
                        (short_id(call.id), call.name, self.format_arguments(call.arguments))
                        for call in calls
                    ]
                    content = display_text(self.step_text(message))
                    turns.append(Turn(role="assistant", content=content, tool_calls=tool_calls, text=text))
                case Output(id=id, name=name):
                    turns.append(
                        Turn(role="tool", content=_result_text(message), name=name, tool_call_id=short_id(id))
                    )
                case Answer():
                    turns.append(Turn(role="assistant", content=_answer_text(message)))
        return Conversation(tuple(turns), tuple(tools))

    def step_text(self, message: Calls) -> str:
        """Return the text of a step."""
        preamble = f"{message.text}{self.text_separator}" if message.text else ""
        return preamble + self.calls_text(message.calls)

    def calls_text(self, calls: Sequence[CallPart]) -> str:
        """Return the text of calls."""
        each = [
            f"{self.call_prefix(call.name)}{self.format_arguments(call.arguments)}{self.call_suffix()}"
            for call in calls
        ]
        delimiters = self.delimiters()
        if len(each) == 1 and not delimiters.wraps_single:
            return each[0]
        return f"{delimiters.before}{delimiters.between.join(each)}{delimiters.after}"

    def start_delimiters(self, *, multiple: bool) -> tuple[str, ...]:
        """Return the possible delimiters before the first call of a step."""
        delimiters = self.delimiters()
        if delimiters.wraps_single:
            return (delimiters.before,)
        return ("", delimiters.before) if multiple and delimiters.before else ("",)

    def parse_calls(self, text: str, names: Sequence[str]) -> list[WrittenCall] | None:
        """Parse the calls in the text of a step; `None` if it is the final output."""
        names_by_prefix = {to_bytes(self.call_prefix(name)): name for name in names}
        after = to_bytes(self.call_suffix() + self.delimiters().between)
        encoded = to_bytes(text)
        for before in map(to_bytes, self.start_delimiters(multiple=True)):
            found: list[WrittenCall] = []
            rest = encoded.removeprefix(before)
            while (
                prefix := next((each for each in names_by_prefix if rest.startswith(each)), None)
            ) is not None:
                start = len(encoded) - len(rest) + len(prefix)
                length, arguments = self.arguments_reader().read(encoded[start:])
                found.append(WrittenCall(names_by_prefix[prefix], arguments, start, start + length))
                rest = encoded[start + length :].removeprefix(after)
            if found:
                return found
        return None


def _user_turn(content: str, description: str) -> Turn:
    return Turn(role="user", content=f"{content}\n\n{description}" if description else content)


def _answer_text(answer: Answer) -> str:
    return f"{answer.text}\n\n{answer.content}" if answer.text else answer.content


def _result_text(message: Output) -> str:
    """Return the content of a tool message."""
    content = f"Error: {message.content}" if message.failed else message.content
    return f"{content}\n{message.note}" if message.note else content


def _grouped(messages: Sequence[Message]) -> Iterator[Message]:
    """Merge consecutive tool outputs into one user message."""
    outputs: Output | None = None
    for message in messages:
        if isinstance(message, Output):
            line = f"{message.name} {'failed' if message.failed else 'returned'}: {message.content}"
            line = f"{line}\n{message.note}" if message.note else line
            content = line if outputs is None else f"{outputs.content}\n{line}"
            outputs = replace(message, content=content, note="")
            continue
        if outputs is not None:
            yield outputs
            outputs = None
        yield message
    if outputs is not None:
        yield outputs


def _split_parallel(messages: Sequence[Message]) -> Iterator[Message]:
    """Split steps with several calls into steps with one call and its output."""
    outputs: dict[str, Output] = {}
    for message in reversed(messages):
        if isinstance(message, Output):
            outputs[message.id] = message
    seen: set[str] = set()
    for message in messages:
        if isinstance(message, Calls) and len(message.calls) > 1:
            for number, call in enumerate(message.calls):
                yield replace(message, calls=(call,), text="" if number else message.text)
                if call.id in outputs:
                    seen.add(call.id)
                    yield outputs[call.id]
        elif not (isinstance(message, Output) and message.id in seen):
            yield message


def short_id(id: str) -> str:
    """Return the id of a call as nine letters and digits, as some templates require.

    >>> short_id("call_12")
    'call00012'
    """
    if re.fullmatch("[0-9A-Za-z]{9}", id):
        return id
    number = re.fullmatch("call_([0-9]{1,5})", id)
    return f"call{number[1]:0>5}" if number else hashlib.sha256(id.encode()).hexdigest()[:9]
