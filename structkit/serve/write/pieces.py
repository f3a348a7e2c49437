"""An answer of text in pieces, as it is generated or at once when it is complete."""

from __future__ import annotations

import codecs
import threading
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

from structkit.errors import GenerationError, ModelError
from structkit.generate.decode.config import GeneratedTokens, TextView
from structkit.generate.input.options import ResultOptions
from structkit.generate.input.prompt import Prompt, check_prompt_ids
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.output.result import Result, Usage
from structkit.generate.output.token import Token
from structkit.generate.run.batch import run_request, run_steps
from structkit.generate.run.request import Prepared, compile_request, encode_request
from structkit.models.protocols import LogitsModel, SupportsPlainText
from structkit.serve.bounds.admission import Lease
from structkit.serve.bounds.api_error import ApiError, for_clients
from structkit.serve.read.bias import check_bias
from structkit.serve.read.requests import AnyPrompt, Ask
from structkit.serve.write.logprobs import TokenRecord, TokenRecords, TokensFrom, TopRecorder, prompt_records
from structkit.serve.write.worker import Put, in_worker

__all__ = [
    "ArgumentsPiece",
    "CallPiece",
    "ContentText",
    "EndPiece",
    "FinishReason",
    "Piece",
    "TextPiece",
    "answer_pieces",
    "compile_once",
]

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls"]


@dataclass(frozen=True)
class TextPiece:
    """Text is added to the content, with its tokens if the request asks for log-probabilities."""

    text: str
    tokens: tuple[TokenRecord, ...] = ()


@dataclass(frozen=True)
class CallPiece:
    """A call starts."""

    number: int
    id: str
    name: str


@dataclass(frozen=True)
class ArgumentsPiece:
    """Text is added to the arguments of a call."""

    number: int
    text: str


@dataclass(frozen=True)
class EndPiece:
    """The answer ends.

    Attributes:
        finish_reason: Why it ends.
        usage: Its tokens.
        stop: The stop sequence that ended it, as vLLM returns it in `stop_reason`.
    """

    finish_reason: FinishReason
    usage: Usage
    stop: str | None = None


Piece: TypeAlias = "TextPiece | CallPiece | ArgumentsPiece | EndPiece"


async def compile_once(model: LogitsModel, ask: Ask, lease: Lease) -> None:
    """Compile the target of a request with several answers, which then find its guide in the cache.

    Raises:
        StructkitError: See `structkit.compile`.
    """

    def work(put: Put, cancelled: threading.Event) -> None:
        compile_request(_request(model, ask, "", 0, None))

    async with aclosing(in_worker(work, lease)) as compiled:
        async for _ in compiled:
            pass


async def answer_pieces(
    model: LogitsModel, ask: Ask, prompt: AnyPrompt, number: int, lease: Lease
) -> AsyncGenerator[Piece, None]:
    """Generate one answer that is text.

    Args:
        model: The model.
        ask: The request.
        prompt: The prompt.
        number: The number of the answer, which has its own random numbers.
        lease: The places of the request.

    Raises:
        StructkitError: See `structkit.generate`.
        ApiError: The prompt cannot be encoded, or does not fit into the context.
    """
    recorder = None if ask.top_logprobs is None else TopRecorder(ask.top_logprobs)

    def work(put: Put, cancelled: threading.Event) -> None:
        check_bias(ask.options, model.vocabulary)
        request = _request(model, ask, prompt, number, recorder)
        prepared = _prepare(request, ask, prompt)
        count = len(prepared.prompt_ids)
        records = None if recorder is None else TokenRecords(recorder, count, model.vocabulary)
        text = ContentText(ask, put, records)
        if ask.shows_prompt:
            top, ids = ask.top_logprobs, prepared.prompt_ids
            shown = () if top is None else prompt_records(model, ids, top, cancelled)
            put(TextPiece(_prompt_text(model, prompt), shown))
        if ask.is_streamed or ask.stops:
            put(_stream(request, prepared, text, cancelled))
        else:
            result = run_request(request, prepared, None, cancelled)
            text.finish(result.text, _from(result.events))
            put(_end_of(result))

    async with aclosing(in_worker(work, lease)) as pieces:
        async for piece in pieces:
            yield cast("Piece", piece)


