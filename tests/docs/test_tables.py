"""The tables in the docs name what the code has, and the drawings are what the code draws."""

from __future__ import annotations

import inspect
import re
import runpy

import structkit as sk
from structkit.schema.ir.keywords import IMPLEMENTED
from tests.shared import ROOT


def test_every_keyword_is_in_its_row() -> None:
    page = (ROOT / "docs/explain/limits.md").read_text(encoding="utf-8")
    cell = re.search(r"^\| Enforced \| (.*) \|$", page, flags=re.M)
    assert cell
    assert set(re.findall(r"`(.+?)`", cell[1])) == IMPLEMENTED


def test_the_error_page_draws_the_tree() -> None:
    page = (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")
    errors = {
        name
        for name in sk.__all__
        if inspect.isclass(found := getattr(sk, name)) and issubclass(found, sk.StructkitError)
    }
    assert set(re.findall(r"^[│├└─ ]*([A-Z]\w+)$", page, flags=re.M)) == errors


def test_the_drawings_are_what_the_library_builds() -> None:
    drawn = runpy.run_path(str(ROOT / "scripts/draw.py"))["drawings"]()
    for name, svg in drawn.items():
        assert (ROOT / "docs/assets" / name).read_text(encoding="utf-8") == svg
