"""JSON values put into the form in which a document's values are written: keys in order, absent ones left out."""

from __future__ import annotations

from structkit.schema.admit import admits
from structkit.schema.nodes import Array, Document, Null, Object, Ref, Schema, String, Union

__all__ = ["fitted"]


def fitted(document: Document, value: object) -> object:
    """The value with the keys of each object in the order of the schema, without those that it does not have.

    What may be left out and may not be null is left out where it is null. The rest stays as it is: whether the value is
    one of the document's is not looked at.

    >>> from structkit.schema.nodes import Integer, Property
    >>> node = Object((Property("a", Integer()), Property("b", Integer(), required=False)))
    >>> fitted(Document(node), {"b": None, "computed": 1, "a": 2})
    {'a': 2}
    """
    return _fitted(document, document.root, value)


def _fitted(document: Document, node: Schema, value: object) -> object:
    match node:
        case Ref(name=name):
            return _fitted(document, document.definitions[name], value)
        case Union(branches=branches):
            tried = [_fitted(document, branch, value) for branch in branches]
            said = [
                admits(_resolved(document, branch), made)
                for branch, made in zip(branches, tried, strict=True)
            ]
            best = said.index(True) if True in said else said.index(None) if None in said else 0
            return tried[best]
        case Array(prefix=prefix, items=items) if isinstance(value, list):
            schemas = (*prefix, *[items] * (len(value) - len(prefix)))
            return [_fitted(document, inner, item) for inner, item in zip(schemas, value, strict=False)]
        case Object() if isinstance(value, dict):
            return _object(document, node, value)
        case _:
            return value


def _object(document: Document, node: Object, value: dict[str, object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key in node.properties:
        if key.name not in value:
            continue
        item = value[key.name]
        if item is None and not key.required and not _may_be_null(document, key.value):
            continue
        found[key.name] = _fitted(document, key.value, item)
    declared = {key.name for key in node.properties}
    for name, item in value.items():
        inner = next((group.value for group in node.additional if _is_named(group.names, name)), None)
        if name not in declared and inner is not None:
            found[name] = _fitted(document, inner, item)
    return found


def _is_named(names: String, name: str) -> bool:
    return admits(names, name) is not False


def _may_be_null(document: Document, node: Schema) -> bool:
    node = _resolved(document, node)
    if isinstance(node, Union):
        return any(_may_be_null(document, branch) for branch in node.branches)
    return isinstance(node, Null) or admits(node, None) is True


def _resolved(document: Document, node: Schema) -> Schema:
    while isinstance(node, Ref):
        node = document.definitions[node.name]
    return node
