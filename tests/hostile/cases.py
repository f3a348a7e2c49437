"""All hostile targets of the campaign, and those that are known to need more than a second or 500 MB."""

from __future__ import annotations

from tests.hostile import combinations, counts, grammars, many, orders, patterns, sizes, texts

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
)

BEYOND = frozenset(
    {
        "pattern in a schema: (((a{10}){10}){10}){10}",
        "pattern in a schema: (((a{10}b?){10}){10}){10}",
        "keys in any order: 60 required, open",
        "keys in any order: oneOf of 30 tagged",
        "counts: minProperties 64 of 64 pattern keys",
        "sizes: 5,000 definitions in cycles",
        "sizes: 30,000 subschemas",
        "Lark grammar: s: s s s | x |",
        "Lark grammar: terminals that overlap",
    }
)
"""A ratchet: these are not to become more."""
