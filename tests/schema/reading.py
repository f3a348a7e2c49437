"""`parse_schema` with an automaton oracle, as targets use it."""

from __future__ import annotations

from functools import partial

from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.schema.json_schema.parse import parse_schema

__all__ = ["read"]

read = partial(parse_schema, oracle=AutomatonOracle(python=False))
