"""Walks to a part of a value through schemas: one search by path for each form that a schema has."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TypeAlias, TypeVar

from structkit.schema.ir.nodes import Array, Object, Ref, Schema, String, Union
from structkit.schema.ir.path import path_step as shown

__all__ = ["Step", "Within", "children", "descend", "format_step", "make_resolver"]

N = TypeVar("N", bound=Hashable)


class Within(Enum):
    """How a schema is inside another one, other than under a name or at a position."""

    SAME = ""
    """It applies to the same value: an alternative, or what a reference names."""
    KEY = "{}"
    """It applies to any key that has no schema of its own."""
    ITEM = "[]"
    """It applies to any item that has no schema of its own."""
    CONTENT = "text"
    """It applies to the JSON in a string."""


Step: TypeAlias = "str | int | Within"
"""From a schema to one directly inside: the name of a key, the position of an item, or `Within`."""


def format_step(step: Step) -> str:
    """The step in a path through a value.

    >>> format_step("age"), format_step(Within.KEY), format_step(Within.SAME)
    ('.age', '[]', '')
    """
    if isinstance(step, Within):
        return "[]" if step in (Within.KEY, Within.ITEM) else ""
    return shown(step)


def children(node: Schema) -> list[tuple[Step, Schema]]:
    """The nodes directly inside a node; a reference holds none.

    >>> from structkit.schema.ir.nodes import Null
    >>> children(Array(items=Null()))
    [(<Within.ITEM: '[]'>, Null(note=None))]
    """
    found: list[tuple[Step, Schema]] = []
    match node:
        case Object():
            found += [(key.name, key.value) for key in node.properties]
            for groups in (node.additional, *node.required_groups):
                found += [(Within.KEY, group.value) for group in groups]
        case Array():
            found += [*enumerate(node.prefix), (Within.ITEM, node.items)]
            for contains in node.contains:
                found += [(Within.ITEM, contains.matching), (Within.ITEM, contains.others)]
        case Union():
            found += [(Within.SAME, branch) for branch in node.branches]
        case String(content=content) if content is not None:
            found.append((Within.CONTENT, content))
    return found


def make_resolver(definitions: Mapping[str, Schema]) -> Callable[[Schema], list[tuple[Step, Schema]]]:
    """`children` that goes through references too."""

    def inside(node: Schema) -> list[tuple[Step, Schema]]:
        return [(Within.SAME, definitions[node.name])] if isinstance(node, Ref) else children(node)

    return inside


def descend(
    root: N, path: Sequence[str | int], children_of: Callable[[N], Iterable[tuple[Step, N]]]
) -> list[N]:
    """The schemas of the part of a value at a path, those that hold alternatives or a reference included.

    Args:
        root: The schema of the value.
        path: Names and positions.
        children_of: The schemas directly inside a schema.

    >>> found = descend(Array(items=Union((Ref("a"), String()))), [3], make_resolver({"a": Object()}))
    >>> [type(node).__name__ for node in found]
    ['Union', 'Ref', 'Object', 'String']
    """
    found = list(_alternatives([root], children_of))
    for step in path:
        below = (inner for node in found for inner in _children_at(children_of(node), step))
        found = list(_alternatives(below, children_of))
    return found


def _alternatives(nodes: Iterable[N], children_of: Callable[[N], Iterable[tuple[Step, N]]]) -> Iterator[N]:
    pending, seen = list(nodes)[::-1], set[N]()
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            yield node
            pending += [inner for step, inner in children_of(node) if step is Within.SAME][::-1]


def _children_at(parts: Iterable[tuple[Step, N]], step: str | int) -> list[N]:
    others = Within.KEY if isinstance(step, str) else Within.ITEM
    near = [(at, inner) for at, inner in parts if at == step or at is others]
    return [inner for at, inner in near if at is not others] or [inner for _, inner in near]
