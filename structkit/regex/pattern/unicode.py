r"""Character classes of patterns: `\\d`, `\\w`, `\\s`, general categories, and case-insensitive classes."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from structkit.regex.charset import DIGIT, char_class, complement, intersection, single_char, union
from structkit.regex.nodes import CharClass

__all__ = ["Dialect", "UncertainClass", "cased", "classes_by", "dot", "property_class", "shorthand"]

K = TypeVar("K")

Dialect: TypeAlias = Literal["python", "ecma", "rust"]
"""The engine that defines a class: Python's `re` for `str`, ECMA-262, or the consensus of `re` and Rust's `regex`."""

_LETTERS_END = 0x40000
"""Letters, digits and spaces are in the first four planes; the rest is unassigned, private or formatting."""

_CASES_END = 0x20000
"""Characters with more than one case are in the first two planes."""

_RUN = 32
"""Characters that are compared together with their other cases; few runs have a character with one."""

_ECMA_SPACE = char_class(
    (ord(space), ord(space))
    for space in "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_ASCII_WORD = char_class([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])

# Beyond letters, digits and `_`, Rust's `\w` contains marks, connectors, joiners and these letterlike symbols.
_LETTERLIKE = char_class(
    [(0x200C, 0x200D), (0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189)]
)


@dataclass(frozen=True, slots=True)
class UncertainClass:
    """A class on which engines may differ: the characters certainly in it, and those possibly in it.

    The two differ in the dialect `rust` only. A pattern accepts the certain characters; the complement of a class
    accepts the characters that are certainly not in it.
    """

    certain: CharClass
    possible: CharClass

    @classmethod
    def exactly(cls, charset: CharClass) -> UncertainClass:
        """Create a class without uncertain characters."""
        return cls(charset, charset)

    def negated(self) -> UncertainClass:
        """Return the complement."""
        if self.certain is self.possible:
            return UncertainClass.exactly(complement(self.certain))
        return UncertainClass(complement(self.possible), complement(self.certain))

    def intersection(self, other: UncertainClass) -> UncertainClass:
        """Return the characters in both classes."""
        return UncertainClass(
            intersection(self.certain, other.certain), intersection(self.possible, other.possible)
        )

    def with_case(self, dialect: Dialect, *, ascii_only: bool = False) -> UncertainClass:
        """Return the class without case distinctions, those of ASCII letters or all."""
        if ascii_only:
            return UncertainClass(*map(_ignoring_ascii_case, (self.certain, self.possible)))
        possible = _ignoring_case(self.possible, python=True)
        if dialect == "python":
            return UncertainClass(_ignoring_case(self.certain, python=True), possible)
        if self.certain != self.possible:  # an unassigned code point may be the other case of any letter
            possible = union([possible, _without_other_case()])
        return UncertainClass(_ignoring_case(self.certain), possible)

    @property
    def single(self) -> int | None:
        """The only character of the class; `None` unless there is exactly one."""
        ranges = self.certain.ranges
        if len(ranges) != 1 or ranges[0][0] != ranges[0][1]:
            return None
        return ranges[0][0] if self.certain is self.possible or self.certain == self.possible else None

    @classmethod
    def union(cls, spans: Sequence[UncertainClass]) -> UncertainClass:
        """Return the characters in any of the classes."""
        certain = union([span.certain for span in spans])
        if all(span.certain is span.possible for span in spans):
            return cls.exactly(certain)
        return cls(certain, union([span.possible for span in spans]))


def dot(dialect: Dialect) -> CharClass:
    """Return the class `.`: all characters but the line terminators, of which ECMA-262 has four and the others one."""
    return complement(union(map(single_char, "\n\r\u2028\u2029" if dialect == "ecma" else "\n")))


def shorthand(letter: str, dialect: Dialect, *, ascii_only: bool = False) -> UncertainClass:
    r"""Return the class `\d`, `\w`, `\s` or, for a capital letter, its complement.

    >>> shorthand("d", "ecma").certain
    CharClass(ranges=((48, 57),))
    """
    if letter.isupper():
        return shorthand(letter.lower(), dialect, ascii_only=ascii_only).negated()
    if ascii_only:
        return UncertainClass.exactly(
            {"d": DIGIT, "w": _ASCII_WORD, "s": char_class([(9, 13), (32, 32)])}[letter]
        )
    if dialect == "ecma":
        return UncertainClass.exactly({"d": DIGIT, "w": _ASCII_WORD, "s": _ECMA_SPACE}[letter])
    if dialect == "python":
        return UncertainClass.exactly(_python_class(letter))
    return _consensus(letter)


@lru_cache(maxsize=3)
def _python_class(letter: str) -> CharClass:
    text = _characters(_LETTERS_END)
    return char_class((run.start(), run.end() - 1) for run in re.finditer(rf"\{letter}+", text))


def _characters(end: int) -> str:
    """Return the characters before a code point, surrogates included; `chr` of each takes ten times as long."""
    return np.arange(end, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")


@lru_cache(maxsize=1)
def cased() -> str:
    """Return the characters that have more than one case."""
    text = _characters(_CASES_END)
    runs = (text[start : start + _RUN] for start in range(0, _CASES_END, _RUN))
    return "".join(character for run in runs if _has_cases(run) for character in run if _has_cases(character))


def _has_cases(text: str) -> bool:
    # Characters such as U+0345 differ only in the mapping of `casefold`.
    return text.lower() != text or text.upper() != text or text.casefold() != text


@lru_cache(maxsize=3)
def _consensus(letter: str) -> UncertainClass:
    """Return the class on which `re` and Rust's `regex` agree.

    Unassigned code points are uncertain: they may be letters or digits in a newer Unicode version.
    """
    if letter == "s":
        # Python also counts the four separators before U+0020 as spaces.
        space = _python_class("s")
        return UncertainClass(complement(union([complement(space), char_class([(0x1C, 0x1F)])])), space)
    if letter == "d":
        return UncertainClass(DIGIT, union([category("Nd"), category("Cn")]))
    letters = classes_by(str.isalpha)[True]
    uncertain = [category(name) for name in ("M", "N", "Pc", "Cn")]
    return UncertainClass(
        union([letters, DIGIT, char_class([(0x5F, 0x5F)])]),
        union([_python_class("w"), _LETTERLIKE, *uncertain]),
    )


_LONG_NAMES = {
    "letter": "L", "cased_letter": "LC", "uppercase_letter": "Lu", "lowercase_letter": "Ll", "titlecase_letter": "Lt",
    "modifier_letter": "Lm", "other_letter": "Lo", "mark": "M", "combining_mark": "M", "nonspacing_mark": "Mn",
    "spacing_mark": "Mc", "enclosing_mark": "Me", "number": "N", "decimal_number": "Nd", "digit": "Nd",
    "letter_number": "Nl", "other_number": "No", "punctuation": "P", "punct": "P", "connector_punctuation": "Pc",
    "dash_punctuation": "Pd", "open_punctuation": "Ps", "close_punctuation": "Pe", "initial_punctuation": "Pi",
    "final_punctuation": "Pf", "other_punctuation": "Po", "symbol": "S", "math_symbol": "Sm", "currency_symbol": "Sc",
    "modifier_symbol": "Sk", "other_symbol": "So", "separator": "Z", "space_separator": "Zs", "line_separator": "Zl",
    "paragraph_separator": "Zp", "other": "C", "control": "Cc", "cntrl": "Cc", "format": "Cf", "private_use": "Co",
    "unassigned": "Cn",
}  # fmt: skip


@lru_cache(maxsize=16)
def classes_by(property_of: Callable[[str], K]) -> Mapping[K, CharClass]:
    """Return the characters by a property that Python's tables of Unicode have of each.

    >>> classes_by(str.isascii)[True]
    CharClass(ranges=((0, 127),))
    """
    runs: dict[K, list[tuple[int, int]]] = {}
    for start, end in _MANY_CATEGORIES:
        code = start
        for value, members in groupby(map(property_of, map(chr, range(start, end)))):
            length = sum(1 for _ in members)
            runs.setdefault(value, []).append((code, code + length - 1))
            code += length
    for start, end in _ONE_CATEGORY:
        runs.setdefault(property_of(chr(start)), []).append((start, end - 1))
    return {value: char_class(ranges) for value, ranges in runs.items()}


_MANY_CATEGORIES = ((0, _LETTERS_END), (0xE0000, 0xE1000), (0xFFF00, 0x100000), (0x10FF00, 0x110000))
_ONE_CATEGORY = ((_LETTERS_END, 0xE0000), (0xE1000, 0xF0000), (0xF0000, 0xFFF00), (0x100000, 0x10FF00))
"""Code points that are unassigned or private: reading a property of each takes most of the time."""


@lru_cache(maxsize=64)
def category(name: str) -> CharClass:
    r"""Return the general category of `\p{name}`: `L`, `Lu`, `Letter`, `gc=Lu`, ... (Unicode, section 4.5).

    >>> category("Zs") == category("Space_Separator")
    True

    Raises:
        KeyError: The category does not exist. Scripts and other properties are not supported.
    """
    name = name.rpartition("=")[2] if name.lower().startswith(("gc=", "general_category=")) else name
    name = _LONG_NAMES.get(name.lower().replace(" ", "_"), name)
    table = classes_by(unicodedata.category)
    if name == "LC":
        return union([table["Lu"], table["Ll"], table["Lt"]])
    if len(name) == 1 and name in "LMNPSZC":
        return union(ranges for short, ranges in table.items() if short[0] == name)
    return table[name]


def property_class(name: str, dialect: Dialect) -> UncertainClass:
    r"""Return the class `\p{name}`; in newer versions of Unicode it has characters that are unassigned here.

    Raises:
        KeyError: The category does not exist. Scripts and other properties are not supported.
    """
    found, unassigned = category(name), category("Cn")
    if dialect != "rust":
        return UncertainClass.exactly(found)
    return UncertainClass(intersection(found, complement(unassigned)), union([found, unassigned]))


@lru_cache(maxsize=2)
def _case_groups(*, python: bool) -> dict[int, tuple[int, ...]]:
    """Return the groups of characters that are equal without case, by character.

    Args:
        python: Whether for `re`, to which U+0130 and U+0131 are `i`, and characters with the same upper case are equal.
    """
    representative: dict[object, object] = {}

    def find(code: object) -> object:
        while representative.setdefault(code, code) != code:
            code = representative[code]
        return code

    for character in cased():
        lower, upper = character.lower(), character.upper()
        if python:
            others = [lower[0] if character == "\u0130" else lower, *([upper] if upper != character else [])]
        else:
            others = [other for other in (lower, upper) if len(other) == 1 and character != "\u0131"]
        for other in others:
            if other != character:
                representative[find(character)] = find(other)
    groups: dict[object, list[int]] = {}
    for member in list(representative):
        if isinstance(member, str) and len(member) == 1:
            groups.setdefault(find(member), []).append(ord(member))
    return {code: tuple(members) for members in groups.values() for code in members}


@lru_cache(maxsize=1)
def _without_other_case() -> CharClass:
    """Return the letters that have a case, and no other one."""
    letters, groups = category("LC"), _case_groups(python=True)
    return char_class(
        (code, code)
        for first, last in letters.ranges
        for code in range(first, last + 1)
        if code not in groups
    )


def _ignoring_ascii_case(charset: CharClass) -> CharClass:
    """Return the characters that equal one of the class except for the case of ASCII letters.

    >>> _ignoring_ascii_case(char_class([(0x6B, 0x6B)]))
    CharClass(ranges=((75, 75), (107, 107)))
    """
    swapped = (
        (low + other, high + other)
        for first, last, other in ((0x41, 0x5A, 32), (0x61, 0x7A, -32))
        for low, high in intersection(charset, char_class([(first, last)])).ranges
    )
    return char_class([*charset.ranges, *swapped])


@lru_cache(maxsize=256)
def _ignoring_case(charset: CharClass, *, python: bool = False) -> CharClass:
    """Return the characters that equal one of the class except for case.

    >>> _ignoring_case(char_class([(0x61, 0x61)]))
    CharClass(ranges=((65, 65), (97, 97)))
    """
    starts = [first for first, _ in charset.ranges]
    extra: list[tuple[int, int]] = []
    for code, members in _case_groups(python=python).items():
        index = bisect_right(starts, code) - 1
        if index >= 0 and code <= charset.ranges[index][1]:
            extra += [(member, member) for member in members]
    return char_class([*charset.ranges, *extra])
