"""Bytes and numbers that are written inside a JSON string: Base64, hex, UTF-8 by its bytes, decimals, fractions."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cache

from structkit.lowering.numbers.floats import ALL_FIGURES, APART_FIGURES
from structkit.lowering.numbers.numbers import numbers
from structkit.regex.charset import ANY, chars, one, union
from structkit.regex.nodes import EMPTY, NEVER, Both, Node, Repeat, Text, alt, seq
from structkit.regex.pattern.parse import parse
from structkit.schema.ir.nodes import Bound, Number

__all__ = ["base64", "complexes", "decimals", "float_keys", "fractions", "hexadecimal", "utf8"]


@cache
def _read(pattern: str) -> Node:
    return parse(pattern, search=False, unicode=False)


_PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def base64(least: int = 0, most: int | None = None, *, url: bool = False, ascii_only: bool = False) -> Node:
    """Base64 with its padding (RFC 4648, sections 4 and 5) of `least` to `most` bytes, each text of bytes in one way.

    Args:
        least: The fewest bytes.
        most: The most.
        url: Whether `-` and `_` stand for `+` and `/`.
        ascii_only: Whether only bytes below 128 are encoded, so that they are surely UTF-8.

    >>> base64(1, 1).parts[-1]
    Text(value='==')
    """
    letters = f"{_PLAIN[:-2]}-_" if url else _PLAIN
    unset = {0: 0b100000, 1: 0b001000, 2: 0b000010} if ascii_only else {}

    def sextet(index: int, zeros: int = 0) -> Node:
        """One letter whose bits that must be 0 are."""
        off = unset.get(index, 0) | zeros
        return union(one(letter) for value, letter in enumerate(letters) if not value & off)

    group = seq(*map(sextet, range(4)))
    tails = {
        0: EMPTY,
        1: seq(sextet(0), sextet(1, 15), Text("==")),
        2: seq(*map(sextet, (0, 1)), sextet(2, 3), Text("=")),
    }
    forms: list[Node] = []
    for size, tail in tails.items():
        low = max(-(-(least - size) // 3), 0)
        high = None if most is None else (most - size) // 3
        if high is None or high >= low:
            forms.append(seq(Repeat(group, low, high) if high != 0 else EMPTY, tail))
    return alt(forms)


def hexadecimal(least: int = 0, most: int | None = None) -> Node:
    """Bytes as two lower-case digits each."""
    if most is not None and most < least:
        return NEVER
    return EMPTY if most == 0 else Repeat(_read("[0-9a-f]{2}"), least, most)


_SIZES = ((0x00, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, 0x10FFFF))
"""The characters that UTF-8 spells in one, two, three and four bytes."""

_EXACT = 8
"""Bytes up to which every mixture of characters is told; beyond, those whose widest character is counted for all."""


def utf8(least: int = 0, most: int | None = None) -> Node:
    """Texts that UTF-8 spells in `least` to `most` bytes.

    With many bytes not all of them: each character counts as much as the widest one of the text may, so that no more
    than a count of characters is needed.
    """
    if most is not None and most < least:
        return NEVER
    if most is not None and most <= _EXACT:
        return _exact(least, most)
    forms: list[Node] = []
    for size, (_, last) in enumerate(_SIZES, start=1):
        high = None if most is None else most // size
        if high is not None and high < least:
            break
        forms.append(Repeat(chars([(0, last)]), least, high))
    for size, span in enumerate(_SIZES, start=1):
        low, high = -(-least // size), None if most is None else most // size
        if low < least and (high is None or high >= low):
            forms.append(Repeat(chars([span]), low, high))
    if least == 0 and most is None:
        return Repeat(ANY)
    return alt(forms)


@cache
def _exact(least: int, most: int) -> Node:
    more = [
        seq(chars([span]), _exact(max(least - size, 0), most - size))
        for size, span in enumerate(_SIZES, start=1)
        if size <= most
    ]
    return alt([*([EMPTY] if least == 0 else []), *(each for each in more if each is not NEVER)])


_WHOLE_DIGITS = 18
_PLACES = 18
_END = "(?![0-9.])"


def decimals(
    *,
    once: bool = False,
    max_digits: int | None = None,
    decimal_places: int | None = None,
    bounds: Mapping[str, str] | None = None,
    multiple_of: str | None = None,
) -> Node:
    """Decimals in fixed point.

    Args:
        once: Whether each number is written in one way only: without zeros at the end of its fraction.
        max_digits: The most digits, zeros before the first other one not counted if they stand before the point.
        decimal_places: The most digits after the point.
        bounds: `ge`, `gt`, `le`, `lt`.
        multiple_of: What must divide it.

    >>> from structkit.automaton.construct.compile_rule import regular
    >>> price = regular(decimals(max_digits=4, decimal_places=2, bounds={"ge": "0"}))
    >>> [price.accepts(text) for text in (b"12.50", b"123", b"1.234", b"-1")]
    [True, False, False, False]
    """
    bounds = bounds or {}
    low, high = (_bound(bounds, *names) for names in (("ge", "gt"), ("le", "lt")))
    schema = Number(low, high, None if multiple_of is None else Decimal(multiple_of))
    shape = _shape(max_digits, decimal_places)
    if schema == Number() and not once:
        return shape
    return Both(shape, numbers(schema, bounded=False, once=once), end=_END)


def float_keys(*, counted: bool = False, bounds: Mapping[str, str] | None = None) -> Node:
    """Floats as keys, as `repr` writes them.

    Args:
        counted: Whether there must be several, so that no two texts may be the same float.
        bounds: `ge`, `gt`, `le`, `lt`.
    """
    low, high = (_bound(bounds or {}, *names) for names in (("ge", "gt"), ("le", "lt")))
    figures = APART_FIGURES if counted else ALL_FIGURES
    return numbers(Number(low, high), bounded=True, once=True, figures=figures)


def _bound(bounds: Mapping[str, str], inclusive: str, exclusive: str) -> Bound | None:
    if inclusive in bounds:
        return Bound(Decimal(bounds[inclusive]))
    return Bound(Decimal(bounds[exclusive]), exclusive=True) if exclusive in bounds else None


@cache
def _shape(max_digits: int | None, decimal_places: int | None) -> Node:
    def fixed(whole: str, places: int) -> str:
        return rf"{whole}(?:\.[0-9]{{1,{places}}})?" if places > 0 else whole

    most = decimal_places if decimal_places is not None else _PLACES
    if max_digits is None:
        return _read("-?(?:" + fixed(f"(?:0|[1-9][0-9]{{0,{_WHOLE_DIGITS - 1}}})", most) + ")")
    forms = [fixed("0", min(most, max_digits))]
    if decimal_places is not None and max_digits <= decimal_places:
        # No digit may stand before the point: 0 has one there, and 0.0 has none.
        forms = [rf"0\.[0-9]{{1,{max_digits}}}"]
    elif decimal_places is not None:
        whole = min(max_digits - decimal_places, _WHOLE_DIGITS)
        forms += [fixed(f"[1-9][0-9]{{0,{whole - 1}}}", most)] if whole > 0 else []
    else:
        wholes = range(1, min(max_digits, _WHOLE_DIGITS) + 1)
        forms += [fixed(f"[1-9][0-9]{{{whole - 1}}}", min(most, max_digits - whole)) for whole in wholes]
    return _read(f"-?(?:{'|'.join(forms)})")


_NATURAL = "[1-9][0-9]{0,17}"


def fractions(*, once: bool = False) -> Node:
    """Fractions such as `-22/7`; `once` whole numbers only, for a regular language cannot reduce."""
    return _read(f"0|-?{_NATURAL}" + ("" if once else f"|(?:0|-?{_NATURAL})/{_NATURAL}"))


def complexes(*, once: bool = False) -> Node:
    """Complex numbers such as `1+2j`, as Python reads and pydantic writes them."""
    if not once:
        size = rf"(?:0|{_NATURAL})(?:\.[0-9]{{1,17}})?"
        return _read(f"-?{size}(?:[+-]{size})?j")
    most = APART_FIGURES
    parts = [rf"[1-9][0-9]{{0,{most - 1}}}", rf"0\.[0-9]{{0,{most - 1}}}[1-9]"]
    parts += [rf"[1-9][0-9]{{{size}}}\.[0-9]{{0,{most - 2 - size}}}[1-9]" for size in range(most - 1)]
    size = f"(?:{'|'.join(parts)})"
    return _read(rf"0j|-?{size}(?:[+-]{size}|\+0)?j")
