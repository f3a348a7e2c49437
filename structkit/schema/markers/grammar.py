"""Strings whose text follows a grammar: `Annotated[str, Grammar(...)]`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import NoneType
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


_PART_TYPES: tuple[type | tuple[type, ...], ...] = (str, (str, NoneType), str, list)
_OPTION_TYPES: tuple[type | tuple[type, ...], ...] = (
    str, str, str, list, (str, NoneType), bool, int, bool, NoneType,
)  # fmt: skip
_FOLDERS = 3
"""Which of the options are the folders of imports; see `LarkOptions`. A field has no grammar with an indenter."""


def grammar_format(raw: object, path: SchemaPath, *, python: bool) -> Format:
    """Return the format of the keyword's value.

    Args:
        raw: The value.
        path: Where it is.
        python: Whether the schema is that of a Python type. Any other one can come from an untrusted client, so
            that its grammar imports from no file but those of Lark.

    Raises:
        SchemaError: The value does not come from `described_with`.
    """
    parts = list(raw) if isinstance(raw, (list, tuple)) else []
    if not (_are(parts, _PART_TYPES) and _are(parts[-1], _OPTION_TYPES)):
        raise SchemaError(
            f"{GRAMMAR_KEYWORD} must be text, path, syntax and options; annotate a string with a Grammar",
            place=path.text,
        )
    if not python:
        text, _, syntax, options = parts
        parts = [text, None, syntax, [*options[:_FOLDERS], [], *options[_FOLDERS + 1 :]]]
    return Format.of(GRAMMAR_FORMAT, {"parts": json.dumps(parts)})


def _are(values: Sequence[object], types: Sequence[type | tuple[type, ...]]) -> bool:
    return len(values) == len(types) and all(map(isinstance, values, types))


def grammar_parts(given: Format) -> list[Any]:
    """Return the value of the keyword: the text, the path, the syntax and the options of a grammar."""
    parts: list[Any] = json.loads(str(dict(given.arguments)["parts"]))
    return parts
