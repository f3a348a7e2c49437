"""The values among which a schema lets one choose, at any place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import EllipsisType
from typing import Final, TypeAlias

from structkit.schema.ir.descend import descend, make_resolver
from structkit.schema.ir.nodes import Boolean, Const, Document, Null, Ref, Schema, Union

__all__ = ["OTHER", "Member", "choices_at"]

OTHER: Final = ...
"""Stands for all values of a choice that cannot be listed: what is not null, say."""

Member: TypeAlias = "str | EllipsisType"
"""The text of a value, or `OTHER`."""

_MAX_CHOICES = 256
"""Values of a choice that are listed; each is scored by the model."""


def choices_at(document: Document, path: Sequence[str | int]) -> tuple[Member, ...] | None:
    """The JSON texts of the values that are possible at a place; `None` where they cannot be listed.

    Args:
        document: A schema.
        path: Names and positions.

    Returns:
        The texts, each once, at least two. `OTHER` stands for those that cannot be listed beside null.

    >>> from structkit.schema.json_schema.parse import parse_schema
    >>> a, b = {"enum": ["x", "y"]}, {"type": ["string", "null"]}
    >>> document = parse_schema({"type": "object", "properties": {"a": a, "b": b}})
    >>> choices_at(document, ["a"]), choices_at(document, ["b"])
    (('"x"', '"y"'), ('null', Ellipsis))
    """
    texts: dict[Member, None] = {}
    for node in descend(document.root, path, make_resolver(document.definitions)):
        if not isinstance(node, Union | Ref):
            texts.update(dict.fromkeys(_texts(node)))
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
