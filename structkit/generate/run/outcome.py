"""The outcome of a request, and its conversion to a result or an error."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from structkit.errors import GenerationError, OutputValidationError
from structkit.generate.decode.config import Decoded, GeneratedTokens, RejectedSpan
from structkit.generate.input.guide_cache import CompiledTarget
from structkit.generate.input.prompt import transcript
from structkit.generate.input.request import Request
from structkit.generate.output.confidence import (
    Confidence,
    choice_probabilities,
    compute_confidence,
    find_in_source,
    warn_low_agreement,
)
from structkit.generate.output.json_reader import ByPath, Field, format_path, read_values
from structkit.generate.output.repaired import Repaired, find_repaired, log_repaired
from structkit.generate.output.result import Result, Usage
from structkit.generate.output.spans import find_spans
from structkit.generate.output.token import Token
from structkit.generate.output.trace import Draft, Guarantee, RejectedText, Trace
from structkit.generate.run.abstain import abstain
from structkit.generate.run.rejection import text_values
from structkit.generate.threads.flows import FlowResult
from structkit.models.protocols import RandomLogits
from structkit.models.text.protocol import TextModel
from structkit.targets.targets import Target
from structkit.tracing import captures_content
from structkit.vocabulary.control_tokens import display_text, to_bytes, to_text

__all__ = ["Outcome", "attach_trace", "describe_case", "result_of"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a request.

    Attributes:
        request: The request.
        compiled: The compiled target.
        source: The text that quotes are taken from.
        prompt_tokens: The length of the prompt of the last attempt.
        generated: The tokens of all attempts.
        decoded: The value, or the last rejection.
    """

    request: Request
    compiled: CompiledTarget
    source: str
    prompt_tokens: int
    generated: GeneratedTokens
    decoded: Decoded


def result_of(flow_result: FlowResult[Outcome]) -> Result[object] | Exception:
    """Return the result of a request, or its error."""
    outcome = flow_result.outcome
    if isinstance(outcome, Exception):
        return outcome
    usage, rejection = _usage(outcome, flow_result), outcome.decoded.rejection
    if rejection is not None:
        return _validation_error(outcome, rejection, usage)
    try:
        return _result(outcome, usage)
    except OutputValidationError as error:  # a repair or an abstention that the settings or the target refuse
        error.usage = usage
        error.trace = _trace(outcome, error.text, outcome.generated.tokens(), usage, OutputValidationError)
        return error


def attach_trace(
    error: BaseException,
    request: Request,
    target: Target[object],
    generated: GeneratedTokens,
    drafts: Sequence[Draft] = (),
) -> None:
    """Attach what happened until an error ended a request, if it is a `GenerationError`.

    Args:
        error: The error.
        request: The request.
        target: Its target.
        generated: The tokens of the answer until then.
        drafts: The replies of a text model.
    """
    if not isinstance(error, GenerationError):
        return
    text = drafts[-1].text if drafts else display_text(to_text(bytes(generated.text)))
    error.trace = Trace(
        drafts=tuple(drafts),
        tokens=() if isinstance(request.model, TextModel) else generated.tokens(),
        model=request.model.name,
        target=target.name,
        guarantee="corrected" if isinstance(request.model, TextModel) else "masked",
        error=type(error).__name__,
        text=text,
        seconds=sum(draft.seconds for draft in drafts),
        prompt=_shown_prompt(request),
    )


def describe_case(request: Request, target: Target[object]) -> str:
    """Return code that repeats a request; the prompt stays out of it, because errors are logged."""
    settings = request.settings
    options = {
        "max_tokens": settings.max_tokens,
        "temperature": settings.sampling.temperature,
        "seed": settings.sampling.seed,
        "fast_forward": settings.fast_forward,
        "retries": settings.retries,
    }
    return (
        "import structkit as sk\n"
        f"model, prompt = ..., ...  # {request.model!r}\n"
        f"sk.generate(model, prompt, {target.json_schema()!r}, **{options!r})"
    )


