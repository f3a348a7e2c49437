"""Differences and pruning, compared with the semantics of the nodes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from structkit.errors import LimitExceeded, UnsatisfiableSchema, UnsupportedKeyword
from structkit.limits import Limits
from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.schema.algebra.difference import difference
from structkit.schema.algebra.intersect import Intersector
from structkit.schema.algebra.prune import prune, topological_order
from structkit.schema.ir.definitions import Definitions
from structkit.schema.ir.nodes import (
    Additional,
    Array,
    Boolean,
    Const,
    Contains,
    Document,
    Integer,
    Never,
    Null,
    Object,
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.ir.path import SchemaPath
from structkit.schema.product.combine import combine
from structkit.schema.product.tabulate import tabulate_all
from tests.schema.semantics import holds
from tests.schema.values import json_values, nodes
from tests.shared import cases

slow = settings(max_examples=cases(60, of=400), deadline=None, suppress_health_check=list(HealthCheck))


def kinds(depth: int = 1) -> st.SearchStrategy[Schema]:
    """Return nodes of which many overlap: few kinds, few keys and small numbers."""
    few = st.integers(0, 2)
    bound = st.none() | st.integers(2, 3)
    plain: list[st.SearchStrategy[Schema]] = [
        st.sampled_from(
            [Null(), Boolean(), Const("true"), Const("1"), Const('"a"'), Const("[1]"), Const('{"a":1}')]
        ),
        st.builds(Integer, few, st.none() | st.integers(2, 4), st.none() | st.just(2)),
        st.builds(String, few, bound, st.sampled_from([(), ("^a",), ("b$",)])),
    ]
    if not depth:
        return st.one_of(plain)
    inner = kinds(depth - 1)
    key = st.builds(Property, st.sampled_from("ab"), inner, st.booleans())
    keys = st.lists(key, max_size=2, unique_by=lambda each: each.name).map(tuple)
    names = st.sampled_from([String(), String(patterns=("^a",)), String(max_length=1)])
    others = st.lists(st.builds(Additional, names, inner), max_size=1).map(tuple)
    contains = st.lists(st.builds(Contains, inner, inner, st.just(1)), max_size=1)
    return st.one_of(
        *plain,
        st.builds(Object, keys, others, st.just(()), few, st.none() | st.integers(2, 3)),
        st.builds(Array, st.lists(inner, max_size=2).map(tuple), inner, few),
        st.builds(Array, st.just(()), inner, contains=contains.map(tuple)),
        st.lists(inner, min_size=2, max_size=3).map(lambda branches: Union(tuple(branches))),
    )


small = st.recursive(
    st.none() | st.booleans() | st.integers(0, 5) | st.sampled_from([1.5, "", "a", "ab", "b", "aab"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=4,
)


@pytest.mark.parametrize("is_combined", [False, True])
@slow
@given(st.data())
def test_a_difference_has_the_values_of_the_left_only(is_combined: bool, data: st.DataObject) -> None:
    either = kinds() | nodes()
    left, right = data.draw(either), data.draw(either)
    values = data.draw(st.lists(small | json_values, max_size=12))
    definitions = Definitions()
    oracle = AutomatonOracle(python=False)
    intersector = Intersector(definitions, Limits(), oracle, combine if is_combined else None)
    path = SchemaPath()
    try:
        found = definitions.reference("root", "root", lambda: difference(left, right, intersector, path))
        known = tabulate_all(intersector) if is_combined else definitions.resolve_all()
    except (UnsupportedKeyword, LimitExceeded):
        return
    for value in values:
        expected = holds(Document(left), value) and not holds(Document(right), value)
        assert holds(Document(found, known), value) == expected


@slow
@given(st.dictionaries(st.sampled_from("xyz"), kinds(), min_size=1), st.data())
def test_pruned_documents_have_the_same_values(definitions: dict[str, Schema], data: st.DataObject) -> None:
    """Some parts are replaced by references, in cycles, and by nodes without a value."""

    def draw(node: Schema) -> Schema:
        match data.draw(st.integers(0, 5)):
            case 0:
                return Ref(data.draw(st.sampled_from(sorted(definitions))))
            case 1:
                return Never("nothing")
        return node

    changed: dict[str, Schema] = {}
    for name, node in definitions.items():
        match node:
            case Object(properties):
                keys = tuple(Property(key.name, draw(key.value), key.required) for key in properties)
                changed[name] = Object(keys)
            case Array(prefix, items, least):
                changed[name] = Array(tuple(map(draw, prefix)), draw(items), least)
            case _:
                changed[name] = node
    root = next(iter(changed))
    values = data.draw(st.lists(small | json_values, max_size=12))
    try:
        found = prune(root, changed, topological_order(changed), python=False)
    except UnsatisfiableSchema:
        assert not [value for value in values if holds(Document(changed[root], changed), value)]
        return
    for value in values:
        assert holds(found, value) == holds(Document(changed[root], changed), value)
