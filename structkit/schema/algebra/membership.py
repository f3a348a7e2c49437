"""Membership of a JSON value in a node, and constants expanded into arrays and objects."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from structkit.schema.algebra.string_oracle import UNDECIDED, StringOracle, is_restricted
from structkit.schema.ir.json_values import as_fraction, canonical_key, json_type_of
from structkit.schema.ir.nodes import (
    Anything,
    Array,
    Boolean,
    Bound,
    Combined,
    Const,
    Integer,
    Never,
    Null,
    Number,
    Object,
    ObjectProduct,
    Property,
    Ref,
    Schema,
    String,
    Union,
)

__all__ = ["constant_key", "constant_value", "contains_value", "expand", "strings_contain", "to_const"]


def contains_value(node: Schema, value: object, oracle: StringOracle = UNDECIDED) -> bool | None:
    """Return whether a node contains `value`; `None` if a reference decides, or if `oracle` is undecided.

    >>> contains_value(Integer(minimum=2), 2.0), contains_value(Null(), 0)
    (True, False)
    >>> contains_value(String(patterns=("^a",)), "ab") is None
    True
    """
    match node:
        case Anything():
            return True
        case Never():
            return False
        case Ref():
            return None
        case Const():
            return constant_key(node) == canonical_key(value)
        case Union(branches=branches):
            return _any(contains_value(branch, value, oracle) for branch in branches)
        case Null():
            return value is None
        case Boolean():
            return isinstance(value, bool)
        case Integer() | Number():
            return _in_range(node, value)
        case String():
            return isinstance(value, str) and strings_contain(node, (value,), oracle)[0]
        case Array():
            return _array_contains(node, value, oracle)
        case Object():
            return _object_contains(node, value, oracle)
        case Combined(parts, min_count, max_count):
            answers = [contains_value(part, value, oracle) for part in parts]
            least, most = answers.count(True), len(parts) - answers.count(False)
            if not isinstance(value, dict) or most < min_count or least > max_count:
                return False
            return True if min_count <= least and most <= max_count else None
        case ObjectProduct():
            return None if isinstance(value, dict) else False


def strings_contain(node: String, texts: Sequence[str], oracle: StringOracle) -> Sequence[bool | None]:
    """Return for each text whether it is one of the strings; `None` if `oracle` is undecided.

    >>> from structkit.schema.algebra.string_oracle import UNDECIDED
    >>> strings_contain(String(max_length=2), ("ab", "abc"), UNDECIDED)
    [True, False]
    """
    most = math.inf if node.max_length is None else node.max_length
    fits = [node.min_length <= len(text) <= most for text in texts]
    if node.content is not None:
        return [None if each else False for each in fits]
    return oracle.contains_each(node, texts) if True in fits and is_restricted(node) else fits


def constant_key(node: Schema) -> object:
    """Return the key of the value of a constant, see `canonical_key`; another node is its own key."""
    if not isinstance(node, Const):
        return node
    return _short_key(node.text) if len(node.text) < _SHORT else canonical_key(json.loads(node.text))


def constant_value(text: str) -> object:
    """Return the value of a constant, which is not to be changed."""
    return _short_value(text) if len(text) < _SHORT else json.loads(text)


_SHORT = 100
"""Length of constants whose values are kept."""


@lru_cache(maxsize=10_000)
def _short_value(text: str) -> object:
    return json.loads(text)


@lru_cache(maxsize=10_000)
def _short_key(text: str) -> object:
    return canonical_key(json.loads(text))


def to_const(value: object) -> Const:
    """Return the node of one JSON value."""
    return Const(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def expand(node: Const) -> Schema:
    """Return a constant as an array or object of constants; scalars are returned unchanged.

    >>> expand(Const('[1,"a"]')).prefix
    (Const(note=None, text='1'), Const(note=None, text='"a"'))
    """
    value: object = json.loads(node.text)
    if isinstance(value, list):
        return Array(tuple(to_const(item) for item in value), min_items=len(value), max_items=len(value))
    if isinstance(value, dict):
        return Object(tuple(Property(name, to_const(item)) for name, item in value.items()))
    return node


def _in_range(node: Integer | Number, value: object) -> bool:
    if json_type_of(value) != "number":
        return False
    # Python compares an integer with a decimal exactly, and several times as fast as fractions.
    exactly: int | Fraction = value if type(value) is int else as_fraction(value)
    if isinstance(node, Integer):
        low, high = node.minimum, node.maximum
        if (low is not None and exactly < low) or (high is not None and exactly > high):
            return False
    elif not (_is_within(exactly, node.minimum, 1) and _is_within(exactly, node.maximum, -1)):
        return False
    step = node.multiple_of or (1 if isinstance(node, Integer) else None)
    if step is not None and exactly % (step if isinstance(step, int) else Fraction(step)):
        return False
    return all(exactly % Fraction(other) for other in node.not_multiple_of)


def _is_within(number: int | Fraction, bound: Bound | None, sign: Literal[1, -1]) -> bool:
    """Return whether a number is not below a lower bound (`sign` 1), or not above an upper bound (-1)."""
    if bound is None:
        return True
    end: Any = Fraction(bound.value) if isinstance(number, Fraction) else bound.value
    if number == end:
        return not bound.exclusive
    return bool(number > end) is (sign > 0)


def _array_contains(node: Array, value: object, oracle: StringOracle) -> bool | None:
    if not isinstance(value, list) or len(value) < node.min_items:
        return False
    if node.max_items is not None and len(value) > node.max_items:
        return False
    if node.unique_items or node.repeats_item:
        is_unique = len({canonical_key(item) for item in value}) == len(value)
        if is_unique == node.repeats_item:
            return False
    schemas = (*node.prefix, *[node.items] * (len(value) - len(node.prefix)))
    answers: list[bool | None] = []
    for schema, item in zip(schemas, value, strict=False):
        if (answer := contains_value(schema, item, oracle)) is False:
            return False
        answers.append(answer)
    for contains in node.contains:
        matching = [contains_value(contains.matching, item, oracle) for item in value[len(node.prefix) :]]
        min_matching, max_matching = matching.count(True), len(matching) - matching.count(False)
        high = len(value) if contains.max_count is None else contains.max_count
        if max_matching < contains.min_count or min_matching > high:
            return False
        if min_matching < contains.min_count or max_matching > high:
            answers.append(None)
    return _all(answers)


def _object_contains(node: Object, value: object, oracle: StringOracle) -> bool | None:
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
            answers.append(contains_value(declared[name].value, item, oracle))
        else:
            groups = ((contains_value(group.names, name, oracle), group.value) for group in node.additional)
            answers.append(
                _any(_all((known, contains_value(inner, item, oracle))) for known, inner in groups)
            )
    for choice in node.required_groups:
        answers.append(
            _any(
                _all(
                    (
                        contains_value(group.names, name, oracle),
                        contains_value(group.value, value[name], oracle),
                    )
                )
                for group in choice
                for name in value
                if name not in declared
            )
        )
    return _all(answers)


def _any(answers: Iterable[bool | None]) -> bool | None:
    found: bool | None = False
    for answer in answers:
        if answer:
            return True
        found = None if answer is None else found
    return found


def _all(answers: Iterable[bool | None]) -> bool | None:
    found: bool | None = True
    for answer in answers:
        if answer is False:
            return False
        found = None if answer is None else found
    return found