def _result(outcome: Outcome, usage: Usage) -> Result[object]:
    decoded, target, generated = outcome.decoded, outcome.compiled.target, outcome.generated
    text = to_text(bytes(generated.text))
    if outcome.request.own_vocabulary is None:  # an agent reads the control tokens of its format
        text = display_text(text)
    fields, events = generated.values(is_json=target.is_json), generated.tokens()
    settings = outcome.request.settings
    confidence = _confidence(outcome, fields) if settings.confidence else {}
    value, attempts = decoded.value, (*decoded.rejected, text)
    standing, data = fields, bytes(generated.text)
    abstained: tuple[str, ...] = ()
    if settings.abstain and target.is_json:
        changed = abstain(text, fields, confidence, outcome.compiled, settings, outcome.source)
        if changed is not None:
            text, value, abstained = changed
            attempts = (*attempts, text)
            data = to_bytes(text)
            standing = read_values(data)
    if decoded.rejections and not target.is_json:
        standing = text_values(target, generated, to_text(data))
    repaired = _repaired(outcome, standing, data, confidence, abstained)
    if repaired:
        log_repaired(repaired, target.name, has_content=captures_content(settings.trace_content))
    spans = find_spans(target, bytes(generated.text), fields, outcome.source)
    result = Result(
        value=value,
        text=text,
        finish_reason=decoded.finish_reason,
        usage=usage,
        token_ids=decoded.token_ids,
        attempts=attempts,
        repaired=repaired,
        abstained=abstained,
        thinking=decoded.thinking,
        guarantee=_guarantee(decoded.trace),
        trace=_trace(outcome, text, events, usage),
        events=events,
        spans=ByPath({path: span for path, span in spans.items() if path not in abstained}),
        confidence=ByPath(confidence),
    )
    if decoded.trace is None and not isinstance(outcome.request.model, RandomLogits):
        whitespace = settings.compile_settings.whitespace or target.default_whitespace
        compact = target.is_json and whitespace == "compact"
        warn_low_agreement(result.pressure, target.name, compact=compact)
    return result


def _repaired(
    outcome: Outcome,
    fields: Sequence[Field],
    data: bytes,
    confidence: Mapping[str, Confidence],
    abstained: Collection[str],
) -> tuple[Repaired, ...]:
    """Return the repaired values, without those that were taken out again.

    Raises:
        OutputValidationError: One of them is less probable than `Settings.min_repair_probability`.
    """
    decoded = outcome.decoded
    if not decoded.rejections:
        return ()
    values = {field.path: display_text(to_text(data[field.start : field.end])) for field in fields}
    rejections = [
        (span.path, display_text(to_text(to_bytes(said)[span.start : span.end])), span.rejected.message)
        for said, span in zip(decoded.rejected, decoded.rejections, strict=True)
        if format_path(span.path) not in abstained
    ]
    repaired = find_repaired(rejections, values, confidence)
    bound = outcome.request.settings.min_repair_probability
    for each in repaired if bound else ():
        probability = each.probability or 0.0
        if probability < bound:
            raise OutputValidationError(
                f"the repair of {each.path} of {outcome.compiled.target.name} to {each.now or 'nothing':.200} has the "
                f"probability {probability:.2g} under the model, below min_repair_probability={bound:g}; the model "
                f"said {each.said:.200}, which was refused: {each.refused}",
                text=display_text(decoded.rejected[-1]),
                attempts=(*map(display_text, decoded.rejected), display_text(to_text(data))),
                rejected=decoded.rejections[-1].rejected,
            )
    return repaired


def _guarantee(trace: Trace | None) -> Guarantee:
    if trace is None:
        return "masked"
    return "constrained" if trace.is_constrained else "corrected"


