"""Conversation: a question, the available tools, the correct calls with their results, and the correct output.

structkit itself renders the text that the model reads, from functions and types as a user would write them, so the
prompts of training and use are the same. The evaluation calls the same functions.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import TYPE_CHECKING

import structkit as sk
from demo_corpus.example import END
from demo_corpus.shapes import Shape
from demo_corpus.targets import python_type
from structkit.agent.formats.json import JsonFormat
from structkit.agent.tools.prepared import prepare_tools
from structkit.generate.input.settings import Settings
from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.schema.python.json_codec import json_text_of
from structkit.targets.targets import read_target

if TYPE_CHECKING:
    from typing_extensions import TypeForm

COMPILE_SETTINGS = Settings.read("Agent", {}).compile_settings


@dataclass(frozen=True)
class Parameter:
    """A parameter of a tool; a parameter with a default is optional."""

    key: str
    shape: Shape
    comment: str = ""
    default: object = None


@dataclass(frozen=True)
class Card:
    """The description of a tool. Tools of one kind answer the same questions."""

    kind: str
    name: str
    description: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Step:
    """A correct call and its output; if the call failed, the output is the error message."""

    tool: str
    arguments: Mapping[str, object]
    output: object
    failed: bool = False


@dataclass(frozen=True)
class Task:
    """One run of an agent. `value` is the JSON data of the output."""

    kind: str
    question: str
    cards: tuple[Card, ...]
    steps: tuple[Step, ...]
    shape: Shape
    value: object
    instructions: str | None = None

    @property
    def pieces(self) -> list[tuple[str, bool]]:
        """The complete conversation as text parts, each with whether the model generates it."""
        result = read_target(self.result)
        tools = prepare_tools(self.functions(), COMPILE_SETTINGS)
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
        """The output type."""
        return python_type(self.shape)

    def messages(self) -> tuple[Message, ...]:
        """Return the messages of the complete conversation."""
        messages: list[Message] = [User(content=self.question)]
        for number, step in enumerate(self.steps):
            arguments = json.dumps(step.arguments, ensure_ascii=False)
            messages.append(Calls(calls=(CallPart(id=str(number), name=step.tool, arguments=arguments),)))
            content = step.output if isinstance(step.output, str) else json_text_of(step.output)
            messages.append(Output(id=str(number), name=step.tool, content=content, failed=step.failed))
        return (*messages, Answer(content=json.dumps(self.value, ensure_ascii=False)))

    def functions(self) -> list[Callable[..., object]]:
        """Return the tools: a correct call returns its output, any other call raises `ToolError`."""
        return [self._function(card) for card in self.cards]

    def _function(self, card: Card) -> Callable[..., object]:
        defaults = {each.key: each.default for each in card.parameters if each.default is not None}
        known = [(defaults | dict(step.arguments), step) for step in self.steps if step.tool == card.name]

        def function(**arguments: object) -> object:
            given = {key: _plain(value) for key, value in arguments.items()}
            for expected, step in known:
                if expected == given and step.failed:
                    raise sk.ToolError(str(step.output))
                if expected == given:
                    return step.output
            raise sk.ToolError("nothing is known of that")

        function.__name__ = card.name
        function.__doc__ = _docstring(card)
        setattr(function, "__signature__", _signature(card))  # noqa: B010
        return function

    def is_right(self, outcome: RunOutcome) -> bool:
        """Whether a run made exactly these calls and ended with this value."""
        calls = [(step.tool, dict(step.arguments)) for step in self.steps]
        return outcome.calls == calls and outcome.value == self.value


@dataclass(frozen=True)
class RunOutcome:
    """The calls of a run, and its output as JSON data."""

    calls: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    value: object = None

    @classmethod
    def of(cls, messages: Iterable[Message]) -> RunOutcome:
        """Return the outcome of the messages of a run."""
        calls: list[tuple[str, dict[str, object]]] = []
        value: object = None
        for message in messages:
            if isinstance(message, Calls):
                calls += [(each.name, json.loads(each.arguments)) for each in message.calls]
            elif isinstance(message, Answer):
                value = json.loads(message.content)
        return cls(calls, value)


def _docstring(card: Card) -> str:
    lines = [f"    {each.key}: {each.comment}" for each in card.parameters if each.comment]
    return "\n".join([card.description, *(["", "Args:", *lines] if lines else [])])


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
