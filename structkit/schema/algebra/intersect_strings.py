"""Intersection of String nodes and unions of them, and of other scalars."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import prod

from structkit.errors import UnsupportedKeyword
from structkit.schema.algebra.ranges import intersect_numbers, min_defined
from structkit.schema.ir.constructors import string
from structkit.schema.ir.keywords import STR_METHODS
from structkit.schema.ir.nodes import Format, Integer, Never, Number, Schema, String, Union
from structkit.schema.ir.path import SchemaPath
from structkit.schema.markers.quote import QUOTE_FORMAT

__all__ = [
    "alternation",
    "combine_alternatives",
    "intersect_scalars",
    "intersect_strings",
    "literal_pattern",
    "literal_text",
]

_MAX_PAIRS = 8
"""Most combinations of alternatives that stay alternatives; each of them is lowered by itself."""

_UNSAFE_GROUP = re.compile(r"\(\?(?![:=!]|<[=!])")
"""A group with a name or with flags, whose meaning depends on the rest of its pattern."""


def combine_alternatives(parts: tuple[Schema, ...]) -> tuple[Schema, ...]:
    """Return the nodes of an intersection with each union of patterns as one pattern, if there are several unions.

    An intersection of unions has as many alternatives as there are combinations of theirs. One automaton for the
    alternatives of each union, and the product of these automata, are smaller.

    >>> both = [Union((String(patterns=(one,)), String(patterns=(two,)))) for one, two in ("ab", "cd")]
    >>> combine_alternatives(tuple(both)) == tuple(both)
    True
    >>> combine_alternatives(tuple(both) * 2)[0]
    String(note=None, min_length=0, max_length=None, patterns=('(?:a)|(?:b)',), format=None, forbidden=(), \
forbidden_formats=(), content=None, more_formats=())
    """
    unions = [part for part in parts if isinstance(part, Union)]
    if len(unions) < 2 or prod([len(part.branches) for part in unions]) <= _MAX_PAIRS:
        return parts
    return tuple((_combined(part.branches) or part) if isinstance(part, Union) else part for part in parts)


def _combined(branches: Sequence[Schema]) -> String | None:
    """Return the string with one pattern that matches what one of the strings matches; `None` if there is none."""
    patterns: list[str] = []
    for branch in branches:
        if not isinstance(branch, String) or len(branch.patterns) != 1:
            return None
        # A difference with earlier alternatives adds the same strings as its minuend.
        if branch != String(patterns=branch.patterns, forbidden=branch.forbidden) or not set(
            branch.forbidden
        ).issubset(patterns):
            return None
        patterns += branch.patterns
    one = alternation(patterns)
    return None if one is None else String(patterns=(one,))


def alternation(patterns: Sequence[str]) -> str | None:
    """Return the pattern of what one of the patterns matches; `None` if the meaning of a group would change.

    >>> alternation(["^a", "b$"]), alternation(["(?i)a", "b"])
    ('(?:^a)|(?:b$)', None)
    """
    if len(patterns) == 1:
        return patterns[0]
    if any(map(_UNSAFE_GROUP.search, patterns)):
        return None
    return "|".join(f"(?:{pattern})" for pattern in patterns)


def intersect_strings(left: String, right: String, path: SchemaPath) -> String:
    """Return the strings in both nodes: the narrower lengths, all patterns, and all formats.

    Raises:
        UnsupportedKeyword: The nodes have two different formats, one of them for values of a Python type, or two
            different contents.
    """
    formats = left.formats if left.formats == right.formats else _both_formats(left, right)
    of_values = [each for each in formats if each.name not in _OF_TEXTS]
    if len(of_values) > 1 and any(":" in each.name for each in of_values):
        raise UnsupportedKeyword(
            "format",
            f"the combination of the formats '{of_values[0]}' and '{of_values[1]}' is not supported; keep one",
            place=path.text,
        )
    if left.content is not None and right.content is not None and left.content != right.content:
        message = "two schemas for the JSON in one string are not supported; combine them in the inner type"
        raise UnsupportedKeyword("contentSchema", message, place=path.text)
    return String(
        content=left.content or right.content,
        min_length=max(left.min_length, right.min_length),
        max_length=min_defined((left.max_length, right.max_length)),
        patterns=tuple(dict.fromkeys((*left.patterns, *right.patterns))),
        format=formats[0] if formats else None,
        more_formats=formats[1:],
        forbidden=tuple(dict.fromkeys((*left.forbidden, *right.forbidden))),
        forbidden_formats=tuple(dict.fromkeys((*left.forbidden_formats, *right.forbidden_formats))),
    )


def _both_formats(left: String, right: String) -> tuple[Format, ...]:
    """Return the formats of two strings, without those that follow from others."""
    found = {*left.formats, *right.formats}
    names = {each.name for each in found}
    needed = (each for each in found if names.isdisjoint(_NARROWER.get(each.name, ())))
    # The lowering finds a quote in the first place.
    return tuple(sorted(needed, key=lambda each: (each.name != QUOTE_FORMAT, each.name, each.arguments)))


_OF_TEXTS = {QUOTE_FORMAT, "python:lower", "python:upper", *(f"python:{name}" for name in STR_METHODS)}
"""Formats of Python types whose values are the texts themselves."""


_NARROWER = {
    "uri-reference": ("uri",),
    "iri": ("uri",),
    "iri-reference": ("uri", "iri", "uri-reference"),
    "idn-email": ("email",),
}
"""Formats whose strings all have another format too."""


def literal_pattern(text: str) -> str:
    r"""Return the pattern that matches one text.

    >>> literal_pattern("a+b")
    '^a\\+b$'
    """
    return "^" + "".join(f"\\{character}" if character in _SPECIAL else character for character in text) + "$"


@lru_cache(maxsize=4096)
def literal_text(pattern: str) -> str | None:
    r"""Return the text of a pattern that matches one text, as those of `literal_pattern` do; `None` for other patterns.

    >>> literal_text(literal_pattern("a+b")), literal_text("^a-b$"), literal_text("^a+b$")
    ('a+b', 'a-b', None)
    """
    found = _LITERAL.fullmatch(pattern)
    return None if found is None else _ESCAPED.sub(r"\1", found[1])


_SPECIAL = frozenset("\\^$.|?*+()[]{}/-")
_ESCAPED = re.compile(r"\\([\\^$.|?*+()\[\]{}/-])")
_LITERAL = re.compile(rf"\^((?:[^\\^$.|?*+()\[\]{{}}]|{_ESCAPED.pattern})*)\$")


def intersect_scalars(left: Schema, right: Schema, path: SchemaPath) -> Schema:
    """Return the values in both of two nodes that are no unions, arrays or objects.

    >>> intersect_scalars(String(), Number(), SchemaPath()).reason
    'no value is both a string and a number'

    Raises:
        UnsupportedKeyword: The combination cannot be represented exactly.
    """
    match left, right:
        case (Never(), _) | (_, Never()):
            return left if isinstance(left, Never) else right
        case ((Integer() | Number()), (Integer() | Number())):
            return intersect_numbers(left, right)
        case String(), String():
            return string(intersect_strings(left, right, path))
    return left if left == right else Never(f"no value is both {_type_name(left)} and {_type_name(right)}")


def _type_name(node: Schema) -> str:
    name = type(node).__name__.lower()
    return name if name == "null" else f"{'an' if name[0] in 'aio' else 'a'} {name}"
