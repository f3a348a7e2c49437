"""The target for a JSON Schema of another library: of a tool's arguments, or of a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from structkit.errors import StructkitError, UnsupportedKeyword
from structkit.targets.specs import JsonSchema
from structkit.targets.targets import read_target

__all__ = ["json_target"]


def json_target(
    schema: Mapping[str, object], resources: Mapping[str, Mapping[str, object]] | None = None
) -> JsonSchema:
    """Return the target; values are checked after decoding if a keyword cannot be enforced.

    Args:
        schema: The schema. Its objects have no undeclared keys unless it allows them.
        resources: Other documents that the schema refers to, by URI.

    >>> json_target({"type": "integer"}).strict
    True
    >>> json_target({"not": {"uniqueItems": True}}).strict
    False
    """
    target = JsonSchema(schema, additional="closed", resources=resources or {}, bounded_numbers=True)
    try:
        read_target(target).rules()
    except UnsupportedKeyword:
        return replace(target, strict=False)
    except StructkitError:
        pass  # the caller's agent raises it with the name of the tool
    return target
