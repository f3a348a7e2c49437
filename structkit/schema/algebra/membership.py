"""Whether a node admits one JSON value, and a constant spelled out as the array or object that it is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction

from structkit.schema.algebra.string_oracle import UNDECIDED, Texts, is_restricted
from structkit.schema.ir.json_values import as_fraction, canonical, kind_of
from structkit.schema.ir.nodes import (
    Anything,
    Array,
    Boolean,
    Const,
    Integer,
    Never,
    Null,
    Number,
    Object,
    Property,
    Ref,
    Schema,
    String,
    Union,
)

__all__ = ["admits", "const", "expand"]


def admits(node: Schema, value: object, texts: Texts = UNDECIDED) -> bool | None:
    """Whether `value` is among the node's values; `None` where a reference decides, or what `texts` cannot say.

    >>> admits(Integer(minimum=2), 2.0), admits(Null(), 0), admits(String(patterns=("^a",)), "ab")
    (True, False, None)
    """
    match node:
        case Anything():
            return True
        case Never():
            return False
        case Ref():
            return None
        case Const(text=text):
            return canonical(json.loads(text)) == canonical(value)
        case Union(branches=branches):
            return _any(admits(branch, value, texts) for branch in branches)
        case Null():
            return value is None
        case Boolean():
            return isinstance(value, bool)
        case Integer() | Number():
            return _in_range(node, value)
        case String():
            return _admits_string(node, value, texts)
        case Array():
            return _admits_array(node, value, texts)
        case Object():
            return _admits_object(node, value, texts)


def const(value: object) -> Const:
    """The node of one JSON value."""
    return Const(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def expand(node: Const) -> Schema:
    """The same value as an array or an object whose parts are constants; scalars stay as they are.

    >>> expand(Const('[1,"a"]')).prefix
    (Const(note=None, text='1'), Const(note=None, text='"a"'))
    """
    value: object = json.loads(node.text)
    if isinstance(value, list):
        return Array(tuple(const(item) for item in value), min_items=len(value), max_items=len(value))
    if isinstance(value, dict):
        return Object(tuple(Property(name, const(item)) for name, item in value.items()))
    return node


def _in_range(node: Integer | Number, value: object) -> bool:
    if kind_of(value) != "number":
        return False
    exactly = as_fraction(value)
    if any((exactly / Fraction(other)).denominator == 1 for other in node.not_multiple_of):
        return False
    if isinstance(node, Integer):
        low = node.minimum is None or exactly >= node.minimum
        high = node.maximum is None or exactly <= node.maximum
        return low and high and (exactly / (node.multiple_of or 1)).denominator == 1
    if (bound := node.minimum) is not None:
        least = Fraction(bound.value)
        if exactly < least or (bound.exclusive and exactly == least):
            return False
    if (bound := node.maximum) is not None:
        most = Fraction(bound.value)
        if exactly > most or (bound.exclusive and exactly == most):
            return False
    return node.multiple_of is None or (exactly / Fraction(node.multiple_of)).denominator == 1


def _admits_string(node: String, value: object, texts: Texts) -> bool | None:
    if not isinstance(value, str) or len(value) < node.min_length:
        return False
    if node.max_length is not None and len(value) > node.max_length:
        return False
    if node.content is not None:
        return None
    return texts.holds(node, value) if is_restricted(node) else True


def _admits_array(node: Array, value: object, texts: Texts) -> bool | None:
    if not isinstance(value, list) or len(value) < node.min_items:
        return False
    if node.max_items is not None and len(value) > node.max_items:
        return False
    if node.unique and len({canonical(item) for item in value}) < len(value):
        return False
    schemas = (*node.prefix, *[node.items] * (len(value) - len(node.prefix)))
    answers = [admits(schema, item, texts) for schema, item in zip(schemas, value, strict=False)]
    for contains in node.contains:
        hits = [admits(contains.hits, item, texts) for item in value[len(node.prefix) :]]
        least, most = hits.count(True), len(hits) - hits.count(False)
        high = len(value) if contains.most is None else contains.most
        if most < contains.least or least > high:
            return False
        if least < contains.least or most > high:
            answers.append(None)
    return _all(answers)


def _admits_object(node: Object, value: object, texts: Texts) -> bool | None:
    if not isinstance(value, dict) or len(value) < node.min_properties:
        return False
    if node.max_properties is not None and len(value) > node.max_properties:
        return False
    declared = {key.name: key for key in node.properties}
    if any(key.required and key.name not in value for key in node.properties):
        return False
    answers: list[bool | None] = []
    for name, item in value.items():
        if name in declared:
            answers.append(admits(declared[name].value, item, texts))
        else:
            groups = ((admits(group.names, name, texts), group.value) for group in node.additional)
            answers.append(_any(_all((known, admits(inner, item, texts))) for known, inner in groups))
    for choice in node.some:
        answers.append(
            _any(
                _all((admits(group.names, name, texts), admits(group.value, value[name], texts)))
                for group in choice
                for name in value
                if name not in declared
            )
        )
    return _all(answers)


def _any(answers: Iterable[bool | None]) -> bool | None:
    seen = set(answers)
    return True if True in seen else None if None in seen else False


def _all(answers: Iterable[bool | None]) -> bool | None:
    seen = set(answers)
    return False if False in seen else None if None in seen else True
