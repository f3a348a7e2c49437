"""The example programs run, and print what they say they print."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "structkit/demo/model/config.json"


@pytest.mark.parametrize("program", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_a_program_prints_what_it_says(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = program.read_text(encoding="utf-8")
    if "load()" in text and not DEMO.is_file():
        pytest.skip("the demo model is not there; sh scripts/train-demo makes it")
    runpy.run_path(str(program), run_name="__main__")
    said = (ast.get_docstring(ast.parse(text)) or "").partition("Prints:\n\n")[2]
    wanted = "\n".join(line.removeprefix("    ") for line in said.splitlines())
    assert capsys.readouterr().out.strip() == wanted
