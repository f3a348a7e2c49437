"""llms.txt of the site lists each page of the docs once, with a sentence."""

from __future__ import annotations

import re

from scripts import llms_txt
from tests.docs.blocks import ROOT


def test_every_page_is_listed_once() -> None:
    found = re.findall(r"^- \[[^\]]+\]\(([^)]+\.md)\): [^\n]+\.$", llms_txt.text(), flags=re.M)
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert sorted(found) == sorted(pages)
