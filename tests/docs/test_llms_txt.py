"""docs/llms.txt lists the pages of the docs."""

from __future__ import annotations

import re

from scripts import llms_txt
from tests.docs.blocks import ROOT


def test_the_file_is_up_to_date() -> None:
    assert llms_txt.PAGE.read_text(encoding="utf-8") == llms_txt.text(), "run python scripts/llms_txt.py"


def test_every_page_is_listed_once() -> None:
    paths = re.findall(r"\]\(([^)]+\.md)\)", llms_txt.text())
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert sorted(paths) == sorted(pages)
