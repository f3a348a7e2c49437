"""Observation of a generation: a span of OpenTelemetry, and a message of the logger `structkit`."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial

from structkit.error_notes import report_fault
from structkit.generate.decode.config import GeneratedTokens
from structkit.generate.input.prompt import Prompt
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.output.trace import Draft
from structkit.generate.run.outcome import Outcome, attach_trace, describe_case
from structkit.targets.targets import Target
from structkit.tracing import Attribute, captures_content, start_span
from structkit.vocabulary.control_tokens import to_text

__all__ = ["GenerationObserver", "request_attributes"]

_log = logging.getLogger("structkit")


class GenerationObserver:
    """Observes one generation from its start to its end.

    Args:
        request: The request.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._started_at = time.perf_counter()
        self._span = start_span(
            "chat",
            request.model.name,
            request_attributes(request.model.name, request.settings),
            parent=request.parent_span,
        )

    def reply(self, number: int, draft: Draft) -> None:
        """Observe a reply of a text model: an event of the span, and a message."""
        is_logged = _log.isEnabledFor(logging.DEBUG)
        if self._span is None and not is_logged:
            return
        has_content = captures_content(self._request.settings.trace_content)
        if is_logged:
            content = f": accepted {draft.accepted!r}, refused {draft.refused!r}" if has_content else ""
            _log.debug(
                "%s, reply %d: %s, %d characters accepted, %d refused, %d forced, in %.3f s%s",
                self._request.model.name,
                number,
                draft.end,
                len(draft.accepted),
                len(draft.refused),
                len(draft.forced),
                draft.seconds,
                content,
            )
        if self._span is None:
            return
        attributes: dict[str, Attribute] = {
            "structkit.reply.number": number,
            "structkit.reply.end": draft.end,
            "structkit.reply.is_correction": draft.is_correction,
            "structkit.reply.seconds": draft.seconds,
            "structkit.reply.constraint": draft.constraint or None,
            "structkit.reply.accepted_characters": len(draft.accepted),
            "structkit.reply.refused_characters": len(draft.refused),
            "structkit.reply.chosen_characters": len(draft.chosen),
            "structkit.reply.forced_characters": len(draft.forced),
            "structkit.reply.choices": len(draft.choices),
        }
        if has_content:
            attributes |= {
                "structkit.reply.accepted": draft.accepted,
                "structkit.reply.refused": draft.refused,
                "structkit.reply.chosen": draft.chosen,
                "structkit.reply.forced": draft.forced,
                "structkit.reply.offered": draft.choices or ((draft.hint,) if draft.hint else ()),
            }
        self._span.add_event("structkit.reply", attributes)

    def end(self, outcome: Outcome) -> None:
        """Observe the end of the generation, with a value or a rejection."""
        generated, decoded = outcome.generated, outcome.decoded
        rejected = None if decoded.rejection is None else decoded.rejection.rejected.cause
        written = len(generated.token_ids) + generated.discarded_tokens + generated.thinking_tokens
        reason = "length" if decoded.finish_reason == "budget" else "stop"
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug(
                "%s wrote %d token%s for %s in %.3f s: %s",
                self._request.model.name,
                written,
                "s" * (written != 1),
                outcome.compiled.target.name,
                time.perf_counter() - self._started_at,
                reason if rejected is None else f"rejected with {type(rejected).__name__}",
            )
        if self._span is None:
            return
        target = outcome.compiled.target
        self._span.set(
            {
                "gen_ai.output.type": "json" if target.is_json else "text",
                "gen_ai.response.model": self._request.model.name,
                "gen_ai.response.finish_reasons": [reason],
                "gen_ai.usage.input_tokens": outcome.prompt_tokens,
                "gen_ai.usage.output_tokens": written,
                "gen_ai.usage.reasoning.output_tokens": generated.thinking_tokens or None,
                "structkit.attempts": len(decoded.rejected) + (rejected is None),
                "structkit.discarded_tokens": generated.discarded_tokens,
                "structkit.forced_tokens": sum(generated.is_forced),
                "structkit.calls": None if decoded.trace is None else len(decoded.trace.drafts),
                "structkit.corrections": None if decoded.trace is None else decoded.trace.corrections,
            }
        )
        if captures_content(self._request.settings.trace_content):
            self._span.set_json("gen_ai.input.messages", _message_parts(self._request.prompt))
            text = {"type": "text", "content": to_text(bytes(generated.text))}
            answer = {"role": "assistant", "parts": [text], "finish_reason": reason}
            self._span.set_json("gen_ai.output.messages", [answer])
            if self._request.settings.system is not None:
                system = {"type": "text", "content": self._request.settings.system}
                self._span.set_json("gen_ai.system_instructions", [system])
        self._span.end(rejected)

    @contextmanager
    def reported_errors(
        self, target: Target[object], generated: GeneratedTokens, drafts: Sequence[Draft] = ()
    ) -> Generator[None, None, None]:
        """Report an error, or the end of a generation that is not continued; see `attach_trace`."""
        try:
            yield
        except BaseException as error:
            attach_trace(error, self._request, target, generated, drafts)
            report_fault(error, partial(describe_case, self._request, target))
            if self._span is not None:
                self._span.end(None if isinstance(error, GeneratorExit) else error)
            raise


def request_attributes(model: str, settings: Settings) -> dict[str, Attribute]:
    """Return the attributes of a request."""
    sampling = settings.sampling
    return {
        "gen_ai.request.model": model,
        "gen_ai.request.max_tokens": settings.max_tokens,
        "gen_ai.request.temperature": float(sampling.temperature),
        "gen_ai.request.top_p": sampling.top_p,
        "gen_ai.request.top_k": sampling.top_k,
        "gen_ai.request.seed": sampling.seed,
    }


def _message_parts(prompt: Prompt) -> list[dict[str, object]]:
    """Return a prompt as messages of the semantic conventions."""
    if isinstance(prompt, str):
        return [{"role": "user", "parts": [{"type": "text", "content": prompt}]}]
    return [
        {"role": each["role"], "parts": [{"type": "text", "content": each["content"]}]} for each in prompt
    ]
