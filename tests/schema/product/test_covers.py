"""Whether an object schema allows all objects of another one, against values."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from structkit.errors import UnsatisfiableSchema
from structkit.limits import Limits
from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.schema.algebra.intersect import Intersector
from structkit.schema.algebra.string_oracle import UNDECIDED
from structkit.schema.ir.definitions import Definitions
from structkit.schema.ir.nodes import Boolean, Const, Object, Property, Ref, Schema, Union
from structkit.schema.ir.path import SchemaPath
from structkit.schema.product.covers import covers
from tests.schema.reading import read
from tests.schema.semantics import holds
from tests.shared import cases

KEYS = "abx"
VALUES = (None, 1, "x", {}, {"a": 1}, {"a": "x", "b": 1})
OBJECTS = [
    {key: value for key, value in zip(KEYS, chosen, strict=True) if value != "absent"}
    for chosen in product(["absent", *VALUES], repeat=len(KEYS))
]

leaves = st.sampled_from(
    [True, False, {"const": 1}, {"enum": [1, None]}, {"enum": [1, None, "x"]}, {"type": "string"}]
)


def objects(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from(KEYS), values)},
        optional={
            "required": st.lists(st.sampled_from(KEYS), unique=True, max_size=2),
            "additionalProperties": st.sampled_from([False, {"type": "string"}, {"const": 1}]),
            "patternProperties": st.sampled_from([{"^[ab]$": {"type": ["integer", "string"]}}]),
            "minProperties": st.integers(0, 2),
            "maxProperties": st.integers(1, 3),
        },
    )


schemas = st.recursive(leaves, objects, max_leaves=4) | objects(leaves)


@settings(max_examples=cases(150, of=5_000), deadline=None, suppress_health_check=list(HealthCheck))
@given(objects(schemas), objects(schemas))
def test_what_covers_has_every_value(outer: object, inner: object) -> None:
    oracle = AutomatonOracle(python=False)
    try:
        documents = read(outer, oracle=oracle), read(inner, oracle=oracle)
    except UnsatisfiableSchema:
        return
    roots = [document.root for document in documents]
    intersector = Intersector(Definitions(), Limits(), oracle)
    if not any(isinstance(root, Ref) for root in roots) and covers(*roots, intersector, SchemaPath()):
        missing = [
            value for value in OBJECTS if holds(documents[1], value) and not holds(documents[0], value)
        ]
        assert missing == []
    assert all(covers(root, root, intersector, SchemaPath()) for root in roots)


ONE = Property("a", Const("1"), required=False)
SOME = Property("a", Union((Const("1"), Const("2"))), required=False)
NEEDED = Property("a", Boolean(), required=True)
MAYBE = Property("b", Boolean(), required=False)
ONE_MORE = Property("b", Boolean(), required=True)


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        (Object((SOME,)), Object((ONE,))),
        (Object((SOME,)), Union((Object((ONE,)), Object()))),
        (Union((Boolean(), Object((SOME,)))), Object((ONE,))),
        (Object((Property("a", Ref("many"), required=False),)), Object((ONE,))),
        (Object((SOME,), min_properties=1), Object((SOME,), min_properties=2)),
        (Object((NEEDED, MAYBE), min_properties=1), Object((NEEDED, ONE_MORE))),
        (Object((SOME,), max_properties=2), Object((ONE,), max_properties=1)),
    ],
)
def test_a_node_covers_a_smaller_one(outer: Schema, inner: Schema) -> None:
    definitions = Definitions()
    definitions.reference("many", "many", lambda: Union((Const("1"), Const("2"))))
    intersector = Intersector(definitions, Limits(), UNDECIDED)
    assert covers(outer, inner, intersector, SchemaPath())
    assert not covers(inner, outer, intersector, SchemaPath())
    assert all(covers(each, each, intersector, SchemaPath()) for each in (outer, inner))


def test_definitions_that_contain_themselves_are_compared_to_a_depth() -> None:
    definitions = Definitions()
    for name in ("one", "two"):
        child = Property("child", Ref(name), required=False)
        definitions.reference(name, name, lambda child=child: Object((child,)))  # type: ignore[misc]
    intersector = Intersector(definitions, Limits(), UNDECIDED)
    assert not covers(Ref("one"), Ref("two"), intersector, SchemaPath())
    assert covers(Ref("one"), Ref("one"), intersector, SchemaPath())


@pytest.mark.parametrize("count", [12, 20])
def test_alternatives_whose_values_overlap_are_told_apart(count: int) -> None:
    """Of the sets of alternatives that a value could meet, few are not empty."""

    def options(first: int) -> dict[str, object]:
        keys = {f"k{(3 * first + index) % 40}": {"type": "string"} for index in range(6)}
        return {"type": "object", "properties": keys, "additionalProperties": False}

    alternatives = [
        {"properties": {"options": options(each), f"x{each}": {"type": "string"}}, "required": ["options"]}
        for each in range(count)
    ]
    schema = {"type": "object", "properties": {"options": True}, "oneOf": alternatives}
    document = read(schema, oracle=AutomatonOracle(python=False))
    assert document.narrowed == ()


@pytest.mark.parametrize("position", [0, 1])
def test_alternatives_that_contain_themselves_are_compared_to_a_depth(position: int) -> None:
    """Each step into a definition, an alternative or a value counts."""
    definitions = Definitions()
    for name in ("one", "two"):
        child = Property("child", Ref(name), required=False)
        some: list[Schema] = [Const("1"), Object((child,))]
        other = Const("2") if name == "one" else Const("3")
        some.insert(position, Object((Property("k", other),)))
        definitions.reference(name, name, lambda some=some: Union(tuple(some)))  # type: ignore[misc]
    intersector = Intersector(definitions, Limits(), UNDECIDED)
    assert not covers(Ref("one"), Ref("two"), intersector, SchemaPath())
    nested: list[Schema] = [Object((SOME,))]
    for _ in range(5):
        nested.append(Object((Property("n", nested[-1]),)))
    inner: Schema = Object((ONE,))
    for depth, outer in enumerate(nested):
        assert covers(outer, inner, intersector, SchemaPath()) == (depth < 3)
        inner = Object((Property("n", inner),))


@pytest.mark.parametrize("count", [0, 8, 9, 18, 19])
def test_pairs_of_values_are_charged(count: int) -> None:
    """One for each object, and one more for each ten keys."""
    charged: list[float] = []

    class Charging(Intersector):
        def charge(self, nodes: float, path: SchemaPath) -> None:
            charged.append(nodes)

    names = [f"k{number}" for number in range(count)]
    less = [Property(name, Const("1"), required=False) for name in names]
    more = [Property(name, SOME.value, required=False) for name in names]
    intersector = Charging(Definitions(), Limits(), UNDECIDED)
    assert covers(Object((*more, MAYBE)), Object((*less, ONE_MORE)), intersector, SchemaPath())
    assert charged == [1 + (count + 1) // 10]
