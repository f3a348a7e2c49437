"""Ranges and multiples of integers, compared with arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import LimitExceeded, UnsupportedKeyword
from structkit.limits import Limits
from structkit.lowering.numbers.integers import integers, multiples
from structkit.regex.nodes import NEVER
from tests.regex.oracle import holds

ends = st.none() | st.integers(-1200, 1200) | st.integers(-(10**20), 10**20)


def inside(value: int, minimum: int | None, maximum: int | None) -> bool:
    return (minimum is None or value >= minimum) and (maximum is None or value <= maximum)


@given(ends, ends, st.data())
def test_a_range_accepts_exactly_its_numbers(
    minimum: int | None, maximum: int | None, data: st.DataObject
) -> None:
    node = integers(minimum, maximum, None)
    near = [0] + [bound + step for bound in (minimum, maximum) if bound is not None for step in (-1, 0, 1)]
    value = data.draw(st.integers(-1300, 1300) | st.integers(-(10**21), 10**21) | st.sampled_from(near))
    assert holds(node, str(value)) == inside(value, minimum, maximum)


@pytest.mark.parametrize("text", ["-0", "01", "-01", "", "-", "1.0", "1e3", "+1", " 1", "1 ", "٣"])
def test_other_spellings_are_rejected(text: str) -> None:
    assert not holds(integers(None, None, None), text)
    assert not holds(integers(-5, 5, 18), text)


@pytest.mark.parametrize(
    ("minimum", "maximum", "largest"),
    [(None, None, 10**18 - 1), (0, None, 10**18 - 1), (10**20, None, 10**21 - 1), (None, -5, -5)],
)
def test_unbounded_ranges_have_bounded_digits(minimum: int | None, maximum: int | None, largest: int) -> None:
    node = integers(minimum, maximum, 18)
    assert holds(node, str(largest))
    assert not holds(node, str(largest + 1))


@given(
    ends, ends, st.sampled_from([1, 2, 3, 4, 5, 6, 10, 16, 25, 100, 2500]), st.integers(-500, 500), st.data()
)
def test_multiples_are_exactly_those_of_the_range(
    minimum: int | None, maximum: int | None, of: int, factor: int, data: st.DataObject
) -> None:
    node = multiples(minimum, maximum, of, None)
    value = data.draw(st.sampled_from([of * factor, of * factor + 1, of * 10**19 * factor, 0]))
    assert holds(node, str(value)) == (value % of == 0 and inside(value, minimum, maximum))
    assert not holds(node, "-0")


def test_an_empty_range_is_never() -> None:
    assert integers(3, 2, None) == multiples(4, 6, 7, None) == NEVER


def test_bounds_and_divisors_that_are_too_large_are_rejected() -> None:
    with pytest.raises(UnsupportedKeyword, match=r"at `\$.a`:\n  .*`maximum`"):
        integers(None, int("123" * 100), None, path="$.a")
    with pytest.raises(UnsupportedKeyword):
        integers(10**9000, None, None)
    with pytest.raises(LimitExceeded, match="multiples of 999983"):
        multiples(None, None, 999_983, None, limits=Limits(states=1000))
