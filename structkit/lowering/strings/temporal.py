"""Dates, times and durations within bounds, as Python writes them.

A date or time is a text of fixed shape, such as `2024-02-29T01:02:03`, so that a later value is a greater text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from typing import Literal, TypeAlias

from structkit.lowering.numbers.decimals import fixed
from structkit.lowering.numbers.integers import digit_range, digits_at_least, digits_at_most, naturals
from structkit.lowering.strings.rfc import KNOWN_FORMATS
from structkit.regex.charset import DIGIT
from structkit.regex.nodes import EMPTY, NEVER, Intersection, LiteralText, Node, choice, seq
from structkit.regex.pattern.parse import parse
from structkit.schema.ir.nodes import Bound

__all__ = ["dates", "datetimes", "durations", "times"]

_HOUR_MINUTE = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_CLOCK = f"{_HOUR_MINUTE}:[0-5][0-9]"

_ZONES = {
    "naive": "",
    "aware": f"(?:Z|[+-]{_HOUR_MINUTE})",
    "utc": "Z",
    "any": f"(?:Z|[+-]{_HOUR_MINUTE})?",
}
_CANONICAL_ZONES = {"aware": "Z", "any": "Z?"}
"""The only offset where each datetime has one spelling."""

_MICROSECONDS = 6

_END = "(?![0-9.])"
"""Lookahead for the end of a time."""

_Units: TypeAlias = Sequence[tuple[str, int]]


@cache
def _parse(pattern: str) -> Node:
    return parse(pattern, search=False, unicode=False)


def dates(low: str | None = None, high: str | None = None) -> Node:
    """Return the dates from `low` to `high`, ends included, such as `2024-02-29`.

    >>> dates("2024-02-28", "2024-03-01") is NEVER
    False
    """
    return _between(KNOWN_FORMATS["date"](), low, high, lambda bound: bound, canonical=False)


def times(
    low: str | None = None, high: str | None = None, zone: str = "any", *, canonical: bool = False
) -> Node:
    """Return the times of day from `low` to `high`, ends included.

    Args:
        low: The first time, in the form of `isoformat` without an offset.
        high: The last time.
        zone: The offset: none (`naive`), any (`aware`), Z (`utc`), optional (`any`), or one offset such as `+01:00`.
            The bounds ignore it.
        canonical: Whether each time has one spelling only.
    """
    if canonical and zone != "utc":
        zone = "naive"
    return seq(_between(_parse(_CLOCK), low, high, _without_fraction, canonical=canonical), _zone(zone))


def datetimes(
    low: str | None = None, high: str | None = None, zone: str = "any", *, canonical: bool = False
) -> Node:
    """Return the datetimes from `low` to `high`, ends included, such as `2024-02-29T01:02:03.000004`; see `times`."""
    moment = seq(KNOWN_FORMATS["date"](), LiteralText("T"), _parse(_CLOCK))
    ending = _parse(_CANONICAL_ZONES[zone]) if canonical and zone in _CANONICAL_ZONES else _zone(zone)
    return seq(_between(moment, low, high, _without_fraction, canonical=canonical), ending)


def _zone(zone: str) -> Node:
    return _parse(_ZONES[zone]) if zone in _ZONES else LiteralText(zone)


def _without_fraction(bound: str) -> str:
    return bound.partition(".")[0]


def _between(
    node: Node, low: str | None, high: str | None, head: Callable[[str], str], *, canonical: bool
) -> Node:
    """Return the texts of a fixed shape between two bounds, with fractions of seconds if `head` removes them."""
    has_clock = head is _without_fraction
    texts = seq(node, _fraction(canonical)) if has_clock else node
    if low is not None and high is not None and low > high:
        return NEVER
    if low is not None:
        later = seq(_beyond(head(low), 1), _fraction(canonical) if has_clock else EMPTY)
        texts = Intersection(
            texts,
            choice([later, seq(LiteralText(head(low)), _fraction_from(low, canonical))]),
            lookahead=_END,
        )
    if high is not None:
        earlier = seq(_beyond(head(high), -1), _fraction(canonical) if has_clock else EMPTY)
        texts = Intersection(
            texts, choice([earlier, seq(LiteralText(head(high)), _fraction_to(high))]), lookahead=_END
        )
    return texts


def _beyond(bound: str, sign: Literal[1, -1]) -> Node:
    """Return the texts of the shape of `bound` that are greater (`sign` 1) or less (-1)."""
    parts: list[Node] = []
    for index, character in enumerate(bound):
        if not character.isdigit():
            continue
        first, last = (int(character) + 1, 9) if sign > 0 else (0, int(character) - 1)
        if first <= last:
            parts.append(
                seq(LiteralText(bound[:index]), digit_range(first, last), _shape(bound[index + 1 :]))
            )
    return choice(parts)


def _shape(text: str) -> Node:
    return seq(*(DIGIT if character.isdigit() else LiteralText(character) for character in text))


def _fraction(canonical: bool) -> Node:
    """Return an optional fraction of a second, of 1 to 6 digits; if `canonical`, of 6 digits, not all 0."""
    if not canonical:
        return _parse(rf"(?:\.[0-9]{{1,{_MICROSECONDS}}})?")
    six = "|".join(f"[0-9]{{{5 - zeros}}}[1-9]{'0' * zeros}" for zeros in range(_MICROSECONDS))
    return _parse(rf"(?:\.(?:{six}))?")


def _part(bound: str) -> str:
    return bound.partition(".")[2].ljust(_MICROSECONDS, "0")


def _fraction_from(bound: str, canonical: bool) -> Node:
    part = _part(bound)
    if ":" not in bound:
        return EMPTY
    return seq(LiteralText("."), digits_at_least(part)) if part.strip("0") else _fraction(canonical)


def _fraction_to(bound: str) -> Node:
    part = _part(bound)
    if ":" not in bound or not part.strip("0"):
        return EMPTY
    return choice(
        [
            EMPTY,
            seq(
                LiteralText("."),
                Intersection(digits_at_most(part), _parse("[0-9]*[1-9][0-9]*"), lookahead=""),
            ),
        ]
    )


_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_DAYS = (("Y", 365 * _DAY), ("D", _DAY))
_HOURS = (("H", 3_600 * _SECOND), ("M", 60 * _SECOND))
"""The units of pydantic's durations, in microseconds; a year has 365 days."""

