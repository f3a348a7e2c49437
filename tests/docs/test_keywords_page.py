"""The table of keywords in the docs lists every known keyword with its status."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.keywords import table
from structkit.schema.ir.keywords import ANNOTATIONS, IMPLEMENTED


@pytest.mark.parametrize("keyword", sorted(IMPLEMENTED | ANNOTATIONS))
def test_the_page_has_the_status_of_each_keyword(root: Path, keyword: str) -> None:
    page = (root / "docs/explain/keywords.md").read_text(encoding="utf-8")
    how = "enforced while decoding" if keyword in IMPLEMENTED else "annotation"
    assert any(
        line.startswith(f"| `{keyword}` |") and line.endswith(f"| {how} |") for line in page.splitlines()
    )


def test_a_keyword_counts_once_per_schema() -> None:
    rows = table([{"type": "object", "properties": {"type": {"type": "null"}}}, {}]).splitlines()
    assert "| `type` | 50.0 % | enforced while decoding |" in rows
    assert "| `minimum` | 0.0 % | enforced while decoding |" in rows
