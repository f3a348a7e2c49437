"""`structkit serve`: OpenAI's API over one local model."""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import logging
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from structkit.cli.parser import reason_of
from structkit.errors import MissingExtra, ModelError
from structkit.generate.output.confidence import LowAgreementWarning
from structkit.models.names.load import load
from structkit.models.text.protocol import TextModel

if TYPE_CHECKING:
    from structkit.serve import ServerConfig

__all__ = ["serve", "share_arenas"]

_LOOPBACK = ("127.0.0.1", "localhost", "::1")

_KEEP_ALIVE = 30
"""Seconds that a connection without a request is kept."""

_M_ARENA_MAX = -8
"""The number of the parameter of `mallopt`, in glibc's `malloc.h`."""

_ARENAS = 2

_END_SECONDS = 10.0
"""Seconds for threads whose answers were given up to complete a step of the model.

Afterwards the process ends without the interpreter's own end, which aborts if a thread is in the code of the model.
"""

_MAX_HEADERS = 64 * 1024
"""Maximum bytes of the headers of a request."""


def serve(arguments: argparse.Namespace) -> tuple[str, int]:
    """Serve until the process is interrupted.

    Raises:
        MissingExtra: The extra `serve` is not installed.
        ModelError: The model cannot be loaded, or returns text; the address cannot be used; or the variable of the
            keys is not set.
    """
    try:
        import uvicorn

        from structkit.cli.timed_protocol import TimedProtocol
        from structkit.serve import create_app
    except ImportError as error:
        raise MissingExtra("serve", "structkit serve needs", error.name or "starlette") from error
    config = _read_config(arguments)
    _check_address(arguments.host, arguments.port)
    share_arenas()
    model = load(arguments.model)
    if isinstance(model, TextModel):
        raise ModelError(
            f"{model.name} returns text, and a server needs a model that returns logits; load a local one"
        )
    if not config.api_keys and arguments.host not in _LOOPBACK:
        sys.stderr.write(
            f"structkit: {arguments.host} can be reached from other machines, and anyone may use the model; "
            "set a key with --api-key-env\n"
        )
    logging.basicConfig(level=logging.WARNING)
    # Python keeps each text that it warned of, and clients choose the texts.
    warnings.filterwarnings("ignore", category=LowAgreementWarning)
    with _ended_by_signal():
        uvicorn.run(
            create_app(model, config),
            host=arguments.host,
            port=arguments.port,
            access_log=False,
            http=TimedProtocol,  # of h11: httptools, which uvicorn prefers if it is installed, has no bound on headers
            h11_max_incomplete_event_size=_MAX_HEADERS,
            # uvicorn counts idle connections, too, and its 503 is plain text: that of the application comes first.
            limit_concurrency=2 * config.max_requests,
            server_header=False,
            timeout_graceful_shutdown=max(1, round(config.shutdown_timeout)),
            timeout_keep_alive=_KEEP_ALIVE,
            ws="none",
        )
    return "", 0


def _check_address(host: str, port: int) -> None:
    """Check that a server can listen at an address, before the model is loaded.

    Raises:
        ModelError: It cannot, for example because another program listens there.
    """

    async def listen() -> None:
        # Only bound: a client that connected now would be reset.
        server = await asyncio.start_server(lambda reader, writer: None, host, port, start_serving=False)
        server.close()
        await server.wait_closed()

    try:
        asyncio.run(listen())
    except (OSError, UnicodeError) as error:
        raise ModelError(
            f"the server cannot listen there: {reason_of(error)}; give another --host or --port",
            place=f"{host}:{port}",
        ) from error


def share_arenas() -> None:
    """Let all threads share two arenas of glibc's allocator.

    Each request has a thread, and by default up to eight arenas for each core keep what their threads once used: after
    4,000 requests with 32 at once, 23 of them had 1.2 GB.
    """
    if "MALLOC_ARENA_MAX" in os.environ:
        return
    with suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """End with the status 0 after SIGTERM: uvicorn completes the answers, and sends the signal again."""
    from structkit.serve.write.worker import join_workers

    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if not join_workers(_END_SECONDS):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)


def _read_config(arguments: argparse.Namespace) -> ServerConfig:
    """Return the settings of the arguments.

    Raises:
        ModelError: The variable of the keys is not set.
    """
    from structkit.serve import ServerConfig

    keys: tuple[str, ...] = ()
    if variable := arguments.api_key_env:
        keys = tuple(key.strip() for key in os.environ.get(variable, "").split(",") if key.strip())
        if not keys:
            raise ModelError(f"the environment variable {variable} has no key; set it, or omit --api-key-env")
    hosts = tuple(arguments.allowed_host or ())
    if not hosts and arguments.host in _LOOPBACK:
        hosts = _LOOPBACK
    return ServerConfig(
        name=arguments.name,
        api_keys=keys,
        allowed_hosts=hosts,
        max_running=arguments.max_running,
        max_waiting=arguments.max_waiting,
        max_tokens=arguments.max_tokens,
        timeout=arguments.timeout,
        default_temperature=arguments.temperature,
        playground=not arguments.no_playground,
        shutdown_timeout=arguments.shutdown_timeout,
    )
