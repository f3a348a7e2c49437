"""What a generation took, and what that leaves for its last attempt."""

from __future__ import annotations

from dataclasses import replace

from structkit.generate.decode.config import Decoded, GeneratedTokens
from structkit.generate.input.options import Settings
from structkit.generate.output.result import Usage
from structkit.generate.run.scheduler import FlowResult
from structkit.guide.guide import Guide

__all__ = ["final_attempt_settings", "usage_of"]


def usage_of(
    flow_result: FlowResult, generated: GeneratedTokens, prompt_tokens: int, compile_seconds: float
) -> Usage:
    """What it took; what was refused at last is discarded too."""
    decoded = flow_result.outcome
    made = isinstance(decoded, Decoded) and decoded.rejection is None
    return Usage(
        prompt_tokens=prompt_tokens,
        generated_tokens=len(generated.token_ids) if made else 0,
        forced_tokens=sum(generated.is_forced) if made else 0,
        drafted_tokens=flow_result.drafted_tokens,
        accepted_tokens=flow_result.accepted_tokens,
        discarded_tokens=generated.discarded_tokens + (0 if made else len(generated.token_ids)),
        thinking_tokens=generated.thinking_tokens,
        mask_seconds=decoded.seconds if isinstance(decoded, Decoded) else 0.0,
        model_seconds=flow_result.model_seconds,
        compile_seconds=compile_seconds,
    )


def final_attempt_settings(settings: Settings, generated: GeneratedTokens, guide: Guide) -> Settings | None:
    """How the last attempt is made; `None` if there is none, or no room for it."""
    last = settings
    if not last.retries:
        return None
    if last.charge_discarded and last.max_tokens is not None:
        left = last.max_tokens - generated.discarded_tokens - len(generated.token_ids)
        thoughts = last.max_thinking_tokens - generated.thinking_tokens
        if left < 0 or not guide.cursor().fits(left) or thoughts < bool(last.max_thinking_tokens):
            return None
        last = replace(last, max_tokens=left, max_thinking_tokens=thoughts)
    return replace(last, retries=0)
