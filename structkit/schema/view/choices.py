"""The choices of a schema: parts of a value with a listed set of possible values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import EllipsisType
from typing import Final, TypeAlias

from structkit.schema.ir.descend import descend, make_resolver
from structkit.schema.ir.json_values import canonical_key
from structkit.schema.ir.nodes import Boolean, Const, Document, Null, Ref, Schema, Union

__all__ = ["OTHER", "Member", "choices_at"]

OTHER: Final = ...
"""Stands for all values that are not listed, for example those other than null."""

Member: TypeAlias = "str | EllipsisType"
"""The JSON of a value, or `OTHER`."""

_MAX_CHOICES = 256
"""Maximum number of listed values; the model scores each of them."""


def choices_at(document: Document, path: Sequence[str | int]) -> tuple[Member, ...] | None:
    """Return the JSON of each value that is possible at `path`; `None` if the values cannot be listed.

    Args:
        document: A schema.
        path: Keys and indices.

    Returns:
        At least two texts of different values; 1 and 1.0 are equal. `OTHER` stands for the values other than null if
        these cannot be listed.

    >>> from structkit.schema.json_schema.parse import parse_schema
    >>> a, b = {"enum": ["x", "y"]}, {"type": ["string", "null"]}
    >>> document = parse_schema({"type": "object", "properties": {"a": a, "b": b}})
    >>> choices_at(document, ["a"]), choices_at(document, ["b"])
    (('"x"', '"y"'), ('null', Ellipsis))
    """
    texts: dict[Member, None] = {}
    values: set[object] = set()
    for node in descend(document.root, path, make_resolver(document.definitions)):
        if not isinstance(node, Union | Ref):
            for text in _texts(node):
                value = text if text is OTHER else canonical_key(json.loads(text))
                if value not in values:
                    values.add(value)
                    texts[text] = None
            if len(texts) > _MAX_CHOICES:
                return None
    if OTHER in texts:
        texts = {"null": None, OTHER: None} if "null" in texts else {}
    return tuple(texts) if len(texts) > 1 else None


def _texts(leaf: Schema) -> tuple[Member, ...]:
    if isinstance(leaf, Const):
        return (json.dumps(json.loads(leaf.text), ensure_ascii=False),)
    if isinstance(leaf, Boolean):
        return "true", "false"
    return ("null",) if isinstance(leaf, Null) else (OTHER,)
