"""The paths in the pages for contributors exist, and the table of folders has the allowed imports."""

from __future__ import annotations

import re

import pytest

from tests.house.test_imports import SHARED, UPSTREAM
from tests.shared import ROOT

PAGES = ["CONTRIBUTING.md", "docs/explain/architecture.md", "docs/explain/design.md"]
FOLDERS = (".github", "benchmarks", "docs", "scripts", "structkit", "tests")
PATHS = [*ROOT.glob("*"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]


@pytest.mark.parametrize("page", PAGES)
def test_every_path_in_a_page_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:\w[\w.]*/)+[\w.]*|\w+\.(?:py|md|yml))`", text))
    existing = [f"/{path.relative_to(ROOT).as_posix()}" for path in PATHS]
    assert paths
    assert not [each for each in paths if not any(path.endswith(f"/{each.rstrip('/')}") for path in existing)]


def test_the_table_of_folders_has_the_allowed_imports() -> None:
    text = (ROOT / "docs/explain/architecture.md").read_text(encoding="utf-8")
    table = text.split("| Folder or file |")[1].split("\n\n")[0]
    rows = [line.split("|") for line in table.splitlines()[2:]]
    documented = {
        name: set(re.findall(r"\w+", row[3]))
        for row in rows
        for name in re.findall(r"`(\w+)(?:/|\.py)`", row[1])
    }
    assert documented == {name: allowed - SHARED for name, allowed in UPSTREAM.items()}
