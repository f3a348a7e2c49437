"""Constructors of schema nodes that detect contradictions.

A node with a contradiction, such as an array with a required item that no value matches, becomes `Never` with the
reason. Parsing, intersection and pruning use these constructors, so every other node is free of contradictions that
are visible without following references.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from structkit.schema.ir.nodes import (
    Anything,
    Array,
    Contains,
    Never,
    Note,
    Object,
    Schema,
    String,
    Union,
)
from structkit.schema.ir.path import path_step

__all__ = ["array", "object_", "string", "union", "with_note", "with_required"]


def with_note(node: Schema, note: Note | None) -> Schema:
    """Return the node with `note` in place of its own note; `None` keeps the own note."""
    return node if note is None or note is node.note else replace(node, note=note)


def string(node: String) -> Schema:
    """Return the node, or `Never` if its lengths, patterns or formats contradict each other."""
    if node.max_length is not None and node.min_length > node.max_length:
        return Never(f"no string has at least {node.min_length} and at most {node.max_length} characters")
    if set(node.patterns) & set(node.forbidden) or set(node.formats) & set(node.forbidden_formats):
        return Never("no string both matches and does not match the same pattern or format")
    return node


def _reachable(node: Array, most: int) -> tuple[Contains, ...]:
    """Return the `contains` of an array with at most `most` items after its prefix, without idle maxima."""
    if most <= 0:
        return ()
    kept = (
        replace(each, others=node.items, max_count=None)
        if each.max_count is not None and each.max_count >= most
        else each
        for each in node.contains
    )
    return tuple(each for each in kept if each.min_count or each.max_count is not None)


def array(node: Array) -> Schema:
    """Return the array, shortened to the items that are possible, or `Never`.

    >>> array(Array(items=Never("the schema false allows nothing"), min_items=2)).relative_path
    ('[0]',)
    """
    if node.repeats_item:
        if node.unique_items:
            return Never("no array both repeats an item and has unique items")
        node = replace(node, min_items=max(node.min_items, 2))
    index = next((i for i, item in enumerate(node.prefix) if isinstance(item, Never)), len(node.prefix))
    item = node.prefix[index] if index < len(node.prefix) else node.items
    if isinstance(item, Never) and index < node.min_items:
        return Never(item.reason, (path_step(index), *item.relative_path))
    max_items = node.max_items
    if isinstance(item, Never) and (max_items is None or max_items > index):
        max_items = index
    for contains in node.contains:
        if contains.min_count > 0 and isinstance(contains.matching, Never):
            return Never(contains.matching.reason)
        if max_items is not None and contains.min_count and len(node.prefix) + contains.min_count > max_items:
            return Never(f"no array of at most {max_items} items contains {contains.min_count}")
        if node.prefix and contains.min_count and node.min_items < len(node.prefix) + contains.min_count:
            node = replace(node, min_items=len(node.prefix) + contains.min_count)
    if max_items is not None and node.min_items > max_items:
        return Never(f"no array has at least {node.min_items} and at most {max_items} items")
    prefix = node.prefix if max_items is None else node.prefix[:max_items]
    rest = node.contains if max_items is None else _reachable(node, max_items - len(prefix))
    if len(prefix) == len(node.prefix) and max_items == node.max_items and rest == node.contains:
        return node
    return replace(node, prefix=prefix, max_items=max_items, contains=rest)


def object_(node: Object) -> Schema:
    """Return the object without impossible properties, or `Never` if a required key is impossible.

    An optional property with the value `Never` forbids its key. It is kept if additional keys would allow the key.

    >>> from structkit.schema.ir.nodes import Property
    >>> object_(Object((Property("a", Never("no integer is at least 5 and at most 3")),))).relative_path
    ('.a',)
    """
    possible = tuple([group for group in node.additional if not isinstance(group.value, Never)])
    if len(possible) < len(node.additional):
        node = replace(node, additional=possible)
    for choice in node.required_groups:
        if all(isinstance(group.value, Never) for group in choice):
            return Never("a required key is forbidden")
    impossible = [key for key in node.properties if isinstance(key.value, Never)]
    for required in impossible:
        if required.required and isinstance(required.value, Never):
            return Never(required.value.reason, (path_step(required.name), *required.value.relative_path))
    if impossible and not node.additional:
        node = replace(node, properties=tuple(key for key in node.properties if key not in impossible))
    return _check_counts(node) if node.min_properties or node.max_properties is not None else node


def with_required(node: Object, name: str, value: Schema) -> Object:
    """Return the object with `name` required and its value replaced.

    >>> from structkit.schema.ir.nodes import Property
    >>> with_required(Object((Property("a", String(), required=False),)), "a", Anything()).properties[0].required
    True
    """
    keys = (replace(k, value=value, required=True) if k.name == name else k for k in node.properties)
    return replace(node, properties=tuple(keys))


def _check_counts(node: Object) -> Schema:
    """Return the object, or `Never` if its bounds on the number of keys contradict each other."""
    # One additional key can satisfy several choices.
    needed = sum(key.required for key in node.properties) + bool(node.required_groups)
    min_keys = max(node.min_properties, needed)
    max_keys = (
        math.inf if node.additional else sum(not isinstance(key.value, Never) for key in node.properties)
    )
    if node.max_properties is not None:
        max_keys = min(max_keys, node.max_properties)
    return (
        node
        if min_keys <= max_keys
        else Never(f"the object must have at least {min_keys} and at most {max_keys} keys")
    )


def union(branches: Iterable[Schema], reason: str = "no alternative is possible") -> Schema:
    """Return the union of the branches: flattened, without duplicates and without `Never`.

    Without a remaining branch, the result is `Never` with `reason`.

    >>> from structkit.schema.ir.nodes import Null
    >>> union([Null(), union([String(), Null()]), Never("")]).branches == (Null(), String())
    True
    """
    dropped: list[Never] = []
    possible: list[Schema] = []
    for branch in branches:
        if isinstance(branch, Never):
            dropped.append(branch)
        elif isinstance(branch, Union):
            possible += branch.branches
        else:
            possible.append(branch)
    if len(possible) == 1:
        return possible[0]
    kinds = set(map(type, possible))
    if Anything in kinds:
        return Anything()
    # Nodes of different types differ; to hash one would traverse it.
    flat = possible if len(kinds) == len(possible) else list(dict.fromkeys(possible))
    if not flat:
        return (
            dropped[0]
            if len(dropped) == 1
            else Never(": ".join((reason, *(one.reason for one in dropped[:1]))))
        )
    return flat[0] if len(flat) == 1 else Union(tuple(flat))
