"""Values of structkit's own JSON Schema keywords, by path."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from structkit.schema.ir.descend import Step, descend
from structkit.schema.ir.refs import References, ReferenceTarget

__all__ = ["annotations_at", "has_annotation"]

JsonSchema: TypeAlias = "Mapping[str, object]"


def has_annotation(schema: JsonSchema, keyword: str) -> bool:
    """Return whether the schema may contain the keyword.

    >>> has_annotation({"items": {"x-mine": 1}}, "x-mine"), has_annotation({}, "x-mine")
    (True, False)
    """
    return f'"{keyword}"' in json.dumps(schema, default=str)


def annotations_at(schema: JsonSchema, keyword: str, path: Sequence[str | int]) -> list[object]:
    """Return the values of the keyword in all schemas that apply to the part of a value at `path`.

    >>> annotations_at({"properties": {"a": {"items": {"x-mine": 5}}}}, "x-mine", ["a", 3])
    [5]
    >>> schema = {"additionalProperties": {"$ref": "#/definitions/a"}, "definitions": {"a": {"x-mine": 5}}}
    >>> annotations_at(schema, "x-mine", ["any key"])
    [5]
    """
    references = References(schema)

    def applicable_children(target: ReferenceTarget) -> Iterator[tuple[Step, ReferenceTarget]]:
        return ((step, inner) for name, step, inner in references.inside(target) if name in _APPLICATORS)

    found = (target.schema for target in descend(references.root, path, applicable_children))
    return [raw[keyword] for raw in found if isinstance(raw, Mapping) and keyword in raw]


_APPLICATORS = {
    "$ref", "additionalProperties", "allOf", "anyOf", "items", "oneOf", "prefixItems", "properties",
}  # fmt: skip
"""Keywords whose subschemas always apply to the part of the value, unlike those of `not` or `contains`."""
