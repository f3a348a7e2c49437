"""Unsigned decimal numbers of a range, in fixed point and with an exponent, by comparison of digits."""

from __future__ import annotations

from decimal import Decimal

from structkit.lowering.numbers.integers import digit_range, digits, naturals
from structkit.regex.charset import char_class
from structkit.regex.nodes import EMPTY, NEVER, LiteralText, Node, Repeat, choice, seq
from structkit.schema.ir.nodes import Bound

__all__ = ["exponents", "fixed", "fraction", "two_digits"]

_ONE = Bound(Decimal(1))
_TEN = Bound(Decimal(10), exclusive=True)

_MAX_NEGATIVE_EXPONENT = -5
_MIN_POSITIVE_EXPONENT = 16
"""`repr(float)` writes an exponent only up to `_MAX_NEGATIVE_EXPONENT` and from `_MIN_POSITIVE_EXPONENT`."""


def fraction(places: int | None) -> Node:
    """Return an optional fraction: a point and 1 to `places` digits.

    >>> fraction(0)
    LiteralText(value='')
    """
    return EMPTY if places == 0 else Repeat(seq(LiteralText("."), digits(1, places)), 0, 1)


def fixed(low: Bound, high: Bound | None, places: int | None) -> Node:
    r"""Return the fixed-point numbers of a nonnegative range, with at most `places` digits after the point.

    >>> from structkit.regex.nodes import Rules
    >>> from structkit.regex.print import format_regex
    >>> format_regex(Rules(fixed(Bound(Decimal("0.25")), Bound(Decimal("12.5")), 2), {}))
    '0\\.(?:[3-9][0-9]?|2[5-9])|(?:[1-9]|1[01])(?:\\.[0-9]{1,2})?|12(?:\\.(?:[0-4][0-9]?|50?))?'
    """
    if _is_empty(low, high):
        return NEVER
    integral, part = _split(low.value)
    first = integral if not part and not low.exclusive else integral + 1
    lowest = (
        NEVER
        if first == integral
        else seq(LiteralText(str(integral)), _fraction_from(part, low.exclusive, places))
    )
    if high is None:
        return choice([lowest, seq(naturals(first, None), fraction(places))])
    last, high_part = _split(high.value)
    if integral == last:
        return seq(
            LiteralText(str(integral)),
            _fraction_between(part, low.exclusive, high_part, high.exclusive, places),
        )
    highest = seq(LiteralText(str(last)), _fraction_up_to(high_part, high.exclusive, places))
    return choice([lowest, seq(naturals(first, last - 1), fraction(places)), highest])


def _is_empty(low: Bound, high: Bound | None) -> bool:
    return high is not None and (
        low.value > high.value or (low.value == high.value and (low.exclusive or high.exclusive))
    )


def _split(value: Decimal) -> tuple[int, str]:
    """Return the integral part, and the digits after the point without trailing zeros."""
    integral, _, part = format(value, "f").partition(".")
    return int(integral), part.rstrip("0")


def _fraction_from(part: str, exclusive: bool, places: int | None) -> Node:
    """Return fractions, with their point, of at least `part`; zero is the empty text."""
    if not part and not exclusive:
        return fraction(places)
    return seq(LiteralText("."), _tail_from(part, exclusive, places, 1))


def _fraction_up_to(part: str, exclusive: bool, places: int | None) -> Node:
    """Return fractions, with their point, of at most `part`; zero is the empty text."""
    none = [EMPTY] if part or not exclusive else []
    return choice([*none, seq(LiteralText("."), _tail_up_to(part, exclusive, places, 1))])


def _fraction_between(
    low: str, low_exclusive: bool, high: str, high_exclusive: bool, places: int | None
) -> Node:
    """Return fractions from `low` to `high`, each end included unless exclusive."""
    if low == high:
        tails = seq(LiteralText("." + low), _zeros(0 if low else 1, _remaining_places(places, len(low))))
        return tails if low else choice([EMPTY, tails])
    padded = low.ljust(len(high), "0")
    shared = next(index for index in range(len(high)) if padded[index] != high[index])
    if places is not None and shared >= places:
        return _short_of(low, low_exclusive, shared, places)
    first, last, remaining = int(padded[shared]), int(high[shared]), _remaining_places(places, shared + 1)
    prefix = "." + high[:shared]
    middle = digit_range(first + 1, last - 1) if first + 1 < last else NEVER
    return choice(
        [
            _short_of(low, low_exclusive, shared, places),
            seq(LiteralText(prefix + str(first)), _tail_from(low[shared + 1 :], low_exclusive, remaining, 0)),
            seq(LiteralText(prefix), middle, digits(0, remaining)),
            seq(
                LiteralText(prefix + str(last)), _tail_up_to(high[shared + 1 :], high_exclusive, remaining, 0)
            ),
        ]
    )


def _short_of(low: str, low_exclusive: bool, shared: int, places: int | None) -> Node:
    """Return the texts equal to `low` that end within the common prefix of both bounds."""
    if low_exclusive:
        return NEVER
    longest = shared if places is None else min(shared, places)
    ends = range(len(low), longest + 1)
    return choice(LiteralText("." + low.ljust(end, "0")) if end else EMPTY for end in ends)


