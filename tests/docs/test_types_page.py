"""The page about types is generated from the zoo."""

from __future__ import annotations

import re
from pathlib import Path

import pydantic
import pytest

from scripts.types_page import PAGE, page
from tests.docs.blocks import UPDATE
from tests.zoo.extra import EXTRA


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_page_is_up_to_date(root: Path) -> None:
    assert root / "docs/reference/types.md" == PAGE
    if not EXTRA:
        pytest.skip("the page contains the types of pydantic-extra-types, which is not installed")
    if UPDATE:
        PAGE.write_text(page(), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    version = re.search(r"pydantic ([0-9.]+) emits", text)
    if version is None or not pydantic.VERSION.startswith(version[1]):
        pytest.skip("the page was generated with another version of pydantic")
    assert text == page()
