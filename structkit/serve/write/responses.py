"""The bodies and events of responses, the API that newer clients of OpenAI use."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from structkit.generate.output.result import Usage
from structkit.serve.bounds.api_error import ApiError
from structkit.serve.read.requests import Ask
from structkit.serve.write.events import event
from structkit.serve.write.pieces import ArgumentsPiece, CallPiece, EndPiece, Piece, TextPiece
from structkit.serve.write.replies import Json, token_logprobs

__all__ = ["ResponseReply"]


@dataclass
class _Item:
    """An item of the output that is being streamed."""

    index: int
    head: Json
    text: str = ""
    logprobs: list[Json] = field(default_factory=list)

    @property
    def is_call(self) -> bool:
        return self.head["type"] == "function_call"

    def value(self, status: str) -> Json:
        """Return the current item."""
        if self.is_call:
            return {**self.head, "arguments": self.text, "status": status}
        part = _part(self.text, self.logprobs)
        is_empty = status == "in_progress" and not self.text
        return {**self.head, "content": [] if is_empty else [part], "status": status}


class ResponseReply:
    """The reply to a request for a response.

    Args:
        ask: The request.
    """

    def __init__(self, ask: Ask) -> None:
        self._id = f"resp_{uuid.uuid4().hex}"
        self._head: Json = {
            "id": self._id,
            "object": "response",
            "created_at": int(time.time()),
            "model": ask.model,
            "error": None,
            "incomplete_details": None,
            **ask.echo,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None},
            "store": False,
            "truncation": "disabled",
        }
        self._number = 0
        self._items: list[_Item] = []

    def body(self, answers: Sequence[Sequence[Piece]]) -> Json:
        """Return the body with the only answer."""
        for piece in answers[0]:
            self._extend(piece)
        return self._response(next(piece for piece in answers[0] if isinstance(piece, EndPiece)))

    def start(self, index: int) -> bytes:
        """Return the events that start the answer."""
        response = {**self._head, "status": "in_progress", "output": [], "usage": None}
        kinds = ("response.created", "response.in_progress")
        return b"".join(self._event(kind, {"response": response}) for kind in kinds)

    def piece(self, index: int, piece: Piece) -> bytes:
        """Return the events of a piece."""
        known = len(self._items)
        item = self._extend(piece)
        events = b"".join(self._added(each) for each in self._items[known:])
        match piece:
            case TextPiece(text, tokens) if item is not None:
                delta = {"delta": text, "content_index": 0, "logprobs": token_logprobs(tokens)}
                events += self._event("response.output_text.delta", {**_place(item), **delta})
            case ArgumentsPiece(_, text) if item is not None:
                delta = {"delta": text}
                events += self._event("response.function_call_arguments.delta", {**_place(item), **delta})
            case EndPiece():
                status = _status(piece)
                events += b"".join(self._done(each, status) for each in self._items)
                events += self._event(f"response.{status}", {"response": self._response(piece)})
        return events

    def end(self, usages: Sequence[Usage]) -> bytes:
        """Return nothing: the last event of a response has its usage."""
        return b""

    def failure(self, error: ApiError) -> bytes:
        """Return the event that ends a stream that fails."""
        values = {"code": error.code, "message": error.message, "param": error.param}
        return self._event("error", values)

    def _extend(self, piece: Piece) -> _Item | None:
        """Add a piece to the item that it belongs to, which is returned."""
        match piece:
            case CallPiece(_, id, name):
                head: Json = {"type": "function_call", "id": _new_id("fc"), "call_id": id, "name": name}
                self._items.append(_Item(len(self._items), head))
                return self._items[-1]
            case ArgumentsPiece(number, text):
                item = [item for item in self._items if item.is_call][number]
                item.text += text
                return item
            case TextPiece(text, tokens):
                item = self._message()
                item.text += text
                item.logprobs += token_logprobs(tokens)
                return item
            case EndPiece():
                if not self._items:
                    self._message()
                return None

    def _message(self) -> _Item:
        for item in self._items:
            if not item.is_call:
                return item
        head: Json = {"type": "message", "id": _new_id("msg"), "role": "assistant"}
        self._items.append(_Item(len(self._items), head))
        return self._items[-1]

    def _added(self, item: _Item) -> bytes:
        empty = _Item(item.index, item.head)
        added = {"output_index": item.index, "item": empty.value("in_progress")}
        events = self._event("response.output_item.added", added)
        if item.is_call:
            return events
        part = {**_place(item), "content_index": 0, "part": _part("", [])}
        return events + self._event("response.content_part.added", part)

    def _done(self, item: _Item, status: str) -> bytes:
        place = _place(item)
        if item.is_call:
            done = {**place, "name": item.head["name"], "arguments": item.text}
            events = self._event("response.function_call_arguments.done", done)
        else:
            text = {**place, "content_index": 0, "text": item.text, "logprobs": item.logprobs}
            part = {**place, "content_index": 0, "part": _part(item.text, item.logprobs)}
            events = self._event("response.output_text.done", text)
            events += self._event("response.content_part.done", part)
        item_done = {"output_index": item.index, "item": item.value(status)}
        return events + self._event("response.output_item.done", item_done)

    def _response(self, end: EndPiece) -> Json:
        """Return the complete response."""
        status, usage = _status(end), end.usage
        return {
            **self._head,
            "status": status,
            "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
            "output": [item.value(status) for item in self._items],
            "usage": {
                "input_tokens": usage.prompt_tokens,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": usage.written_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.prompt_tokens + usage.written_tokens,
            },
        }

    def _event(self, kind: str, values: Mapping[str, object]) -> bytes:
        self._number += 1
        return event({"type": kind, "sequence_number": self._number - 1, **values}, kind)


def _place(item: _Item) -> Json:
    return {"item_id": item.head["id"], "output_index": item.index}


def _part(text: str, logprobs: list[Json]) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}


def _status(end: EndPiece) -> str:
    return "incomplete" if end.finish_reason == "length" else "completed"


def _new_id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex}"