def _tail_from(part: str, exclusive: bool, places: int | None, min_digits: int) -> Node:
    """Return strings of `min_digits` to `places` digits that are at least `part` as fractions."""
    heads = [NEVER if digit == "9" else digit_range(int(digit) + 1, 9) for digit in part[:places]]
    is_complete = places is None or len(part) <= places
    if exclusive and is_complete:
        return choice(
            [
                _diverging_digits(part, heads, places),
                seq(LiteralText(part), _not_zero(_remaining_places(places, len(part)))),
            ]
        )
    if not part:
        return digits(min_digits, places)
    if is_complete:  # after the last digit of `part`, any digit is valid
        heads[-1] = digit_range(int(part[-1]), 9)
    return _diverging_digits(part, heads, places)


def _tail_up_to(part: str, exclusive: bool, places: int | None, min_digits: int) -> Node:
    """Return strings of `min_digits` to `places` digits that are at most `part` as fractions."""
    heads = [NEVER if digit == "0" else digit_range(0, int(digit) - 1) for digit in part[:places]]
    tails = [_diverging_digits(part, heads, places)]
    shorter = len(part) if places is None else min(len(part), places + 1)
    tails += [LiteralText(part[:end]) for end in range(min_digits, shorter)]
    if not exclusive and (places is None or len(part) <= places):
        tails.append(
            seq(
                LiteralText(part),
                _zeros(max(min_digits - len(part), 0), _remaining_places(places, len(part))),
            )
        )
    return choice(tails)


def _diverging_digits(part: str, heads: list[Node], places: int | None) -> Node:
    """Return digit strings that share a prefix with `part` and diverge at some `index` with `heads[index]`.

    All positions share the digits after the divergence, so that the automaton is linear.
    """
    if places is None:
        return seq(
            choice(seq(LiteralText(part[:index]), head) for index, head in enumerate(heads)), digits(0, None)
        )
    prefixes: Node = NEVER
    length = 0
    for index, head in enumerate(heads):
        if head is not NEVER:
            prefixes = choice(
                [seq(prefixes, digits(0, index + 1 - length)), seq(LiteralText(part[:index]), head)]
            )
            length = index + 1
    return seq(prefixes, digits(0, places - length))


def _remaining_places(places: int | None, used: int) -> int | None:
    return None if places is None else places - used


def _zeros(min_digits: int, max_digits: int | None) -> Node:
    if max_digits is not None and max_digits < min_digits:
        return NEVER
    return EMPTY if max_digits == 0 else Repeat(LiteralText("0"), min_digits, max_digits)


def _not_zero(places: int | None) -> Node:
    """Return digits that are not all 0."""
    significant = char_class([(0x31, 0x39)])
    if places is None:
        return seq(Repeat(LiteralText("0")), significant, digits(0, None))
    return choice(
        seq(LiteralText("0" * zeros), significant, digits(0, places - zeros - 1)) for zeros in range(places)
    )


def exponents(low: Bound, high: Bound | None, places: int | None) -> Node:
    r"""Return the numbers of a positive range as `d.ddde+dd`, with at most `places` digits after the point.

    >>> from structkit.regex.nodes import Rules
    >>> from structkit.regex.print import format_regex
    >>> format_regex(Rules(exponents(Bound(Decimal("2e-5")), Bound(Decimal("4e20")), 1), {}))
    '[2-9](?:\\.[0-9])?e-05|[1-9](?:\\.[0-9])?e\\+1[6-9]|(?:[1-3](?:\\.[0-9])?|4(?:\\.0)?)e\\+20'
    """
    smallest = low.value.adjusted() if low.value else None
    largest = None if high is None else high.value.adjusted()
    if _is_empty(low, high) or (high is not None and not high.value):
        return NEVER
    low_mantissa = _ONE if smallest is None else Bound(_mantissa(low.value), low.exclusive)
    high_mantissa = _TEN if high is None else Bound(_mantissa(high.value), high.exclusive)
    if smallest is not None and smallest == largest:
        return _at_power(smallest, low_mantissa, high_mantissa, places)
    parts: list[Node] = []
    first = smallest
    if smallest is not None and low_mantissa != _ONE:
        parts.append(_at_power(smallest, low_mantissa, _TEN, places))
        first = smallest + 1
    powers = _powers(first, None if largest is None else largest - 1)
    parts.append(seq(fixed(_ONE, _TEN, places), LiteralText("e"), powers))
    if largest is not None:
        parts.append(_at_power(largest, _ONE, high_mantissa, places))
    return choice(parts)


def _mantissa(value: Decimal) -> Decimal:
    """Return the value with its point after the first digit; exact in any decimal context."""
    digits_of = value.as_tuple().digits
    return Decimal((0, digits_of, 1 - len(digits_of)))


def _at_power(power: int, low: Bound, high: Bound, places: int | None) -> Node:
    return seq(fixed(low, high, places), LiteralText("e"), _powers(power, power))


def _powers(low: int | None, high: int | None) -> Node:
    """Return the exponents of a range that `repr(float)` writes, with their sign."""
    last = _MAX_NEGATIVE_EXPONENT if high is None else min(high, _MAX_NEGATIVE_EXPONENT)
    negative = two_digits(-last, None if low is None else -low)
    first = _MIN_POSITIVE_EXPONENT if low is None else max(low, _MIN_POSITIVE_EXPONENT)
    return choice([seq(LiteralText("-"), negative), seq(LiteralText("+"), two_digits(first, high))])


def two_digits(low: int, high: int | None) -> Node:
    """Return the numbers of a nonnegative range, with at least two digits."""
    if high is not None and low > high:
        return NEVER
    single = (
        [seq(LiteralText("0"), digit_range(low, 9 if high is None else min(high, 9)))] if low <= 9 else []
    )
    return choice([*single, naturals(max(low, 10), high)])
