"""The tables and drawings in the docs agree with the code."""

from __future__ import annotations

import inspect
import re
import runpy

import pytest

import structkit as sk
from structkit.models.native.profiles import ANTHROPIC, GEMINI, OPENAI_STRICT, SchemaProfile
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


def test_the_page_about_installation_lists_all_extras() -> None:
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = project.partition("[project.optional-dependencies]\n")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`.*?) \| .* \|$", page, flags=re.M)
    listed = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)}
    assert listed | {"transformers"} == set(re.findall(r"^([a-z-]+) = ", section, flags=re.M))


def test_the_drawings_are_up_to_date() -> None:
    drawings = runpy.run_path(str(ROOT / "scripts/draw.py"))["drawings"]()
    for name, svg in drawings.items():
        assert (ROOT / "docs/assets" / name).read_text(encoding="utf-8") == svg


def test_the_page_of_hosted_models_says_what_the_profiles_say() -> None:
    page = (ROOT / "docs/how-to/hosted.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \| (.*) \| (.*) \| (.*) \|$", page, flags=re.M)
    cells = {word: row[1:] for row in rows for word in re.findall(r"`(.+?)`", row[0])}
    profiles = (OPENAI_STRICT, ANTHROPIC, GEMINI)
    for keyword in frozenset[str]().union(*(profile.keywords for profile in profiles)):
        assert cells[keyword] == tuple(_cell(keyword, profile) for profile in profiles), keyword
    assert f"| none | at most {ANTHROPIC.max_optional} | any |" in page
    openai = OPENAI_STRICT
    sizes = (
        f"{openai.max_properties:,} properties, {openai.max_enum:,} values of enums, depth {openai.max_depth}"
    )
    assert f"| {sizes} | {ANTHROPIC.max_unions} unions | |" in page
    recursive = ["yes" if profile.is_recursive else "no" for profile in profiles]
    assert f"| A schema that refers to itself | {' | '.join(recursive)} |" in page


def test_the_site_shows_a_pipe_in_the_code_of_a_cell() -> None:
    markdown = pytest.importorskip("markdown")
    page = markdown.Markdown(extensions=["tables", "scripts.table_pipes"])
    shown = page.convert("| a |\n| --- |\n| `int \\| None` |\n\n`\\|`")
    assert "<td><code>int | None</code></td>" in shown and r"<p><code>\|</code></p>" in shown


def _cell(keyword: str, profile: SchemaProfile) -> str:
    """What the page says of a keyword."""
    if keyword == "format":
        return f"{len(profile.formats)} formats"
    if keyword == "minItems" and profile.least_items is not None:
        return " and ".join(map(str, sorted(profile.least_items)))
    if keyword not in profile.keywords:
        return "as `enum`" if keyword == "const" else "no"
    return "as `anyOf`" if keyword == "oneOf" else "yes"
