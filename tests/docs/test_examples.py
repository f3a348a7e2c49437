"""The example programs run, and print what they say they print."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, needs_demo


@pytest.mark.parametrize("program", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_a_program_prints_what_it_says(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = program.read_text(encoding="utf-8")
    if "load()" in text:
        needs_demo()
    runpy.run_path(str(program), run_name="__main__")
    said = (ast.get_docstring(ast.parse(text)) or "").partition("Prints:\n\n")[2]
    wanted = "\n".join(line.removeprefix("    ") for line in said.splitlines())
    assert capsys.readouterr().out.strip() == wanted
