"""Reading as a target is read: with automata that decide what patterns say."""

from __future__ import annotations

from functools import partial

from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.schema.json_schema import parse as room

__all__ = ["read"]

read = partial(room.parse_schema, oracle=AutomatonOracle(python=False))
