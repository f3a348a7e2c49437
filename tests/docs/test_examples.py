"""The example programs print the output in their docstrings."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, needs_demo, needs_pydantic_ai


@pytest.mark.parametrize("program", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_a_program_prints_the_documented_output(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = program.read_text(encoding="utf-8")
    if "load()" in text:
        needs_demo()
    if "pydantic_ai" in text:
        needs_pydantic_ai()
    runpy.run_path(str(program), run_name="__main__")
    documented = (ast.get_docstring(ast.parse(text)) or "").partition("Prints:\n\n")[2]
    expected = "\n".join(line.removeprefix("    ") for line in documented.splitlines())
    assert capsys.readouterr().out.strip() == expected
