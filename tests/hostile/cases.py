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
        "pattern: (a?){5000}a{5000}",
        "pattern: word boundaries 1,000",
        "pattern: (((a{10}){10}){10}){10}",
        "pattern: (((a{10}b?){10}){10}){10}",
        "pattern: (a|b|ab){0,2000}",
        "pattern in a schema: (x{0,100}){0,100}y",
        "pattern in a schema: (a?){5000}a{5000}",
        "pattern in a schema: 9,990 characters of literal",
        "pattern in a schema: lookbehind of counted",
        "pattern in a schema: word boundaries 1,000",
        "pattern in a schema: (((a{10}){10}){10}){10}",
        "pattern in a schema: (((a{10}b?){10}){10}){10}",
        "pattern in a schema: (a{2}|b{3}){1000}",
        "counts: uniqueItems, objects of 20 booleans, minItems 200",
        "counts: uniqueItems 3 deep",
        "counts: minProperties 64 of 64 pattern keys",
        "combinations: 40 conditions on one key",
        "combinations: 40 conditions on one key with else",
        "combinations: 200 conditions on one key",
        "combinations: 200 patternProperties",
        "combinations: 200 disjoint patternProperties",
        "combinations: dependentSchemas, 10",
        "combinations: not required pairs, 40",
        "sizes: enum 200,000",
        "sizes: enum 200,000 integers",
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
