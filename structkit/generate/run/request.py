"""The stages of a request: compile the target, encode the prompt, decode, and retry after a rejection."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from structkit.error_notes import add_note
from structkit.errors import GenerationError
from structkit.generate.decode.budget import token_budget
from structkit.generate.decode.config import Decoded, Flow, GeneratedTokens, RejectedSpan
from structkit.generate.decode.decode import Attempt
from structkit.generate.input.examples import Example, render_examples
from structkit.generate.input.guide_cache import GUIDE_CACHE, CompiledTarget
from structkit.generate.input.prompt import Prompt, build_prompt, continues_text, encode_prompt, user_text
from structkit.generate.input.prompt_format import choose_format, describe_target, with_tool
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.particles.filter import Particles, draw_particles, no_particles
from structkit.generate.run.observe import GenerationObserver
from structkit.generate.run.outcome import Outcome
from structkit.generate.run.rejection import locate_rejected, retry_prompt, text_values
from structkit.guide.guide import Cursor, Guide
from structkit.guide.healing import HealedCursor, count_healed_tokens
from structkit.models.protocols import RandomLogits, SupportsMessages, SupportsThinking
from structkit.models.text.protocol import AnyModel
from structkit.rejected import Rejected
from structkit.targets.targets import Target

__all__ = [
    "Prepared",
    "compile_quotes",
    "compile_request",
    "compile_source",
    "draw",
    "encode_request",
    "parse_text",
    "prepare_examples",
    "prepare_prompt",
    "settle",
    "share_examples",
    "unhealed_ids",
    "write",
]

_log = logging.getLogger("structkit")

R = TypeVar("R")
S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A request and its prepared parts.

    Attributes:
        request: The request.
        source: The text that quotes are taken from.
        target: The target.
        compiled: The compiled target; `None` for one with quotes, which `write` compiles for each source.
        examples: The rendered examples; `None` until they are rendered.
        prompt: The prompt with the description of the target, once encoded.
        prompt_ids: The tokens of the prompt; empty until it is encoded.
    """

    request: Request
    source: str
    target: Target[object]
    compiled: CompiledTarget | None
    examples: Sequence[Example] | None = None
    prompt: Prompt = ""
    prompt_ids: Sequence[int] = ()


def settle(step: Callable[[S], R], value: S | Exception) -> R | Exception:
    """Return the return value of a step, or the error that it raises; an error as `value` is returned unchanged.

    >>> settle(int, "3"), settle(int, KeyError("x"))
    (3, KeyError('x'))
    """
    if isinstance(value, Exception):
        return value
    try:
        return step(value)
    except Exception as error:  # the outcome of its request, and not of the others
        return error


def compile_request(request: Request) -> Prepared:
    """Read the target and, unless it has quotes, compile it."""
    settings = request.settings
    source = user_text(request.prompt) if settings.source is None else settings.source
    target = GUIDE_CACHE.read(request.target, settings.compile_settings)
    if target.has_quotes:
        return Prepared(request=request, source=source, target=target, compiled=None)
    compiled = compile_source(request, source)
    return Prepared(request=request, source=source, target=compiled.target, compiled=compiled)


def compile_quotes(prepared: Prepared) -> Prepared:
    """Compile a target with quotes for the source of the request, unless it is compiled."""
    if prepared.compiled is not None:
        return prepared
    return replace(prepared, compiled=compile_source(prepared.request, prepared.source))


def share_examples(prepared: Iterable[Prepared | Exception]) -> list[Prepared | Exception]:
    """Render the examples of requests, once for each target.

    Raises:
        ValueError: An example is not a value of the target.
    """
    rendered: dict[int, Sequence[Example]] = {}
    shared: list[Prepared | Exception] = []
    for each in prepared:
        if not isinstance(each, Exception):
            if id(each.target) not in rendered:
                rendered[id(each.target)] = prepare_examples(each)
            each = replace(each, examples=rendered[id(each.target)])
        shared.append(each)
    return shared


