"""The values among which a schema lets one choose, at any place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import Final, TypeAlias

from structkit.schema.nodes import Array, Boolean, Const, Document, Null, Object, Ref, Schema, Union

__all__ = ["OTHER", "Member", "choices_at"]

OTHER: Final = ...
"""Stands for all values of a choice that cannot be listed: what is not null, say."""

Member: TypeAlias = "str | EllipsisType"
"""The text of a value, or `OTHER`."""

_MOST = 256
"""Values of a choice that are listed; each is scored by the model."""


def choices_at(document: Document, path: Sequence[str | int]) -> tuple[Member, ...] | None:
    """The JSON texts of the values that are possible at a place; `None` where they cannot be listed.

    Args:
        document: A schema.
        path: Names and positions.

    Returns:
        The texts, each once, at least two. `OTHER` stands for those that cannot be listed beside null.

    >>> from structkit.schema.read import read
    >>> a, b = {"enum": ["x", "y"]}, {"type": ["string", "null"]}
    >>> document = read({"type": "object", "properties": {"a": a, "b": b}})
    >>> choices_at(document, ["a"]), choices_at(document, ["b"])
    (('"x"', '"y"'), ('null', Ellipsis))
    """
    nodes = [document.root]
    for step in path:
        nodes = [found for node in nodes for found in _below(document, node, step)]
    texts: dict[Member, None] = {}
    for node in nodes:
        for leaf in _branches(document, node):
            texts.update(dict.fromkeys(_texts(leaf)))
            if len(texts) > _MOST:
                return None
    if OTHER in texts:
        texts = {"null": None, OTHER: None} if "null" in texts else {}
    return tuple(texts) if len(texts) > 1 else None


def _branches(document: Document, node: Schema, seen: tuple[str, ...] = ()) -> Iterator[Schema]:
    """The node itself, or what it is a union of or refers to."""
    if isinstance(node, Union):
        for branch in node.branches:
            yield from _branches(document, branch, seen)
    elif isinstance(node, Ref):
        if node.name not in seen:
            yield from _branches(document, document.definitions[node.name], (*seen, node.name))
    else:
        yield node


def _below(document: Document, node: Schema, step: str | int) -> Iterator[Schema]:
    for leaf in _branches(document, node):
        if isinstance(leaf, Object) and isinstance(step, str):
            for part in leaf.properties:
                if part.name == step:
                    yield part.value
        elif isinstance(leaf, Array) and isinstance(step, int):
            yield leaf.prefix[step] if step < len(leaf.prefix) else leaf.items


def _texts(leaf: Schema) -> tuple[Member, ...]:
    if isinstance(leaf, Const):
        return (json.dumps(json.loads(leaf.text), ensure_ascii=False),)
    if isinstance(leaf, Boolean):
        return "true", "false"
    return ("null",) if isinstance(leaf, Null) else (OTHER,)
