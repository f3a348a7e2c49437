"""A server for clients of OpenAI, over one local model; the command is `structkit serve`.

`create_app` returns an ASGI application for another server, or for a part of another application. Install
the extra `serve`.

>>> import structkit as sk
>>> from structkit.serve import ServerConfig, create_app
>>> app = create_app(sk.load(), ServerConfig(name="demo", api_keys=("secret",)))
"""

from __future__ import annotations

from structkit.errors import MissingExtra

try:
    import prometheus_client  # noqa: F401
    import starlette  # noqa: F401
except ImportError as error:
    raise MissingExtra("serve", "structkit.serve needs", error.name or "starlette") from error

from structkit.serve.app import create_app
from structkit.serve.bounds.config import ServerConfig

__all__ = ["ServerConfig", "create_app"]
