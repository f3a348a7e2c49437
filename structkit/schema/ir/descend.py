"""Search by path: the schemas that apply to one part of a value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TypeAlias, TypeVar

from structkit.schema.ir.nodes import Array, Combined, Object, ObjectProduct, Ref, Schema, String, Union
from structkit.schema.ir.path import path_step

__all__ = ["Step", "Within", "children", "descend", "format_step", "make_resolver"]

N = TypeVar("N", bound=Hashable)


class Within(Enum):
    """The relation of a subschema to its parent if it is not a named key or a numbered item."""

    SAME = ""
    """The subschema applies to the same value: an alternative, or the target of a reference."""
    KEY = "{}"
    """The subschema applies to every key without a schema of its own."""
    ITEM = "[]"
    """The subschema applies to every item without a schema of its own."""
    CONTENT = "text"
    """The subschema applies to the JSON document inside a string."""


Step: TypeAlias = "str | int | Within"
"""The step from a schema to a direct subschema: a key, an index, or `Within`."""


def format_step(step: Step) -> str:
    """Return the text of a step in a path through a value.

    >>> format_step("age"), format_step(Within.KEY), format_step(Within.SAME)
    ('.age', '[]', '')
    """
    if isinstance(step, Within):
        return "[]" if step in (Within.KEY, Within.ITEM) else ""
    return path_step(step)


def children(node: Schema) -> list[tuple[Step, Schema]]:
    """Return the direct subschemas of a node; a reference has none.

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
        case Combined():
            found += [(Within.SAME, part) for part in node.parts]
        case ObjectProduct():
            found += [(key.name, case.value) for key in node.keys for case in key.cases]
            found += [(Within.KEY, case.value) for group in node.additional for case in group.cases]
        case String(content=content) if content is not None:
            found.append((Within.CONTENT, content))
    return found


def make_resolver(definitions: Mapping[str, Schema]) -> Callable[[Schema], list[tuple[Step, Schema]]]:
    """Return a variant of `children` that follows references."""

    def resolved_children(node: Schema) -> list[tuple[Step, Schema]]:
        return [(Within.SAME, definitions[node.name])] if isinstance(node, Ref) else children(node)

    return resolved_children


def descend(
    root: N, path: Sequence[str | int], children_of: Callable[[N], Iterable[tuple[Step, N]]]
) -> list[N]:
    """Return the schemas that apply to the part of a value at `path`, including unions and references.

    Args:
        root: The schema of the value.
        path: Keys and indices.
        children_of: Returns the direct subschemas of a schema.

    >>> found = descend(Array(items=Union((Ref("a"), String()))), [3], make_resolver({"a": Object()}))
    >>> [type(node).__name__ for node in found]
    ['Union', 'Ref', 'Object', 'String']
    """
    found = list(_alternatives([root], children_of))
    for step in path:
        inner_nodes = (inner for node in found for inner in _children_at(children_of(node), step))
        found = list(_alternatives(inner_nodes, children_of))
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
    matching = [(own_step, inner) for own_step, inner in parts if own_step == step or own_step is others]
    return [inner for own_step, inner in matching if own_step is not others] or [
        inner for _, inner in matching
    ]
