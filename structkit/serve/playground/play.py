"""One generation for the playground: the regex, what is enforced, the growing value, and the tokens."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import TypeAlias

from structkit.errors import GenerationError, StructkitError
from structkit.generate.input.options import ResultOptions
from structkit.generate.input.settings import Settings
from structkit.generate.output.result import Result, Usage
from structkit.generate.run.events import FieldEnd, FieldRetracted, FieldStart, StreamEnd, TextDelta
from structkit.generate.run.stream import Stream
from structkit.limits import Limits
from structkit.models.protocols import LogitsModel, Message
from structkit.regex.print import format_regex
from structkit.serve.bounds.admission import Lease
from structkit.serve.bounds.api_error import ApiError
from structkit.serve.bounds.config import ServerConfig
from structkit.serve.playground.record import MaskRecorder
from structkit.serve.read.constraints import Constraint, grammar_constraint, json_schema
from structkit.serve.read.fields import Fields, read_json
from structkit.serve.write.worker import Put, in_worker
from structkit.targets.explain import explain_target
from structkit.targets.specs import Regex
from structkit.targets.targets import AnyTarget, read_target

__all__ = ["Play", "play_events", "read_play"]

_TARGET = "target"
_DEFAULT_TOKENS = 256
_MAX_REGEX = 20_000
"""Characters of the regex that are shown."""

_MAX_ROWS = 500
"""Keywords that are shown."""

PlayEvent: TypeAlias = "dict[str, object]"


@dataclass(frozen=True)
class Play:
    """A request of the playground.

    Attributes:
        constraint: What the answer must be.
        prompt: The message of the user.
        options: Options of the generation.
        limits: Bounds on the target.
    """

    constraint: Constraint
    prompt: str
    options: ResultOptions
    limits: Limits


def read_play(body: Fields, config: ServerConfig) -> Play:
    """Read a request.

    Raises:
        ApiError: A field is unknown, has the wrong type, or the schema is no JSON.
    """
    body.check_names(("kind", _TARGET, "prompt", "max_tokens", "temperature", "seed"))
    prompt = body.text("prompt")
    if not prompt:
        raise body.error("prompt", "is required")
    options = ResultOptions(
        max_tokens=body.integer("max_tokens", 1, config.max_tokens)
        or min(_DEFAULT_TOKENS, config.max_tokens),
        temperature=body.number("temperature", 0, 2) or 0.0,
        limits=config.target_limits,
        confidence=True,
        trace_content=False,
        prompt_lookup=True,
    )
    if (seed := body.integer("seed", 0, 2**63 - 1)) is not None:
        options["seed"] = seed
    return Play(_constraint(body), prompt, options, config.target_limits)


def _constraint(body: Fields) -> Constraint:
    text = body.text(_TARGET)
    if not text:
        raise body.error(_TARGET, "is required: a JSON Schema, a regex or a grammar")
    match body.text("kind"):
        case "schema":
            try:
                schema = json_schema(read_json(text.encode()))
            except ApiError as error:
                fault = error.message.replace("the body", "the schema")
                raise ApiError(400, fault, param=_TARGET, code="invalid_value") from None
            return Constraint(lambda limits: schema, _TARGET)
        case "regex":
            return Constraint(lambda limits: Regex(text), _TARGET)
        case "grammar":
            return grammar_constraint(text, _TARGET)
        case _:
            raise body.error("kind", "must be 'schema', 'regex' or 'grammar'")


async def play_events(
    model: LogitsModel, play: Play, lease: Lease
) -> AsyncGenerator[PlayEvent | Usage, None]:
    """Generate an answer, and yield events for the page; the usage last.

    Raises:
        StructkitError: See `structkit.stream`.
        ApiError: The prompt does not fit into the context.
    """

    def work(put: Put, cancelled: threading.Event) -> None:
        target = play.constraint.target(play.limits)
        put({"type": "target", "model": model.name, **_described(target, play.limits)})
        if cancelled.is_set():
            return
        try:
            _generate(model, play, target, put, cancelled)
        except GenerationError as error:
            if error.place != "prompt":
                raise
            raise ApiError(400, error.message, param="prompt", code="context_length_exceeded") from error

    async with aclosing(in_worker(work, lease)) as items:
        async for item in items:
            if isinstance(item, (dict, Usage)):
                yield item


def _described(target: AnyTarget, limits: Limits) -> PlayEvent:
    """Return the regex, and the status of each keyword."""
    found = explain_target(target, limits=limits)
    try:
        regex = format_regex(read_target(target, limits=limits, listed=True).rules(limits=limits), limits)
    except StructkitError as error:
        regex = f"(none: {error})"
    if len(regex) > _MAX_REGEX:
        regex = f"{regex[:_MAX_REGEX]} ... ({len(regex):,} characters)"
    rows = [
        {"path": row.path, "keyword": row.keyword, "how": row.how, "reason": row.reason}
        for row in found.rows[:_MAX_ROWS]
    ]
    return {
        "regex": regex,
        "rows": rows,
        "hidden_rows": max(0, len(found.rows) - _MAX_ROWS),
        "findings": [str(each) for each in found.findings[:_MAX_ROWS]],
        "states": None if found.cost is None else found.cost.states,
    }


def _generate(
    model: LogitsModel, play: Play, target: AnyTarget, put: Put, cancelled: threading.Event
) -> None:
    recorder = MaskRecorder()
    play.options["processors"] = recorder.processors
    messages = [Message(role="user", content=play.prompt)]
    stream: Stream[object] = Stream(
        model, messages, target, Settings.read("stream", play.options, ResultOptions), cancelled
    )
    shown = ""
    with closing(stream):
        for event in stream:
            if (text := stream.text) != shown:
                kept = len(shown) if text.startswith(shown) else 0
                put({"type": "text", "keep": kept, "text": text[kept:]})
                shown = text
            match event:
                case FieldStart(path, "object" | "array") | FieldEnd(path, dict() | list()):
                    pass
                case FieldStart(path):
                    put({"type": "start", "path": path})
                case TextDelta(path, added):
                    put({"type": "add", "path": path, "text": added})
                case FieldEnd(path, value):
                    put(
                        {
                            "type": "end",
                            "path": path,
                            "value": json.dumps(value, ensure_ascii=False, default=str),
                        }
                    )
                case FieldRetracted(path):
                    put({"type": "back", "path": path})
                case StreamEnd(result):
                    put(_end(result, recorder, model))
                    put(result.usage)
                case _:
                    pass


def _end(result: Result[object], recorder: MaskRecorder, model: LogitsModel) -> PlayEvent:
    usage = result.usage
    return {
        "type": "result",
        "text": result.text,
        "finish_reason": result.finish_reason,
        "tokens": list(_tokens(result, recorder, model)),
        "seconds": round(usage.model_seconds + usage.mask_seconds, 4),
    }


def _tokens(result: Result[object], recorder: MaskRecorder, model: LogitsModel) -> Iterator[PlayEvent]:
    """Yield each token with its kind, its probability among the allowed tokens, and what the mask forbade."""
    texts = model.vocabulary.tokens
    for position, token in enumerate(result.events, result.usage.prompt_tokens):
        forbidden = [
            [_shown(texts[each.token_id] if each.token_id < len(texts) else b""), round(each.probability, 4)]
            for each in recorder.at(position)
            if not token.forced
        ]
        yield {
            "text": _shown(token.text),
            "kind": "forced" if token.forced else "drafted" if token.drafted else "sampled",
            "logprob": round(max(token.logprob, -9999.0), 4),
            "masked": round(token.masked_probability, 4),
            "forbidden": forbidden,
        }


def _shown(text: bytes) -> str:
    r"""Return the text of a token; bytes that are no character are escaped.

    >>> _shown(b"caf\xc3")
    'caf\\xc3'
    """
    return text.decode(errors="backslashreplace")