def encode_request(prepared: Prepared) -> Prepared:
    """Build and encode the prompt, unless it is already encoded."""
    if prepared.prompt_ids:
        return prepared
    request = prepared.request
    examples = prepare_examples(prepared) if prepared.examples is None else prepared.examples
    prompt = prepare_prompt(request.model, request.prompt, prepared.target, request.settings, examples)
    return replace(prepared, examples=examples, prompt=prompt, prompt_ids=_encode(request, prompt))


def unhealed_ids(prepared: Prepared, compiled: CompiledTarget | None) -> Sequence[int]:
    """Return the tokens of the prompt without those that are generated again with the answer; see `HealedCursor`."""
    settings, ids = prepared.request.settings, prepared.prompt_ids
    heals = settings.fast_forward and not settings.max_thinking_tokens
    if compiled is None or not heals or not continues_text(prepared.request.logits_model, prepared.prompt):
        return ids
    return ids[: len(ids) - count_healed_tokens(compiled.guide, ids)]


def write(prepared: Prepared | Exception, generated: GeneratedTokens | None = None) -> Flow[Outcome]:
    """Generate the value of a request.

    An attempt takes a rejected part back and generates it again. After the rejection of a complete value, and for the
    last retry, the next attempt starts over, from the prompt with the rejected answer and the reason.

    Args:
        prepared: The request, or the error of its preparation, which is raised at the start.
        generated: The record that receives the tokens.
    """
    if isinstance(prepared, Exception):
        raise prepared
    generated = GeneratedTokens() if generated is None else generated
    observer = GenerationObserver(prepared.request)
    with observer.reported_errors(prepared.target, generated):
        outcome = yield from _write(prepared, generated)
    observer.end(outcome)
    return outcome


def draw(
    prepared: Prepared, count: int, cancelled: threading.Event | None = None
) -> tuple[Prepared, CompiledTarget, Particles]:
    """Draw weighted particles of a request: values from the model's own distribution of valid answers.

    Returns:
        The request with its prompt, its compiled target, and the particles.

    Raises:
        GenerationError: No particle has a weight, or generation failed.
        LimitExceeded: The particles do not fit into `Limits.batch_tokens`.
    """
    request, generated = prepared.request, GeneratedTokens()
    observer = GenerationObserver(request)
    with observer.reported_errors(prepared.target, generated):
        prepared = encode_request(prepared)
        compiled = prepared.compiled or compile_source(request, prepared.source)
        particles = draw_particles(
            _attempt(prepared, compiled, generated),
            count,
            compiled.target,
            lambda copied: partial(parse_text, compiled.target, copied, request.settings.context),
            cancelled,
        )
        if not particles.counts:
            raise no_particles(particles, compiled.target.name)
    length = len(prepared.prompt_ids)
    observer.end(Outcome(request, compiled, prepared.source, length, *particles.ended[0]))
    return prepared, compiled, particles


def _write(prepared: Prepared, generated: GeneratedTokens) -> Flow[Outcome]:
    if prepared.request.requested_at is None:
        prepared = replace(prepared, request=replace(prepared.request, requested_at=time.perf_counter()))
    prepared = encode_request(prepared)
    compiled = prepared.compiled or compile_source(prepared.request, prepared.source)
    decoded = yield from _attempt(prepared, compiled, generated).run()
    settings = prepared.request.settings
    rejected: tuple[str, ...] = ()
    # An attempt that adds no rejected text found that all texts are rejected.
    while decoded.rejection is not None and decoded.cause is None and rejected != decoded.rejected:
        rejected = decoded.rejected
        left = _retry_settings(settings, generated, compiled.guide)
        if len(rejected) > settings.retries or left is None:
            break
        try:
            prepared = _retry(prepared, left, rejected[-1], decoded.rejection)
            attempt = _attempt(prepared, compiled, generated, decoded)
        except GenerationError as error:  # for example, the prompt of the retry is too long
            decoded = replace(decoded, cause=error)
        else:
            decoded = yield from attempt.run()
    return Outcome(prepared.request, compiled, prepared.source, len(prepared.prompt_ids), generated, decoded)


def _attempt(
    prepared: Prepared, compiled: CompiledTarget, generated: GeneratedTokens, previous: Decoded | None = None
) -> Attempt:
    generated.truncate(0, 0)
    prompt_ids, cursor, budget = _start(prepared, compiled)
    target = compiled.target
    return Attempt(
        prepared.request,
        prompt_ids,
        cursor,
        budget,
        target=target,
        validate=partial(parse_text, target, generated, prepared.request.settings.context),
        generated=generated,
        previous=previous,
    )


