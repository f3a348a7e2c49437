"""All hostile targets of the campaign, and those that are known to need more than a second or 500 MB."""

from __future__ import annotations

from tests.hostile import combinations, counts, grammars, patterns, sizes, texts

__all__ = ["BEYOND", "CASES"]

CASES = (
    *patterns.CASES,
    *counts.CASES,
    *combinations.CASES,
    *sizes.CASES,
    *texts.CASES,
    *grammars.CASES,
)

BEYOND = frozenset(
    {
        "pattern in a schema: (x{0,100}){0,100}y",
        "pattern in a schema: (((a{10}){10}){10}){10}",
        "pattern in a schema: (((a{10}b?){10}){10}){10}",
        "counts: uniqueItems, integers 0 to 99, minItems 100",
        "counts: minProperties 64 of 64 pattern keys",
        "combinations: 40 conditions on one key",
        "combinations: 40 conditions on one key with else",
        "combinations: 200 conditions on one key",
        "combinations: dependentSchemas, 10",
        "sizes: enum 200,000",
        "sizes: enum 200,000 integers",
        "sizes: $ref chain of 50,000",
        "sizes: 5,000 definitions in cycles",
        "sizes: 30,000 subschemas",
        "sizes: 600,000 subschemas",
        "sizes: 1,000 arrays of enum 100",
        "Lark grammar: s: s s s | x |",
        "Lark grammar: counts of counts",
        "Lark grammar: doubling, 15 levels",
    }
)
"""A ratchet: these are not to become more."""
