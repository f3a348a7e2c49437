"""Usage of the definitions of a document: references, lowering order and recursion."""

from __future__ import annotations

from dataclasses import dataclass, field

from structkit.errors import UnresolvedReference
from structkit.lowering.strings.registry import has_multiple_spellings
from structkit.schema.ir.descend import children, format_step
from structkit.schema.ir.nodes import Anything, Array, Document, Number, Object, Ref, Schema, String, Union

__all__ = ["Usage", "usages"]

_COMPOSITE = (Object, Array, Union, String)
"""Nodes that can have subschemas."""


@dataclass(slots=True)
class Usage:
    """The usage of a definition.

    Attributes:
        path: The schema path of the first reference.
        count: The number of references.
        recursive: Whether the definition contains itself, directly or through other definitions.
        multiple_spellings: Whether some value has more than one spelling: a fraction with or without trailing zeros,
            a datetime with different offsets, additional keys in any order.
        callees: The referenced definitions.
        size: The number of schemas in the definition.
    """

    path: str
    count: int = 0
    recursive: bool = False
    multiple_spellings: bool = False
    callees: list[str] = field(default_factory=list)
    size: int = 0


def usages(document: Document, *, any_order: bool = False) -> dict[str, Usage]:
    """Return the definitions that the root reaches, each after its callees where possible.

    With `any_order`, declared keys can also be in any order.

    >>> document = Document(Ref("a"), {"a": Array(items=Ref("a")), "unused": Ref("a")})
    >>> usages(document)
    {'a': Usage(path='$', count=2, recursive=True, multiple_spellings=False, callees=['a'], size=2)}

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
            use.multiple_spellings = _has_multiple_spellings(document.definitions[name], any_order)
            pending += use.callees
    order = _callees_first(roots, found)
    _propagate_spellings(order, found)
    return {name: found[name] for name in order}


def _has_multiple_spellings(schema: Schema, any_order: bool) -> bool:
    """Return whether some value of a schema, references excluded, has more than one spelling."""
    pending = [schema]
    while pending:
        current = pending.pop()
        if isinstance(current, Anything | Number) or (
            isinstance(current, String)
            and current.format is not None
            and has_multiple_spellings(current.format)
        ):
            return True
        if isinstance(current, Object) and (
            current.additional or ((any_order or current.any_order) and len(current.properties) > 1)
        ):
            return True
        pending += [child for _, child in children(current)]
    return False


def _propagate_spellings(order: list[str], usages: dict[str, Usage]) -> None:
    """Propagate `multiple_spellings` from callees to callers; only cycles need more than one iteration."""
    changed = True
    while changed:
        changed = False
        for name in order:
            use = usages[name]
            if not use.multiple_spellings and any(
                usages[callee].multiple_spellings for callee in use.callees
            ):
                use.multiple_spellings = changed = True


def _references(
    schema: Schema, path: str, document: Document, usages: dict[str, Usage]
) -> tuple[list[str], int]:
    """Count the references of one schema in `usages`; return the referenced names and the number of schemas."""
    names: dict[str, None] = {}
    pending, size = [(schema, path)], 0
    while pending:
        current, path = pending.pop()
        size += 1
        if isinstance(current, Ref):
            if current.name not in document.definitions:
                raise UnresolvedReference(f"there is no definition {current.name!r}", place=path)
            usages.setdefault(current.name, Usage(path)).count += 1
            names[current.name] = None
        elif isinstance(current, _COMPOSITE):
            inner = [(child, path + format_step(step)) for step, child in children(current)]
            pending += reversed(inner)
    return list(names), size


def _callees_first(roots: list[str], usages: dict[str, Usage]) -> list[str]:
    """Return definitions callees first and mark recursive ones: Tarjan's algorithm (1972), without recursion."""
    order: list[str] = []
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    for root in roots:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        walk = [(root, iter(usages[root].callees))]
        while walk:
            name, callees = walk[-1]
            for callee in callees:
                if callee not in index:
                    index[callee] = low[callee] = len(index)
                    stack.append(callee)
                    on_stack.add(callee)
                    walk.append((callee, iter(usages[callee].callees)))
                    break
                if callee in on_stack:
                    low[name] = min(low[name], index[callee])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[name])
                if low[name] == index[name]:
                    component: list[str] = []
                    while not component or component[-1] != name:
                        component.append(stack.pop())
                    on_stack.difference_update(component)
                    for member in component:
                        usages[member].recursive = len(component) > 1 or member in usages[member].callees
                    order += component
    return order
