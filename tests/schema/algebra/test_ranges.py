"""Ranges of numbers, compared with an enumeration of small numbers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structkit.schema.algebra.membership import contains_value
from structkit.schema.algebra.ranges import intersect_numbers, number_range
from structkit.schema.ir.nodes import Bound, Integer, Never, Number

CANDIDATES = [Fraction(n, 4) for n in range(-60, 61)]

values = st.integers(-20, 20).map(lambda quarters: Decimal(quarters) / 4)
bounds = st.builds(Bound, values, st.booleans())
steps = st.sampled_from(
    [Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(5)]
)


def _allows(
    number: Fraction, low: Bound | None, high: Bound | None, step: Fraction | None, integral: bool
) -> bool:
    if low is not None and (number < low.value or (low.exclusive and number == low.value)):
        return False
    if high is not None and (number > high.value or (high.exclusive and number == high.value)):
        return False
    return (not integral or number.denominator == 1) and (step is None or (number / step).denominator == 1)


@given(bounds, bounds, steps | st.none(), st.booleans())
@example(Bound(Decimal(3)), Bound(Decimal(4), exclusive=True), Fraction(1), False)
@example(Bound(Decimal(3), exclusive=True), Bound(Decimal(4)), Fraction(2), False)
@example(Bound(Decimal(3), exclusive=True), Bound(Decimal(3)), None, False)
def test_a_range_has_the_numbers_between_its_bounds(
    low: Bound, high: Bound, step: Fraction | None, integral: bool
) -> None:
    found = number_range(low, high, step, integral=integral)
    expected = [n for n in CANDIDATES if _allows(n, low, high, step, integral)]
    if isinstance(found, Never):
        assert expected == []
        return
    assert isinstance(found, Integer if integral else Number)
    assert [n for n in CANDIDATES if contains_value(found, float(n))] == expected
    if step is not None or integral:
        assert expected  # it is not empty


@given(
    st.lists(
        st.tuples(bounds | st.none(), bounds | st.none(), steps | st.none(), st.booleans()),
        min_size=2,
        max_size=2,
    )
)
def test_an_intersection_has_the_numbers_of_both(
    parts: list[tuple[Bound | None, Bound | None, Fraction | None, bool]],
) -> None:
    nodes = [number_range(low, high, step, integral=integral) for low, high, step, integral in parts]
    expected = [n for n in CANDIDATES if all(_allows(n, *part) for part in parts)]
    left, right = nodes
    if isinstance(left, Never) or isinstance(right, Never):
        assert expected == []
        return
    both = intersect_numbers(left, right)  # type: ignore[arg-type]  # no union
    assert [n for n in CANDIDATES if contains_value(both, float(n))] == expected


@pytest.mark.parametrize("integral", [False, True])
@pytest.mark.parametrize("step", [Fraction(1, 2), Fraction(1), Fraction(2), Fraction(3)])
def test_every_small_range_is_empty_or_not(step: Fraction, integral: bool) -> None:
    sides = [Bound(Decimal(value), exclusive=exclusive) for value in range(7) for exclusive in (False, True)]
    for low in sides:
        for high in sides:
            expected = any(_allows(number, low, high, step, integral) for number in CANDIDATES)
            assert isinstance(number_range(low, high, step, integral=integral), Never) != expected, (
                low,
                high,
            )


@pytest.mark.parametrize(
    ("low", "high", "step", "integral", "reason"),
    [
        (
            Bound(Decimal(3), exclusive=True),
            Bound(Decimal(4), exclusive=True),
            None,
            True,
            "no integer is more than 3 and less than 4",
        ),
        (
            Bound(Decimal(4)),
            Bound(Decimal(5)),
            Fraction(3),
            False,
            "no multiple of 3 is at least 4 and at most 5",
        ),
        (Bound(Decimal(2)), Bound(Decimal(1)), None, False, "no number is at least 2 and at most 1"),
        (Bound(Decimal(2)), Bound(Decimal(1)), Fraction(1), True, "no integer is at least 2 and at most 1"),
    ],
)
def test_an_empty_range_says_which_numbers_are_missing(
    low: Bound, high: Bound, step: Fraction | None, integral: bool, reason: str
) -> None:
    found = number_range(low, high, step, integral=integral)
    assert isinstance(found, Never) and found.reason == reason


def test_multiples_that_another_keyword_forbids() -> None:
    found = number_range(None, None, Fraction(6), integral=True, not_multiple_of=[Decimal(3)])
    assert isinstance(found, Never) and found.reason == "another keyword forbids every multiple of 6"
    some = number_range(None, None, Fraction(6), integral=True, not_multiple_of=[Decimal(4), Decimal(4)])
    assert some == Integer(multiple_of=6, not_multiple_of=(Decimal(4),))
    every = number_range(None, None, Fraction(1), integral=True, not_multiple_of=[Decimal(4)])
    assert every == Integer(not_multiple_of=(Decimal(4),))
