"""Usage of the definitions of a document: references, lowering order and recursion."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from structkit.errors import UnresolvedReference
from structkit.lowering.strings.registry import has_multiple_spellings
from structkit.regex.walk import components
from structkit.schema.ir.descend import Step, children, format_step
from structkit.schema.ir.nodes import (
    Anything,
    Array,
    Boolean,
    Const,
    Document,
    Integer,
    Null,
    Number,
    Object,
    ObjectProduct,
    Ref,
    Schema,
    String,
    Union,
)

__all__ = ["Usage", "canonical_rule_name", "differ_at_the_start", "usages", "with_multiple_spellings"]

_WITH_PARTS = frozenset({Ref, Object, ObjectProduct, Array, Union, String})
"""References, and nodes that can have subschemas."""


@dataclass(slots=True)
class Usage:
    """The usage of a definition.

    Attributes:
        path: The schema path of the first reference.
        count: The number of references.
        recursive: Whether the definition contains itself, directly or through other definitions.
        callees: The referenced definitions.
        size: The number of schemas in the definition.
        overlapping: Whether a reference is in a part that overlaps with another one, directly or through other
            definitions.
    """

    path: str
    count: int = 0
    recursive: bool = False
    callees: list[str] = field(default_factory=list)
    size: int = 0
    overlapping: bool = False


def usages(document: Document) -> dict[str, Usage]:
    """Return the definitions that the root reaches, each after its callees where possible.

    >>> document = Document(Ref("a"), {"a": Array(items=Ref("a")), "unused": Ref("a")})
    >>> usages(document)
    {'a': Usage(path='$', count=2, recursive=True, callees=['a'], size=2, overlapping=False)}

    Raises:
        UnresolvedReference: A reference names no definition, in a document that has definitions.
    """
    if not document.definitions:
        return {}  # the most frequent case
    found: dict[str, Usage] = {}
    roots, _ = _references(document.root, "$", document, found)
    read: set[str] = set()
    pending = list(roots)
    while pending:
        name = pending.pop()
        if name not in read:
            read.add(name)
            use = found[name]
            use.callees, use.size = _references(document.definitions[name], use.path, document, found)
            pending += use.callees
    order = _callees_first(roots, found)
    for name in reversed(order):  # callers first
        if found[name].overlapping:
            for callee in found[name].callees:
                found[callee].overlapping = True
    return {name: found[name] for name in order}


def with_multiple_spellings(
    definitions: Mapping[str, Schema],
    uses: Mapping[str, Usage],
    *,
    any_order: bool,
    shared_keys: Container[str],
) -> set[str]:
    """Return the definitions of a JSON Schema that have a value with more than one spelling.

    Examples are 1 and 1.0, a datetime with different offsets, additional keys in any order, and keys that other objects
    declare in another order. With `any_order`, declared keys can also be in any order.
    """
    found = {name for name in uses if _has_multiple_spellings(definitions[name], any_order, shared_keys)}
    changed = True
    while changed:  # only cycles need more than one iteration: callees precede callers
        before = len(found)
        found.update(name for name, use in uses.items() if not found.isdisjoint(use.callees))
        changed = len(found) > before
    return found


def _has_multiple_spellings(schema: Schema, any_order: bool, shared_keys: Container[str]) -> bool:
    """Return whether some value of a schema, references excluded, has more than one spelling."""
    pending, visited = [schema], set[int]()
    while pending:
        current = pending.pop()
        if isinstance(current, Const):  # a union may have thousands
            if current.text[0] in "[{-0123456789":
                return True
            continue
        if isinstance(current, Anything | Integer | Number) or (
            isinstance(current, String) and any(map(has_multiple_spellings, current.formats))
        ):
            return True
        if isinstance(current, ObjectProduct) and current.additional:
            return True
        if isinstance(current, Object) and (
            current.additional
            or ((any_order or current.any_order) and len(current.properties) > 1)
            or any(key.name in shared_keys for key in current.properties)
        ):
            return True
        if id(current) not in visited:  # a part may occur in many places
            visited.add(id(current))
            pending += [child for _, child in children(current)]
    return False


_Trail: TypeAlias = "tuple[_Trail, Step] | None"
"""The steps from a schema to a part, the last one first."""

_MAX_SIZE = 20_000
"""Number of schemas beyond which a part that occurs in many places is counted once: its places may be 2 ** 30."""


def _references(
    schema: Schema, path: str, document: Document, usages: dict[str, Usage]
) -> tuple[list[str], int]:
    """Count the references of one schema in `usages`; return the referenced names and the number of schemas."""
    names: dict[str, None] = {}
    pending: list[tuple[Schema, _Trail, bool]] = [(schema, None, False)]
    visited: set[tuple[int, bool]] = set()
    size = 1
    while pending:
        current, trail, overlapping = pending.pop()
        if isinstance(current, Ref):
            if current.name not in document.definitions:
                place = path + _format_trail(trail)
                raise UnresolvedReference(
                    f"there is no definition {current.name!r}; add it to $defs", place=place
                )
            use = usages.get(current.name)
            if use is None:
                use = usages[current.name] = Usage(path + _format_trail(trail))
            use.count += 1
            use.overlapping = use.overlapping or overlapping
            names[current.name] = None
        elif size < _MAX_SIZE or (id(current), overlapping) not in visited:
            visited.add((id(current), overlapping))
            parts = children(current)
            size += len(parts)
            overlapping = overlapping or _has_overlapping_parts(current)
            pending += [
                (child, (trail, step), overlapping)
                for step, child in reversed(parts)
                if type(child) in _WITH_PARTS
            ]
    return list(names), size


def _has_overlapping_parts(schema: Schema) -> bool:
    match schema:
        case Union(branches):
            return not differ_at_the_start(branches)
        case Array(contains=contains):
            return bool(contains)
        case Object(required_groups=groups):
            return bool(groups)
        case ObjectProduct():
            return True
        case _:
            return False


def _format_trail(trail: _Trail) -> str:
    steps: list[str] = []
    while trail is not None:
        trail, step = trail
        steps.append(format_step(step))
    return "".join(reversed(steps))


def _callees_first(roots: list[str], usages: dict[str, Usage]) -> list[str]:
    """Return definitions callees first, and mark recursive ones."""
    order: list[str] = []
    for component in components({name: usage.callees for name, usage in usages.items()}, roots):
        for member in component:
            usages[member].recursive = len(component) > 1 or member in usages[member].callees
        order += component
    return order


def differ_at_the_start(branches: Sequence[Schema]) -> bool:
    """Return whether alternatives, except constants, differ in their first character."""
    kinds = [
        Object if isinstance(branch, ObjectProduct) else type(branch)
        for branch in branches
        if not isinstance(branch, Const | Null | Boolean)
    ]
    if Ref in kinds or Anything in kinds:
        return len(kinds) == 1
    return len(set(kinds)) == len(kinds) and not {Integer, Number} <= set(kinds)


def canonical_rule_name(name: str) -> str:
    """Return the name of the rule of a definition, or of any JSON, where each value has one spelling."""
    return f"#{name} canonical"
