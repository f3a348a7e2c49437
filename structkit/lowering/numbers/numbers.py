"""Numbers with a fraction: exact ranges and multiples.

Exponents have the form of `repr(float)` and `json.dumps`: one digit other than 0 before the point, a sign and at least
two digits of exponent, only for values below 1e-4 or from 1e16.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache, lru_cache

from structkit.errors import LimitExceeded, StructkitError, UnsupportedKeyword
from structkit.limits import Limits
from structkit.lowering.numbers.decimals import exponents, fixed, fraction
from structkit.lowering.numbers.floats import ROUND_TRIP_DIGITS, floats
from structkit.lowering.numbers.integers import (
    MAX_DIGITS,
    digits,
    multiples,
    naturals,
    with_decimal_point,
    with_optional_minus,
)
from structkit.regex.charset import char_class
from structkit.regex.decimal_fraction import fraction_of
from structkit.regex.nodes import (
    NEVER,
    Choice,
    Intersection,
    LiteralText,
    MultipleOf,
    Node,
    Repeat,
    choice,
    seq,
)
from structkit.schema.algebra.ranges import tighter
from structkit.schema.ir.nodes import Bound, Integer, Number

__all__ = ["integral_numbers", "numbers", "without_multiples"]

_ZERO = Bound(Decimal(0))
_UPPER_BOUND = Bound(Decimal("1e308"), exclusive=True)
"""Bound of the exponents of floats. Floats overflow at 1.797...e+308; 1e308 keeps the regex readable."""

_LARGEST_FLOAT = Bound(Decimal(repr(sys.float_info.max)))
"""The bound where the minimum is beyond the other."""

_LOWER_BOUND = Bound(Decimal("1e-324"))
"""Bound below the smallest float, 5e-324: smaller numbers round to it or to 0."""

_NUMBER_END = "(?![0-9.eE+-])"
"""Lookahead for the end of a JSON number."""

_INTEGER_DIGITS = 16
"""Maximum number of digits before the point of a bounded number: `repr(float)` writes an exponent from 1e16."""

_INTEGRAL_FLOAT_BOUND = Bound(Decimal(10**_INTEGER_DIGITS), exclusive=True)
"""From this bound every float is integral."""

_LEADING_ZEROS = 4
"""Maximum number of zeros between the point and the significant digits in `repr(float)`."""

_MAX_EXPONENT = 1_000
"""Maximum absolute power of ten of a bound; those of floats are 308 and -324."""

_MAX_ENUMERATED = 1_000
"""Maximum number of enumerated multiples, or of their final digits."""

_NEGATIVE_ZERO = seq("-0", Repeat(seq(".", Repeat(LiteralText("0"), 1)), 0, 1))
_FRACTION = seq(LiteralText("."), digits(0, None), char_class([(0x31, 0x39)]))
_SHORTEST = choice(
    [
        LiteralText("0"),
        with_optional_minus(
            choice([seq(naturals(1, None), Repeat(_FRACTION, 0, 1)), seq(LiteralText("0"), _FRACTION)])
        ),
    ]
)
"""Fixed point without redundant zeros."""


def numbers(
    schema: Number,
    *,
    bounded: bool,
    canonical: bool = False,
    precision: int = ROUND_TRIP_DIGITS,
    limits: Limits = Limits(),  # noqa: B008
    path: str | None = None,
) -> Node:
    """Return the numbers of a schema.

    Args:
        schema: The range and the multiple.
        bounded: Whether the digits are bounded and no value overflows a 64-bit float, as for a Python type. Otherwise
            the numbers of the specification: every JSON number; in a range, every fixed-point number, and exponents in
            the form of `repr(float)`. Multiples, and numbers that are no multiples, have no exponent.
        canonical: Whether each value has one spelling only, so that distinct texts are distinct numbers: the form of
            `repr(float)` if the digits are bounded; otherwise fixed point, without trailing zeros and without the
            fraction of an integer.
        precision: Maximum number of significant digits in the form of `repr(float)`, see `floats`.
        limits: `fraction_digits` bounds the significant digits after the point.
        path: The schema path, for errors.

    >>> numbers(Number(multiple_of=Decimal("0.1")), bounded=False).parts[0]
    Repeat(part=LiteralText(value='-'), min_count=0, max_count=1)

    Raises:
        LimitExceeded: `multipleOf` needs more than `limits.states` remainders.
        UnsupportedKeyword: A bound has too many digits.
    """
    try:
        return _numbers(schema, bounded, canonical, precision, limits, None)
    except StructkitError:
        return _numbers.__wrapped__(schema, bounded, canonical, precision, limits, path)


@lru_cache(maxsize=128)
def _numbers(
    schema: Number, bounded: bool, canonical: bool, precision: int, limits: Limits, path: str | None
) -> Node:
    low = _checked("minimum", schema.minimum, path)
    high = _checked("maximum", schema.maximum, path)
    if bounded:
        low, high = _between_floats(low, high)
    places = limits.fraction_digits + _LEADING_ZEROS if bounded else None
    as_float = canonical and bounded and all(of == 1 for of in schema.not_multiple_of)
    if as_float and schema.not_multiple_of:
        low, high = tighter(low, _negated(_INTEGRAL_FLOAT_BOUND), 1), tighter(high, _INTEGRAL_FLOAT_BOUND, -1)
    shape = floats(precision) if as_float else _SHORTEST
    if schema.multiple_of is not None:
        node = _multiples(schema.multiple_of, low, high, bounded, places, limits, path)
    elif as_float and low is None and high is None and limits.fraction_digits >= precision:
        return shape
    elif not as_float and (canonical or schema.not_multiple_of):
        # An excluded multiple is recognized by its digits, so numbers have no exponent.
        node = _fixed(low, high, bounded, places)
    elif not bounded and low is None and high is None:
        return _any_number()
    else:
        places_with_exponent = limits.fraction_digits if bounded else None
        node = choice(
            [_fixed(low, high, bounded, places), _with_exponent(low, high, bounded, places_with_exponent)]
        )
    return Intersection(node, shape, lookahead=_NUMBER_END) if canonical else node


def integral_numbers(
    schema: Integer, *, bounded: bool, canonical: bool, limits: Limits, path: str | None
) -> Node:
    """Return the integers of a schema; 1.0 is an integer if neither `bounded` nor `canonical`.

    Args:
        schema: The range and the multiples.
        bounded: Whether the digits are bounded, as for a Python type, which rejects 1.0.
        canonical: Whether each value has one spelling only.
        limits: `integer_digits` bounds the digits.
        path: The schema path, for errors.
    """
    try:
        return _integral_numbers(schema, bounded, canonical, limits, None)
    except StructkitError:
        return _integral_numbers.__wrapped__(schema, bounded, canonical, limits, path)


@lru_cache(maxsize=128)
def _integral_numbers(
    schema: Integer, bounded: bool, canonical: bool, limits: Limits, path: str | None
) -> Node:
    digits = limits.integer_digits if bounded else None
    low, high, of = schema.minimum, schema.maximum, schema.multiple_of or 1
    node = multiples(low, high, of, digits, limits=limits, path=path)
    node = without_multiples(node, schema.not_multiple_of, limits, path)
    return node if bounded or canonical else with_decimal_point(node)


def without_multiples(node: Node, excluded: Sequence[Decimal], limits: Limits, path: str | None) -> Node:
    """Return the numbers of a node that are multiples of none of the excluded numbers."""
    for of in excluded:
        multiples_of = numbers(Number(multiple_of=of), bounded=False, limits=limits, path=path)
        # Multiples can also have more zeros at their end than the divisor has places, and zero a minus.
        spelled = choice([seq(multiples_of, Repeat(LiteralText("0"))), _NEGATIVE_ZERO])
        node = Intersection(node, spelled, negate=True, lookahead=_NUMBER_END)
    return node


def _checked(keyword: str, bound: Bound | None, path: str | None) -> Bound | None:
    if bound is None:
        return None
    if not bound.value.is_finite():
        raise UnsupportedKeyword(keyword, f"`{keyword}` is {bound.value}; use a finite number", place=path)
    significant = "".join(map(str, bound.value.as_tuple().digits)).strip("0")
    if abs(bound.value.adjusted()) > _MAX_EXPONENT or len(significant) > MAX_DIGITS:
        message = f"`{keyword}` has more than {MAX_DIGITS} significant digits, or is beyond 1e{_MAX_EXPONENT}"
        raise UnsupportedKeyword(keyword, f"{message}; drop it or use a shorter one", place=path)
    return bound


def _between_floats(low: Bound | None, high: Bound | None) -> tuple[Bound | None, Bound | None]:
    """Move exclusive bounds to the next float: decimals between would round to the excluded bound."""
    return _next_float(low, math.inf), _next_float(high, -math.inf)


def _next_float(bound: Bound | None, towards: float) -> Bound | None:
    if (
        bound is None
        or not bound.exclusive
        or math.isinf(following := math.nextafter(float(bound.value), towards))
    ):
        return bound
    return Bound(Decimal(repr(following)))


@cache
def _any_number() -> Node:
    """Return any JSON number (RFC 8259, section 6)."""
    exponent = seq(
        char_class([(0x45, 0x45), (0x65, 0x65)]),
        Repeat(char_class([(0x2B, 0x2B), (0x2D, 0x2D)]), 0, 1),
        digits(1, None),
    )
    return seq(with_optional_minus(naturals(0, None)), fraction(None), Repeat(exponent, 0, 1))


def _fixed(low: Bound | None, high: Bound | None, bounded: bool, places: int | None) -> Node:
    def magnitudes(minimum: Bound, maximum: Bound | None) -> Node:
        return fixed(minimum, _min_bound(maximum, _INTEGRAL_FLOAT_BOUND) if bounded else maximum, places)

    return _signed(low, high, magnitudes)


def _with_exponent(low: Bound | None, high: Bound | None, bounded: bool, places: int | None) -> Node:
    def magnitudes(minimum: Bound, maximum: Bound | None) -> Node:
        if not bounded:
            return exponents(minimum, maximum, places)
        return exponents(
            _LOWER_BOUND if minimum.value < _LOWER_BOUND.value else minimum,
            _min_bound(maximum, _UPPER_BOUND if minimum.value < _UPPER_BOUND.value else _LARGEST_FLOAT),
            places,
        )

    return _signed(low, high, magnitudes)


def _min_bound(bound: Bound | None, end: Bound) -> Bound:
    return end if bound is None or bound.value >= end.value else bound


def _signed(low: Bound | None, high: Bound | None, magnitudes: Callable[[Bound, Bound | None], Node]) -> Node:
    """Return a signed range; `-0` only if the range has negative numbers."""
    positive: Node = NEVER
    negative: Node = NEVER
    if high is None or high.value > 0 or (high.value == 0 and not high.exclusive):
        positive = magnitudes(_ZERO if low is None or low.value < 0 else low, high)
    if low is None or low.value < 0:
        nearest = _ZERO if high is None or high.value > 0 else _negated(high)
        negative = magnitudes(nearest, None if low is None else _negated(low))
    return (
        with_optional_minus(positive)
        if positive == negative
        else choice([positive, seq(LiteralText("-"), negative)])
    )


def _negated(bound: Bound) -> Bound:
    return Bound(bound.value.copy_negate() if bound.value else Decimal(0), bound.exclusive)


def _multiples(
    divisor: Decimal,
    low: Bound | None,
    high: Bound | None,
    bounded: bool,
    places: int | None,
    limits: Limits,
    path: str | None,
) -> Node:
    """Return the multiples of `divisor` in a range, in fixed point."""
    step, shift = _scaled(divisor, path)
    minimum = None if low is None else _ceiling(low, step, shift)
    maximum = None if high is None else _floor(high, step, shift)
    if shift == 0:
        integers = multiples(
            minimum, maximum, step, limits.integer_digits if bounded else None, limits=limits, path=path
        )
        return seq(integers, Repeat(seq(LiteralText("."), Repeat(LiteralText("0"), 1, places)), 0, 1))
    if step == 1:
        return _fixed(low, high, bounded, shift if places is None else min(shift, places))
    if minimum is not None and maximum is not None and (maximum - minimum) // step < _MAX_ENUMERATED:
        values = range(minimum, maximum + 1, step)
        return choice(_spellings(value, shift) for value in values)
    endings = _by_endings(step, shift) or MultipleOf(step, shift)
    if isinstance(endings, MultipleOf) and step * (shift + 1) > limits.states:
        raise LimitExceeded("states", limits.states, f"the multiples of {divisor}", place=path)
    if low is None and high is None and not bounded:
        return with_optional_minus(endings)
    return Intersection(
        _fixed(low, high, bounded, places), with_optional_minus(endings), lookahead=_NUMBER_END
    )


def _scaled(divisor: Decimal, path: str | None) -> tuple[int, int]:
    """Return the integer `step` and the smallest `shift` with `divisor == step / 10 ** shift`."""
    if _checked("multipleOf", Bound(divisor), path) is None or divisor <= 0:
        raise UnsupportedKeyword("multipleOf", "`multipleOf` must be greater than 0; write 1", place=path)
    numerator, denominator = divisor.as_integer_ratio()
    shift = next(size for size in range(_MAX_EXPONENT + MAX_DIGITS) if 10**size % denominator == 0)
    return numerator * 10**shift // denominator, shift


def _ceiling(low: Bound, step: int, shift: int) -> int:
    """Return the smallest multiple of `step` inside the range, in units of `10 ** -shift`."""
    numerator, denominator = low.value.as_integer_ratio()
    units: int = 10**shift
    first = -(-numerator * units // (denominator * step)) * step
    return first + step if low.exclusive and first * denominator == numerator * units else first


def _floor(high: Bound, step: int, shift: int) -> int:
    numerator, denominator = high.value.as_integer_ratio()
    units: int = 10**shift
    last = numerator * units // (denominator * step) * step
    return last - step if high.exclusive and last * denominator == numerator * units else last


def _spellings(value: int, shift: int) -> Node:
    """Return one number, given in units of `10 ** -shift`, with any number of trailing zeros."""
    integral, part = divmod(abs(value), 10**shift)
    sign = "-" if value < 0 else ""
    return seq(LiteralText(f"{sign}{integral}"), fraction_of(part, shift))


def _by_endings(step: int, shift: int) -> Node | None:
    """Return the multiples of `step / 10 ** shift` by their last digits, if `step` divides a power of ten."""
    size = next((size for size in range(shift, shift + 4) if 10**size % step == 0), None)
    if size is None or 10**size // step > _MAX_ENUMERATED:
        return None
    integral_digits = size - shift  # digits before the point that decide
    ends = [divmod(value, 10**shift) for value in range(0, 10**size, step)]
    if integral_digits == 0:
        return seq(naturals(0, None), choice(fraction_of(part, shift) for _, part in ends))
    short: list[Node] = [seq(LiteralText(str(integral)), fraction_of(part, shift)) for integral, part in ends]
    longer = [
        seq(LiteralText(f"{integral:0{integral_digits}}"), fraction_of(part, shift))
        for integral, part in ends
    ]
    return Choice((*short, seq(char_class([(0x31, 0x39)]), digits(0, None), choice(longer))))
