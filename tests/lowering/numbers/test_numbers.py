"""Numbers with a fraction, compared with decimal arithmetic and with the output of Python."""

from __future__ import annotations

import json
import math
import re
import sys
from decimal import Decimal
from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.errors import UnsupportedKeyword
from structkit.limits import Limits
from structkit.lowering.numbers.decimals import fixed, two_digits
from structkit.lowering.numbers.floats import DISTINCT_DIGITS, ROUND_TRIP_DIGITS, floats
from structkit.lowering.numbers.numbers import numbers, without_multiples
from structkit.regex.nodes import NEVER
from structkit.schema.ir.nodes import Bound, Number
from tests.regex.oracle import holds

FIXED = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")

decimals = st.one_of(
    st.integers(-30, 30).map(Decimal),
    st.decimals(-12, 12, places=3),
    st.builds(
        lambda sign, digits, power: Decimal((sign, digits, power)),
        st.integers(0, 1),
        st.tuples(*[st.integers(0, 9)] * 3),
        st.integers(-8, 20),
    ),
)
bounds = st.none() | st.builds(Bound, decimals, st.booleans())


def inside(value: Decimal, low: Bound | None, high: Bound | None) -> bool:
    above = low is None or value > low.value or (value == low.value and not low.exclusive)
    below = high is None or value < high.value or (value == high.value and not high.exclusive)
    return above and below


def near(low: Bound | None, high: Bound | None) -> st.SearchStrategy[Decimal]:
    """Values at the bounds and one digit away."""
    ends = [bound.value for bound in (low, high) if bound is not None] or [Decimal(0)]
    steps = st.sampled_from([0, 1, -1, 5, -5]).map(Decimal)
    return st.builds(
        lambda end, step, power: end + step.scaleb(power), st.sampled_from(ends), steps, st.integers(-6, 3)
    )


@given(bounds, bounds, st.data())
def test_fixed_point_accepts_exactly_the_range(
    low: Bound | None, high: Bound | None, data: st.DataObject
) -> None:
    node = numbers(Number(minimum=low, maximum=high), bounded=False)
    value = data.draw(decimals | near(low, high))
    text = format(value, "f") + data.draw(
        st.sampled_from(["", "0"] if "." in format(value, "f") else ["", ".0"])
    )
    if value == 0 and text.startswith("-"):
        text = text[1:]
    assert FIXED.fullmatch(text)
    assert holds(node, text) == inside(Decimal(text), low, high)


@given(
    st.lists(st.decimals(0, 3, places=5), min_size=2, max_size=2).map(sorted),
    st.booleans(),
    st.integers(0, 6),
)
def test_fixed_point_has_no_more_than_its_places(ends: list[Decimal], exclusive: bool, places: int) -> None:
    """The bounds may have more decimal places."""
    low, high = (Bound(end, exclusive) for end in ends)
    node = fixed(low, high, places)
    for text in (format(end, "f") for end in ends):
        for size in range(len(text) + 1):
            if FIXED.fullmatch(text[:size]):
                has_places = len(text[:size].partition(".")[2]) <= places
                assert holds(node, text[:size]) == (has_places and inside(Decimal(text[:size]), low, high))


@given(bounds, bounds, st.integers(-30, 30).filter(lambda power: not -5 < power < 16), st.data())
def test_exponents_accept_exactly_the_range(
    low: Bound | None, high: Bound | None, power: int, data: st.DataObject
) -> None:
    node = numbers(Number(minimum=low, maximum=high), bounded=False)
    mantissa = data.draw(st.sampled_from(["1", "9", "5.0", "1.5", "9.99", "-1", "-2.50", "-9.9"]))
    text = f"{mantissa}e{power:+03}"
    assert holds(node, text) == inside(Decimal(text), low, high)


@given(st.floats(allow_nan=False, allow_infinity=False).filter(lambda value: abs(value) < 1e308))
def test_the_json_of_a_float_is_accepted(value: float) -> None:
    assert holds(numbers(Number(), bounded=True), json.dumps(value))
    assert holds(numbers(Number(), bounded=False), json.dumps(value))


finite = st.floats(-1e300, 1e300) | st.floats(-10, 10) | st.sampled_from([0.0, 1.0, 0.1, 5e-324, 1e16, -1e-5])


@given(finite, finite, st.booleans(), st.booleans())
def test_the_json_of_a_float_is_accepted_if_it_is_within_the_bounds(
    bound: float, value: float, exclusive: bool, lower: bool
) -> None:
    end = Bound(Decimal(repr(bound)), exclusive)
    node = numbers(Number(minimum=end) if lower else Number(maximum=end), bounded=True)
    expected = (value == bound and not exclusive) or (value > bound if lower else value < bound)
    if str(value) == "-0.0" and lower and bound == 0:
        expected = False  # -0 is valid only in ranges with negative numbers
    assert holds(node, json.dumps(value)) == expected


