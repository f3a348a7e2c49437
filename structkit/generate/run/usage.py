"""What a generation took, and what that leaves for its last attempt."""

from __future__ import annotations

from dataclasses import replace

from structkit.generate.decode.config import Decoded, Written
from structkit.generate.input.options import Settings
from structkit.generate.output.result import Usage
from structkit.generate.run.scheduler import Driven
from structkit.guide.guide import Guide

__all__ = ["last_settings", "usage_of"]


def usage_of(driven: Driven, written: Written, prompt_tokens: int, compile_seconds: float) -> Usage:
    """What it took; what was refused at last is discarded too."""
    decoded = driven.outcome
    made = isinstance(decoded, Decoded) and decoded.refusal is None
    return Usage(
        prompt_tokens=prompt_tokens,
        generated_tokens=len(written.token_ids) if made else 0,
        forced_tokens=sum(written.forced) if made else 0,
        drafted_tokens=driven.drafted,
        accepted_tokens=driven.accepted,
        discarded_tokens=written.discarded + (0 if made else len(written.token_ids)),
        thinking_tokens=written.thoughts,
        mask_seconds=decoded.seconds if isinstance(decoded, Decoded) else 0.0,
        model_seconds=driven.model_seconds,
        compile_seconds=compile_seconds,
    )


def last_settings(settings: Settings, written: Written, guide: Guide) -> Settings | None:
    """How the last attempt is made; `None` if there is none, or no room for it."""
    last = settings
    if not last.retries:
        return None
    if last.spend and last.max_tokens is not None:
        left = last.max_tokens - written.discarded - len(written.token_ids)
        thoughts = last.thoughts - written.thoughts
        if left < 0 or not guide.cursor().fits(left) or thoughts < bool(last.thoughts):
            return None
        last = replace(last, max_tokens=left, thoughts=thoughts)
    return replace(last, retries=0)
