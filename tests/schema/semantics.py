"""A direct implementation of the semantics of schema nodes: the oracle of the tests in this folder."""

from __future__ import annotations

import json
import re
from fractions import Fraction

from jsonschema import Draft202012Validator

from structkit.schema.ir.nodes import (
    Anything,
    Array,
    Boolean,
    Const,
    Document,
    Formula,
    Integer,
    Never,
    Null,
    Number,
    Object,
    ObjectProduct,
    Ref,
    Schema,
    String,
    Union,
)

__all__ = ["holds"]

FORMATS = Draft202012Validator.FORMAT_CHECKER


def holds(document: Document, value: object) -> bool:
    """Return whether a document contains `value`, with keys in any order; private formats are ignored."""
    return _holds(document.root, value, document)


def _holds(node: Schema, value: object, document: Document) -> bool:
    match node:
        case Never():
            return False
        case Anything():
            return True
        case Null():
            return value is None
        case Boolean():
            return isinstance(value, bool)
        case Const(text=text):
            return _same(json.loads(text), value)
        case Integer() | Number():
            return _number(node, value)
        case String():
            return isinstance(value, str) and _string(node, value)
        case Array():
            return isinstance(value, list) and _array(node, value, document)
        case Object():
            return isinstance(value, dict) and _object(node, value, document)
        case Union(branches=branches):
            return any(_holds(branch, value, document) for branch in branches)
        case ObjectProduct():
            return isinstance(value, dict) and _product(node, value, document)
        case Ref(name=name):
            return _holds(document.definitions[name], value, document)


def _number(node: Integer | Number, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    exact = Fraction(str(value))
    if node.multiple_of is not None and (exact / Fraction(node.multiple_of)).denominator != 1:
        return False
    if any((exact / Fraction(other)).denominator == 1 for other in node.not_multiple_of):
        return False
    if isinstance(node, Integer):
        low = node.minimum is None or exact >= node.minimum
        high = node.maximum is None or exact <= node.maximum
        return low and high and exact.denominator == 1
    if (low_bound := node.minimum) is not None and not (
        exact > Fraction(low_bound.value) or (exact == Fraction(low_bound.value) and not low_bound.exclusive)
    ):
        return False
    high_bound = node.maximum
    return high_bound is None or (
        exact < Fraction(high_bound.value)
        or (exact == Fraction(high_bound.value) and not high_bound.exclusive)
    )


def _string(node: String, value: str) -> bool:
    if node.content is not None:
        raise NotImplementedError("JSON in a string")
    if len(value) < node.min_length or (node.max_length is not None and len(value) > node.max_length):
        return False
    if node.format is not None and not FORMATS.conforms(value, node.format.name):
        return False
    if any(FORMATS.conforms(value, each.name) for each in node.forbidden_formats):
        return False
    if any(re.search(_to_python(pattern), value) for pattern in node.forbidden):
        return False
    return all(re.search(_to_python(pattern), value) for pattern in node.patterns)


def _to_python(pattern: str) -> str:
    """Translate `$` and `\\z`, which match only at the end of the text in ECMA-262 and in Rust."""
    return re.sub(r"(?<!\\)\$$", r"\\Z", pattern).replace("\\z", "\\Z").replace("\\/", "/")


def _array(node: Array, value: list[object], document: Document) -> bool:
    if len(value) < node.min_items or (node.max_items is not None and len(value) > node.max_items):
        return False
    repeats = any(_same(a, b) for i, a in enumerate(value) for b in value[:i])
    if (node.unique_items and repeats) or (node.repeats_item and not repeats):
        return False
    for contains in node.contains:
        count = sum(_holds(contains.matching, item, document) for item in value[len(node.prefix) :])
        if count < contains.min_count or (contains.max_count is not None and count > contains.max_count):
            return False
    schemas = list(node.prefix) + [node.items] * max(0, len(value) - len(node.prefix))
    return all(_holds(schema, item, document) for schema, item in zip(schemas, value, strict=False))


def _product(node: ObjectProduct, value: dict[str, object], document: Document) -> bool:
    """Count the conditions that no entry violates."""
    violated = 0 if value else node.violated_if_empty
    declared = {key.name: key for key in node.keys}
    if not node.min_properties <= len(value) <= (node.max_properties or len(value)):
        return False
    for key in node.keys:
        if key.name not in value:
            if key.required:
                return False
            violated |= key.violated_without
    for name, item in value.items():
        groups = [group.cases for group in node.additional if _string(group.names, name)]
        cases = declared[name].cases if name in declared else groups[0] if groups else ()
        found = [case for case in cases if _holds(case.value, item, document)]
        if not found:
            return False
        assert len(found) == 1, "the cases of a key are disjoint"
        violated |= found[0].violates
    return _is_met(node.formula, violated)


def _is_met(formula: Formula, violated: int) -> bool:
    met = (formula.conditions & ~violated).bit_count() + sum(
        _is_met(each, violated) for each in formula.parts
    )
    return formula.min_count <= met <= formula.max_count


def _object(node: Object, value: dict[str, object], document: Document) -> bool:
    declared = {key.name: key for key in node.properties}
    high = len(value) if node.max_properties is None else node.max_properties
    if not node.min_properties <= len(value) <= high:
        return False
    if any(key.required and key.name not in value for key in node.properties):
        return False
    for choice in node.required_groups:
        pairs = [(group, name) for group in choice for name in value if name not in declared]
        if not any(
            _string(group.names, name) and _holds(group.value, value[name], document) for group, name in pairs
        ):
            return False
    return all(
        _holds(declared[name].value, item, document)
        if name in declared
        else any(
            _string(group.names, name) and _holds(group.value, item, document) for group in node.additional
        )
        for name, item in value.items()
    )


def _same(a: object, b: object) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    numbers = isinstance(a, int | float) and isinstance(b, int | float)
    return a == b and (numbers or type(a) is type(b))