@pytest.mark.parametrize("bound", [1e308, 1.7e308])
def test_floats_beyond_a_minimum_near_the_largest_are_accepted(bound: float) -> None:
    large = Bound(Decimal(repr(bound)))
    least = Bound(Decimal(repr(-bound)))
    for value in (bound, 1.7e308, sys.float_info.max):
        assert holds(numbers(Number(minimum=large), bounded=True), json.dumps(value))
        assert holds(numbers(Number(maximum=least), bounded=True), json.dumps(-value))
    for text in ("9.9e+307", "1.7976931348623159e+308", "1.8e+308", "1e+309"):
        assert not holds(numbers(Number(minimum=large), bounded=True), text)


@pytest.mark.parametrize("text", ["0.1000000000000000000001", "0.10000000000000000001"])
def test_a_decimal_that_rounds_to_an_exclusive_bound_is_rejected(text: str) -> None:
    assert float(text) == 0.1
    node = numbers(Number(minimum=Bound(Decimal("0.1"), exclusive=True)), bounded=True)
    assert not holds(node, text)
    assert holds(node, repr(math.nextafter(0.1, 1)))


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize(
    "text", ["", "-", "01", "1.", ".5", "NaN", "Infinity", "1e", "+1", "1.5.5", "0x1", "1_0"]
)
def test_invalid_json_numbers_are_rejected(text: str, bounded: bool) -> None:
    assert not holds(numbers(Number(), bounded=bounded), text)
    assert not holds(numbers(Number(minimum=Bound(Decimal(0))), bounded=bounded), text)


@pytest.mark.parametrize("text", ["1e400", "1e999", "-1.8e308", "1" * 17, "0." + "1" * 22])
def test_a_python_number_has_bounded_digits(text: str) -> None:
    assert not holds(numbers(Number(), bounded=True), text)
    assert holds(numbers(Number(), bounded=False), text)


@pytest.mark.parametrize("of", ["0.1", "0.01", "0.25", "0.05", "2.5", "1.25", "3", "10", "0.5", "0.125"])
@pytest.mark.parametrize("bounded", [True, False])
@given(st.integers(-300, 300), st.sampled_from(["0", "0.01", "0.001"]))
def test_multiples_are_exactly_those_of_the_range(of: str, bounded: bool, factor: int, off: str) -> None:
    step = Decimal(of)
    value = step * factor + Decimal(off)
    text = re.sub(r"\.?0+$", "", format(value, ".5f")).replace("-0", "0" if value == 0 else "-0")
    node = numbers(
        Number(multiple_of=step, minimum=Bound(Decimal(-50)) if bounded else None), bounded=bounded
    )
    assert holds(node, text) == (value % step == 0 and (not bounded or value >= -50))


@given(
    st.lists(st.sampled_from(["3", "0.5", "2.5", "10", "0.3", "1"]), min_size=1, max_size=2, unique=True),
    bounds,
    bounds,
    st.integers(-400, 400),
    st.integers(0, 2),
    st.sampled_from(["", "0", "00", ".0"]),
)
@example(["0.5"], None, None, 5, 1, "0")
@example(["2.5", "0.3"], None, None, -50, 1, "00")
@example(["0.3"], None, None, 0, 0, ".0")
def test_each_spelling_without_an_exponent_of_what_is_no_multiple_is_accepted(
    excluded: list[str], low: Bound | None, high: Bound | None, digits: int, places: int, zeros: str
) -> None:
    parts = tuple(map(Decimal, excluded))
    schema = Number(minimum=low, maximum=high, not_multiple_of=parts)
    value = Decimal(digits).scaleb(-places)
    text = format(value, "f") + (zeros if ("." in format(value, "f")) != (zeros == ".0") else "")
    node = without_multiples(numbers(schema, bounded=False), parts, Limits(), None)
    assert holds(node, text) == (inside(value, low, high) and all(value % part for part in parts)), text


@pytest.mark.parametrize("of", ["1", "3", "0.5", "2.5", "0.3"])
def test_no_spelling_of_zero_is_no_multiple(of: str) -> None:
    parts = (Decimal(of),)
    node = without_multiples(numbers(Number(not_multiple_of=parts), bounded=False), parts, Limits(), None)
    assert not any(holds(node, text) for text in ("0", "-0", "0.0", "-0.0", "0.000", "-0.000"))
    assert holds(node, "-0.0001") and holds(node, "0.00001")


def test_few_multiples_are_enumerated() -> None:
    schema = Number(minimum=Bound(Decimal(0)), maximum=Bound(Decimal(1)), multiple_of=Decimal("0.3"))
    node = numbers(schema, bounded=True)
    assert [text for text in ("0", "0.3", "0.30", "0.6", "0.9", "0.1", "1.2", "1") if holds(node, text)] == [
        "0", "0.3", "0.6", "0.9",
    ]  # fmt: skip


@given(st.decimals(-50, 50, places=2))
def test_canonical_numbers_have_one_spelling(value: Decimal) -> None:
    node = numbers(Number(), bounded=False, canonical=True)
    text = format(value, "f")
    shortest = text.rstrip("0").rstrip(".")
    assert holds(node, text) == (text == shortest and text != "-0")
    assert shortest == "-0" or holds(node, shortest)


