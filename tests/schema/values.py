"""Hypothesis strategies: values of a document, arbitrary JSON values, and JSON Schemas."""

from __future__ import annotations

import datetime
import ipaddress
import json
import uuid
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from structkit.errors import SchemaError
from structkit.schema.ir.nodes import (
    Anything,
    Array,
    Boolean,
    Const,
    Document,
    Integer,
    Never,
    Null,
    Number,
    Object,
    Ref,
    Schema,
    String,
    Union,
)
from tests.schema.reading import read
from tests.schema.semantics import holds

__all__ = ["is_valid", "json_values", "nodes", "schemas", "values_of"]

Values = st.SearchStrategy[object]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NAMES = st.sampled_from(["a", "b", "c", "kind"])


def _json(children: Values) -> Values:
    return st.lists(children, max_size=3) | st.dictionaries(NAMES, children, max_size=3)


json_values: Values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.sampled_from([0.5, 1.0, 2.5, -1.5, 1e3])
    | st.sampled_from(["", "a", "ab", "abc", "1", "aé"]),
    _json,
    max_leaves=6,
)


def values_of(document: Document) -> Values:
    """Return a strategy for values of a document."""
    named: dict[str, Values] = {}
    for name in document.definitions:
        named[name] = st.deferred(lambda name=name: _of(document.definitions[name], named))
    return _of(document.root, named)


def _of(node: Schema, named: dict[str, Values]) -> Values:
    match node:
        case Never():
            return st.nothing()
        case Anything():
            return json_values
        case Null():
            return st.none()
        case Boolean():
            return st.booleans()
        case Const(text=text):
            return st.just(json.loads(text))
        case Integer():
            return _integers(node)
        case Number():
            return _numbers(node)
        case String():
            return _strings(node)
        case Array():
            return _arrays(node, named)
        case Object():
            return _objects(node, named)
        case Union(branches=branches):
            return st.one_of([_of(branch, named) for branch in branches])
        case Ref(name=name):
            return named[name]


