"""A server in a thread that speaks the API of OpenAI, Anthropic or Gemini, with the faults of real ones."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

MODEL = "demo"

KINDS: dict[str, dict[str, object]] = {
    "vLLM": {"/version": {"version": "0.33.0"}},
    "SGLang": {"/model_info": {"model_path": MODEL}},
    "llama.cpp": {"/props": {"default_generation_settings": {}, "chat_template": ""}},
    "Ollama": {"/api/version": {"version": "0.20.0"}},
    "LM Studio": {"/api/v0/models": {"data": []}},
    "transformers serve": {"/openapi.json": {"paths": {"/load_model": {}}}},
    "an OpenAI-compatible server": {},
}
"""What each kind of server answers at paths of its own."""


def _event(data: object, name: str = "") -> bytes:
    start = f"event: {name}\n" if name else ""
    return f"{start}data: {json.dumps(data)}\n\n".encode()


@dataclass(frozen=True)
class Wire:
    """The events of a reply."""

    piece: Callable[[str], bytes]
    start: bytes = b""
    end: bytes = b""


def _chunk(choices: list[dict[str, object]], **fields: object) -> bytes:
    start = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_764_000_000, "model": MODEL}
    return _event({**start, "choices": choices, **fields})


# As the services send them: the role first, the reason for the end and the usage in events of their own.
OPENAI = Wire(
    piece=lambda text: _event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}),
    start=_chunk([{"index": 0, "delta": {"role": "assistant", "content": "", "refusal": None}}]),
    end=_chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    + _chunk([], usage={"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12})
    + b"data: [DONE]\n\n",
)
_MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": MODEL,
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 9, "output_tokens": 1},
}
ANTHROPIC = Wire(
    piece=lambda text: _event(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        "content_block_delta",
    ),
    start=_event({"type": "message_start", "message": _MESSAGE}, "message_start")
    + _event(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        "content_block_start",
    )
    + _event({"type": "ping"}, "ping"),
    end=_event({"type": "content_block_stop", "index": 0}, "content_block_stop")
    + _event(
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
        "message_delta",
    )
    + _event({"type": "message_stop"}, "message_stop"),
)
GEMINI = Wire(
    piece=lambda text: _event({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]}),
    end=_event(
        {
            "candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12},
            "modelVersion": MODEL,
        }
    ),
)


@dataclass(frozen=True)
class Say:
    """A reply: its pieces, and what happens after them."""

    pieces: Iterable[str | bytes] = ()
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    is_cut: bool = False
    hangs: bool = False
    streams: bool = True


Reply: TypeAlias = "str | Say | Callable[[dict[str, object]], str | Say]"


def error(status: int, message: str, *headers: tuple[str, str]) -> Say:
    """A status with the message of an error."""
    return Say(status=status, headers=headers, body=json.dumps({"error": {"message": message}}))


@dataclass
class FakeServer:
    """A server that answers each request with the next of its replies; the last is repeated."""

    url: str
    replies: list[Reply]
    kind: str = "an OpenAI-compatible server"
    wire: Wire = OPENAI
    models: Sequence[str] = (MODEL,)
    key: str | None = None
    is_html: bool = False
    lists_models: bool = True
    requests: list[dict[str, object]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def next_reply(self, body: dict[str, object]) -> Say:
        self.requests.append(body)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if callable(reply):
            reply = reply(body)
        return Say([reply]) if isinstance(reply, str) else reply


@contextmanager
def serve(*replies: Reply, **settings: object) -> Iterator[FakeServer]:
    """Start a server; stop it at the end."""
    fake = FakeServer("", list(replies) or [""], **settings)  # type: ignore[arg-type]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self._is_refused():
                return
            if self.path == "/v1/models" and not fake.lists_models:
                self._send(500, "Internal Server Error", ("Content-Type", "text/plain"))
                return
            if self.path == "/v1/models":
                found: object = {"object": "list", "data": [{"id": name} for name in fake.models]}
            else:
                found = KINDS[fake.kind].get(self.path)
            self._send(200 if found is not None else 404, json.dumps(found or {"error": {"message": "?"}}))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self._is_refused():
                return
            say = fake.next_reply(body | {"path": self.path})
            if say.status != 200 or not say.streams:
                self._send(say.status, say.body, *say.headers)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            for name, value in say.headers:
                self.send_header(name, value)
            if say.is_cut:
                self.send_header("Content-Length", "1000000")
            self.end_headers()
            chat = not self.path.endswith("/completions") or self.path.endswith("/chat/completions")
            try:
                if not say.headers:  # a reply with headers can be compressed
                    self.wfile.write(fake.wire.start)
                for piece in say.pieces:
                    if isinstance(piece, bytes):
                        self.wfile.write(piece)
                        continue
                    event = fake.wire.piece(piece) if chat else _event({"choices": [{"text": piece}]})
                    self.wfile.write(event)
                    self.wfile.flush()
                if say.hangs:
                    fake.released.wait(10)
                if not say.is_cut:
                    self.wfile.write(fake.wire.end)
            except OSError:
                pass  # the client closed the stream
            self.close_connection = True

        def _is_refused(self) -> bool:
            if fake.is_html:
                self._send(200, "<html><body>Welcome</body></html>", ("Content-Type", "text/html"))
                return True
            headers = (self.headers.get(each) for each in ("X-Goog-Api-Key", "X-Api-Key", "Authorization"))
            given = next((header for header in headers if header), "")
            if fake.key is not None and given.removeprefix("Bearer ") != fake.key:
                self._send(401, json.dumps({"error": {"message": f"Incorrect API key provided: {given}"}}))
                return True
            return False

        def _send(self, status: int, body: str, *headers: tuple[str, str]) -> None:
            self.send_response(status)
            named = dict((("Content-Type", "application/json"), *headers))
            for name, value in named.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    fake.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        fake.released.set()
        http.shutdown()
        http.server_close()
        thread.join()
