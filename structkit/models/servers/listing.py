"""The models that a server lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from structkit.errors import ModelError
from structkit.models.servers.dialects import Dialect
from structkit.models.servers.faults import Fault, Refused
from structkit.models.servers.http import HttpClient, Json

__all__ = ["choose_model", "list_models", "max_length_of", "no_model", "owners_of", "root_of"]

_MAX_LISTED = 20
"""Models that an error lists."""


def root_of(base: str) -> str:
    """Return the address of a server, whose API has the address `base`."""
    return base.removesuffix("/v1")


def list_models(client: HttpClient) -> Sequence[Json]:
    """Return the models of a server; none if it does not list them.

    Raises:
        Fault: The server cannot be reached, refuses the key, or is no such server.
    """
    try:
        for base in dict.fromkeys((client.base, f"{root_of(client.base)}/v1")):
            listed = client.get(f"{base}/models")
            data = listed.get("data") if isinstance(listed, Mapping) else None
            if isinstance(data, list):
                client.base = base
                return [entry for entry in data if isinstance(entry, Mapping)]
    except Refused as refused:
        raise Fault(refused.what, is_transient=False) from refused.__cause__
    return ()


def max_length_of(listed: Sequence[Json]) -> int | None:
    """Return the length of the context in tokens, if the server reports one."""
    found = {length for length in (entry.get("max_model_len") for entry in listed) if type(length) is int}
    return found.pop() if len(found) == 1 else None


def owners_of(listed: Sequence[Json]) -> set[str]:
    """Return the owners of the models, which tell the kind of server."""
    return {owner for owner in (entry.get("owned_by") for entry in listed) if isinstance(owner, str)}


def choose_model(model: str | None, names: Sequence[str], dialect: Dialect, base: str) -> str:
    """Return the name of the model that is used.

    Raises:
        ModelError: The server does not have the model, or which model is meant is not clear.
    """
    if model is None:
        if len(names) == 1:
            return names[0]
        if not names:
            what = "the server does not list its models; pass model=..., or the address of the API, such as "
            raise ModelError(f"{what}http://localhost:8000/v1", place=base)
        raise ModelError(
            f"the server has several models; pass model=... with one of {_shown(names)}", place=base
        )
    if dialect.is_local and names and not {model, f"{model}:latest"} & set(names):
        raise ModelError(no_model(model, names), place=base)
    return model


def no_model(model: str, names: Sequence[str]) -> str:
    """Return the message about a model that a server does not have."""
    known = f"; it has {_shown(names)}" if names else "; is the address that of the API, and the name right?"
    return f"the server does not have the model {model!r}{known}"


def _shown(names: Sequence[str]) -> str:
    listed = ", ".join(repr(name[:80]) for name in names[:_MAX_LISTED])
    return listed if len(names) <= _MAX_LISTED else f"{listed} and {len(names) - _MAX_LISTED} more"