def _integers(node: Integer) -> Values:
    step = node.multiple_of or 1
    low = -(10**18) + 1 if node.minimum is None else node.minimum
    high = 10**18 - 1 if node.maximum is None else node.maximum
    return st.integers(-(-low // step), high // step).map(lambda k: k * step)


def _numbers(node: Number) -> Values:
    step = Fraction(node.multiple_of or Decimal("0.001"))
    low = Fraction(-(10**9)) if node.minimum is None else Fraction(node.minimum.value)
    high = Fraction(10**9) if node.maximum is None else Fraction(node.maximum.value)
    first, last = ceil(low / step), floor(high / step)
    first += bool(node.minimum and node.minimum.exclusive and first * step == low)
    last -= bool(node.maximum and node.maximum.exclusive and last * step == high)
    return st.integers(first, last).map(lambda k: float(k * step))


def _strings(node: String) -> Values:
    if node.content is not None:
        return _of(node.content, {}).map(json.dumps)
    if node.format is not None:
        arguments: dict[str, Any] = dict(node.format.arguments)
        return _decimals(**arguments) if node.format.name == "python:decimal" else FORMATS[str(node.format)]
    strategy: st.SearchStrategy[str] = st.text(
        st.characters(exclude_categories=["Cs"]),
        min_size=node.min_length,
        max_size=node.min_length + 5 if node.max_length is None else node.max_length,
    )
    for pattern in node.patterns:
        return st.from_regex(pattern.replace(r"\z", r"\Z")).filter(lambda text: _fits(node, text))
    return strategy


def _decimals(max_digits: int = 9, decimal_places: int = 3, **bounds: str) -> st.SearchStrategy[str]:
    limit = Decimal(10 ** max(max_digits - decimal_places, 0)) - Decimal(10) ** -decimal_places
    ends = {key: Decimal(value) for key, value in bounds.items()}
    low, high = ends.get("ge", ends.get("gt", -limit)), ends.get("le", ends.get("lt", limit))
    numbers = st.decimals(low, high, places=decimal_places)
    return numbers.filter(lambda number: number not in (ends.get("gt"), ends.get("lt"))).map(
        lambda n: f"{n:f}"
    )


def _fits(node: String, text: str) -> bool:
    return holds(Document(node), text) and text.isprintable()


def _arrays(node: Array, named: dict[str, Values]) -> Values:
    prefix = [_of(item, named) for item in node.prefix]
    max_items = node.max_items
    if max_items is not None and max_items <= len(prefix):
        return st.tuples(*prefix[:max_items]).map(list)
    rest = st.lists(
        _of(node.items, named),
        min_size=max(0, node.min_items - len(prefix)),
        max_size=max(2, node.min_items) if max_items is None else max_items - len(prefix),
        unique_by=json.dumps if node.unique_items else None,
    )
    return st.tuples(*prefix).flatmap(lambda head: rest.map(lambda tail: [*head, *tail]))


def _objects(node: Object, named: dict[str, Values]) -> Values:
    required = {key.name: _of(key.value, named) for key in node.properties if key.required}
    optional = {
        key.name: _of(key.value, named)
        for key in node.properties
        if not key.required and not isinstance(key.value, Never)
    }
    declared = st.fixed_dictionaries(required, optional=optional)
    if not node.additional:
        return declared.filter(lambda value: node.min_properties <= len(value))
    taken = {key.name for key in node.properties}
    extra = st.dictionaries(
        _strings(node.additional[0].names).filter(lambda name: name not in taken),
        _of(node.additional[0].value, named),
        min_size=max(0, node.min_properties - len(required)),
        max_size=2 if node.max_properties is None else node.max_properties - len(required),
    )
    return st.tuples(declared, extra).map(lambda pair: {**pair[1], **pair[0]})


DATES = st.dates()
TIMES = st.times()
UUIDS = st.uuids()

FORMATS: dict[str, Values] = {
    "python:float-key": st.floats(-1e300, 1e300).map(repr),
    "python:date": DATES.map(datetime.date.isoformat),
    "python:time": TIMES.map(datetime.time.isoformat),
    "python:datetime": st.datetimes().map(datetime.datetime.isoformat),
    "python:datetime(zone='naive')": st.datetimes().map(datetime.datetime.isoformat),
    "python:datetime(zone='aware')": st.datetimes().map(lambda when: f"{when.isoformat()}+02:30"),
    "python:timedelta": st.integers(0, 999).map(lambda days: f"P{days}DT5S"),
    "python:uuid": UUIDS.map(str),
    "python:uuid(version=4)": st.uuids(version=4).map(str),
    "python:uuid(version=7)": UUIDS.map(
        lambda value: str(uuid.UUID(int=value.int & ~(0xF << 76) & ~(3 << 62) | 7 << 76 | 2 << 62))
    ),
    "python:ip-address(version=4)": st.integers(0, 2**32 - 1).map(
        lambda number: str(ipaddress.IPv4Address(number))
    ),
    "python:ip-address(version=6)": st.integers(0, 2**128 - 1).map(
        lambda number: str(ipaddress.IPv6Address(number))
    ),
}


def _schemas(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    keywords: dict[str, st.SearchStrategy[object]] = {
        "items": inner,
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
        "properties": st.dictionaries(NAMES, inner, max_size=2),
        "additionalProperties": inner,
        "allOf": st.lists(inner, min_size=1, max_size=2),
        "anyOf": st.lists(inner, min_size=1, max_size=2),
        "oneOf": st.lists(inner, min_size=1, max_size=2),
        "$ref": st.sampled_from(["#", "#/$defs/x"]),
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "contains": inner,
        "unevaluatedItems": inner,
        "unevaluatedProperties": inner,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$", "k", "^.$"]), inner, max_size=2),
        "dependentSchemas": st.dictionaries(NAMES, inner, max_size=1),
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
        **PLAIN,
    }
    return st.sets(st.sampled_from(sorted(keywords)), max_size=4).flatmap(
        lambda chosen: st.fixed_dictionaries({name: keywords[name] for name in sorted(chosen)})
    )


KINDS = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
COUNT = st.integers(0, 3)
BOUND = st.sampled_from([-1.5, 0, 1, 2.5, 3])

PLAIN: dict[str, st.SearchStrategy[object]] = {
    "type": KINDS | st.lists(KINDS, min_size=1, max_size=3, unique=True),
    "enum": st.lists(json_values, min_size=1, max_size=3),
    "const": json_values,
    "minimum": BOUND,
    "maximum": BOUND,
    "exclusiveMinimum": BOUND,
    "exclusiveMaximum": BOUND,
    "multipleOf": st.sampled_from([0.5, 1, 1.5, 2]),
    "minLength": COUNT,
    "pattern": st.sampled_from(["a", "^b", "^[ab]{2}$"]),
    "maxLength": COUNT,
    "minItems": COUNT,
    "maxItems": COUNT,
    "uniqueItems": st.booleans(),
    "minProperties": COUNT,
    "maxProperties": COUNT,
    "required": st.lists(NAMES, max_size=2, unique=True),
    "propertyNames": st.sampled_from(
        [{"enum": ["a", "b"]}, {"maxLength": 1}, {"const": "kind"}, True, {"minLength": 2}]
    ),
}

schemas: st.SearchStrategy[object] = st.recursive(
    st.booleans()
    | st.sets(st.sampled_from(sorted(PLAIN)), max_size=3).flatmap(
        lambda chosen: st.fixed_dictionaries({name: PLAIN[name] for name in sorted(chosen)})
    ),
    _schemas,
    max_leaves=5,
)
"""JSON Schemas whose references are `#` and `#/$defs/x`."""


def is_valid(validator: Draft202012Validator, value: object) -> bool:
    """Return whether jsonschema accepts a value; examples with infinitely recursive references are skipped."""
    try:
        return validator.is_valid(value)
    except RecursionError:
        reject()
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # its Rust extension reports a RecursionError as a panic
            reject()
        raise


_RAW = st.sets(st.sampled_from(sorted(PLAIN)), max_size=3).flatmap(
    lambda chosen: st.fixed_dictionaries({name: PLAIN[name] for name in sorted(chosen)})
)


@st.composite
def nodes(draw: st.DrawFn) -> Schema:
    try:
        return read(draw(_RAW)).root
    except SchemaError:
        return String(min_length=1)
