"""`$schema` and `$id` as optional first keys of documents that allow undeclared keys."""

from __future__ import annotations

import operator
from dataclasses import replace

from structkit.schema.algebra.membership import contains_value
from structkit.schema.algebra.string_oracle import StringOracle
from structkit.schema.ir.constructors import with_note
from structkit.schema.ir.nodes import (
    Document,
    Object,
    ObjectProduct,
    ProductKey,
    Property,
    Ref,
    Schema,
    Union,
)

__all__ = ["with_document_keys"]

_DOCUMENT_KEYS = ("$schema", "$id")


def with_document_keys(document: Document, oracle: StringOracle) -> Document:
    """Return the document with `$schema` and `$id` as first properties if its root allows them as additional keys.

    >>> from structkit.schema.ir.nodes import Additional, Anything, String
    >>> from structkit.schema.algebra.string_oracle import UNDECIDED
    >>> root = Object((Property("a", Anything()),), additional=(Additional(String(), Anything()),))
    >>> [key.name for key in with_document_keys(Document(root), UNDECIDED).root.properties]
    ['$schema', '$id', 'a']
    """
    root = document.root
    node = document.definitions[root.name] if isinstance(root, Ref) else root
    if isinstance(node, Union):
        branches = tuple(_with_document_keys(branch, oracle) for branch in node.branches)
        unchanged = all(map(operator.is_, branches, node.branches))
        found: Schema = node if unchanged else replace(node, branches=branches)
    else:
        found = _with_document_keys(node, oracle)
    return document if found is node else replace(document, root=with_note(found, root.note))


def _with_document_keys(node: Schema, oracle: StringOracle) -> Schema:
    if isinstance(node, ObjectProduct):
        return _product_with_document_keys(node, oracle)
    # Objects with counted keys are left unchanged: each further optional key makes counting more expensive.
    if (
        not isinstance(node, Object)
        or not node.properties
        or node.min_properties
        or node.max_properties is not None
    ):
        return node
    declared = {key.name for key in node.properties}
    first = [
        Property(name, group.value, required=False, in_order=False, also_additional=True)
        for name in _DOCUMENT_KEYS
        for group in node.additional
        if name not in declared and contains_value(group.names, name, oracle)
    ]
    return replace(node, properties=(*first, *node.properties)) if first else node


def _product_with_document_keys(node: ObjectProduct, oracle: StringOracle) -> ObjectProduct:
    if node.min_properties or node.max_properties is not None:
        return node
    declared = {key.name for key in node.keys}
    first = [
        ProductKey(name, group.cases, required=False, violated_without=0, also_additional=True)
        for name in _DOCUMENT_KEYS
        for group in node.additional
        if name not in declared and contains_value(group.names, name, oracle)
    ]
    return replace(node, keys=(*first, *node.keys)) if first else node
