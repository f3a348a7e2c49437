"""Set operations on constants, compared with membership."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from structkit.errors import UnsatisfiableSchema
from structkit.limits import Limits
from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.schema.algebra.constants import allowed_constants
from structkit.schema.algebra.difference import difference
from structkit.schema.algebra.disjoint import pairwise_disjoint
from structkit.schema.algebra.intersect import Intersector
from structkit.schema.algebra.membership import contains_value, to_const
from structkit.schema.algebra.string_oracle import UNDECIDED
from structkit.schema.ir.constructors import union
from structkit.schema.ir.definitions import Definitions
from structkit.schema.ir.nodes import Boolean, Bound, Const, Integer, Number, Schema, String, Union
from structkit.schema.ir.path import SchemaPath
from tests.schema.reading import read
from tests.schema.semantics import holds

VALUES: list[object] = [
    0,
    0.0,
    1,
    1.0,
    True,
    False,
    None,
    "",
    "0",
    [],
    [0],
    [False],
    {"a": 1},
    {"a": 1.0},
    10**30,
]
NUMBERS = ["0", "-3", "2.5", "3", "3.0", "0.1", "4", "1e30", "1000000000000000000000000000000", "-0.75", "6"]
lists = st.lists(st.sampled_from(VALUES), min_size=1, max_size=6)


def _node(values: list[object]) -> Schema:
    return union(Const(json.dumps(value)) for value in values)


def _intersector() -> Intersector:
    return Intersector(Definitions(), Limits())


@given(st.lists(lists, min_size=2, max_size=4))
def test_intersections_of_constants(parts: list[list[object]]) -> None:
    nodes = [_node(values) for values in parts]
    met = _intersector().intersect(nodes, SchemaPath())
    for value in VALUES:
        assert contains_value(met, value) is all(contains_value(node, value) for node in nodes)


@given(lists, lists)
def test_differences_of_constants(left: list[object], right: list[object]) -> None:
    rest = difference(_node(left), _node(right), _intersector(), SchemaPath())
    for value in VALUES:
        expected = contains_value(_node(left), value) and not contains_value(_node(right), value)
        assert contains_value(rest, value) is expected


@given(
    st.lists(
        st.tuples(st.integers(0, 12) | st.none(), st.integers(0, 12) | st.none()), min_size=1, max_size=5
    )
)
def test_ranges_are_separate_only_if_no_integer_is_in_two(
    bounds: list[tuple[int | None, int | None]],
) -> None:
    nodes = [
        Integer(minimum=least, maximum=most)
        for least, most in bounds
        if (least or 0) <= (12 if most is None else most)
    ]
    if pairwise_disjoint(nodes, {}.get):
        for value in range(-1, 14):
            assert sum(bool(contains_value(node, value)) for node in nodes) <= 1


def test_many_constants_and_ranges_do_not_take_long() -> None:
    start = time.process_time()
    whole, half = _node(list(range(4_000))), _node(list(range(0, 8_000, 2)))
    assert len(getattr(_intersector().intersect([whole, half], SchemaPath()), "branches", ())) == 2_000
    assert len(getattr(difference(whole, half, _intersector(), SchemaPath()), "branches", ())) == 2_000
    assert pairwise_disjoint([Integer(minimum=10 * n, maximum=10 * n + 9) for n in range(2_000)], {}.get)
    assert time.process_time() - start < 5  # 0.1 s


@given(st.lists(st.sampled_from(VALUES), min_size=1), st.sampled_from(VALUES))
def test_a_constant_of_an_enum_is_the_only_value(values: list[object], constant: object) -> None:
    schema = {"enum": values, "const": constant}
    expected = [value for value in VALUES if Draft202012Validator(schema).is_valid(value)]
    try:
        document = read(schema)
    except UnsatisfiableSchema:
        assert not expected
        return
    assert [value for value in VALUES if holds(document, value)] == expected


def test_a_pattern_is_asked_once_for_all_constants_of_a_list() -> None:
    """Beside other alternatives; each question costs a search for its automaton."""

    class Counting(AutomatonOracle):
        questions = 0

        def contains_each(self, node: String, texts: Sequence[str]) -> list[bool | None]:
            self.questions += 1
            return super().contains_each(node, texts)

    oracle = Counting(python=False)
    texts = [f"word{number}" for number in range(40)]
    values: list[object] = [*texts, 3, None]
    alternatives = [{"type": "string", "pattern": "1"}, {"type": "string", "pattern": "2$"}, {"type": "null"}]
    schema = {"enum": values, "anyOf": alternatives}
    document = read(schema, oracle=oracle)
    expected = [value for value in values if Draft202012Validator(schema).is_valid(value)]
    assert [value for value in values if holds(document, value)] == expected
    assert 0 < oracle.questions < 20


BOUNDS = st.none() | st.builds(Bound, st.sampled_from([Decimal(text) for text in NUMBERS]), st.booleans())


@given(
    st.one_of(
        st.builds(Number, BOUNDS, BOUNDS, st.sampled_from([None, Decimal("0.5"), Decimal(3)])),
        st.builds(
            Number, BOUNDS, BOUNDS, st.none(), st.sampled_from([(), (Decimal("0.25"),), (Decimal(2),)])
        ),
        st.builds(
            Integer, st.sampled_from([None, -3, 10**30]), st.sampled_from([None, 4, 10**31]), st.just(3)
        ),
    ),
    st.sampled_from([json.loads(text) for text in NUMBERS]),
)
def test_numbers_are_compared_exactly(node: Integer | Number, value: float) -> None:
    """Integers and others, as fractions would be."""

    def exact(bound: object) -> Fraction:
        return Fraction(bound.value) if isinstance(bound, Bound) else Fraction(bound)  # type: ignore[arg-type]

    number, low, high = Fraction(Decimal(repr(value))), node.minimum, node.maximum
    step = node.multiple_of if isinstance(node, Number) else node.multiple_of or 1
    expected = (
        (
            low is None
            or number > exact(low)
            or (number == exact(low) and not getattr(low, "exclusive", False))
        )
        and (
            high is None
            or number < exact(high)
            or (number == exact(high) and not getattr(high, "exclusive", False))
        )
        and (step is None or (number / Fraction(step)).denominator == 1)
        and all((number / Fraction(other)).denominator != 1 for other in node.not_multiple_of)
    )
    assert contains_value(node, value) is expected


def test_differences_of_many_objects_with_numbers_do_not_take_long() -> None:
    """Each constant of a key is compared with the ranges between those before."""
    objects = [
        {"properties": {"k": {"const": number}, "v": {"type": "string"}}, "required": ["k", "v"]}
        for number in range(60)
    ]
    fractions = Counter[str]()
    new = Fraction.__new__

    def counted(*arguments: Any, **keywords: Any) -> Fraction:
        fractions["made"] += 1
        return new(*arguments, **keywords)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Fraction, "__new__", counted)
        document = read({"type": "object", "not": {"anyOf": objects}})
    assert (
        not holds(document, {"k": 3, "v": ""})
        and holds(document, {"k": 3, "v": 1})
        and holds(document, {"k": 60})
    )
    assert fractions["made"] < 5_000


@pytest.mark.parametrize("seed", range(4))
def test_numbers_in_lists_meet_ranges(seed: int) -> None:
    """Each number is compared with the ranges around it, and what is compared is paid for."""
    chance = Random(seed)

    def end() -> Bound | None:
        return (
            Bound(Decimal(chance.randrange(-90, 90)) / 4, chance.random() < 0.5)
            if chance.random() < 0.8
            else None
        )

    listed = [to_const(chance.choice((n, n / 4, float(n), str(n), n > 0))) for n in range(-30, 30)]
    ranges: list[Schema] = [
        Number(minimum=end(), maximum=end(), multiple_of=Decimal("0.5")) for _ in range(4)
    ]
    ranges += [Integer(minimum=n, maximum=n + 2) for n in range(-28, 28, 9)]
    others = Union((*ranges, *chance.sample(listed, 9), String(max_length=1), Boolean()))
    found = allowed_constants([union(listed), others], UNDECIDED, lambda cost: None)
    expected = [each for each in listed if contains_value(others, json.loads(each.text))]
    assert found == union(expected)


def test_many_numbers_meet_many_ranges() -> None:
    costs: list[float] = []
    listed = union(to_const(n) for n in range(3_000))
    ranges = Union((*(Integer(minimum=5 * n, maximum=5 * n + 3) for n in range(600)), String()))
    found = allowed_constants([listed, ranges], UNDECIDED, costs.append)
    assert isinstance(found, Union) and len(found.branches) == 2_400
    assert 2_400 / 10 < sum(costs) < 2_400
