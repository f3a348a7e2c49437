"""Decimal integers: ranges and multiples, without leading zeros and without `-0`."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache

from structkit.errors import LimitExceeded, UnsupportedKeyword
from structkit.limits import Limits, show_integer
from structkit.regex.charset import DIGIT, char_class
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    Intersection,
    LiteralText,
    MultipleOf,
    Node,
    Repeat,
    choice,
    seq,
)

__all__ = [
    "MAX_DIGITS",
    "constant_spellings",
    "digit_range",
    "digits",
    "digits_at_least",
    "digits_at_most",
    "integers",
    "multiples",
    "naturals",
    "with_decimal_point",
    "with_optional_minus",
]

_END = "(?![0-9])"
"""Lookahead for the end of an integer."""

MAX_DIGITS = 60
"""Maximum number of digits of a bound, without leading and trailing zeros; each is a level of the regex."""

_MAX_BITS = 4_000
"""Maximum size of a bound: about 1,200 digits."""

_MAX_ENUMERATED = 1_000
"""Maximum number of enumerated multiples; more become an automaton over remainders."""


def digit_range(first: int, last: int) -> Node:
    """Return one digit from `first` to `last`."""
    return LiteralText(str(first)) if first == last else char_class([(0x30 + first, 0x30 + last)])


def digits(min_digits: int, max_digits: int | None) -> Node:
    """Return `min_digits` to `max_digits` arbitrary digits."""
    if max_digits == 0:
        return EMPTY
    return DIGIT if min_digits == max_digits == 1 else Repeat(DIGIT, min_digits, max_digits)


def with_optional_minus(node: Node) -> Node:
    """Return the texts of `node` with an optional minus before them."""
    return seq(Repeat(LiteralText("-"), 0, 1), node)


def integers(minimum: int | None, maximum: int | None, count: int | None, *, path: str | None = None) -> Node:
    """Return the integers of a range, ends included.

    Args:
        minimum: The smallest number; `None` for no minimum.
        maximum: The largest number; `None` for no maximum.
        count: Maximum number of digits on an unbounded side; `None` for no maximum.
        path: The schema path, for errors.

    >>> integers(0, 9, None)
    CharClass(ranges=((48, 57),))

    Raises:
        UnsupportedKeyword: A bound has too many digits.
    """
    return _scaled(minimum, maximum, count, "", path)


def _scaled(
    minimum: int | None, maximum: int | None, count: int | None, zeros: str, path: str | None
) -> Node:
    """Return the integers of a range, each except 0 followed by `zeros`."""
    low, high = _digit_bounds(minimum, maximum, count, path)
    if low is not None and high is not None and low > high:
        return NEVER
    has_zero = (low is None or low <= 0) and (high is None or high >= 0)
    positive: Node = NEVER
    negative: Node = NEVER
    if high is None or high > 0:
        positive = seq(naturals(max(low or 1, 1), high), LiteralText(zeros))
    if low is None or low < 0:
        negative = seq(naturals(max(-(high or -1), 1), None if low is None else -low), LiteralText(zeros))
    if not zeros and has_zero and negative is NEVER and positive is not NEVER:
        return naturals(0, high)
    zero = [LiteralText("0")] if has_zero else []
    if positive == negative:
        return choice([*zero, with_optional_minus(positive)])
    return choice([*zero, positive, seq(LiteralText("-"), negative)])


def _digit_bounds(
    minimum: int | None, maximum: int | None, count: int | None, path: str | None
) -> tuple[int | None, int | None]:
    for keyword, bound in (("minimum", minimum), ("maximum", maximum)):
        if bound is not None and (
            bound.bit_length() > _MAX_BITS or len(str(abs(bound)).strip("0")) > MAX_DIGITS
        ):
            message = (
                f"`{keyword}` has more than {MAX_DIGITS} significant digits; drop it or use a shorter one"
            )
            raise UnsupportedKeyword(keyword, message, place=path)
    if count is None:
        return minimum, maximum
    # If a bound has more than `count` digits, so do the numbers beyond it.
    limit = (
        10 ** max(count, *(len(str(abs(bound))) for bound in (minimum, maximum) if bound is not None), 1) - 1
    )
    return -limit if minimum is None else minimum, limit if maximum is None else maximum


_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<integer>-?[0-9]+)(?:\.0)?(?![0-9.eE])|[-0-9.eE+]+')
"""A JSON string, integer or other number."""


@lru_cache(maxsize=256)
def naturals(low: int, high: int | None) -> Node:
    """Return the nonnegative integers from `low` to `high`, ends included; `high=None` is no maximum.

    The range is split into numbers of the length of `low`, of the lengths between, and of the length of `high`; numbers
    of one length share a prefix with a bound and then diverge.
    """
    if high is not None and low > high:
        return NEVER
    if low == 0:
        return (
            digit_range(0, high)
            if high is not None and high <= 9
            else choice([LiteralText("0"), naturals(1, high)])
        )
    first = len(str(low))
    last = None if high is None else len(str(high))
    if first == last:
        return choice(_same_length_range(str(low), str(high)))
    parts: list[Node] = []
    min_full, max_full = first, last
    if low != 10 ** (first - 1):
        parts += _same_length_range(str(low), "9" * first)
        min_full += 1
    above: list[Node] = []
    if last is not None and high != 10**last - 1:
        above = _same_length_range("1" + "0" * (last - 1), str(high))
        max_full = last - 1
    if max_full is None or min_full <= max_full:
        full = digits(min_full - 1, None if max_full is None else max_full - 1)
        parts.append(seq(char_class([(0x31, 0x39)]), full))
    return choice(parts + above)


def _same_length_range(low: str, high: str) -> list[Node]:
    """Return the numbers from `low` to `high`, which have the same number of digits."""
    shared = 0
    while shared < len(low) and low[shared] == high[shared]:
        shared += 1
    if shared == len(low):
        return [LiteralText(low)]
    first, last, remaining = int(low[shared]), int(high[shared]), len(low) - shared - 1
    below: list[Node] = []
    above: list[Node] = []
    if low[shared + 1 :].strip("0"):
        below = [seq(LiteralText(low[: shared + 1]), digits_at_least(low[shared + 1 :]))]
        first += 1
    if high[shared + 1 :].strip("9"):
        above = [seq(LiteralText(high[: shared + 1]), digits_at_most(high[shared + 1 :]))]
        last -= 1
    middle = (
        [seq(LiteralText(low[:shared]), digit_range(first, last), digits(remaining, remaining))]
        if first <= last
        else []
    )
    return [*below, *middle, *above]


def digits_at_least(low: str) -> Node:
    """Return the digit strings of the length of `low` that are not less.

    >>> digits_at_least("70")
    Seq(parts=(CharClass(ranges=((55, 57),)), CharClass(ranges=((48, 57),))))
    """
    return _diverging_digits(low, len(low.rstrip("0")), lambda digit, more: (digit + more, 9))


def digits_at_most(high: str) -> Node:
    """Return the digit strings of the length of `high` that are not greater."""
    return _diverging_digits(high, len(high.rstrip("9")), lambda digit, more: (0, digit - more))


def _diverging_digits(bound: str, size: int, allowed: Callable[[int, int], tuple[int, int]]) -> Node:
    """Return digit strings that share a prefix with `bound` and diverge at one of its first `size` digits, or never.

    All positions share the digits after the divergence, so that the automaton is linear.
    """
    prefixes: Node = NEVER
    length = 0
    for index in range(size):
        first, last = allowed(int(bound[index]), int(index + 1 < size))
        if first <= last:
            diverging = seq(LiteralText(bound[:index]), digit_range(first, last))
            prefixes = choice([seq(prefixes, digits(index + 1 - length, index + 1 - length)), diverging])
            length = index + 1
    rest = len(bound) - length
    return seq(prefixes, digits(rest, rest)) if size else digits(len(bound), len(bound))


def multiples(
    minimum: int | None,
    maximum: int | None,
    of: int,
    count: int | None,
    *,
    limits: Limits = Limits(),  # noqa: B008
    path: str | None = None,
) -> Node:
    """Return the multiples of `of` in a range, in the form of `integers`.

    >>> multiples(0, 20, 10, None)
    Choice(parts=(LiteralText(value='0'), LiteralText(value='10'), LiteralText(value='20')))

    Raises:
        LimitExceeded: `of` needs more than `limits.states` remainders.
        UnsupportedKeyword: A bound has too many digits.
    """
    if of == 1:
        return integers(minimum, maximum, count, path=path)
    if minimum is not None and maximum is not None and (maximum - minimum) // of < _MAX_ENUMERATED:
        first = -(-minimum // of) * of
        _digit_bounds(minimum, maximum, count, path)
        return choice(LiteralText(str(value)) for value in range(first, maximum + 1, of))
    zeros = "0" * Decimal(of).adjusted()  # the text of a longer number is refused by Python
    if of == 10 ** len(zeros):
        low = None if minimum is None else -(-minimum // of)
        high = None if maximum is None else maximum // of
        return _scaled(low, high, None if count is None else max(count - len(zeros), 1), zeros, path)
    if of > limits.states:
        raise LimitExceeded("states", limits.states, f"the multiples of {show_integer(of)}", place=path)
    return Intersection(
        integers(minimum, maximum, count, path=path), with_optional_minus(MultipleOf(of)), lookahead=_END
    )


def with_decimal_point(integers: Node) -> Node:
    """Return integers, also as 1.0: in JSON Schema 1 and 1.0 are equal (draft 2020-12, core, section 4.2.3).

    >>> with_decimal_point(LiteralText("1"))
    Choice(parts=(LiteralText(value='1'), LiteralText(value='1.0')))
    """
    if isinstance(integers, LiteralText):
        return choice([integers, LiteralText(f"{integers.value}.0")])
    return NEVER if integers is NEVER else seq(integers, Repeat(LiteralText(".0"), 0, 1))


def constant_spellings(text: str, *, has_points: bool = True) -> Node:
    """Return the spellings of the JSON of a constant: each integer in it has two, and -0.0 those of 0, too.

    Without `has_points` each has one.

    >>> constant_spellings("2.0"), constant_spellings('"2"')
    (Choice(parts=(LiteralText(value='2'), LiteralText(value='2.0'))), LiteralText(value='"2"'))
    """
    parts: list[Node] = []
    end = 0
    for found in _SCALAR.finditer(text):
        if found["integer"] is not None:
            integers = ("0", "-0") if found["integer"] == "-0" else (found["integer"],)
            texts = map(LiteralText, integers)
            spellings = choice(map(with_decimal_point, texts) if has_points else texts)
            parts += LiteralText(text[end : found.start()]), spellings
            end = found.end()
    return seq(*parts, LiteralText(text[end:]))
