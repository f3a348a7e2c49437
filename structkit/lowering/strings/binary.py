"""Bytes and numbers inside a JSON string: Base64, hex, UTF-8 of a bounded size, decimals, fractions, complex."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cache

from structkit.lowering.numbers.floats import DISTINCT_DIGITS, ROUND_TRIP_DIGITS
from structkit.lowering.numbers.numbers import numbers
from structkit.regex.charset import ANY, char_class, single_char, union
from structkit.regex.nodes import EMPTY, NEVER, Intersection, LiteralText, Node, Repeat, choice, seq
from structkit.regex.pattern.parse import parse
from structkit.schema.ir.nodes import Bound, Number

__all__ = [
    "base64",
    "complex_strings",
    "decimal_strings",
    "float_keys",
    "fraction_strings",
    "hexadecimal",
    "utf8",
]


@cache
def _parse(pattern: str) -> Node:
    return parse(pattern, search=False, unicode=False)


_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def base64(
    min_bytes: int = 0, max_bytes: int | None = None, *, url: bool = False, ascii_only: bool = False
) -> Node:
    """Return the canonical Base64, with padding (RFC 4648, sections 4 and 5), of `min_bytes` to `max_bytes` bytes.

    Args:
        min_bytes: Minimum number of bytes.
        max_bytes: Maximum number; `None` for no maximum.
        url: Whether `-` and `_` replace `+` and `/`.
        ascii_only: Whether only bytes below 128 are encoded, which are valid UTF-8.

    >>> base64(1, 1).parts[-1]
    LiteralText(value='==')
    """
    alphabet = f"{_ALPHABET[:-2]}-_" if url else _ALPHABET
    zero_bits = {0: 0b100000, 1: 0b001000, 2: 0b000010} if ascii_only else {}

    def sextet(index: int, zeros: int = 0) -> Node:
        """Return the letters whose `zeros` bits are 0."""
        forbidden_bits = zero_bits.get(index, 0) | zeros
        return union(
            single_char(letter) for value, letter in enumerate(alphabet) if not value & forbidden_bits
        )

    group = seq(*map(sextet, range(4)))
    tails = {
        0: EMPTY,
        1: seq(sextet(0), sextet(1, 15), LiteralText("==")),
        2: seq(*map(sextet, (0, 1)), sextet(2, 3), LiteralText("=")),
    }
    forms: list[Node] = []
    for size, tail in tails.items():
        low = max(-(-(min_bytes - size) // 3), 0)
        high = None if max_bytes is None else (max_bytes - size) // 3
        if high is None or high >= low:
            forms.append(seq(Repeat(group, low, high) if high != 0 else EMPTY, tail))
    return choice(forms)


def hexadecimal(min_bytes: int = 0, max_bytes: int | None = None) -> Node:
    """Return bytes as two lower-case hexadecimal digits each."""
    if max_bytes is not None and max_bytes < min_bytes:
        return NEVER
    return EMPTY if max_bytes == 0 else Repeat(_parse("[0-9a-f]{2}"), min_bytes, max_bytes)


_CHARACTER_RANGES = ((0x00, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, 0x10FFFF))
"""The characters whose UTF-8 encoding has one, two, three and four bytes."""

_MAX_EXACT_BYTES = 8
"""Largest maximum, in bytes, that `utf8` enforces exactly for all mixtures of characters."""


def utf8(min_bytes: int = 0, max_bytes: int | None = None) -> Node:
    """Return texts whose UTF-8 encoding has `min_bytes` to `max_bytes` bytes.

    With a large maximum only a subset: each character counts as many bytes as the widest character that the text may
    contain, so that a count of characters suffices.
    """
    if max_bytes is not None and max_bytes < min_bytes:
        return NEVER
    if max_bytes is not None and max_bytes <= _MAX_EXACT_BYTES:
        return _exact_utf8(min_bytes, max_bytes)
    forms: list[Node] = []
    for size, (_, last) in enumerate(_CHARACTER_RANGES, start=1):
        high = None if max_bytes is None else max_bytes // size
        if high is not None and high < min_bytes:
            break
        forms.append(Repeat(char_class([(0, last)]), min_bytes, high))
    for size, span in enumerate(_CHARACTER_RANGES, start=1):
        low, high = -(-min_bytes // size), None if max_bytes is None else max_bytes // size
        if low < min_bytes and (high is None or high >= low):
            forms.append(Repeat(char_class([span]), low, high))
    if min_bytes == 0 and max_bytes is None:
        return Repeat(ANY)
    return choice(forms)


@cache
def _exact_utf8(min_bytes: int, max_bytes: int) -> Node:
    alternatives = [
        seq(char_class([span]), _exact_utf8(max(min_bytes - size, 0), max_bytes - size))
        for size, span in enumerate(_CHARACTER_RANGES, start=1)
        if size <= max_bytes
    ]
    return choice(
        [*([EMPTY] if min_bytes == 0 else []), *(each for each in alternatives if each is not NEVER)]
    )


_MAX_INTEGER_DIGITS = 18
_MAX_DECIMAL_PLACES = 18
_END = "(?![0-9.])"


def decimal_strings(
    *,
    canonical: bool = False,
    max_digits: int | None = None,
    decimal_places: int | None = None,
    multiple_of: str | None = None,
    **bounds: str,
) -> Node:
    """Return decimals in fixed point.

    Args:
        canonical: Whether each number has one spelling only, without trailing zeros of its fraction.
        max_digits: Maximum number of digits; leading zeros before the point do not count.
        decimal_places: Maximum number of digits after the point.
        multiple_of: The divisor.
        bounds: The bounds `ge`, `gt`, `le` and `lt`.

    >>> from structkit.automaton.construct.compile_rule import regular_dfa
    >>> price = regular_dfa(decimal_strings(max_digits=4, decimal_places=2, ge="0"))
    >>> [price.accepts(text) for text in (b"12.50", b"123", b"1.234", b"-1")]
    [True, False, False, False]
    """
    low, high = (_bound(bounds, *names) for names in (("ge", "gt"), ("le", "lt")))
    schema = Number(low, high, None if multiple_of is None else Decimal(multiple_of))
    shape = _shape(max_digits, decimal_places)
    if schema == Number() and not canonical:
        return shape
    return Intersection(shape, numbers(schema, bounded=False, canonical=canonical), lookahead=_END)


def float_keys(*, distinct_values: bool = False, **bounds: str) -> Node:
    """Return floats as keys, in the form of `repr`.

    Args:
        distinct_values: Whether no two texts may denote the same float.
        bounds: The bounds `ge`, `gt`, `le` and `lt`.
    """
    low, high = (_bound(bounds, *names) for names in (("ge", "gt"), ("le", "lt")))
    figures = DISTINCT_DIGITS if distinct_values else ROUND_TRIP_DIGITS
    return numbers(Number(low, high), bounded=True, canonical=True, precision=figures)


def _bound(bounds: Mapping[str, str], inclusive: str, exclusive: str) -> Bound | None:
    if inclusive in bounds:
        return Bound(Decimal(bounds[inclusive]))
    return Bound(Decimal(bounds[exclusive]), exclusive=True) if exclusive in bounds else None


@cache
def _shape(max_digits: int | None, decimal_places: int | None) -> Node:
    def fixed(integer: str, places: int) -> str:
        return rf"{integer}(?:\.[0-9]{{1,{places}}})?" if places > 0 else integer

    max_places = decimal_places if decimal_places is not None else _MAX_DECIMAL_PLACES
    if max_digits is None:
        return _parse("-?(?:" + fixed(f"(?:0|[1-9][0-9]{{0,{_MAX_INTEGER_DIGITS - 1}}})", max_places) + ")")
    forms = [fixed("0", min(max_places, max_digits))]
    if decimal_places is not None and max_digits <= decimal_places:
        # No digit before the point counts: pydantic counts one in `0`, and none in `0.0`.
        forms = [rf"0\.[0-9]{{1,{max_digits}}}"]
    elif decimal_places is not None:
        length = min(max_digits - decimal_places, _MAX_INTEGER_DIGITS)
        forms += [fixed(f"[1-9][0-9]{{0,{length - 1}}}", max_places)] if length > 0 else []
    else:
        lengths = range(1, min(max_digits, _MAX_INTEGER_DIGITS) + 1)
        forms += [
            fixed(f"[1-9][0-9]{{{length - 1}}}", min(max_places, max_digits - length)) for length in lengths
        ]
    return _parse(f"-?(?:{'|'.join(forms)})")


_NATURAL = "[1-9][0-9]{0,17}"


def fraction_strings(*, signs: str = "-0+", canonical: bool = False) -> Node:
    """Return fractions such as `-22/7`.

    Args:
        signs: Whether negative ones are among them, 0, and positive ones.
        canonical: Whether there are integers only, because no regular language is reduced.
    """
    numerators = {"-": f"-{_NATURAL}", "0": "0", "+": _NATURAL}
    numerator = "|".join(numerators[sign] for sign in signs)
    return _parse(f"(?:{numerator})" + ("" if canonical else f"(?:/{_NATURAL})?"))


def complex_strings(*, canonical: bool = False) -> Node:
    """Return complex numbers such as `1+2j`, as pydantic writes them."""
    if not canonical:
        size = rf"(?:0|{_NATURAL})(?:\.[0-9]{{1,17}})?"
        return _parse(f"-?{size}(?:[+-]{size})?j")
    max_digits = DISTINCT_DIGITS
    parts = [rf"[1-9][0-9]{{0,{max_digits - 1}}}", rf"0\.[0-9]{{0,{max_digits - 1}}}[1-9]"]
    parts += [
        rf"[1-9][0-9]{{{size}}}\.[0-9]{{0,{max_digits - 2 - size}}}[1-9]" for size in range(max_digits - 1)
    ]
    size = f"(?:{'|'.join(parts)})"
    return _parse(rf"0j|-?{size}(?:[+-]{size}|\+0)?j")
