"""The notebook of the examples runs from top to bottom, and what its cells return draws itself."""

from __future__ import annotations

import ast
import json

from tests.docs.blocks import ROOT, namespace, needs_demo

NOTEBOOK = ROOT / "examples/notebook.ipynb"


def test_every_cell_runs_and_is_shown() -> None:
    needs_demo()
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    shown: list[object] = []
    with namespace() as module:
        for number, cell in enumerate(cells):
            if cell["cell_type"] == "code":
                assert not cell["outputs"], "store the notebook without outputs: their times differ"
                shown.append(_run("".join(cell["source"]), f"cell {number}", vars(module)))
    drawn = [type(value).__name__ for value in shown if hasattr(value, "_repr_html_")]
    assert drawn == ["Result", "Explanation", "Guide", "Stream", "Result", "AgentResult"]
    for value in shown:
        if hasattr(value, "_repr_html_"):
            assert value._repr_html_().startswith("<")


def _run(source: str, name: str, variables: dict[str, object]) -> object:
    """Run a cell as a notebook does; return the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), variables)
    if not isinstance(last, ast.Expr):
        return None
    value = eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), variables)
    assert repr(value)
    return value