def _start(prepared: Prepared, compiled: CompiledTarget) -> tuple[Sequence[int], Cursor, int]:
    """Return the tokens that start the sequence, a cursor that continues from them, and the budget."""
    model, settings = prepared.request.logits_model, prepared.request.settings
    context, thoughts = model.context_length, settings.max_thinking_tokens
    guide, ids, kept = compiled.guide, prepared.prompt_ids, unhealed_ids(prepared, compiled)
    if len(kept) < len(ids):
        before = b"".join(guide.vocabulary.tokens[token] for token in ids[len(kept) :])
        budget = token_budget(guide, settings.max_tokens, context, len(kept) + len(before))
        if guide.cursor().fits(budget):
            return kept, HealedCursor(guide, before), budget
    ends = model.end_of_thinking if isinstance(model, SupportsThinking) else ()
    length = len(ids) + (thoughts + len(ends) + 2 if thoughts else 0)
    return ids, guide.cursor(), token_budget(guide, settings.max_tokens, context, length)


def parse_text(target: Target[object], generated: GeneratedTokens, context: object, text: str) -> object:
    """Return the value of a text, or its rejection."""
    try:
        value = target.parse(text, context)
    except Exception as error:  # validators are user code
        add_note(error, f"a validator of {target.name} raised it for {text:.200}")
        raise
    if isinstance(value, Rejected):
        span = locate_rejected(value, text_values(target, generated, text))
        return replace(span, starts_over=not span.path)
    return value


def _retry(prepared: Prepared, settings: Settings, text: str, rejection: RejectedSpan) -> Prepared:
    """Return the request of another attempt, with the rejected answer and the reason in its prompt."""
    request = replace(prepared.request, settings=settings)
    prompt = retry_prompt(prepared.prompt, text, rejection.rejected.message)
    return replace(prepared, request=request, prompt=prompt, prompt_ids=_encode(prepared.request, prompt))


def _retry_settings(settings: Settings, generated: GeneratedTokens, guide: Guide) -> Settings | None:
    """Return the settings of another attempt; `None` without budget for one."""
    if not settings.charge_discarded or settings.max_tokens is None:
        return settings
    left = settings.max_tokens - generated.discarded_tokens - len(generated.token_ids)
    thoughts = settings.max_thinking_tokens - generated.thinking_tokens
    if left < 0 or not guide.cursor().fits(left) or thoughts < bool(settings.max_thinking_tokens):
        return None
    return replace(settings, max_tokens=left, max_thinking_tokens=thoughts)


def compile_source(request: Request, source: str) -> CompiledTarget:
    """Compile the target for a source of its quotes, unless it is cached."""
    return GUIDE_CACHE.get(request.target, request.vocabulary, request.settings.compile_settings, source)


def prepare_examples(prepared: Prepared) -> Sequence[Example]:
    """Render the examples of a request."""
    settings = prepared.request.settings
    if not settings.examples:
        return ()
    return render_examples(
        settings.examples, prepared.target, settings.compile_settings, settings.source, settings.context
    )


def _encode(request: Request, prompt: Prompt) -> list[int]:
    return encode_prompt(request.logits_model, prompt, thinking=request.settings.max_thinking_tokens > 0)


def prepare_prompt(
    model: AnyModel,
    prompt: Prompt,
    target: Target[object],
    settings: Settings,
    examples: Sequence[Example] = (),
) -> Prompt:
    """Return the prompt with the additions of the settings."""
    if isinstance(prompt, str) and not prompt.strip() and not isinstance(model, RandomLogits):
        _log.warning("the prompt is empty, so %s invents a value; pass the text to read", model.name)
    style = settings.compile_settings.json_style
    chosen = choose_format(model, target, settings.include_schema, style).description
    described = describe_target(target, chosen, style)
    turns = not isinstance(model, SupportsMessages) or model.takes_messages
    built = build_prompt(prompt, described, settings.system, examples, as_messages=turns)
    return with_tool(model, built, target) if chosen == "tools" else built
