"""What happens in a run while it happens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from structkit.generate.events import FieldRefused, Observer
from structkit.generate.plan import Written
from structkit.tools.format import Arguments
from structkit.tools.saying import Saying, begins_text
from structkit.tools.state import AgentResult, ToolCall
from structkit.tools.step import StepTarget
from structkit.vocabulary.marks import to_bytes

__all__ = [
    "AgentEvent",
    "ArgumentsGrown",
    "CallDone",
    "CallStarted",
    "ResultGrown",
    "RunFinished",
    "StepRefused",
    "Teller",
    "TextSaid",
    "Thought",
]

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Thought:
    """What the model thought before a step, with `thinking=...`."""

    text: str


@dataclass(frozen=True, slots=True)
class TextSaid:
    """The model says something before a call or the result, with `text=True`.

    Attributes:
        text: The characters that were added.
    """

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """The model has decided to call a tool; its arguments follow.

    Attributes:
        id: What names the call.
        name: The tool.
    """

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ArgumentsGrown:
    """The arguments of a call go on.

    Attributes:
        id: That of the call.
        text: The JSON that was added.
    """

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class CallDone:
    """Something came of a call: it was made, or denied, or its arguments were refused for good.

    Attributes:
        call: It, with its output or error.
    """

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ResultGrown:
    """The result goes on.

    Attributes:
        partial: The value as far as it is certain; see `structkit.Stream.partial`.
    """

    partial: object


@dataclass(frozen=True, slots=True)
class StepRefused:
    """Validators refused what was written in this step: what was told of it no longer holds, and it is told anew."""


@dataclass(frozen=True, slots=True)
class RunFinished(Generic[T_co]):
    """The result is complete and validated: always the last event.

    Attributes:
        result: What `Agent.run` would have returned.
    """

    result: AgentResult[T_co]


AgentEvent: TypeAlias = (
    "Thought | TextSaid | CallStarted | ArgumentsGrown | CallDone | ResultGrown | StepRefused "
    "| RunFinished[T_co]"
)
"""What `Agent.stream` yields."""

Told: TypeAlias = "TextSaid | CallStarted | ArgumentsGrown | ResultGrown | StepRefused"


class Teller:
    """Tells events from the text of a step that is being written.

    Args:
        written: The text.
        target: Its language.
        calls: How many calls there were before.
    """

    def __init__(self, written: Written, target: StepTarget, calls: int) -> None:
        self._written = written
        self._target = target
        self._calls = calls
        self._opened = {
            to_bytes(target.format.opened(each.ready.name)): each.ready.name for each in target.offers
        }
        self._begin()

    def _begin(self) -> None:
        self._at = 0
        self._start = 0
        self._saying: Saying | None = None
        self._number = self._calls
        self._arguments: Arguments | None = None
        self._between = b""
        self._result: Observer | None = None
        self._partial: object = None
        self._read = 0

    def look(self) -> Iterator[Told]:
        """What happened since the last time."""
        written = self._written
        if written.kept < (self._read if self._result is None else self._start):
            self._begin()
            yield StepRefused()
        while self._result is None and (found := self._next(bytes(written.text[self._at :]))) is not None:
            yield from found
        if self._result is not None:
            yield from self._grown(self._result)
        else:
            self._read = written.kept = len(written.text)

    def _next(self, rest: bytes) -> list[Told] | None:
        """Read one thing more; `None` if it is not there yet."""
        if self._arguments is not None:
            return self._more(self._arguments, rest)
        if self._target.text and not self._at and rest and begins_text(rest):
            self._saying = self._saying or Saying(self._target.format)
        if self._saying is not None:
            return self._said(self._saying, rest)
        if not rest or not rest.startswith(self._between):
            return None
        if self._between:
            self._at, self._between = self._at + len(self._between), b""
            return []
        form = self._target.format
        begins = ("",) if self._at > self._start else form.begins(several=self._target.most > 1)
        for before in map(to_bytes, begins):
            for opened, name in self._opened.items():
                whole = before + opened
                if rest.startswith(whole):
                    self._at += len(whole)
                    self._number += 1
                    self._arguments = form.arguments()
                    return [CallStarted(self._id, name)]
                if whole.startswith(rest):
                    return None
        result = self._target.result
        self._result = Observer(
            self._written, result.part(), result.choices, is_json=result.is_json, start=self._start
        )
        return []

    def _said(self, saying: Saying, rest: bytes) -> list[Told] | None:
        end, text = saying.read(rest)
        if not end:
            return None
        self._at += end
        if saying.done:
            self._start, self._saying = self._at, None
        return [TextSaid(text)] if text else []

    def _more(self, arguments: Arguments, rest: bytes) -> list[Told] | None:
        if not rest:
            return None
        end, text = arguments.read(rest)
        self._at += end
        if arguments.done:
            self._arguments = None
            form = self._target.format
            self._between = to_bytes(form.closed() + form.around().between)  # if another call follows
        return [ArgumentsGrown(self._id, text)] if text else []

    @property
    def _id(self) -> str:
        return f"call_{self._number}"

    def _grown(self, result: Observer) -> Iterator[Told]:
        looked = list(result.look())  # to its end, whatever is found
        if any(isinstance(event, FieldRefused) for event in looked):
            yield StepRefused()
        partial = result.partial
        if partial is not None and partial != self._partial:
            self._partial = partial
            yield ResultGrown(partial)
