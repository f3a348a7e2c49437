"""Calls as a model writes them, for the scripts of agents."""

from __future__ import annotations

import json


def call(name: str, /, **arguments: object) -> str:
    """Return a call in the format `json`."""
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
