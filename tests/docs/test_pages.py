"""Every Python block of the README and the docs runs, page by page from top to bottom, and prints what it says.

To write new output into the pages: `sh scripts/test tests/docs --update-examples`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "structkit/demo/model/config.json"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = {page: [each for each in find_examples(page) if "test=no" not in each.prefix] for page in PAGES}


@pytest.mark.parametrize("page", [p for p in PAGES if EXAMPLES[p]], ids=lambda p: p.relative_to(ROOT).as_posix())
def test_the_blocks_of_a_page_run(page: Path, eval_example: EvalExample, monkeypatch: pytest.MonkeyPatch) -> None:
    if any("load()" in example.source for example in EXAMPLES[page]):
        needs_demo()
    monkeypatch.chdir(ROOT)
    eval_example.set_config(line_length=110)
    so_far: dict[str, object] = {}
    for example in EXAMPLES[page]:
        so_far |= run(example, eval_example, so_far)


def run(example: CodeExample, eval_example: EvalExample, names: dict[str, object]) -> dict[str, object]:
    """Run a block with the names that the blocks above it made, and return the names after it."""
    if eval_example.update_examples:
        return eval_example.run_print_update(example, module_globals=names)
    return eval_example.run_print_check(example, module_globals=names)


def needs_demo() -> None:
    if not DEMO.is_file():
        pytest.skip("the demo model is not there; sh scripts/train-demo makes it")
