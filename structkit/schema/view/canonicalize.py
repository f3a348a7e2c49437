"""JSON values in the canonical form of a document: keys in order, absent keys omitted."""

from __future__ import annotations

import json
from dataclasses import dataclass

from structkit.schema.algebra.membership import contains_value
from structkit.schema.ir.constructors import union
from structkit.schema.ir.descend import descend, make_resolver
from structkit.schema.ir.nodes import Array, Document, Object, ObjectProduct, Ref, Schema, String, Union

__all__ = ["canonicalize"]


def canonicalize(document: Document, value: object, *, sort_sets: bool = True) -> object:
    """Return the value with the keys of each object in the order of the schema; unknown keys are removed.

    Sets of a Python type are sorted by the JSON of their items unless `sort_sets` is false, because Python's order of
    sets differs between processes. Optional keys with null are removed if the schema does not allow null.

    The value is not validated.

    >>> from structkit.schema.ir.nodes import Integer, Property
    >>> node = Object((Property("a", Integer()), Property("b", Integer(), required=False)))
    >>> canonicalize(Document(node), {"b": None, "computed": 1, "a": 2})
    {'a': 2}
    """
    return _Canonicalizer(document, sort_sets and document.bounded).canonicalize(document.root, value)


@dataclass(frozen=True, slots=True)
class _Canonicalizer:
    document: Document
    sort_sets: bool

    def canonicalize(self, node: Schema, value: object) -> object:
        match node:
            case Ref(name=name):
                return self.canonicalize(self.document.definitions[name], value)
            case Union(branches=branches):
                candidates = [self.canonicalize(branch, value) for branch in branches]
                answers = [
                    contains_value(_resolved(self.document, branch), candidate)
                    for branch, candidate in zip(branches, candidates, strict=True)
                ]
                best = (
                    answers.index(True) if True in answers else answers.index(None) if None in answers else 0
                )
                return candidates[best]
            case Array(prefix=prefix, items=items) if isinstance(value, list):
                schemas = (*prefix, *[items] * (len(value) - len(prefix)))
                found = [self.canonicalize(inner, item) for inner, item in zip(schemas, value, strict=False)]
                return sorted(found, key=_text) if self.sort_sets and node.unique_items else found
            case Object() if isinstance(value, dict):
                return self._object(node, value)
            case ObjectProduct() if isinstance(value, dict):
                return self._product(node, value)
            case _:
                return value

    def _object(self, node: Object, value: dict[str, object]) -> dict[str, object]:
        found: dict[str, object] = {}
        for key in node.properties:
            if key.name not in value:
                continue
            item = value[key.name]
            if item is None and not key.required and not _accepts_null(self.document, key.value):
                continue
            found[key.name] = self.canonicalize(key.value, item)
        declared = {key.name for key in node.properties}
        for name, item in value.items():
            inner = next((group.value for group in node.additional if _is_named(group.names, name)), None)
            if name not in declared and inner is not None:
                found[name] = self.canonicalize(inner, item)
        return found

    def _product(self, node: ObjectProduct, value: dict[str, object]) -> dict[str, object]:
        named = [(key.name, key.cases) for key in node.keys if key.name in value]
        declared = {key.name for key in node.keys}
        for name in (name for name in value if name not in declared):
            groups = (group.cases for group in node.additional if _is_named(group.names, name))
            named += [(name, cases) for cases in groups]
        return {
            name: self.canonicalize(union(case.value for case in cases), value[name]) for name, cases in named
        }


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_named(names: String, name: str) -> bool:
    return contains_value(names, name) is not False


def _accepts_null(document: Document, node: Schema) -> bool:
    found = descend(node, (), make_resolver(document.definitions))
    return any(contains_value(one, None) is True for one in found)


def _resolved(document: Document, node: Schema) -> Schema:
    while isinstance(node, Ref):
        node = document.definitions[node.name]
    return node