_MAX_DURATION_DAYS = 999_999_999
MAX_DURATION = _MAX_DURATION_DAYS * _DAY + _DAY - 1
"""`timedelta.max` in microseconds."""


def durations(low: int | None = None, high: int | None = None, *, canonical: bool = False) -> Node:
    """Return the durations from `low` to `high` microseconds, ends included.

    With bounds, or if `canonical`, in the form that pydantic writes: `P1Y2DT3H4M5.6S`. Otherwise hours may exceed 23
    and days 364.

    >>> from structkit.automaton.construct.compile_rule import regular_dfa
    >>> short = regular_dfa(durations(0, 90_000_000))
    >>> [short.accepts(text) for text in (b"PT0S", b"PT1M30S", b"PT1M30.5S", b"PT90S")]
    [True, True, False, False]
    """
    if low is None and high is None and not canonical:
        return _parse(_any_duration())
    low, high = -_MAX_DURATION_DAYS * _DAY if low is None else low, MAX_DURATION if high is None else high
    found: list[Node] = [LiteralText("PT0S")] if low <= 0 <= high else []
    found.append(seq(LiteralText("P"), _amounts(_DAYS, max(low, 1), high, _clock)))
    found.append(seq(LiteralText("-P"), _amounts(_DAYS, max(-high, 1), -low, _clock)))
    return choice(part for part in found if part is not NEVER)


def _any_duration() -> str:
    """Return the pattern of the durations that pydantic parses, up to `timedelta.max`."""
    count = "(?:0|[1-9][0-9]?)"
    seconds = rf"{count}(?:\.[0-9]{{1,6}})?S"
    minutes = f"{count}M(?:{seconds})?"
    time = f"T(?:{count}H(?:{minutes}|{seconds})?|{minutes}|{seconds})"
    days = "(?:0|[1-9][0-9]{0,7})D"
    return f"-?P(?:(?:[1-9][0-9]{{0,5}}Y(?:{days})?|{days})(?:{time})?|{time})"


def _amounts(units: _Units, low: int, high: int, rest: Callable[[int, int], Node]) -> Node:
    """Return durations from `low` to `high`, neither negative, in units and `rest`; zero amounts are omitted."""
    if low > high:
        return NEVER
    if not units:
        return rest(low, high)
    (letter, size), *smaller = units
    first, last = low // size, high // size

    def amount(count: int, smallest: int, largest: int) -> Node:
        tail = _amounts(smaller, smallest, largest, rest)
        return seq(LiteralText(f"{count}{letter}"), tail) if count else tail

    if first == last:
        return amount(first, low - first * size, high - first * size)
    parts = [amount(first, low - first * size, size - 1), amount(last, 0, high - last * size)]
    if last - first > 1:
        parts.append(
            seq(naturals(first + 1, last - 1), LiteralText(letter), _amounts(smaller, 0, size - 1, rest))
        )
    return choice(parts)


def _clock(low: int, high: int) -> Node:
    """Return durations of less than a day."""
    time = seq(LiteralText("T"), _amounts(_HOURS, max(low, 1), high, _seconds))
    return time if low else choice([EMPTY, time])


def _seconds(low: int, high: int) -> Node:
    """Return durations of less than a minute, without trailing zeros; 0 is the empty text."""
    if high == 0:
        return EMPTY
    smallest, largest = (Decimal(end) / _SECOND for end in (max(low, 1), high))
    number = Intersection(
        fixed(Bound(smallest), Bound(largest), _MICROSECONDS),
        _parse(r"[0-9]+(?:\.[0-9]*[1-9])?"),
        lookahead="S",
    )
    return seq(number, LiteralText("S")) if low else choice([EMPTY, seq(number, LiteralText("S"))])
