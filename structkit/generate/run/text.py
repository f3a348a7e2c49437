"""The stages of a request to a text model: prompt, correction, validation, and retry after a rejection."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from structkit.errors import BudgetExceeded, GenerationError
from structkit.generate.correct.correction import DEFAULT_MAX_BYTES, Correction
from structkit.generate.correct.effects import TextFlow
from structkit.generate.correct.seams import first_prefix
from structkit.generate.decode.config import Decoded, GeneratedTokens, RejectedSpan
from structkit.generate.decode.rejected import RejectedTexts
from structkit.generate.input.examples import Example
from structkit.generate.input.guide_cache import CompiledTarget
from structkit.generate.input.prompt import Prompt, transcript, user_text
from structkit.generate.input.request import Request
from structkit.generate.input.validator import ValidateOutput
from structkit.generate.output.json_reader import format_path
from structkit.generate.output.trace import Draft, Trace
from structkit.generate.run.observe import GenerationObserver
from structkit.generate.run.outcome import Outcome
from structkit.generate.run.rejection import retry_prompt
from structkit.generate.run.request import (
    Prepared,
    compile_source,
    parse_text,
    prepare_examples,
    prepare_prompt,
)
from structkit.models.protocols import Message
from structkit.models.text.protocol import TextModel, TextRequest
from structkit.models.text.render import render_messages, render_text
from structkit.rejected import Rejected
from structkit.targets.targets import Target
from structkit.vocabulary.control_tokens import to_text

__all__ = ["check_options", "first_text", "write_text"]

_SAMPLING = {"temperature", "top_k", "top_p", "min_p", "typical_p", "repetition_penalty", "seed", "thinking"}
"""Options that choose tokens, which a function or a server can have as well."""

_NEEDS_LOGITS = {"processors", "assistant_model", "confidence", "min_repair_probability", "abstain"}
"""Options that change logits or read probabilities."""


def check_options(request: Request) -> None:
    """Check that a text model can do what the options ask for.

    Raises:
        GenerationError: It cannot.
    """
    given = request.settings.given & (_SAMPLING | _NEEDS_LOGITS)
    if not request.settings.confidence:
        given -= {"confidence"}
    if given:
        name = min(given)
        remedy = (
            "set it where the text is made: in the function, or in options=... of the server's model"
            if name in _SAMPLING
            else "give a model such as structkit.load()"
        )
        raise GenerationError(
            f"{request.model.name} returns text, and {name}=... needs a model that returns logits; leave it out, or "
            f"{remedy}"
        )


def write_text(prepared: Prepared | Exception, generated: GeneratedTokens | None = None) -> TextFlow[Outcome]:
    """Generate the value of a request to a text model.

    A value that validators reject is asked for again, with the reason in the prompt.

    Args:
        prepared: The request, or the error of its preparation, which is raised at the start.
        generated: The record that receives the bytes.
    """
    if isinstance(prepared, Exception):
        raise prepared
    generated = GeneratedTokens() if generated is None else generated
    drafts: list[Draft] = []
    observer = GenerationObserver(prepared.request)
    with observer.reported_errors(prepared.target, generated, drafts):
        outcome = yield from _write(prepared, generated, drafts, observer)
    observer.end(outcome)
    return outcome


def _write(
    prepared: Prepared, generated: GeneratedTokens, drafts: list[Draft], observer: GenerationObserver
) -> TextFlow[Outcome]:
    check_options(prepared.request)
    settings = replace(prepared.request.settings, confidence=False)
    request = replace(prepared.request, settings=settings)
    if request.requested_at is None:
        request = replace(request, requested_at=time.perf_counter())
    compiled = prepared.compiled or compile_source(request, prepared.source)
    _check_target(request, compiled.target)
    examples = prepare_examples(prepared) if prepared.examples is None else prepared.examples
    prompt = asked = text_prompt(request, compiled.target, examples)
    budget = _budget(request, compiled, _length(prompt))
    rejected: list[str] = []
    rejections: list[RejectedSpan] = []
    rejection: RejectedSpan | None = None
    cause: GenerationError | None = None
    while True:
        generated.truncate(0, 0)
        correction = Correction(request, asked, compiled, budget, generated, drafts, observer.reply)
        try:
            yield from correction.run()
        except GenerationError as error:
            if rejection is None or isinstance(error, BudgetExceeded):
                raise
            cause, value = error, None
            break
        text = to_text(bytes(generated.text))
        value = yield from _validated(request, compiled, generated, text)
        rejection = value if isinstance(value, RejectedSpan) else None
        if rejection is None:
            break
        rejected.append(text)
        rejections.append(replace(rejection, starts_over=True))
        if len(rejected) > settings.retries:
            break
        asked = _on_own_line(request, retry_prompt(prompt, text, rejection.rejected.message))
    is_closed = rejection is None and correction.closed_at >= 0
    decoded = Decoded(
        token_ids=tuple(generated.token_ids),
        finish_reason="budget" if correction.is_shortened or is_closed else "stop",
        forced_tokens=sum(generated.is_forced),
        seconds=correction.seconds,
        value=value,
        rejected=tuple(rejected),
        rejections=tuple(rejections),
        rejected_texts=RejectedTexts(),
        rejection=rejection,
        cause=cause,
        read_tokens=0,
        read_ids=(),
        choices={},
        thinking=None,
        trace=Trace(
            drafts=tuple(drafts),
            forced_fields=_fields_after(correction.closed_at, generated, compiled) if is_closed else (),
        ),
    )
    return Outcome(request, compiled, prepared.source, _length(prompt), generated, decoded)


def _check_target(request: Request, target: Target[object]) -> None:
    """Raise `GenerationError` if a text model cannot write the target within its limits."""
    if target.field_limits() is not None:
        raise GenerationError(
            f"{request.model.name} returns text, which does not show its tokens, so MaxTokens cannot be counted in "
            f"{target.name}; give the fields a max_length instead"
        )


def _length(prompt: Prompt) -> int:
    """Return the number of bytes of a prompt."""
    texts = [prompt] if isinstance(prompt, str) else [message["content"] for message in prompt]
    return sum(len(text.encode(errors="surrogatepass")) for text in texts)


def first_text(request: Request, examples: Sequence[Example] = ()) -> str:
    """Return the text that a text model reads first; of messages, their contents after their roles.

    Raises:
        StructkitError: See `structkit.generate`.
    """
    source = user_text(request.prompt) if request.settings.source is None else request.settings.source
    compiled = compile_source(request, source)
    prompt = text_prompt(request, compiled.target, examples)
    continues = isinstance(request.model, TextModel) and request.model.capabilities.continues_prefix
    prefix = first_prefix(compiled.guide.cursor()) if continues else ""
    if isinstance(prompt, str):
        return render_text(TextRequest(prompt=prompt, prefix=prefix), continues=continues)
    messages = render_messages(TextRequest(prompt=tuple(prompt), prefix=prefix), continues=continues)
    return transcript(messages)


def text_prompt(request: Request, target: Target[object], examples: Sequence[Example] = ()) -> Prompt:
    """Return the prompt with the additions of the settings: messages if the model takes messages, otherwise a text.

    Raises:
        GenerationError: The prompt has messages, and the model takes a text.
    """
    prompt = prepare_prompt(request.model, request.prompt, target, request.settings, examples)
    if isinstance(request.model, TextModel) and request.model.capabilities.takes_messages:
        return [Message(role="user", content=prompt)] if isinstance(prompt, str) else prompt
    if not isinstance(prompt, str):
        raise GenerationError(
            f"{request.model.name} takes a text, not messages or a system message; pass a string, or make the model "
            "with chat=True from a function of messages"
        )
    return _on_own_line(request, prompt)


def _on_own_line(request: Request, prompt: Prompt) -> Prompt:
    """Return the prompt so that the answer starts on a line of its own, unless its text leads up to the answer."""
    ends_in_text = isinstance(prompt, str) and request.settings.include_schema and prompt[-1:].strip()
    return f"{prompt}\n\n" if ends_in_text else prompt


def _budget(request: Request, compiled: CompiledTarget, length: int) -> int:
    """Return the maximum number of bytes of the answer to a prompt of some length.

    Raises:
        GenerationError: The prompt leaves no room for an answer in the context of the model.
    """
    cursor, budget = compiled.guide.cursor(), request.settings.max_tokens
    if budget is None:
        budget = DEFAULT_MAX_BYTES if cursor.fits(DEFAULT_MAX_BYTES) else cursor.min_tokens_to_end()
    context = request.model.capabilities.context_length if isinstance(request.model, TextModel) else None
    if context is None:
        return budget
    missing = length + cursor.min_tokens_to_end() - context
    if missing > 0:
        raise GenerationError(
            f"the prompt has {length} bytes and {request.model.name} has a context of {context}: the prompt is "
            f"{missing} byte{'s' * (missing > 1)} too long for the shortest answer to follow; shorten it, pass "
            "include_schema=False to omit the description of the target, or make the model with a larger "
            "context_length=...",
            place="prompt",
        )
    return min(budget, context - length)


def _validated(
    request: Request, compiled: CompiledTarget, generated: GeneratedTokens, text: str
) -> TextFlow[object]:
    """Return the value of a complete text, or its rejection."""
    value = parse_text(compiled.target, generated, request.settings.context, text)
    validator = request.settings.validate
    if validator is None or isinstance(value, RejectedSpan):
        return value
    rejected = yield ValidateOutput(validator, value)
    if isinstance(rejected, Rejected):
        return RejectedSpan(rejected, 0, len(generated.text), starts_over=True)
    return value


def _fields_after(start: int, generated: GeneratedTokens, compiled: CompiledTarget) -> tuple[str, ...]:
    """Return the paths of the values, apart from containers, that end after a position."""
    fields = generated.values(is_json=compiled.target.is_json)
    return tuple(
        format_path(field.path)
        for field in fields
        if field.end > start and (field.kind not in ("object", "array") or field.start >= start)
    )
