"""The glossary is a table of unique terms in alphabetical order."""

from __future__ import annotations

from tests.shared import ROOT


def test_terms_are_sorted_unique_and_have_a_meaning_and_a_source() -> None:
    page = (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    terms = [row[0] for row in rows]
    assert len(terms) > 30
    assert terms == sorted(set(terms))
    for row in rows:
        assert len(row) == 3
        assert all(row)
        assert row[1].endswith((".", ")."))