def _request(
    model: LogitsModel, ask: Ask, prompt: AnyPrompt, number: int, recorder: TopRecorder | None
) -> Request:
    settings = _settings(ask, recorder)
    return Request(
        model=model,
        prompt=cast("Prompt", prompt) if ask.kind != "text" else "",
        target=ask.constraint.target(settings.compile_settings.limits),
        settings=settings,
        number=number,
        requested_at=time.perf_counter(),
    )


def _settings(ask: Ask, recorder: TopRecorder | None) -> Settings:
    options = cast("ResultOptions", dict(ask.options))
    if recorder is not None:
        options["processors"] = recorder.processors(options)
    return Settings.read("generate", options, ResultOptions)


def _prepare(request: Request, ask: Ask, prompt: AnyPrompt) -> Prepared:
    prepared = compile_request(request)
    try:
        if ask.kind != "text":
            prepared = encode_request(prepared)
            if not ask.start:
                return prepared
            ids: Sequence[int] = (*prepared.prompt_ids, *request.logits_model.encode_text(ask.start))
        else:
            ids = _plain_ids(request.logits_model, prompt)
        check_prompt_ids(request.logits_model, ids)
        # As messages, because the answer must follow exactly these tokens: the last tokens of a text are generated
        # again.
        return replace(prepared, prompt=(), prompt_ids=ids)
    except (GenerationError, ModelError) as error:
        code = "context_length_exceeded" if error.place == "prompt" else "invalid_prompt"
        raise ApiError(400, for_clients(error.message), param=ask.params.prompt, code=code) from error


def _plain_ids(model: LogitsModel, prompt: AnyPrompt) -> Sequence[int]:
    if isinstance(prompt, str):
        return model.encode_plain(prompt) if isinstance(model, SupportsPlainText) else model.encode(prompt)
    ids = cast("tuple[int, ...]", prompt)
    size = model.vocabulary.size
    if wrong := [token_id for token_id in ids if token_id >= size]:
        raise ModelError(
            f"the prompt has the token {wrong[0]}, and the model has {size:,} tokens; send ids of its vocabulary"
        )
    return ids


def _prompt_text(model: LogitsModel, prompt: AnyPrompt) -> str:
    """Return the prompt of a text completion; that of tokens has only what they write."""
    if isinstance(prompt, str):
        return prompt
    tokens = model.vocabulary.tokens
    return b"".join(tokens[token_id] for token_id in cast("tuple[int, ...]", prompt)).decode(errors="replace")


def _stream(request: Request, prepared: Prepared, text: ContentText, cancelled: threading.Event) -> EndPiece:
    """Put the text as it is generated, until it is complete or a stop sequence ends it, and return the end."""
    generated, count = GeneratedTokens(), len(prepared.prompt_ids)
    view, read, decoder = TextView(generated), 0, codecs.getincrementaldecoder("utf-8")()
    with closing(run_steps(request, prepared, None, cancelled, generated)) as steps:
        for outcome in steps:
            if isinstance(outcome, Exception):
                raise outcome
            if outcome is None:
                view.update()
                text.extend(decoder.decode(bytes(view.text[read:])), generated.tokens)
                read = len(view.text)
            else:
                text.finish(outcome.text, _from(outcome.events))
            if text.is_stopped:
                return text.stopped(count)
            if outcome is not None:
                return _end_of(outcome)
    raise RuntimeError("the generation ended without a result")


def _end_of(result: Result[object]) -> EndPiece:
    return EndPiece("length" if result.finish_reason == "budget" else "stop", result.usage)


def _from(tokens: Sequence[Token]) -> TokensFrom:
    return lambda start: tokens[start:]