def _trace(
    outcome: Outcome, text: str, tokens: tuple[Token, ...], usage: Usage, error: type[Exception] | None = None
) -> Trace:
    """Return what happened in a request that ended with a value, or with a rejection."""
    decoded, request, trace = outcome.decoded, outcome.request, outcome.decoded.trace
    is_masked, healed = trace is None, 0
    if is_masked and tokens:
        first = outcome.compiled.guide.vocabulary.tokens[tokens[0].token_id]
        healed = len(first) - len(tokens[0].text)
    return Trace(
        drafts=() if trace is None else trace.drafts,
        forced_fields=() if trace is None else trace.forced_fields,
        tokens=tokens if is_masked else (),
        healed_bytes=healed,
        model=request.model.name,
        target=outcome.compiled.target.name,
        guarantee=_guarantee(trace),
        error="" if error is None else error.__name__,
        text=display_text(text),
        rejected=tuple(map(_rejected_text, decoded.rejected, decoded.rejections)),
        drafted_tokens=usage.drafted_tokens,
        accepted_tokens=usage.accepted_tokens,
        seconds=usage.model_seconds,
        prompt=_shown_prompt(request),
    )


def _shown_prompt(request: Request) -> str | None:
    return transcript(request.prompt) if captures_content(request.settings.trace_content) else None


def _rejected_text(text: str, span: RejectedSpan) -> RejectedText:
    kept = "" if span.starts_over else display_text(to_text(to_bytes(text)[: span.start]))
    return RejectedText(display_text(text), len(kept), span.rejected.message)


def _validation_error(outcome: Outcome, rejection: RejectedSpan, usage: Usage) -> OutputValidationError:
    decoded, rejected = outcome.decoded, rejection.rejected
    texts = tuple(display_text(text) for text in decoded.rejected)
    failed = OutputValidationError(
        f"the validators of {outcome.compiled.target.name} refuse {texts[-1]:.200}: {rejected.message}; put their rule "
        "into a constraint, or into a field's description where the model can read it, or allow more retries",
        text=texts[-1],
        attempts=texts,
        rejected=rejected,
        usage=usage,
    )
    failed.__cause__ = decoded.cause or rejected.cause
    failed.trace = _failed_trace(outcome, usage)
    return failed


def _failed_trace(outcome: Outcome, usage: Usage) -> Trace:
    """Return what happened in a request whose every answer was rejected; its text is that of an unfinished attempt."""
    decoded, generated = outcome.decoded, outcome.generated
    drafts = () if decoded.trace is None else decoded.trace.drafts
    text = to_text(bytes(generated.text))
    if drafts:
        text = drafts[-1].text if drafts[-1].attempt == len(decoded.rejected) else ""
    elif text == decoded.rejected[-1]:
        text = ""
    return _trace(outcome, text, generated.tokens() if text else (), usage, OutputValidationError)


def _usage(outcome: Outcome, flow_result: FlowResult[Outcome]) -> Usage:
    """Return the usage of all attempts; the tokens of a rejected text count as discarded."""
    decoded, generated = outcome.decoded, outcome.generated
    accepted = decoded.rejection is None
    return Usage(
        prompt_tokens=outcome.prompt_tokens,
        generated_tokens=len(generated.token_ids) if accepted else 0,
        forced_tokens=sum(generated.is_forced) if accepted else 0,
        drafted_tokens=flow_result.drafted_tokens,
        accepted_tokens=flow_result.accepted_tokens,
        discarded_tokens=generated.discarded_tokens + (0 if accepted else len(generated.token_ids)),
        thinking_tokens=generated.thinking_tokens,
        calls=0 if decoded.trace is None else len(decoded.trace.drafts),
        mask_seconds=decoded.seconds,
        model_seconds=flow_result.model_seconds,
        compile_seconds=outcome.compiled.seconds,
    )


def _confidence(outcome: Outcome, fields: Sequence[Field]) -> dict[str, Confidence]:
    target, generated = outcome.compiled.target, outcome.generated
    free = [field for field in fields if ... in (target.choices(field.path) or (...,))]
    return compute_confidence(
        fields,
        [len(text) for text in generated.token_bytes],
        generated.scores,
        {
            path: choice_probabilities(chances, target.choices(path) or [*chances], is_json=target.is_json)
            for path, chances in outcome.decoded.choices.items()
        },
        find_in_source(free, bytes(generated.text), outcome.source) if target.is_json else {},
    )
