"""`patternProperties`: undeclared keys in groups with disjoint names, by the patterns that the names match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from structkit.errors import UnsupportedKeyword
from structkit.schema.algebra.disjoint import have_distinct_prefixes
from structkit.schema.algebra.intersect_strings import alternation
from structkit.schema.ir.nodes import FREE_STRING, Additional, Never, Schema, String
from structkit.schema.ir.path import SchemaPath

__all__ = ["name_groups"]

_MAX_GROUPS = 512
"""Maximum number of groups: patterns that overlap freely have a group for each set of them."""

_MAX_PAIRS = 200_000
"""Maximum number of comparisons of a pattern and a group."""

_MAX_APART = 8
"""Maximum number of patterns that are kept apart although one alternation of them would do."""


class NameContext(Protocol):
    """The part of the schema parser that the names of keys depend on."""

    def intersect(self, nodes: Iterable[Schema], path: SchemaPath) -> Schema:
        """Return the intersection of nodes."""

    def intersect_names(self, left: String, right: String, path: SchemaPath) -> String | None:
        """Return the names in both languages; `None` if there are none."""


def name_groups(
    rest: Schema,
    patterns: Sequence[tuple[String, Schema]],
    path: SchemaPath,
    parser: NameContext,
    *,
    implicit: bool,
) -> tuple[Additional, ...]:
    """Return the undeclared keys in groups with disjoint names.

    Args:
        rest: The values of names that match no pattern.
        patterns: The names that each pattern matches, and their values.
        path: The place of the schema.
        parser: Computes intersections.
        implicit: Whether names that match no pattern are allowed only because the schema does not mention them.

    Raises:
        UnsupportedKeyword: There are too many groups.
    """
    if not patterns:
        return () if isinstance(rest, Never) else (Additional(FREE_STRING, rest, implicit),)
    if len(patterns) > _MAX_APART:
        patterns = _merged(patterns)
    groups: list[tuple[String, Schema]] = []
    earlier: list[String] = []
    pairs = 0
    for names, value in patterns:
        values = [
            None if have_distinct_prefixes(known, names) else parser.intersect((inner, value), path)
            for known, inner in groups
        ]
        # If the values of the pattern are the stricter ones, the names that it matches are one group.
        is_one = all(
            both is None or (both == value and both != inner)
            for both, (_, inner) in zip(values, groups, strict=True)
        )
        split: list[tuple[String, Schema]] = []
        for (known, inner), both in zip(groups, values, strict=True):
            if both is None or both == inner:
                split.append((known, inner))
            else:
                split += _split(known, inner, names, None if is_one else both, path, parser)
        overlapping = [] if is_one else [each for each in earlier if not have_distinct_prefixes(each, names)]
        others = _outside(overlapping)
        new = None if others is None else parser.intersect_names(others, names, path)
        groups = split if new is None else [*split, (new, value)]
        earlier.append(names)
        pairs += len(groups)
        if len(groups) > _MAX_GROUPS or pairs > _MAX_PAIRS:
            message = f"the patterns split the names into more than {_MAX_GROUPS} groups; use fewer"
            raise UnsupportedKeyword("patternProperties", message, place=path.text)
    found = [Additional(names, value) for names, value in groups]
    unmatched = _outside(earlier)
    if unmatched is not None and parser.intersect_names(FREE_STRING, unmatched, path) is not None:
        found.append(Additional(unmatched, rest, implicit))
    return tuple(group for group in found if not isinstance(group.value, Never))


def _split(
    known: String, inner: Schema, names: String, both: Schema | None, path: SchemaPath, parser: NameContext
) -> list[tuple[String, Schema]]:
    """Return the groups of the names of a group that a pattern matches, with the values `both`, and of the others."""
    found: list[tuple[String, Schema]] = []
    if both is not None and (inside := parser.intersect_names(known, names, path)) is not None:
        found.append((inside, both))
    outside = _outside([names])
    if outside is not None and (others := parser.intersect_names(known, outside, path)) is not None:
        found.append((others, inner))
    return found


def _merged(patterns: Iterable[tuple[String, Schema]]) -> list[tuple[String, Schema]]:
    """Return the patterns with one alternation for those with equal values."""
    by_value: dict[Schema, list[String]] = {}
    for names, value in patterns:
        by_value.setdefault(value, []).append(names)
    merged: list[tuple[String, Schema]] = []
    for value, each in by_value.items():
        one = alternation([pattern for names in each for pattern in names.patterns])
        if one is None or not all(names.patterns for names in each):
            merged += [(names, value) for names in each]
        else:
            merged.append((String(patterns=(one,)), value))
    return merged


def _outside(matched: Iterable[String]) -> String | None:
    """Return the names that none of some patterns matches; `None` if a pattern matches every name."""
    each = list(matched)
    if not all(names.patterns for names in each):
        return None
    patterns = [pattern for names in each for pattern in names.patterns]
    one = alternation(patterns) if len(patterns) > _MAX_APART else None
    return String(forbidden=tuple(patterns) if one is None else (one,))
