"""Every Python block of the README and the docs runs and prints the documented output."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import (
    PAGES,
    ROOT,
    UPDATE,
    check_page,
    find_blocks,
    needs_clients,
    needs_demo,
    needs_langchain,
    needs_llama_cpp,
    needs_mcp,
    needs_pydantic_ai,
    needs_recipe_packages,
    needs_serve,
)

LONG = {
    "how-to/cookbook.md",
    "how-to/hosted.md",
    "how-to/mcp-servers.md",
    "how-to/test-your-code.md",
    "tutorial/10-your-own-language.md",
    "tutorial/3-many-prompts.md",
    "tutorial/6-confidence.md",
    "tutorial/8-agents.md",
}
"""Pages that take about a second or more."""


def is_long(page: Path) -> bool:
    """Return whether a page is left out; none is while they are written."""
    return not UPDATE and f"{page.parent.name}/{page.name}" in LONG


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.long if is_long(page) else ())
        for page in PAGES
        if find_blocks(page, "python")
    ],
    ids=lambda p: p.relative_to(ROOT).as_posix(),
)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    if any("load()" in block.source for block in find_blocks(page, "python")):
        needs_demo()
    if any("sk.mcp" in block.source for block in find_blocks(page, "python")):
        needs_mcp()
    if page.name == "serve.md":
        needs_serve()
    elif any("import openai" in block.source for block in find_blocks(page, "python")):
        needs_clients()
    if any("pydantic_ai" in block.source for block in find_blocks(page, "python")):
        needs_pydantic_ai()
    if any("langchain" in block.source for block in find_blocks(page, "python")):
        needs_langchain()
    if any("fastapi" in block.source for block in find_blocks(page, "python")):
        needs_recipe_packages()
    if any("model.gguf" in block.source for block in find_blocks(page, "python")):
        needs_llama_cpp(tmp_path)
        monkeypatch.chdir(tmp_path)
    check_page(page)
