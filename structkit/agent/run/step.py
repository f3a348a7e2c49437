"""The language of one step of an agent: the calls of every tool that is available, and the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from typing_extensions import Unpack

from structkit.agent.formats.base import Format
from structkit.agent.formats.preamble import EMPTY_LINE, said_language, split_said
from structkit.agent.formats.reader import RESULT, StepLimits, StepReader
from structkit.agent.tools.prepared import Ready
from structkit.functions.call import Call
from structkit.regex.merge import Joiner
from structkit.regex.nodes import Node, Rules, Text, alt, seq
from structkit.schema.python.validators import Part
from structkit.schema.view.choices import Member
from structkit.targets.targets import Style, Target

__all__ = ["Offer", "Refused", "Said", "StepTarget", "Written"]

_COUNTED = 256
"""Counts of calls left that are told apart within one step; beyond, a step has only as many calls as any tool has."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool in a step.

    Attributes:
        ready: The tool.
        left: How often it may still be called, if that is less than the calls that a step may have.
    """

    ready: Ready
    left: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A call as it was written, and what it means."""

    ready: Ready
    arguments: str
    call: Call[object]


@dataclass(frozen=True, slots=True)
class Said:
    """A step that may begin with free text.

    Attributes:
        text: The free text.
        rest: What was written after it.
        value: What that means.
    """

    text: str
    rest: str
    value: object


class Refused(ValueError):
    """The types of a tool's parameters refuse what was written.

    Attributes:
        path: Where.
        written: The names and arguments of all calls of the step.
        said: The free text before them.
    """

    def __init__(
        self, error: Exception, path: tuple[object, ...], written: Sequence[tuple[str, str]], said: str
    ) -> None:
        super().__init__(str(error))
        self.path = path
        self.written = tuple(written)
        self.said = said


