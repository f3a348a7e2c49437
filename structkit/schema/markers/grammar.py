"""Strings whose text follows a grammar: `Annotated[str, Grammar(...)]`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from structkit.errors import SchemaError
from structkit.schema.ir.nodes import Format
from structkit.schema.ir.path import SchemaPath

__all__ = ["GRAMMAR_FORMAT", "GRAMMAR_KEYWORD", "described_with", "grammar_format", "grammar_parts"]

GRAMMAR_KEYWORD = "x-structkit-grammar"
"""The JSON Schema keyword of grammars; other libraries ignore it."""

GRAMMAR_FORMAT = "python:grammar"
"""The format that represents the keyword, with the parts of the grammar as JSON."""


def described_with(described: dict[str, Any], parts: Sequence[object]) -> dict[str, Any]:
    """Return the JSON Schema of a string with the keyword.

    Raises:
        SchemaError: It is not the schema of a string.
    """
    if described.get("type") != "string":
        raise SchemaError(
            "Grammar applies only to strings; write Annotated[str, Grammar(...)] | None for an optional text"
        )
    return {**described, GRAMMAR_KEYWORD: list(parts)}


def grammar_format(raw: object, path: SchemaPath) -> Format:
    """Return the format of the keyword's value.

    Raises:
        SchemaError: The value does not come from `described_with`.
    """
    if not isinstance(raw, (list, tuple)) or len(raw) != 4 or isinstance(raw, Mapping):
        raise SchemaError(
            f"{GRAMMAR_KEYWORD} must be text, path, syntax and options; annotate a string with a Grammar",
            place=path.text,
        )
    return Format.of(GRAMMAR_FORMAT, {"parts": json.dumps(raw)})


def grammar_parts(given: Format) -> list[Any]:
    """Return the value of the keyword: the text, the path, the syntax and the options of a grammar."""
    parts: list[Any] = json.loads(str(dict(given.arguments)["parts"]))
    return parts
