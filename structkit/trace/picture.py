"""The picture of a generation: what each step read, accepted, refused and appended, as values that can be drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

__all__ = [
    "Note",
    "Picture",
    "SpanKind",
    "Step",
    "TraceSpan",
    "join_spans",
    "replace_text",
    "text_of",
]

SpanKind: TypeAlias = Literal[
    "sampled",
    "accepted",
    "chosen",
    "forced",
    "completed",
    "healed",
    "skipped",
    "repeated",
    "refused",
    "withdrawn",
]


class TraceSpan(NamedTuple):
    """A part of an answer or of a reply, and its origin."""

    kind: SpanKind
    """Of an answer: a token that was `"sampled"`, text `"accepted"` from a reply, text `"chosen"`
    as the most likely that can follow where a reply was cut, text that was `"forced"` as the only
    continuation, or `"completed"` without the model by `finish="shortest"`. Of a step: text that was `"healed"`,
    because the request left it out; text of the reply that was `"skipped"` as prose, `"repeated"` from the answer, or
    `"refused"`, because it cannot follow; and text that was `"withdrawn"` from the answer."""

    text: str
    """The text."""

    detail: str = ""
    """The token of the text, if it is one token."""


class Note(NamedTuple):
    """A remark on a step: its label, such as `offered`, and a text."""

    label: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one reply or one attempt did.

    Attributes:
        title: The number of the reply, or of the attempt.
        asked: What the request offered.
        spans: The text that the step read, accepted, refused, withdrew and appended, in this order.
        ended: How the step ended.
        seconds: The time of the reply.
    """

    title: str = ""
    asked: tuple[Note, ...] = ()
    spans: tuple[TraceSpan, ...] = ()
    ended: tuple[Note, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A generation as it is drawn.

    Attributes:
        title: The model, the target and the counts.
        prompt: The prompt, if it is shown.
        steps: The steps, in order.
        spans: The spans of the answer; their texts join to the answer.
        notes: Remarks on the answer.
        seconds: The time in the model.
    """

    title: str
    prompt: str | None = None
    steps: tuple[Step, ...] = ()
    spans: tuple[TraceSpan, ...] = ()
    notes: tuple[Note, ...] = ()
    seconds: float = 0.0


def text_of(spans: Iterable[TraceSpan]) -> str:
    """Return the text of spans."""
    return "".join(span.text for span in spans)


def join_spans(spans: Iterable[TraceSpan]) -> list[TraceSpan]:
    """Join neighbours of one kind, and leave out empty ones.

    >>> join_spans([TraceSpan("forced", "a"), TraceSpan("forced", "b"), TraceSpan("sampled", "c")])[0].text
    'ab'
    """
    groups: list[tuple[SpanKind, list[str]]] = []
    for kind, text, _ in spans:
        if groups and groups[-1][0] == kind:
            groups[-1][1].append(text)
        elif text:
            groups.append((kind, [text]))
    return [TraceSpan(kind, "".join(texts)) for kind, texts in groups]


def replace_text(spans: Iterable[TraceSpan], text: str, kind: SpanKind) -> tuple[list[TraceSpan], str]:
    """Return the spans of another text, whose new end has one kind, and the end of the old text that it replaces.

    >>> replace_text([TraceSpan("forced", '{"a": '), TraceSpan("accepted", "1")], '{"a": 2}', "accepted")
    ([TraceSpan(kind='forced', text='{"a": ', detail=''), TraceSpan(kind='accepted', text='2}', detail='')], '1')
    """
    before = text_of(spans := tuple(spans))
    pairs = zip(before, text, strict=False)
    common = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(before), len(text)))
    kept, length = [], common
    for span in spans:
        if length > 0 and span.text:
            kept.append(span._replace(text=span.text[:length]))
        length -= len(span.text)
    added = [TraceSpan(kind, text[common:])] if common < len(text) else []
    return kept + added, before[common:]