@dataclass(frozen=True, eq=False)
class StepTarget(Target[object]):
    """What may be written in a step; the value is a tuple of `Written`, or the value of the result.

    Attributes:
        offers: The tools; none where only the result remains.
        result: The result.
        format: How calls are written.
        most: Calls in one step.
        text: Whether free text may stand before calls and result; the value is `Said` then.
    """

    offers: tuple[Offer, ...]
    result: Target[object]
    format: Format
    most: int = 1
    text: bool = False

    @property
    def name(self) -> str:
        """For messages."""
        return " | ".join([*(offer.ready.name for offer in self.offers), self.result.name])

    @property
    def is_json(self) -> bool:
        """Whether all of its texts are JSON."""
        return not self.text and self.result.is_json and (self.format.is_json or not self.offers)

    def json_schema(self) -> dict[str, object]:
        """The calls and the result."""
        calls = [
            {
                "type": "object",
                "properties": {
                    "name": {"const": each.ready.name},
                    self.format.key: each.ready.target.json_schema(),
                },
                "required": ["name", self.format.key],
            }
            for each in self.offers
        ]
        return {"anyOf": [*calls, self.result.json_schema()]}

    def rules(self, **style: Unpack[Style]) -> Rules:
        """The language."""
        joiner = Joiner()
        calls: list[Node] = []
        for each in self.offers:
            arguments = self.format.rules(each.ready, **style)
            opened = Text(self.format.opened(each.ready.name))
            called = joiner.add(f"arguments of {each.ready.name}", arguments)
            calls.append(
                joiner.rule(f"call of {each.ready.name}", seq(opened, called, Text(self.format.closed())))
            )
        result = joiner.add("result", self.result.rules(**style))
        if self.most > 1 and calls:
            several = _Several(self, calls, joiner).node()
            around = self.format.around()
            # Without anything around them, several are one too.
            calls = [*calls, several] if around.before and not around.alone else [several]
        elif self.format.around().alone:
            around = self.format.around()
            calls = [seq(Text(around.before), call, Text(around.after)) for call in calls]
        if not self.text:
            return joiner.rules(alt([*calls, result]))
        after = alt([seq(Text(self.format.spoken), alt(calls)), seq(Text(EMPTY_LINE), alt([*calls, result]))])
        return joiner.rules(alt([*calls, result, seq(said_language(self.format, joiner), after)]))

    def value(self, text: str) -> object:
        """What a text of the language says.

        Raises:
            ValueError: Validators refuse it.
        """
        if not self.text:
            return self._meaning(text, "")
        said, rest = split_said(text, self.format)
        return Said(said, rest, self._meaning(rest, said))

    def _meaning(self, text: str, said: str) -> object:
        """The calls or the value of the result."""
        by_name = {each.ready.name: each.ready for each in self.offers}
        written = self.format.split(text, list(by_name))
        if written is None:
            return self.result.value(text)
        several = not text.startswith(self.format.opened(written[0][0]))
        key = self.format.key
        found = []
        for position, (name, arguments) in enumerate(written):
            try:
                found.append(Written(by_name[name], arguments, by_name[name].call(arguments)))
            except ValueError as error:
                place = ((position,) if several else ()) + (key, *_location(error))
                raise Refused(error, place if self.is_json else (), written, said) from error
        return tuple(found)

    def part(self) -> Part | None:
        """That of the result, where nothing else remains."""
        return None if self.offers else self.result.part()

    def choices(self, path: Sequence[str | int]) -> tuple[Member, ...] | None:
        """Those of the result, where nothing else remains."""
        return None if self.offers else self.result.choices(path)

    def reader(self) -> StepReader:
        """What reads a text of the language as it is written."""
        names = [each.ready.name for each in self.offers]
        return StepReader(self.format, names, several=self.most > 1, text=self.text)

    def field_limits(self) -> Callable[[Sequence[str | int]], int | None] | None:
        """Those of the arguments and of the result."""
        return self._limits

    @cached_property
    def _limits(self) -> Callable[[Sequence[str | int]], int | None] | None:
        if not self.offers:
            return self.result.field_limits()
        limits = {each.ready.name: each.ready.target.field_limits() for each in self.offers}
        limits[RESULT] = self.result.field_limits() if self.result.is_json else None
        found = {name: limit for name, limit in limits.items() if limit is not None}
        return StepLimits(self.reader, found) if found else None

    def description(self) -> None:
        """The agent tells the model itself."""
        return


class _Several:
    """Several calls in one step, of which none is of a tool that has no calls left."""

    def __init__(self, step: StepTarget, calls: Sequence[Node], joiner: Joiner) -> None:
        self._around = step.format.around()
        self._calls = calls
        self._joiner = joiner
        self._made: dict[tuple[tuple[int, ...], int], Node] = {}
        self._left = tuple(min(each.left or step.most, step.most) for each in step.offers)
        self._most = step.most
        counts = 1
        for left in self._left:
            counts *= left + 1 if left < step.most else 1
        if counts * step.most > _COUNTED:
            self._most = min(self._left)
            self._left = tuple(self._most for _ in self._left)

    def node(self) -> Node:
        """From one call to as many as there may be."""
        return seq(Text(self._around.before), self._from(self._left, self._most))

    def _from(self, left: tuple[int, ...], slots: int) -> Node:
        key = (left, slots)
        if key not in self._made:
            nodes = []
            for number, call in enumerate(self._calls):
                if not left[number]:
                    continue
                limited = self._left[number] < self._most
                after = (*left[:number], left[number] - limited, *left[number + 1 :])
                nodes.append(seq(call, self._after(after, slots - 1)))
            self._made[key] = self._joiner.rule(f"calls {slots} {left}", alt(nodes))
        return self._made[key]

    def _after(self, left: tuple[int, ...], slots: int) -> Node:
        end = Text(self._around.after)
        if not slots or not any(left):
            return end
        return alt([end, seq(Text(self._around.between), self._from(left, slots))])


def _location(error: ValueError) -> tuple[object, ...]:
    errors: Callable[[], list[dict[str, object]]] | None = getattr(error, "errors", None)
    found = errors()[0].get("loc") if callable(errors) else None
    return found if isinstance(found, tuple) else ()
