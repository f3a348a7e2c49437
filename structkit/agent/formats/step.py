"""The target of one step of an agent: calls of the available tools, or the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from typing_extensions import Unpack

from structkit.agent.formats.base import Format, WrittenCall
from structkit.agent.formats.preamble import EMPTY_LINE, preamble_language, split_preamble
from structkit.agent.formats.reader import OUTPUT, StepFieldLimits, StepReader
from structkit.agent.formats.text import TextOutput, split_text
from structkit.agent.tools.prepared import PreparedTool
from structkit.functions.call import Call
from structkit.generate.input.settings import Settings
from structkit.regex.merge import RuleMerger
from structkit.regex.nodes import LiteralText, Node, Rules, choice, seq
from structkit.rejected import Rejected
from structkit.schema.python.validators import PartValidator
from structkit.schema.view.choices import Member
from structkit.targets.base import JsonPart
from structkit.targets.targets import RulesOptions, Target
from structkit.vocabulary.control_tokens import to_bytes

__all__ = [
    "AvailableTool",
    "ParsedCall",
    "Preamble",
    "RejectedCalls",
    "StepTarget",
    "calls_or_result",
    "with_contexts",
]

_MAX_COUNTS = 256
"""Maximum number of combinations of remaining calls in a step; above it, the smallest limit applies to all tools."""


@dataclass(frozen=True, slots=True)
class AvailableTool:
    """A tool that is available in a step.

    Attributes:
        tool: The tool.
        remaining_calls: Number of remaining calls, if smaller than the maximum per step.
    """

    tool: PreparedTool
    remaining_calls: int | None = None


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """The text of a call and the parsed call."""

    tool: PreparedTool
    arguments: str
    call: Call[object]


@dataclass(frozen=True, slots=True)
class Preamble:
    """The value of a step that can start with free text.

    Attributes:
        text: The free text.
        body: The text after it.
        value: The parsed value of `body`.
    """

    text: str
    body: str
    value: object


@dataclass(frozen=True, slots=True)
class RejectedCalls(Rejected):
    """The calls of a step, one of which has arguments that the types of the tool's parameters reject.

    Attributes:
        calls: The names and arguments of all calls of the step.
        preamble: The free text before the calls.
    """

    calls: tuple[tuple[str, str], ...]
    preamble: str


@dataclass(frozen=True, eq=False)
class StepTarget(Target[object]):
    """The target of a step; its value is a tuple of `ParsedCall`, or the value of the result.

    Attributes:
        tools: The tools; empty if only the result is allowed.
        output: The target of the result.
        format: The format of calls.
        max_calls: Maximum number of calls in a step.
        allow_text: Whether text can precede calls, and free text the result; the value is then a `Preamble`.
    """

    tools: tuple[AvailableTool, ...]
    output: Target[object]
    format: Format
    max_calls: int = 1
    allow_text: bool = False

    @property
    def name(self) -> str:
        """The names of the tools and the result, for messages."""
        return " | ".join([*(offer.tool.name for offer in self.tools), self.output.name])

    @property
    def is_json(self) -> bool:
        """Whether all texts of the step are JSON."""
        return not self.allow_text and self.output.is_json and (self.format.is_json or not self.tools)

    def json_schema(self) -> dict[str, object]:
        """Return a schema of the calls and the result."""
        calls = [
            {
                "type": "object",
                "properties": {
                    "name": {"const": each.tool.name},
                    self.format.arguments_key: each.tool.target.json_schema(),
                },
                "required": ["name", self.format.arguments_key],
            }
            for each in self.tools
        ]
        return {"anyOf": [*calls, self.output.json_schema()]}

    def rules(self, **style: Unpack[RulesOptions]) -> Rules:
        """Return the language of the step."""
        joiner = RuleMerger()
        calls: list[Node] = []
        for each in self.tools:
            arguments = self.format.rules(each.tool, **style)
            opened = LiteralText(self.format.call_prefix(each.tool.name))
            called = joiner.add(f"arguments of {each.tool.name}", arguments)
            calls.append(
                joiner.rule(
                    f"call of {each.tool.name}", seq(opened, called, LiteralText(self.format.call_suffix()))
                )
            )
        if self.max_calls > 1 and calls:
            several = _CallSequence(self, calls, joiner).node()
            around = self.format.delimiters()
            # Without delimiters, a sequence of calls includes the single call.
            calls = [*calls, several] if around.before and not around.wraps_single else [several]
        elif self.format.delimiters().wraps_single:
            around = self.format.delimiters()
            calls = [seq(LiteralText(around.before), call, LiteralText(around.after)) for call in calls]
        if isinstance(self.output, TextOutput):
            after = seq(LiteralText(self.format.text_separator), choice(calls)) if self.allow_text else None
            outputs = self.output.rules_with_calls(after, joiner, **style)
            return joiner.rules(choice([*calls, outputs.start]))
        result = joiner.add("result", self.output.rules(**style))
        if not self.allow_text:
            return joiner.rules(choice([*calls, result]))
        after = choice(
            [
                seq(LiteralText(self.format.text_separator), choice(calls)),
                seq(LiteralText(EMPTY_LINE), choice([*calls, result])),
            ]
        )
        return joiner.rules(choice([*calls, result, seq(preamble_language(self.format, joiner), after)]))

    def parse(self, text: str, context: object = None) -> object | Rejected:
        """Return the value of a step, or why it is rejected: `RejectedCalls` if arguments of a call are."""
        preamble, rest = self._split(text)
        value = self._parse(rest, preamble, context)
        return (
            Preamble(preamble, rest, value) if self.allow_text and not isinstance(value, Rejected) else value
        )

    def _split(self, text: str) -> tuple[str, str]:
        """Return the free text before calls or a result, and the rest."""
        if not self.allow_text:
            return "", text
        if not isinstance(self.output, TextOutput):
            return split_preamble(text, self.format)
        preamble, rest = split_text(text, self.format)
        return (preamble, rest) if rest else ("", text)

    def json_parts(self, text: str) -> Sequence[JsonPart]:
        """Return the arguments of the calls in a text, or their parts that the format writes as JSON."""
        _, rest = self._split(text)
        data, offset = to_bytes(rest), len(to_bytes(text)) - len(to_bytes(rest))
        written = self._calls(rest) or []
        return [
            JsonPart((*path, *part.path), offset + each.start + part.start, offset + each.start + part.end)
            for each, path in zip(written, self._paths(rest, written), strict=True)
            for part in self.format.json_parts(each.arguments, data[each.start : each.end])
        ]

    def _calls(self, text: str) -> list[WrittenCall] | None:
        return self.format.parse_calls(text, [each.tool.name for each in self.tools])

    def _paths(self, text: str, written: Sequence[WrittenCall]) -> Iterator[tuple[str | int, ...]]:
        """Yield the path of the arguments of each call."""
        several = bool(written) and not text.startswith(self.format.call_prefix(written[0].name))
        for position in range(len(written)):
            yield (position, self.format.arguments_key) if several else (self.format.arguments_key,)

    def _parse(self, text: str, preamble: str, context: object) -> object | Rejected:
        """Return the calls, or the value of the result."""
        by_name = {each.tool.name: each.tool for each in self.tools}
        written = self._calls(text)
        if written is None:
            return self.output.parse(text, context)
        found = []
        for each, path in zip(written, self._paths(text, written), strict=True):
            call = by_name[each.name].parse(each.arguments, context)
            if isinstance(call, Rejected):
                calls = tuple((other.name, other.arguments) for other in written)
                return RejectedCalls((*path, *call.path), call.message, call.cause, calls, preamble)
            found.append(ParsedCall(by_name[each.name], each.arguments, call))
        return tuple(found)

    def validators(self) -> PartValidator | None:
        """Return the validators of the result if there are no tools."""
        return None if self.tools else self.output.validators()

    def choices(self, path: Sequence[str | int]) -> tuple[Member, ...] | None:
        """Return the choices of the result if there are no tools."""
        return None if self.tools else self.output.choices(path)

    def reader(self) -> StepReader:
        """Return an incremental reader of a step."""
        return StepReader(
            self.format,
            [each.tool.name for each in self.tools],
            multiple=self.max_calls > 1,
            allow_text=self.allow_text,
            is_text=self.output.is_text if isinstance(self.output, TextOutput) else None,
        )

    def field_limits(self) -> Callable[[Sequence[str | int]], int | None] | None:
        """Return the token limits of arguments and of the result."""
        return self._limits

    @cached_property
    def _limits(self) -> Callable[[Sequence[str | int]], int | None] | None:
        if not self.tools and not isinstance(self.output, TextOutput):
            return self.output.field_limits()
        limits = {each.tool.name: each.tool.target.field_limits() for each in self.tools}
        limits[OUTPUT] = self.output.field_limits()
        found = {name: limit for name, limit in limits.items() if limit is not None}
        return StepFieldLimits(self.reader, found) if found else None

    def description(self) -> None:
        """Return `None`: the prompt of the agent contains the description."""
        return


def calls_or_result(value: object, text: str) -> tuple[Preamble, tuple[ParsedCall, ...]]:
    """Return the value of a `StepTarget` with its free text, and its calls; no calls if it is the result.

    Args:
        value: The value.
        text: The text from which it is parsed.
    """
    step = value if isinstance(value, Preamble) else Preamble("", text, value)
    has_calls = isinstance(step.value, tuple) and bool(step.value) and isinstance(step.value[0], ParsedCall)
    return step, cast("tuple[ParsedCall, ...]", step.value) if has_calls else ()


def with_contexts(settings: Settings, context: object, validation_context: object) -> Settings:
    """Return the settings of a step with the context of its validator, and that of the validators of types."""
    settings = replace(settings, context=validation_context)
    if settings.validate is None:
        return settings
    return replace(settings, validate=replace(settings.validate, context=context, outputs=_outputs_of_step))


def _outputs_of_step(value: object) -> tuple[object, ...]:
    """Return the value of the result in the value of a step; nothing for calls."""
    step, calls = calls_or_result(value, "")
    return () if calls else (step.value,)


class _CallSequence:
    """A sequence of calls in one step that respects the remaining calls of each tool."""

    def __init__(self, step: StepTarget, calls: Sequence[Node], joiner: RuleMerger) -> None:
        self._delimiters = step.format.delimiters()
        self._calls = calls
        self._joiner = joiner
        self._nodes: dict[tuple[tuple[int, ...], int], Node] = {}
        self._remaining = tuple(
            min(each.remaining_calls or step.max_calls, step.max_calls) for each in step.tools
        )
        self._max_calls = step.max_calls
        counts = 1
        for left in self._remaining:
            counts *= left + 1 if left < step.max_calls else 1
        if counts * step.max_calls > _MAX_COUNTS:
            self._max_calls = min(self._remaining)
            self._remaining = tuple(self._max_calls for _ in self._remaining)

    def node(self) -> Node:
        """Return the language of one to `max_calls` calls."""
        return seq(LiteralText(self._delimiters.before), self._calls_from(self._remaining, self._max_calls))

    def _calls_from(self, remaining: tuple[int, ...], slots: int) -> Node:
        key = (remaining, slots)
        if key not in self._nodes:
            nodes = []
            for number, call in enumerate(self._calls):
                if not remaining[number]:
                    continue
                limited = self._remaining[number] < self._max_calls
                after = (*remaining[:number], remaining[number] - limited, *remaining[number + 1 :])
                nodes.append(seq(call, self._after_call(after, slots - 1)))
            self._nodes[key] = self._joiner.rule(f"calls {slots} {remaining}", choice(nodes))
        return self._nodes[key]

    def _after_call(self, remaining: tuple[int, ...], slots: int) -> Node:
        end = LiteralText(self._delimiters.after)
        if not slots or not any(remaining):
            return end
        return choice([end, seq(LiteralText(self._delimiters.between), self._calls_from(remaining, slots))])
