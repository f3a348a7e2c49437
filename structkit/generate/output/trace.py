"""What happened in a generation: the replies of a text model, or the tokens of a model with logits."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from structkit.generate.output.token import Token
from structkit.models.capabilities import Constraint
from structkit.trace.drawing import Drawing
from structkit.trace.picture import (
    Note,
    Picture,
    SpanKind,
    Step,
    TraceSpan,
    replace_text,
    text_of,
)
from structkit.vocabulary.control_tokens import display_text

__all__ = ["Draft", "DraftEnd", "Guarantee", "RejectedText", "Trace"]

Guarantee: TypeAlias = Literal["masked", "constrained", "corrected"]

DraftEnd: TypeAlias = Literal["complete", "ended", "refused", "empty", "failed", "timeout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One reply of a model, and what became of it."""

    attempt: int
    """The number of the attempt, from 0; validators rejected the attempts before."""

    prefix: str
    """The text of the answer that was kept when the reply was read."""

    reply: str
    """The reply, as far as it was read."""

    healed: str
    """The end of the answer that the request left out, so that the model can begin a token with it: whitespace, or a
    part of a word."""

    skipped: str
    """The start of the reply that adds nothing: prose, the opening of a code fence, reasoning, or the end of `prefix`,
    which the reply repeats."""

    accepted: str
    """What the reply added to `prefix`, in the spelling of the target."""

    refused: str
    """The rest of the reply, from the first character that cannot follow; empty if there is none."""

    rest: str
    """The rest of the reply, as far as it was read, if nothing of it is refused: the end of a code fence, or a word
    that broke off."""

    forced: str
    """The only text that can follow, which was appended after the reply."""

    chosen: str = ""
    """The most likely text at the place of `refused` that can follow, by the log-probabilities of the reply. It was
    appended before `forced`."""

    choices: tuple[str, ...]
    """The texts that the request offered as the only ones that can follow."""

    hint: str
    """The description of what can follow that the request offered."""

    end: DraftEnd
    """`"complete"`: the reply completes the value. `"ended"`: the reply ended inside the value. `"refused"`: the rest
    of the reply cannot follow. `"empty"`: the reply added nothing. `"failed"` and `"timeout"`: the model failed, or was
    too slow; the generation continues if the reply had added text."""

    seconds: float
    """The time of the reply."""

    constraint: Constraint | None = None
    """The notation in which the request constrained the server, if the server did not refuse it."""

    @property
    def text(self) -> str:
        """The text of the answer after the reply."""
        return self.prefix + self.accepted + self.chosen + self.forced

    @property
    def is_correction(self) -> bool:
        """Whether the reply was cut, or added nothing."""
        return self.end in ("refused", "empty")