class ContentText:
    """Sends the content of an answer, which the first of its stop sequences ends, without what may be its start.

    Args:
        ask: The request.
        put: Receives the pieces.
        records: The tokens with their log-probabilities; `None` if they are not sent.
    """

    def __init__(self, ask: Ask, put: Put, records: TokenRecords | None) -> None:
        self._stops = ask.stops
        self._min_tokens = ask.min_tokens
        self._shows_stop = ask.shows_stop
        self._put = put
        self._records = records
        self._text = ""
        self._sent = 0
        self._searched = 0
        self._stop: str | None = None
        self._written_tokens = 0

    @property
    def is_stopped(self) -> bool:
        """Whether a stop sequence ended the content."""
        return self._stop is not None

    def stopped(self, prompt_tokens: int) -> EndPiece:
        """Return the end of an answer that a stop sequence ended.

        Args:
            prompt_tokens: The length of the prompt.
        """
        usage = Usage(prompt_tokens=prompt_tokens, generated_tokens=self._written_tokens)
        return EndPiece("stop", usage, self._stop)

    def extend(self, added: str, tokens: TokensFrom) -> None:
        """Add text, and send what can be sent.

        Args:
            added: The text.
            tokens: See `TokenRecords.until`.
        """
        self._text += added
        if not self._find_stop(tokens):
            self._send(_end_before_stop(self._text, () if self._shows_stop else self._stops), tokens)

    def flush(self, tokens: TokensFrom) -> None:
        """Send the rest of the text: no more is added."""
        self.finish(self._text, tokens)

    def finish(self, text: str, tokens: TokensFrom) -> None:
        """Send the rest of the complete text."""
        self._text = text
        if not self._find_stop(tokens):
            self._send(len(text), tokens, is_end=True)

    def _find_stop(self, tokens: TokensFrom) -> bool:
        """Return whether the text has a stop sequence; send the text before the first, and count its tokens."""
        searched = max(self._searched, self._length_without_stop(tokens))
        if self._stop is None and (found := _first_stop(self._text, self._stops, searched)):
            start, end, self._stop = found
            left = len(self._text[:end].encode(errors="replace"))
            for token in tokens(0):
                if left <= 0:
                    break
                left -= len(token.text)
                self._written_tokens += 1
            self._send(end if self._shows_stop else start, tokens, is_end=True)
        self._searched = len(self._text)
        return self.is_stopped

    def _length_without_stop(self, tokens: TokensFrom) -> int:
        """Return the length of the text in which no stop sequence may end: as with vLLM, its first tokens."""
        if not self._min_tokens:
            return 0
        first = [token.text for token in tokens(0)[: self._min_tokens]]
        if len(first) < self._min_tokens:
            return len(self._text)
        return len(b"".join(first).decode(errors="ignore"))

    def _send(self, end: int, tokens: TokensFrom, *, is_end: bool = False) -> None:
        records: tuple[TokenRecord, ...] = ()
        if self._records is not None and (is_end or end > self._sent):
            length = len(self._text[:end].encode(errors="replace"))
            records = self._records.until(length, tokens, is_end=is_end)
        if end > self._sent or records:
            self._put(TextPiece(self._text[self._sent : end], records))
            self._sent = end


def _first_stop(text: str, stops: Sequence[str], searched: int) -> tuple[int, int, str] | None:
    """Return the start and the end of the stop sequence that ends first, and the sequence.

    Args:
        text: The text.
        stops: The stop sequences.
        searched: The length of the start of the text in which none ends.

    >>> _first_stop("one END two", ["two", "END", "D"], 0), _first_stop("one EN", ["END"], 0)
    ((4, 7, 'END'), None)
    """
    found = [
        (start + len(stop), start, stop)
        for stop in stops
        if (start := text.find(stop, max(0, searched - len(stop) + 1))) >= 0
    ]
    end, start, stop = min(found, default=(0, 0, ""))
    return (start, end, stop) if found else None


def _end_before_stop(text: str, stops: Sequence[str]) -> int:
    """Return the length of a text without what may become a stop sequence.

    >>> _end_before_stop("one EN", ["END"])
    4
    """
    starts = (
        len(text) - length for stop in stops for length in range(1, len(stop)) if text.endswith(stop[:length])
    )
    return min(starts, default=len(text))
