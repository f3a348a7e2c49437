"""What a JSON Schema says, with a keyword of structkit's own, about the value at a place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from structkit.schema.ir.descend import Step, descend
from structkit.schema.ir.refs import References, ReferenceTarget

__all__ = ["annotations_at", "has_annotation"]

JsonSchema: TypeAlias = "Mapping[str, object]"


def has_annotation(schema: JsonSchema, keyword: str) -> bool:
    """Whether the keyword may be somewhere in the schema.

    >>> has_annotation({"items": {"x-mine": 1}}, "x-mine"), has_annotation({}, "x-mine")
    (True, False)
    """
    return f'"{keyword}"' in json.dumps(schema, default=str)


def annotations_at(schema: JsonSchema, keyword: str, path: Sequence[str | int]) -> list[object]:
    """What the keyword is for a value at a place, in all the schemas that speak of it.

    >>> annotations_at({"properties": {"a": {"items": {"x-mine": 5}}}}, "x-mine", ["a", 3])
    [5]
    >>> schema = {"additionalProperties": {"$ref": "#/definitions/a"}, "definitions": {"a": {"x-mine": 5}}}
    >>> annotations_at(schema, "x-mine", ["any key"])
    [5]
    """
    references = References(schema)

    def inside(target: ReferenceTarget) -> Iterator[tuple[Step, ReferenceTarget]]:
        return ((step, inner) for word, step, inner in references.inside(target) if word in _SAYING)

    found = (target.schema for target in descend(references.root, path, inside))
    return [raw[keyword] for raw in found if isinstance(raw, Mapping) and keyword in raw]


_SAYING = {
    "$ref", "additionalProperties", "allOf", "anyOf", "items", "oneOf", "prefixItems", "properties",
}  # fmt: skip
"""Keywords whose subschemas hold for the part of the value: a subschema of `not` or `contains` may not."""
