"""The texts for which a method of `str` such as `str.isdigit` is true, as the Unicode tables of this Python say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType

from structkit.regex.charset import ANY, complement, union
from structkit.regex.nodes import CharClass, Intersection, Node, Repeat, seq
from structkit.regex.pattern.unicode import classes_by

__all__ = ["cased_texts", "valid_texts"]


def valid_texts(method: str, *, negate: bool = False) -> Node:
    """Return the texts for which a method of `str` is true, or all others.

    >>> valid_texts("isascii")
    Repeat(part=CharClass(ranges=((0, 127),)), min_count=0, max_count=None)
    """
    found = _TEXTS[method]()
    return Intersection(Repeat(ANY), found, negate=True) if negate else found


@lru_cache(maxsize=2)
def cased_texts(*, upper: bool) -> Node:
    """Return the texts of characters that `str.upper` (or `str.lower`) does not change."""
    change = str.upper if upper else str.lower
    return Repeat(_characters(lambda letter: change(letter) == letter))


def _characters(predicate: Callable[[str], bool]) -> CharClass:
    return classes_by(predicate)[True]


def _cased() -> tuple[CharClass, CharClass, CharClass]:
    """Return the characters in lower case, those in upper or title case, and those without a case."""
    lower, capital = _characters(str.islower), _characters(str.istitle)
    return lower, capital, complement(union([lower, capital]))


def _lower() -> Node:
    lower, capital, others = _cased()
    return seq(Repeat(others), lower, Repeat(complement(capital)))


def _upper() -> Node:
    _, _, others = _cased()
    upper = _characters(str.isupper)
    return seq(Repeat(others), upper, Repeat(union([others, upper])))


def _title() -> Node:
    lower, capital, others = _cased()
    word = seq(capital, Repeat(lower))
    return seq(Repeat(others), word, Repeat(seq(Repeat(others, 1), word)), Repeat(others))


@lru_cache(maxsize=1)
def _identifier() -> Node:
    following = _characters(lambda letter: f"_{letter}".isidentifier())
    return seq(_characters(str.isidentifier), Repeat(following))


def _each(predicate: Callable[[str], bool], min_count: int = 1) -> Callable[[], Node]:
    return lambda: Repeat(_characters(predicate), min_count)


_TEXTS: Mapping[str, Callable[[], Node]] = MappingProxyType(
    {
        "isalnum": _each(str.isalnum),
        "isalpha": _each(str.isalpha),
        "isascii": _each(str.isascii, 0),
        "isdecimal": _each(str.isdecimal),
        "isdigit": _each(str.isdigit),
        "isidentifier": _identifier,
        "islower": _lower,
        "isnumeric": _each(str.isnumeric),
        "isprintable": _each(str.isprintable, 0),
        "isspace": _each(str.isspace),
        "istitle": _title,
        "isupper": _upper,
    }
)
