"""The budget of an answer: its length, and the errors of one that is too small."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from structkit.errors import BudgetExceeded, ExceededLimit
from structkit.generate.input.request import Request
from structkit.generate.output.json_reader import MAX_DEPTH, JsonReader, format_path
from structkit.guide.guide import Guide

__all__ = ["DEFAULT_MAX_TOKENS", "budget_exceeded", "full_context", "token_budget"]

DEFAULT_MAX_TOKENS = 1_024
"""Maximum tokens of an answer without `max_tokens`: a model that never ends its answer stops after about a minute."""

_REMEDIES: Mapping[ExceededLimit, str] = MappingProxyType(
    {
        "max_tokens": "allow more with max_tokens=...",
        "timeout": "allow more seconds with timeout=...",
        "context": "shorten the prompt",
        "depth": "ask for a value that is nested less deeply",
    }
)


def token_budget(guide: Guide, max_tokens: int | None, context: int | None, prompt_tokens: int) -> int:
    """Return the maximum number of tokens of the answer.

    This is the requested maximum, or else the larger of `DEFAULT_MAX_TOKENS` and the tokens of the shortest value; it
    never exceeds the remaining context.
    """
    if max_tokens is None:
        cursor = guide.cursor()
        max_tokens = DEFAULT_MAX_TOKENS if cursor.fits(DEFAULT_MAX_TOKENS) else cursor.min_tokens_to_end()
    return max_tokens if context is None else max(0, min(max_tokens, context - prompt_tokens))


def full_context(request: Request, prompt_tokens: int, needed: int, budget: int) -> str | None:
    """Return why the context of the model is full, and the remedy; `None` if `max_tokens` sets the budget."""
    settings, context = request.settings, request.logits_model.context_length
    if context is None or (settings.max_tokens is not None and budget >= settings.max_tokens):
        return None
    thinking = settings.max_thinking_tokens
    beside = f"of {context} tokens, {prompt_tokens} are the prompt"
    if not thinking:
        return f"{beside}; shorten the prompt"
    free = context - prompt_tokens - needed - 16  # the tags around the thoughts have a few tokens
    remedy = f"pass thinking={free // 2}" if free > 1 else "shorten the prompt, or pass thinking=False"
    return f"{beside} and {thinking} are kept for thinking; {remedy}"


def budget_exceeded(
    request: Request,
    budget: int,
    text: bytes | bytearray,
    *,
    is_json: bool,
    is_overdue: bool,
    is_deep: bool = False,
    default: int = DEFAULT_MAX_TOKENS,
) -> BudgetExceeded:
    """Return the error of a limit that would change the value, for a caller with `on_limit="raise"`.

    Args:
        request: The request.
        budget: The maximum number of tokens of the answer; of a text model, of bytes.
        text: What the model has written of the value.
        is_json: Whether the value is JSON.
        is_overdue: Whether the time for the value has passed.
        is_deep: Whether the value is nested too deeply.
        default: The maximum number of tokens without `max_tokens`.
    """
    settings, written = request.settings, text.decode(errors="ignore")
    most = default if settings.max_tokens is None else settings.max_tokens
    limit: ExceededLimit
    if is_overdue:
        limit, reached = "timeout", f"timeout={settings.timeout:g} has passed"
    elif is_deep:
        limit, reached = "depth", f"{MAX_DEPTH} levels are open, and pydantic reads no more than 200"
    elif budget < most:
        limit, reached = (
            "context",
            f"the context of {request.model.name} leaves {budget} for the value",
        )
    else:
        by_default = " by default" if settings.max_tokens is None else ""
        limit, reached = "max_tokens", f"max_tokens is {budget}{by_default}"
    found = JsonReader().follow(bytearray(text)).current() if is_json else None
    return BudgetExceeded(
        f"{reached}, and the model had more to write after {written[-60:]!r}; {_REMEDIES[limit]}, or pass "
        'on_limit="answer" for a value that ends within the limit',
        limit=limit,
        text=written,
        place=None if found is None else format_path(found[0]),
    )
