"""A server that speaks the APIs of llama.cpp, OpenAI, Anthropic and Gemini, and writes fixed replies."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWERS = {
    "/v1/models": {"data": [{"id": "small"}]},
    "/props": {"default_generation_settings": {}},
}


def event(path: str, text: str) -> str:
    """Return the event of a stream that says a text."""
    name = ""
    data: dict[str, object] = {"choices": [{"index": 0, "delta": {"content": text}}]}
    if path.endswith("/messages"):
        name, delta = "event: content_block_delta\n", {"type": "text_delta", "text": text}
        data = {"type": "content_block_delta", "index": 0, "delta": delta}
    elif ":streamGenerateContent" in path:
        data = {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]}
    return f"{name}data: {json.dumps(data)}\n\n"


@contextmanager
def serve(*replies: str) -> Iterator[str]:
    """Start the server, and return its address; it writes each reply once."""
    remaining = list(replies)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = ANSWERS.get(self.path)
            self.send(200 if answer else 404, "application/json", json.dumps(answer))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send(200, "text/event-stream", event(self.path, remaining.pop(0)))

        def send(self, status: int, content: str, body: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
