"""Nodes with changed parts."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from structkit.schema.ir.nodes import (
    Additional,
    Array,
    Case,
    Object,
    ObjectProduct,
    ProductGroup,
    ProductKey,
    Property,
    Schema,
    Union,
)

__all__ = ["Rebuild", "in_array", "in_object", "in_product"]

K = TypeVar("K", Property, Additional, Case)
P = TypeVar("P", ProductKey, ProductGroup)

_SHARED = frozenset({Array, Object, ObjectProduct, Union})
"""The types of nodes that are changed once: others are changed as fast as they are found."""


class Rebuild:
    """A change of nodes that is made once for each node, since a part may occur in many places.

    A class and no function that calls itself, which would be left to the garbage collector.

    Args:
        change: Returns a node with another function applied to its parts.
    """

    __slots__ = ("_change", "_changed")

    def __init__(self, change: Callable[[Schema, Callable[[Schema], Schema]], Schema]) -> None:
        self._change = change
        # By identity, with the node, so that no other one gets its identity meanwhile.
        self._changed: dict[int, tuple[Schema, Schema]] = {}

    def of(self, node: Schema) -> Schema:
        """Return a changed node."""
        if type(node) not in _SHARED:
            return self._change(node, self.of)
        known = self._changed.get(id(node))
        if known is None:
            known = self._changed[id(node)] = node, self._change(node, self.of)
        return known[1]


def in_array(node: Array, change: Callable[[Schema], Schema]) -> Array:
    """Return the node with `change` applied to its parts; the same object if nothing changes."""
    prefix, items = tuple(map(change, node.prefix)), change(node.items)
    contains = tuple(
        replace(one, matching=change(one.matching), others=change(one.others)) for one in node.contains
    )
    if items is node.items and all(map(operator.is_, prefix, node.prefix)) and contains == node.contains:
        return node
    return replace(node, prefix=prefix, items=items, contains=contains)


def in_object(node: Object, change: Callable[[Schema], Schema]) -> Object:
    """Return the node with `change` applied to its parts; the same object if nothing changes."""
    properties, additional = _each(node.properties, change), _each(node.additional, change)
    some = tuple(_each(choice, change) for choice in node.required_groups)
    if properties is node.properties and additional is node.additional and some == node.required_groups:
        return node
    return replace(node, properties=properties, additional=additional, required_groups=some)


def in_product(node: ObjectProduct, change: Callable[[Schema], Schema]) -> ObjectProduct:
    """Return the node with `change` applied to its parts; the same object if nothing changes."""
    keys, additional = _in_cases(node.keys, change), _in_cases(node.additional, change)
    if keys is node.keys and additional is node.additional:
        return node
    return replace(node, keys=keys, additional=additional)


def _in_cases(parts: tuple[P, ...], change: Callable[[Schema], Schema]) -> tuple[P, ...]:
    changed = [_each(part.cases, change) for part in parts]
    if all(cases is part.cases for cases, part in zip(changed, parts, strict=True)):
        return parts
    return tuple(replace(part, cases=cases) for cases, part in zip(changed, parts, strict=True))


def _each(parts: tuple[K, ...], change: Callable[[Schema], Schema]) -> tuple[K, ...]:
    """Return the keys with `change` applied to their values; the same tuple if nothing changes."""
    values = [change(part.value) for part in parts]
    if all(value is part.value for value, part in zip(values, parts, strict=True)):
        return parts
    pairs = zip(values, parts, strict=True)
    return tuple(part if value is part.value else replace(part, value=value) for value, part in pairs)
