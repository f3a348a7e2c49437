"""Words for free text: readable words, and strings that often break programs."""

from __future__ import annotations

__all__ = ["HOSTILE", "WORDS"]

WORDS = tuple(
    text.encode()
    for text in """
    Ana Porto blue garden seven nurse Winter harbour Clara lamp river second Lisbon ticket small John order open
    letter Maria silver Monday London teacher paper bridge Peter June yellow table window old Smith quiet north
    """.split()
)
"""Short words and names, in no particular order."""

HOSTILE = tuple(
    text.encode()
    for text in (
        r"\"", r"\\", r"\n", r"\t", r"\u0000", r"\u001f", r"\/", "'", "<b>", "</script>", "{{x}}", "${x}", "%s", "../",
        "'; DROP TABLE t; --", "null", "NaN", "-0", "1e999", "=1+1", "\x7f", "\x85", "\xa0", "\xad", "\u200b", "\u200d",
        "\u202e", "\u2028", "\ufeff", "\ufffd", "\uffff", "\u0301", "é", "e\u0301", "ß", "ı", "İ", "Ω", "漢字", "שלום",
        "😀", "👩\u200d👩\u200d👧", "\U0010ffff", " ", "  ", "#", ":", ",", "]", "}", "{", "[",
    )
)  # fmt: skip
"""Escapes, syntax of languages other than JSON, and code points that software often handles wrongly."""
