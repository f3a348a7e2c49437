"""One generation: from a model, a prompt and a target to a result."""

from __future__ import annotations

import threading

from structkit.errors import ValidationFailed
from structkit.generate.drive import TURNS, Driven, drive
from structkit.generate.flow import decode
from structkit.generate.guides import GUIDES, Compiled
from structkit.generate.prompt import Prompt, build_prompt, encode_prompt
from structkit.generate.result import Result, Usage
from structkit.generate.settings import Settings
from structkit.guide.guide import Guide
from structkit.models.base import LogitsModel
from structkit.targets import AnyTarget, Target

__all__ = ["MAX_TOKENS", "asked_prompt", "run"]

MAX_TOKENS = 1_024
"""Tokens of an answer when nobody says: a model that finds no end stops within a minute or so."""


def run(
    model: LogitsModel,
    prompt: Prompt,
    target: AnyTarget,
    settings: Settings,
    cancelled: threading.Event | None = None,
) -> Result[object]:
    """Generate one value.

    Args:
        model: It is held for itself while it writes.
        prompt: A text or messages.
        target: What to generate.
        settings: How.
        cancelled: See `drive`.

    Raises:
        StructkitError: See `structkit.generate`.
    """
    compiled = GUIDES.get(target, model.vocabulary, settings.writing)
    asked = asked_prompt(prompt, compiled.target, settings)
    with TURNS.of(model):
        prompt_ids = encode_prompt(model, asked)
        flow = decode(
            prompt_ids,
            compiled.guide.cursor(),
            model.vocabulary,
            budget=budget_of(compiled.guide, settings.max_tokens, model.context_length, len(prompt_ids)),
            sampling=settings.sampling,
            spell=model.encode_text if settings.forced else None,
        )
        driven = drive(flow, model.session(), cancelled)
    compiled.guide.save()
    return _result(driven, compiled, len(prompt_ids))


def asked_prompt(prompt: Prompt, target: Target[object], settings: Settings) -> Prompt:
    """The prompt with what the settings add to it."""
    return build_prompt(prompt, target.description() if settings.describe else None, settings.system)


def budget_of(guide: Guide, max_tokens: int | None, context: int | None, prompt_tokens: int) -> int:
    """How many tokens the answer may have.

    What was asked for, or else `MAX_TOKENS`, or what the shortest value needs if that is more; and never more
    than the context leaves.
    """
    if max_tokens is None:
        cursor = guide.cursor()
        max_tokens = MAX_TOKENS if cursor.fits(MAX_TOKENS) else cursor.tokens_to_end()
    return max_tokens if context is None else min(max_tokens, context - prompt_tokens)


def _result(driven: Driven, compiled: Compiled, prompt_tokens: int) -> Result[object]:
    decoded = driven.decoded
    tokens = compiled.guide.vocabulary.tokens
    text = b"".join(tokens[token_id] for token_id in decoded.token_ids).decode()
    return Result(
        value=_validated(compiled.target, text),
        text=text,
        finish_reason=decoded.finish_reason,
        usage=Usage(
            prompt_tokens=prompt_tokens,
            generated_tokens=len(decoded.token_ids),
            forced_tokens=decoded.forced_tokens,
            mask_seconds=decoded.seconds,
            model_seconds=driven.model_seconds,
            compile_seconds=compiled.seconds,
        ),
        token_ids=decoded.token_ids,
        attempts=(text,),
    )


def _validated(target: Target[object], text: str) -> object:
    try:
        return target.value(text)
    except ValueError as error:
        raise ValidationFailed(
            f"the validators of {target.name} refuse {text:.200}: {error}; put their rule into a constraint, "
            "or into a field's description where the model can read it, or try again with a temperature",
            text=text,
            attempts=(text,),
            error=error,
        ) from error
