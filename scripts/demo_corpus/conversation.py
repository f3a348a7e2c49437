"""Conversation: a question, the tools at hand, the right calls with what they return, and the right result.

What the model reads is rendered by structkit itself, from functions and types such as a user would have written, so that
training and use cannot drift apart. The same functions answer when a task is run for grading.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import TYPE_CHECKING

import structkit as sk
from demo_corpus.example import END
from demo_corpus.shapes import Shape
from demo_corpus.targets import python_type
from structkit.agent.formats.json import JsonFormat
from structkit.agent.tools.prepared import prepare_tools
from structkit.generate.input.options import Settings
from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.schema.python.json_codec import json_text_of
from structkit.targets.targets import read_target

if TYPE_CHECKING:
    from typing_extensions import TypeForm

WRITING = Settings.read("Agent", {}).compile_settings


@dataclass(frozen=True)
class Parameter:
    """A parameter of a tool; one with a default may be left out."""

    key: str
    shape: Shape
    comment: str = ""
    default: object = None


@dataclass(frozen=True)
class Card:
    """A tool as the model is told of it. Two cards of one kind would do for the same questions."""

    kind: str
    name: str
    description: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Step:
    """A call that is right, and what it returns; a text that the model is told of, if it failed."""

    tool: str
    arguments: Mapping[str, object]
    output: object
    failed: bool = False


@dataclass(frozen=True)
class Task:
    """One run of an agent. `value` is what `json.dumps` writes as the result."""

    kind: str
    question: str
    cards: tuple[Card, ...]
    steps: tuple[Step, ...]
    shape: Shape
    value: object
    instructions: str | None = None

    @property
    def pieces(self) -> list[tuple[str, bool]]:
        """The whole conversation as text, and which parts of it the model says."""
        result = read_target(self.result)
        tools = prepare_tools(self.functions(), WRITING)
        form = JsonFormat()
        turns = form.turns(self.messages(), form.describe(tools, result, 1), self.instructions)
        pieces: list[tuple[str, bool]] = []
        before = ""
        for turn in turns:
            opened = f"{before}<|{turn['role']}|>\n"
            if turn["role"] == "assistant":
                pieces += [(opened, False), (turn["content"] + END, True)]
            else:
                pieces.append((f"{opened}{turn['content']}{END}", False))
            before = "\n"
        return pieces

    @property
    def result(self) -> TypeForm[object]:
        """The type of the result."""
        return python_type(self.shape)

    def messages(self) -> tuple[Message, ...]:
        """The conversation, right to its end."""
        said: list[Message] = [User(content=self.question)]
        for number, step in enumerate(self.steps):
            arguments = json.dumps(step.arguments, ensure_ascii=False)
            said.append(Calls(calls=(CallPart(id=str(number), name=step.tool, arguments=arguments),)))
            told = step.output if isinstance(step.output, str) else json_text_of(step.output)
            said.append(Output(id=str(number), name=step.tool, content=told, failed=step.failed))
        return (*said, Answer(content=json.dumps(self.value, ensure_ascii=False)))

    def functions(self) -> list[Callable[..., object]]:
        """The tools: called as they should be they return what they should, else they know nothing."""
        return [self._function(card) for card in self.cards]

    def _function(self, card: Card) -> Callable[..., object]:
        defaults = {each.key: each.default for each in card.parameters if each.default is not None}
        known = [(defaults | dict(step.arguments), step) for step in self.steps if step.tool == card.name]

        def function(**arguments: object) -> object:
            given = {key: _plain(value) for key, value in arguments.items()}
            for wanted, step in known:
                if wanted == given and step.failed:
                    raise sk.ToolError(str(step.output))
                if wanted == given:
                    return step.output
            raise sk.ToolError("nothing is known of that")

        function.__name__ = card.name
        function.__doc__ = _docstring(card)
        setattr(function, "__signature__", _signature(card))  # noqa: B010
        return function

    def is_right(self, said: RunSaid) -> bool:
        """Whether a run made these calls and no others, and ended in this value."""
        calls = [(step.tool, dict(step.arguments)) for step in self.steps]
        return said.calls == calls and said.value == self.value


@dataclass(frozen=True)
class RunSaid:
    """What the model wrote in a run: its calls, and its result as JSON says it."""

    calls: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    value: object = None

    @classmethod
    def of(cls, messages: Iterator[Message]) -> RunSaid:
        """From the messages of a run."""
        calls: list[tuple[str, dict[str, object]]] = []
        value: object = None
        for message in messages:
            if isinstance(message, Calls):
                calls += [(each.name, json.loads(each.arguments)) for each in message.calls]
            elif isinstance(message, Answer):
                value = json.loads(message.content)
        return cls(calls, value)


def _docstring(card: Card) -> str:
    said = [f"    {each.key}: {each.comment}" for each in card.parameters if each.comment]
    return "\n".join([card.description, *(["", "Args:", *said] if said else [])])


def _signature(card: Card) -> inspect.Signature:
    return inspect.Signature(
        [
            inspect.Parameter(
                each.key,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=python_type(each.shape),
                default=inspect.Parameter.empty if each.default is None else each.default,
            )
            for each in sorted(card.parameters, key=lambda each: each.default is not None)
        ]
    )


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, (date, datetime, time)) else value
