"""What kinds of values a JSON target can have."""

from __future__ import annotations

from structkit.schema.ir.descend import descend, make_resolver
from structkit.schema.ir.nodes import (
    Anything,
    Array,
    Const,
    Document,
    Integer,
    Number,
    Object,
    Ref,
    Schema,
    Union,
)

__all__ = ["can_be_number", "is_container"]


def is_container(document: Document) -> bool:
    """Return whether all values are objects or arrays.

    >>> is_container(Document(Union((Object(), Array(items=Integer())))))
    True
    """
    return all(
        isinstance(node, (Object, Array, Ref, Union)) or (isinstance(node, Const) and node.text[0] in "{[")
        for node in _alternatives(document)
    )


def can_be_number(document: Document) -> bool:
    """Return whether a value can be a number.

    >>> can_be_number(Document(Union((Object(), Integer()))))
    True
    """
    return any(
        node.text[-1].isdigit() if isinstance(node, Const) else isinstance(node, (Integer, Number, Anything))
        for node in _alternatives(document)
    )


def _alternatives(document: Document) -> list[Schema]:
    """Return the schemas of the complete value, references and unions included."""
    return descend(document.root, (), make_resolver(document.definitions))
