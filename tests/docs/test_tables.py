"""The tables and drawings in the docs agree with the code."""

from __future__ import annotations

import inspect
import re
import runpy

import structkit as sk
from structkit.schema.ir.keywords import IMPLEMENTED
from tests.shared import ROOT


def test_the_page_lists_the_enforced_keywords() -> None:
    page = (ROOT / "docs/explain/limits.md").read_text(encoding="utf-8")
    cell = re.search(r"^\| Enforced \| (.*) \|$", page, flags=re.M)
    assert cell
    assert set(re.findall(r"`(.+?)`", cell[1])) == IMPLEMENTED


def test_the_error_page_lists_all_errors() -> None:
    page = (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")
    errors = {
        name
        for name in sk.__all__
        if inspect.isclass(value := getattr(sk, name)) and issubclass(value, sk.StructkitError)
    }
    assert set(re.findall(r"^[│├└─ ]*([A-Z]\w+)$", page, flags=re.M)) == errors


def test_the_drawings_are_up_to_date() -> None:
    drawings = runpy.run_path(str(ROOT / "scripts/draw.py"))["drawings"]()
    for name, svg in drawings.items():
        assert (ROOT / "docs/assets" / name).read_text(encoding="utf-8") == svg