class RejectedText(NamedTuple):
    """An answer that validators rejected."""

    text: str
    """The text."""

    start: int
    """The first character that was taken back and generated again; 0 if the next attempt started over."""

    reason: str
    """Why the answer was rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace(Drawing):
    """What happened in a generation; see `structkit.Result.trace` and, after an error, `GenerationError.trace`.

    `print(trace)` draws it with plain characters, `trace.save("run.html")` writes a page, and a notebook shows the
    drawing of the page. A trace consists of the replies, the texts of the answer, and the texts that a request offered.
    It contains the prompt only with `trace_content=True`, and never a key; but a reply can repeat the prompt, and the
    texts of a target that quotes the prompt are parts of it.

    >>> import structkit as sk
    >>> replies = iter(["soon", "on Monday"])
    >>> target = sk.Regex("on (Monday|Friday), (morning|evening)")
    >>> model = sk.from_function(lambda text: next(replies, "evening"), name="a function")
    >>> print(sk.generate(model, "When?", target).trace)
    a function, Regex('on (Monday|Friday), (morning|evening)'): corrected, 3 replies, 1 correction
    <BLANKLINE>
         forced     |on |
      1  healed     | |
         refused    |soon|
         ended      without anything to add
      2  offered    Friday, evening | Friday, morning | Monday, evening | Monday, morning
         healed     | |
         skipped    |on |
         accepted   |Monday|
         forced     |, |
      3  healed     | |
         accepted   |evening|
    <BLANKLINE>
    on Monday, evening
    ===------==-------
    = forced   - accepted
    """

    model: str = ""
    """The name of the model."""

    target: str = ""
    """The name of the target."""

    guarantee: Guarantee = "masked"
    """See `structkit.Result.guarantee`."""

    error: str = ""
    """The name of the error that ended the generation; empty if it has a value."""

    text: str = ""
    """The answer; of a generation that failed, the start of it that was accepted."""

    rejected: tuple[RejectedText, ...] = ()
    """The answers before, which validators rejected."""

    drafts: tuple[Draft, ...] = ()
    """The replies of a text model, in order."""

    tokens: tuple[Token, ...] = ()
    """The tokens of the answer of a model with logits."""

    healed_bytes: int = 0
    """The bytes at the end of the prompt that the first token repeats (token healing)."""

    drafted_tokens: int = 0
    """See `structkit.Usage.drafted_tokens`."""

    accepted_tokens: int = 0
    """See `structkit.Usage.accepted_tokens`."""

    forced_fields: tuple[str, ...] = ()
    """The paths of the values that `finish="shortest"` wrote, such as `items[2].name`; the model did not write them, or
    not to their end."""

    seconds: float = 0.0
    """Time in the model."""

    prompt: str | None = None
    """The prompt, as it was given; `None` without `trace_content=True`."""

    @property
    def corrections(self) -> int:
        """The number of replies that were cut, or added nothing."""
        return sum(draft.is_correction for draft in self.drafts)

    @property
    def is_constrained(self) -> bool:
        """Whether each reply was constrained and accepted to the last byte, and no value was closed by force."""
        return (
            bool(self.drafts)
            and not self.forced_fields
            and all(
                draft.constraint is not None
                and "".join(draft.reply.split()) == "".join((draft.healed + draft.accepted).split())
                for draft in self.drafts
            )
        )

    @property
    def spans(self) -> tuple[TraceSpan, ...]:
        """The parts of the answer by their origin; their texts join to the answer."""
        return self.picture().spans

    def picture(self) -> Picture:
        """Return the steps and spans that are drawn."""
        steps: list[Step] = []
        spans: list[TraceSpan] = []
        for attempt in range(1 + len(self.rejected)):
            spans = [] if self.drafts else list(token_spans(self.tokens))
            for number, draft in enumerate(self.drafts, 1):
                if draft.attempt == attempt:
                    if not spans and draft.prefix:
                        spans = [TraceSpan("forced", draft.prefix)]
                        steps.append(Step(spans=tuple(spans)))
                    step, spans = _read_draft(str(number), draft, spans)
                    steps.append(step)
            if attempt < len(self.rejected):
                steps.append(_reject(self.rejected[attempt], has_drafts=bool(self.drafts)))
        if not self.tokens:
            length = len(text_of(spans))
            spans, _ = replace_text(spans, self.text, "completed" if self.forced_fields else "forced")
            if self.drafts and len(self.text) > length:
                steps.append(Step(spans=(TraceSpan("completed", self.text[length:]),)))
        return Picture(
            title=self._title(),
            prompt=self.prompt,
            steps=tuple(steps),
            spans=tuple(spans),
            notes=tuple(self._notes()),
            seconds=self.seconds,
        )

    def _title(self) -> str:
        """Return the names and the counts."""
        counts: list[str] = [f"failed with {self.error}" if self.error else self.guarantee]
        if self.drafts:
            counts.append(_count(len(self.drafts), "reply", "replies"))
            counts += [_count(self.corrections, "correction")] if self.corrections else []
        if self.tokens:
            forced = sum(token.forced for token in self.tokens)
            counts += [_count(len(self.tokens), "token"), f"{forced} forced"]
        if self.drafted_tokens:
            counts.append(f"{self.accepted_tokens} of {self.drafted_tokens} drafted tokens accepted")
        if self.rejected:
            counts.append(f"{1 + len(self.rejected)} attempts")
        names = ", ".join(name for name in (self.model, self.target) if name)
        return f"{names}: {', '.join(counts)}"

    def _notes(self) -> Iterator[Note]:
        if self.healed_bytes:
            yield Note("healed", f"the first token repeats {_count(self.healed_bytes, 'byte')} of the prompt")
        if self.forced_fields:
            yield Note("completed", f"without the model: {', '.join(self.forced_fields)}")


def token_spans(tokens: Sequence[Token]) -> Iterator[TraceSpan]:
    r"""Yield the span of each token. A character that is split between tokens belongs to the last of them.

    >>> [span.text for span in token_spans([Token(7, b"caf\xc3", True, 0, 0), Token(9, b"\xa9", False, 0, 0)])]
    ['caf', 'é']
    """
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for number, token in enumerate(tokens, 1):
        kind: SpanKind = "forced" if token.forced else "sampled"
        detail = f"token {token.token_id}{', drafted' * token.drafted}"
        if token.logprob:
            detail += f", log-probability {token.logprob:.2f}"
        if token.masked_probability:
            detail += f", {token.masked_probability:.0%} masked"
        text = decoder.decode(token.text, final=number == len(tokens))
        yield TraceSpan(kind, display_text(text), detail)


_ENDS = {
    "empty": "without anything to add",
    "failed": "because the model failed",
    "timeout": "because it took too long",
}


def _read_draft(title: str, draft: Draft, spans: list[TraceSpan]) -> tuple[Step, list[TraceSpan]]:
    """Return the step of a reply, and the spans of the answer after it."""
    before, text = text_of(spans), draft.prefix + draft.accepted
    spans, withdrawn = replace_text(spans, text, "accepted")
    common = len(before) - len(withdrawn)
    shown = (
        TraceSpan("healed", draft.healed),
        TraceSpan("skipped", draft.skipped),
        TraceSpan("repeated", text[len(draft.prefix) : common]),
        TraceSpan("withdrawn", withdrawn),
        TraceSpan("accepted", text[common:]),
        TraceSpan("refused", draft.refused),
        TraceSpan("skipped", draft.rest),
        TraceSpan("chosen", draft.chosen),
        TraceSpan("forced", draft.forced),
    )
    asked = [Note("enforced", draft.constraint)] if draft.constraint else []
    if draft.choices or draft.hint:
        asked.append(Note("offered", " | ".join(draft.choices) or draft.hint))
    ended = [Note("ended", _ENDS[draft.end])] if draft.end in _ENDS else []
    step = Step(title=title, asked=tuple(asked), spans=shown, ended=tuple(ended), seconds=draft.seconds)
    added = (TraceSpan("chosen", draft.chosen), TraceSpan("forced", draft.forced))
    return step, [*spans, *(span for span in added if span.text)]


def _reject(rejected: RejectedText, *, has_drafts: bool) -> Step:
    """Return the step that takes a rejected answer back; the replies of a text model show its text."""
    kept = TraceSpan("repeated", "" if has_drafts else rejected.text[: rejected.start])
    withdrawn = TraceSpan("withdrawn", rejected.text[rejected.start :])
    return Step(spans=(kept, withdrawn), ended=(Note("rejected", rejected.reason),))


def _count(number: int, name: str, plural: str = "") -> str:
    """Return a number with its name.

    >>> _count(1, "reply", "replies"), _count(2, "token")
    ('1 reply', '2 tokens')
    """
    return f"{number} {name if number == 1 else plural or name + 's'}"
