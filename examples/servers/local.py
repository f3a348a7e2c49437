"""A model behind the API of OpenAI, as `structkit serve` serves it, in a thread of this program."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

import structkit as sk
from structkit.models.protocols import LogitsModel
from structkit.serve import ServerConfig, create_app


@contextmanager
def serve(model: LogitsModel | None = None, config: ServerConfig | None = None) -> Iterator[str]:
    """Serve a model on a free port, and yield the address."""
    app = create_app(sk.load() if model is None else model, config)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [found]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{found.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
