"""Schemas without constraints other than a type, and the annotations of schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from structkit.errors import LimitExceeded, SchemaError
from structkit.limits import Limits
from structkit.schema.ir.json_values import json_text
from structkit.schema.ir.nodes import FREE_STRING, Boolean, Integer, Note, Null, Number, Schema, String
from structkit.schema.ir.path import SchemaPath

__all__ = ["LONE_REF_KEYWORDS", "NEUTRAL_KEYWORDS", "PATHLESS_KEYWORDS", "bare_type", "read_note"]

_BARE: Mapping[str, String | Integer | Number | Boolean | Null] = {
    "string": FREE_STRING,
    "integer": Integer(),
    "number": Number(),
    "boolean": Boolean(),
    "null": Null(),
}
"""The nodes of types without other keywords."""


def bare_type(
    raw: Mapping[str, object], path: SchemaPath, limits: Limits, *, notes: bool = True
) -> Schema | None:
    """Return the node of a schema with a type and no other constraint; `None` for other schemas.

    Without `notes`, the node has no annotations, and equal schemas have the same node.
    """
    kind = raw.get("type")
    bare = _BARE.get(kind) if isinstance(kind, str) else None
    if bare is None or len(raw) == 1:
        return bare
    if not raw.keys() <= NEUTRAL_KEYWORDS:
        return None
    note = read_note(raw, path, limits) if notes else None
    return bare if note is None else type(bare)(note=note)


NEUTRAL_KEYWORDS = frozenset(
    {"type", "title", "description", "examples", "default", "deprecated", "$comment"}
)
"""Keywords that do not restrict the values of a type."""

PATHLESS_KEYWORDS = NEUTRAL_KEYWORDS - {"examples"}
"""Keywords of schemas that are parsed without their path."""

LONE_REF_KEYWORDS = NEUTRAL_KEYWORDS - {"type"} | {"$ref"}
"""Keywords that do not restrict the values of a reference."""


def read_note(raw: Mapping[str, object], path: SchemaPath, limits: Limits) -> Note | None:
    """Return the annotations for readers; invalid ones are ignored, because they do not restrict values."""
    title, description, examples = raw.get("title"), raw.get("description"), raw.get("examples")
    if title is None and description is None and examples is None:
        return None
    return Note(
        title if isinstance(title, str) else None,
        description if isinstance(description, str) else None,
        _example_texts(examples, path, limits) if isinstance(examples, (list, tuple)) else (),
    )


def _example_texts(examples: Sequence[object], path: SchemaPath, limits: Limits) -> tuple[str, ...]:
    texts = []
    for example in examples:
        with suppress(SchemaError, LimitExceeded):
            texts.append(json_text(example, "examples", path, limits))
    return tuple(texts)
