"""Alternatives without values that are equal in Python."""

from __future__ import annotations

import json
from itertools import combinations

from structkit.schema.algebra.distinct import disjoint_branches
from structkit.schema.algebra.membership import to_const
from structkit.schema.ir.nodes import Boolean, Const, Integer, Number, Ref, Union


def test_of_equal_constants_one_is_kept() -> None:
    values = (False, True, 0, 1, 2, "0")
    for size in range(len(values) + 1):
        for chosen in combinations(values, size):
            kept = disjoint_branches(map(to_const, chosen))
            written = [json.loads(each.text) for each in kept if isinstance(each, Const)]
            assert len(written) == len(kept) == len(set(chosen))
            assert set(written) == set(chosen)


def test_of_a_range_only_the_numbers_that_equal_a_boolean_are_left_out() -> None:
    number = Integer(minimum=0, maximum=1)
    assert disjoint_branches([Const("true"), number])[1:] == [Integer(minimum=0, maximum=0)]
    assert disjoint_branches([Const("false"), number])[1:] == [Integer(minimum=1, maximum=1)]
    assert disjoint_branches([Boolean(), number])[1:] == []


def test_beside_integers_the_integral_floats_are_written_as_integers_as_far_as_they_are_exact() -> None:
    integer, exact, other = disjoint_branches([Integer(minimum=0), Number()])
    assert integer == Integer(minimum=0)
    assert exact == Integer(minimum=-(2**53), maximum=2**53)
    assert isinstance(other, Number) and other.not_multiple_of == (1,)


def test_nested_alternatives_are_alternatives() -> None:
    nested = [Union((Const("true"), Union((Integer(), Const('"a"')))))]
    flat = [Const("true"), Integer(), Const('"a"')]
    assert disjoint_branches(nested) == disjoint_branches(flat)
    definitions = {"u": Union((Integer(), Const('"a"')))}
    assert disjoint_branches([Const("true"), Ref("u")], definitions) == disjoint_branches(flat)
