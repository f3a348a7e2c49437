"""All hostile targets of the campaign, and those that are known to need more than a second or 500 MB."""

from __future__ import annotations

from tests.hostile import (
    combinations,
    counts,
    grammars,
    keywords,
    many,
    meetings,
    mixtures,
    orders,
    patterns,
    shapes,
    sizes,
    texts,
    types,
)

__all__ = ["BEYOND", "CASES"]

CASES = (
    *patterns.CASES,
    *counts.CASES,
    *combinations.CASES,
    *sizes.CASES,
    *texts.CASES,
    *many.CASES,
    *orders.CASES,
    *grammars.CASES,
    *shapes.CASES,
    *types.CASES,
    *keywords.CASES,
    *mixtures.CASES,
    *meetings.CASES,
)

BEYOND = frozenset(
    {
        "pattern in a schema: (((a{10}){10}){10}){10}",
        "pattern in a schema: (((a{10}b?){10}){10}){10}",
        "keys in any order: 60 required, open",
        "keys in any order: 20 of 40 optional",
        "counts: contains a pattern 3 times, unique",
        "keys in any order: oneOf of 30 tagged",
        "sizes: 5,000 definitions in cycles",
        "sizes: 30,000 subschemas",
        "Lark grammar: terminals that overlap",
        "shapes: oneOf of 200 with optional tags",
        "shapes: oneOf that fans out, 30 levels",
        "mixtures: distinct texts of a format or a lookahead, 60",
        "mixtures: distinct texts of 120 counts, 20",
        "mixtures: distinct sets of distinct sets, 40",
        "mixtures: oneOf of 40 sets of formats",
        "mixtures: 60 objects of 60, counted",
        "meetings: 40 fields of lookaheads and lookbehinds",
        "meetings: patternProperties, counts and unevaluatedProperties",
        "meetings: patternProperties that overlap, counts and unevaluatedProperties",
    }
)
"""A ratchet: of the targets that are here, these are not to become more."""