EDGES = [
    5e-324,
    1e-323,
    2.225e-308,
    9.9e-5,
    1e-4,
    1e15,
    1e16,
    9.999999999999999e22,
    1e22,
    1e-7,
    -0.0,
    0.1 + 0.2,
]
wide = st.floats(-1e307, 1e307) | st.floats(-1e-300, 1e-300) | st.sampled_from(EDGES)


@given(wide, st.none() | wide, st.booleans())
def test_a_canonical_float_has_the_json_spelling(value: float, bound: float | None, exclusive: bool) -> None:
    low = None if bound is None else Bound(Decimal(repr(bound)), exclusive)
    expected = bound is None or value > bound or (value == bound and not exclusive)
    node = numbers(Number(minimum=low), bounded=True, canonical=True)
    assert holds(node, json.dumps(value)) == (expected and str(value) != "-0.0")


_ENDS = [Decimal(text) for text in ("0", "0.01", "0.1", "0.12", "0.14", "0.2", "0.39", "0.5", "1")]


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("places", [None, 1, 2])
def test_fractions_between_two_ends_are_exactly_those_of_the_range(
    exclusive: bool, places: int | None
) -> None:
    texts = [f"{number / 10**size:.{size}f}" for size in (1, 2, 3) for number in range(11 * 10 ** (size - 1))]
    for low, high in combinations(_ENDS, 2):
        ends = Bound(low, exclusive), Bound(high, exclusive)
        dfa = regular_dfa(fixed(*ends, places))
        found = dfa.accepts_each([text.encode() for text in texts])
        for text, is_accepted in zip(texts, found, strict=True):
            expected = inside(Decimal(text), *ends) and len(text) - 2 <= (places or 3)
            assert is_accepted == expected, (low, high, text)


def test_each_power_of_ten_has_the_form_of_repr() -> None:
    dfa = regular_dfa(floats(ROUND_TRIP_DIGITS))
    values = [float(f"{figures}e{power}") for figures in (1, -1.5, 9.25) for power in range(-323, 308)]
    assert all(dfa.accepts_each([repr(value).encode() for value in values]))
    others = [f"{figures}e{power:+03}" for figures in (1, -1.5) for power in range(-4, 16)]
    others += [f"{10**power}.0" for power in range(16, 20)] + [
        f"{10.0**-power:.{power}f}" for power in range(5, 9)
    ]
    assert not any(dfa.accepts_each([text.encode() for text in others]))


def _near(value: float, figures: int, step: int) -> str:
    """Return a number near a float, with a given number of digits, in the form of `repr`."""
    exact = Decimal(f"{value:.{figures - 1}e}")
    moved = exact + step * Decimal(10) ** (exact.adjusted() - figures + 1)
    mantissa, _, power = f"{moved:e}".partition("e")
    if -4 <= int(power or 0) < 16:
        integral, _, part = f"{moved:f}".partition(".")
        return f"{integral}.{part.rstrip('0') or '0'}"
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(power):+03}"


@given(wide.filter(bool), st.integers(13, 17), st.integers(-3, 3), st.integers(-3, 3))
def test_with_few_digits_no_two_texts_denote_one_float(
    value: float, figures: int, step: int, other: int
) -> None:
    texts = {_near(value, figures, step), _near(value, figures, other), repr(value)}
    held = [text for text in texts if holds(floats(DISTINCT_DIGITS), text)]
    assert len({float(text) for text in held}) == len(held)
    if figures < DISTINCT_DIGITS and abs(value) > 1e-300:
        assert len(held) >= len(texts) - 1


@given(wide, st.integers(-3, 3))
def test_each_text_has_the_form_of_a_float(value: float, step: int) -> None:
    text = _near(value or 1.0, 3, step)
    if abs(value) > 1e-300 and holds(floats(ROUND_TRIP_DIGITS), text):
        assert text == repr(float(text))


@pytest.mark.parametrize("low", [0, 1, 8, 9, 10, 11, 99, 100])
@pytest.mark.parametrize("high", [None, 0, 8, 9, 10, 12, 99, 101])
def test_exponents_have_two_digits_or_more(low: int, high: int | None) -> None:
    node = two_digits(low, high)
    for number in range(130):
        assert holds(node, f"{number:02}") == (low <= number and (high is None or number <= high)), number
        assert number > 9 or not holds(node, str(number))


def test_an_empty_range_is_never() -> None:
    for low, high in (("1", "0"), ("1", "1"), ("1.5e21", "1"), ("9e21", "1e21")):
        schema = Number(minimum=Bound(Decimal(low), exclusive=True), maximum=Bound(Decimal(high)))
        assert numbers(schema, bounded=False) == numbers(schema, bounded=True) == NEVER


@pytest.mark.parametrize(
    "schema",
    [
        Number(multiple_of=Decimal(0)),
        Number(minimum=Bound(Decimal("1e999999"))),
        Number(maximum=Bound(Decimal("1e-999999"))),
        Number(maximum=Bound(Decimal("0." + "12" * 100))),
        Number(maximum=Bound(Decimal("inf"))),
    ],
)
def test_unenforceable_numbers_are_rejected(schema: Number) -> None:
    with pytest.raises(UnsupportedKeyword, match=r"at `\$\.price`"):
        numbers(schema, bounded=True, path="$.price")
