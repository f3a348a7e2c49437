"""Bodies and chunks of replies, as OpenAI defines them."""

from __future__ import annotations

import codecs
import time
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from structkit.generate.output.result import Usage
from structkit.serve.bounds.api_error import ApiError
from structkit.serve.read.requests import Ask
from structkit.serve.write.events import DONE, event, failure
from structkit.serve.write.logprobs import TokenRecord
from structkit.serve.write.pieces import ArgumentsPiece, CallPiece, EndPiece, Piece, TextPiece

__all__ = ["Json", "Reply", "token_logprobs"]

Json = dict[str, object]


class Reply:
    """The reply to a request.

    Args:
        ask: The request.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._is_chat = ask.kind == "chat"
        self._offsets: defaultdict[int, _Offsets] = defaultdict(_Offsets)
        self._head: Json = {
            "id": f"{'chatcmpl' if self._is_chat else 'cmpl'}-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": ask.model,
        }

    def body(self, answers: Sequence[Sequence[Piece]]) -> Json:
        """Return the body with all answers."""
        choices = [self._choice(index, pieces) for index, pieces in enumerate(answers)]
        ends = [piece for pieces in answers for piece in pieces if isinstance(piece, EndPiece)]
        kind = "chat.completion" if self._is_chat else "text_completion"
        usage = self.usage([end.usage for end in ends])
        return {**self._head, "object": kind, "choices": choices, "usage": usage}

    def start(self, index: int) -> bytes:
        """Return the events that start an answer."""
        if not self._is_chat:
            return b""
        return self._event(self._chunk(index, {"role": "assistant", "content": ""}, None, None))

    def piece(self, index: int, piece: Piece) -> bytes:
        """Return the event of a piece."""
        return self._event(self._chunk_of(index, piece))

    def end(self, usages: Sequence[Usage]) -> bytes:
        """Return the events that end the stream, given the usage of each answer."""
        chunk = {**self._chunk(0, {}, None, None), "choices": [], "usage": self.usage(usages)}
        return (event(chunk) if self._ask.sends_usage else b"") + DONE

    def failure(self, error: ApiError) -> bytes:
        """Return the events that end a stream that fails."""
        return failure(error)

    def _chunk_of(self, index: int, piece: Piece) -> Json:
        if not self._is_chat:
            return self._text_chunk(index, piece)
        match piece:
            case TextPiece(text, tokens):
                return self._chunk(index, {"content": text}, None, tokens)
            case CallPiece(number, id, name):
                function = {"name": name, "arguments": ""}
                call = {"index": number, "id": id, "type": "function", "function": function}
                return self._chunk(index, {"tool_calls": [call]}, None, None)
            case ArgumentsPiece(number, text):
                delta = {"index": number, "function": {"arguments": text}}
                return self._chunk(index, {"tool_calls": [delta]}, None, None)
            case EndPiece(reason):
                return self._chunk(index, {}, reason, None, self._stop_reason(piece))

    def usage(self, usages: Sequence[Usage]) -> Json:
        """Return the usage; the answers to one prompt share its tokens."""
        prompt = sum(usage.prompt_tokens for usage in usages[:: self._ask.count])
        written = sum(usage.written_tokens for usage in usages)
        return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}

    def _event(self, chunk: Json) -> bytes:
        """Return the event of a chunk; the usage is null in each before the one that has it."""
        return event({**chunk, "usage": None} if self._ask.sends_usage else chunk)

    def _choice(self, index: int, pieces: Sequence[Piece]) -> Json:
        end = pieces[-1]
        texts = [piece for piece in pieces if isinstance(piece, TextPiece)]
        text = "".join(piece.text for piece in texts)
        reason = end.finish_reason if isinstance(end, EndPiece) else "stop"
        tokens = [token for piece in texts for token in piece.tokens]
        ended = {"index": index, "finish_reason": reason, **self._stop_reason(end)}
        if not self._is_chat:
            return {**ended, "text": text, "logprobs": self._text_logprobs(index, tokens)}
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
            for call, arguments in _calls_of(pieces)
        ]
        message: Json = {"role": "assistant", "content": text if text or not calls else None, "refusal": None}
        if calls:
            message["tool_calls"] = calls
        return {**ended, "message": message, "logprobs": self._chat_logprobs(tokens)}

    def _stop_reason(self, piece: Piece | None) -> Json:
        """Return the field of vLLM with the stop sequence that ended the answer, if the request has any."""
        return {"stop_reason": piece.stop} if self._ask.stops and isinstance(piece, EndPiece) else {}

    def _chunk(
        self,
        index: int,
        delta: Mapping[str, object],
        reason: str | None,
        tokens: Sequence[TokenRecord] | None,
        ended: Mapping[str, object] = MappingProxyType({}),
    ) -> Json:
        if not self._is_chat:
            return self._text_chunk(index, None)
        logprobs = None if tokens is None else self._chat_logprobs(tokens)
        choice = {"index": index, "delta": delta, "finish_reason": reason, "logprobs": logprobs, **ended}
        return {**self._head, "object": "chat.completion.chunk", "choices": [choice]}

    def _text_chunk(self, index: int, piece: Piece | None) -> Json:
        text = piece.text if isinstance(piece, TextPiece) else ""
        reason = piece.finish_reason if isinstance(piece, EndPiece) else None
        logprobs = self._text_logprobs(index, piece.tokens) if isinstance(piece, TextPiece) else None
        choice = {"index": index, "text": text, "finish_reason": reason, "logprobs": logprobs}
        choice |= self._stop_reason(piece)
        return {**self._head, "object": "text_completion", "choices": [choice]}

    def _chat_logprobs(self, tokens: Sequence[TokenRecord]) -> Json | None:
        if self._ask.top_logprobs is None:
            return None
        return {"content": token_logprobs(tokens), "refusal": None}

    def _text_logprobs(self, index: int, tokens: Sequence[TokenRecord]) -> Json | None:
        if self._ask.top_logprobs is None:
            return None
        offsets = self._offsets[index]
        return {
            "tokens": [token.text.decode(errors="replace") for token in tokens],
            "token_logprobs": [token.logprob for token in tokens],
            "top_logprobs": [
                None
                if token.logprob is None
                else {text.decode(errors="replace"): logprob for text, logprob in token.top}
                for token in tokens
            ],
            "text_offset": [offsets.next(token.text) for token in tokens],
        }


class _Offsets:
    """Counts the characters before each token of a text."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._count = 0

    def next(self, token: bytes) -> int:
        """Return the number of complete characters before the next token."""
        before = self._count
        self._count += len(self._decoder.decode(token))
        return before


def _calls_of(pieces: Sequence[Piece]) -> list[tuple[CallPiece, str]]:
    """Return the calls of an answer, each with its arguments."""
    arguments: dict[int, str] = {}
    for piece in pieces:
        if isinstance(piece, ArgumentsPiece):
            arguments[piece.number] = arguments.get(piece.number, "") + piece.text
    return [(call, arguments.get(call.number, "")) for call in pieces if isinstance(call, CallPiece)]


def token_logprobs(tokens: Sequence[TokenRecord]) -> list[Json]:
    """Return the log-probability of each token of an answer, and those of its alternatives."""
    return [
        {
            **_token(token.text, token.logprob),
            "top_logprobs": [_token(text, logprob) for text, logprob in token.top],
        }
        for token in tokens
    ]


def _token(text: bytes, logprob: float | None) -> Json:
    return {"token": text.decode(errors="replace"), "bytes": list(text), "logprob": logprob}
