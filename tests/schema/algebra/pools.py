"""Small nodes, pairs of nodes that differ in one part, and all small values, which tell such nodes apart."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import product

from hypothesis import strategies as st

from structkit.schema.algebra.ranges import intersect_numbers
from structkit.schema.ir.constructors import array, object_, string, union
from structkit.schema.ir.nodes import (
    Additional,
    Array,
    Boolean,
    Bound,
    Const,
    Contains,
    Integer,
    Never,
    Null,
    Number,
    Object,
    Property,
    Schema,
    String,
    Union,
)

__all__ = ["POOL", "kinds", "pairs"]

SCALARS = [None, True, False, 0, 1, 2, 3, 4, 6, 1.5, 2.5, "", "a", "b", "ab", "aa", "ba", "aab"]
ITEMS = [True, 0, 1, 2, "a", [1]]
LACKING = object()


def _objects() -> list[object]:
    found: list[object] = []
    for values in product([LACKING, True, 0, 1, "a"], repeat=2):
        for last in (LACKING, 1, "ab"):
            pairs = zip(("a", "b", "c"), (*values, last), strict=True)
            found.append({name: value for name, value in pairs if value is not LACKING})
    return [*found, {"a": {"a": 1}}, {"a": {"b": 0}}, {"a": [1]}, {"ab": 1}, {"aab": 2}, {"ab": 1, "aa": "a"}]


POOL: list[object] = [
    *SCALARS,
    *(list(items) for size in range(3) for items in product(ITEMS, repeat=size)),
    *([first, second, third] for first, second, third in product([0, 1, "a"], repeat=3)),
    [1, 1, 2, 2],
    *_objects(),
]
"""Values such that most nodes of `kinds` differ in one of them."""

_FEW = st.integers(0, 2)
_STRINGS = st.sampled_from([(), ("^a",), ("b$",)])
_COUNTS = st.none() | st.integers(2, 3)
_SCALARS: list[st.SearchStrategy[Schema]] = [
    st.sampled_from(
        [Null(), Boolean(), Const("true"), Const("1"), Const('"a"'), Const("[1]"), Const('{"a":1}')]
    ),
    st.builds(Integer, _FEW, st.none() | st.integers(2, 4), st.none() | st.just(2)),
    st.builds(String, _FEW, _COUNTS, _STRINGS),
]
_BOUNDS = st.none() | st.builds(
    Bound, st.sampled_from([Decimal(1), Decimal("1.5"), Decimal(3)]), st.booleans()
)


def kinds(depth: int = 1) -> st.SearchStrategy[Schema]:
    """Return nodes of which many overlap: few kinds, few keys and small numbers."""
    if not depth:
        return st.one_of(_SCALARS)
    inner = kinds(depth - 1)
    key = st.builds(Property, st.sampled_from("ab"), inner, st.booleans())
    keys = st.lists(key, max_size=2, unique_by=lambda each: each.name).map(tuple)
    names = st.sampled_from([String(), String(patterns=("^a",)), String(max_length=1)])
    others = st.lists(st.builds(Additional, names, inner), max_size=1).map(tuple)
    contains = st.lists(st.builds(Contains, inner, inner, st.just(1)), max_size=1)
    objects = st.builds(Object, keys, others, st.just(()), _FEW, _COUNTS).map(object_)
    return st.one_of(
        *_SCALARS,
        st.builds(Number, _BOUNDS, _BOUNDS).map(lambda node: intersect_numbers(node, Number())),
        objects,
        objects,
        st.builds(Array, st.lists(inner, max_size=2).map(tuple), inner, _FEW, _COUNTS).map(array),
        st.builds(Array, st.just(()), inner, contains=contains.map(tuple)),
        st.lists(inner, min_size=2, max_size=3).map(union),
    )


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Schema, Schema]:
    """Return two nodes, of which one is often the other with one change, nested or not."""
    left = draw(kinds())
    right = draw(st.one_of(kinds(), _changed(left), _changed(left)))
    return (left, right) if draw(st.booleans()) else (right, left)


def _changed(node: Schema) -> st.SearchStrategy[Schema]:
    """Return nodes that differ from a node in one part."""
    match node:
        case Const():
            return st.sampled_from([Const("1"), Const("2"), Const('"b"'), Const("[1,2]"), Const('{"a":2}')])
        case Integer():
            bounds = [st.builds(lambda n: replace(node, maximum=n), st.none() | st.integers(2, 6))]
            bounds.append(st.builds(lambda n: replace(node, minimum=n), st.none() | st.integers(0, 3)))
            steps = st.none() | st.integers(1, 3)
            return st.one_of(*bounds, steps.map(lambda n: replace(node, multiple_of=n))).map(
                lambda found: intersect_numbers(found, Number())
            )
        case Number():
            either = st.one_of(
                _BOUNDS.map(lambda bound: replace(node, minimum=bound)),
                _BOUNDS.map(lambda bound: replace(node, maximum=bound)),
                st.just(replace(node, multiple_of=Decimal("0.5"))),
            )
            return either.map(lambda found: intersect_numbers(found, Number()))
        case String():
            return st.one_of(
                _STRINGS.map(lambda patterns: string(replace(node, patterns=patterns))),
                _STRINGS.map(lambda patterns: string(replace(node, forbidden=patterns))),
                _FEW.map(lambda length: string(replace(node, min_length=length))),
                _COUNTS.map(lambda length: string(replace(node, max_length=length))),
            )
        case Array():
            return _changed_array(node)
        case Object():
            return _changed_object(node)
        case Union(branches=branches):
            index = st.integers(0, len(branches) - 1)
            return index.flatmap(
                lambda i: _changed(branches[i]).map(
                    lambda each: union((*branches[:i], each, *branches[i + 1 :]))
                )
            )
    return st.just(node)


def _changed_array(node: Array) -> st.SearchStrategy[Schema]:
    prefix = node.prefix
    changes = [
        _changed(node.items).map(lambda items: replace(node, items=items)),
        _FEW.map(lambda count: replace(node, min_items=count)),
        _COUNTS.map(lambda count: replace(node, max_items=count)),
        st.booleans().map(lambda unique: replace(node, unique_items=unique)),
        st.builds(
            lambda matching, low, high: replace(node, contains=(Contains(matching, node.items, low, high),)),
            kinds(0),
            st.integers(1, 2),
            _COUNTS,
        ),
    ]
    if prefix:
        changes.append(st.just(replace(node, prefix=prefix[:-1])))
        changes.append(_changed(prefix[0]).map(lambda first: replace(node, prefix=(first, *prefix[1:]))))
    return st.one_of(changes).map(array)


def _changed_object(node: Object) -> st.SearchStrategy[Schema]:
    keys = node.properties
    changes = [
        _FEW.map(lambda count: replace(node, min_properties=count)),
        _COUNTS.map(lambda count: replace(node, max_properties=count)),
        kinds(0).map(lambda value: replace(node, additional=(Additional(String(), value),))),
        st.just(replace(node, properties=keys[1:])),
    ]
    if keys:
        first = keys[0]
        changes.append(
            st.just(replace(node, properties=(replace(first, required=not first.required), *keys[1:])))
        )
        values = _changed(first.value) | st.just(Never("forbidden"))
        changes.append(
            values.map(lambda value: replace(node, properties=(replace(first, value=value), *keys[1:])))
        )
    return st.one_of(changes).map(object_)
