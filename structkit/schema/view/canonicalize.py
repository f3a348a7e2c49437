"""JSON values put into the form in which a document's values are written: keys in order, absent ones left out."""

from __future__ import annotations

import json
from dataclasses import dataclass

from structkit.schema.algebra.membership import admits
from structkit.schema.ir.descend import descend, opened
from structkit.schema.ir.nodes import Array, Document, Object, Ref, Schema, String, Union

__all__ = ["fitted"]


def fitted(document: Document, value: object, *, sort: bool = True) -> object:
    """The value with the keys of each object in the order of the schema, without those that it does not have.

    Sets of a Python type are sorted by the texts of their items unless `sort` is off, for Python's own order differs
    between processes.

    What may be left out and may not be null is left out where it is null. The rest stays as it is: whether the value is
    one of the document's is not looked at.

    >>> from structkit.schema.ir.nodes import Integer, Property
    >>> node = Object((Property("a", Integer()), Property("b", Integer(), required=False)))
    >>> fitted(Document(node), {"b": None, "computed": 1, "a": 2})
    {'a': 2}
    """
    return _Fitting(document, sort and document.bounded).fitted(document.root, value)


@dataclass(frozen=True, slots=True)
class _Fitting:
    document: Document
    sort: bool

    def fitted(self, node: Schema, value: object) -> object:
        match node:
            case Ref(name=name):
                return self.fitted(self.document.definitions[name], value)
            case Union(branches=branches):
                tried = [self.fitted(branch, value) for branch in branches]
                said = [
                    admits(_resolved(self.document, branch), made)
                    for branch, made in zip(branches, tried, strict=True)
                ]
                best = said.index(True) if True in said else said.index(None) if None in said else 0
                return tried[best]
            case Array(prefix=prefix, items=items) if isinstance(value, list):
                schemas = (*prefix, *[items] * (len(value) - len(prefix)))
                made = [self.fitted(inner, item) for inner, item in zip(schemas, value, strict=False)]
                return sorted(made, key=_text) if self.sort and node.unique else made
            case Object() if isinstance(value, dict):
                return self._object(node, value)
            case _:
                return value

    def _object(self, node: Object, value: dict[str, object]) -> dict[str, object]:
        found: dict[str, object] = {}
        for key in node.properties:
            if key.name not in value:
                continue
            item = value[key.name]
            if item is None and not key.required and not _may_be_null(self.document, key.value):
                continue
            found[key.name] = self.fitted(key.value, item)
        declared = {key.name for key in node.properties}
        for name, item in value.items():
            inner = next((group.value for group in node.additional if _is_named(group.names, name)), None)
            if name not in declared and inner is not None:
                found[name] = self.fitted(inner, item)
        return found


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_named(names: String, name: str) -> bool:
    return admits(names, name) is not False


def _may_be_null(document: Document, node: Schema) -> bool:
    found = descend(node, (), opened(document.definitions))
    return any(admits(one, None) is True for one in found)


def _resolved(document: Document, node: Schema) -> Schema:
    while isinstance(node, Ref):
        node = document.definitions[node.name]
    return node
