"""Every example in a docstring of the library runs: `>>>` examples and fenced blocks."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.blocks import (
    ROOT,
    Block,
    find_blocks,
    namespace,
    needs_demo,
    needs_langchain,
    needs_pydantic_ai,
    needs_serve,
    run,
)

PACKAGE = ROOT / "structkit"
MODULES = [
    name for _, name, _ in pkgutil.walk_packages([str(PACKAGE)], "structkit.") if "__main__" not in name
]
BLOCKS = [block for path in sorted(PACKAGE.rglob("*.py")) for block in find_blocks(path, "python")]


@pytest.mark.parametrize("name", ["structkit", *MODULES])
def test_examples(name: str) -> None:
    if "pydantic_ai" in name:
        needs_pydantic_ai()
    if "langchain" in name:
        needs_langchain()
    if name == "structkit.integrations.vllm.processor":
        pytest.importorskip("vllm", reason="needs vllm")
    if "structkit.serve" in name:
        needs_serve()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for examples in _examples(importlib.import_module(name)):
        runner.run(examples)
    assert not runner.summarize().failed


def _examples(module: ModuleType) -> Iterator[doctest.DocTest]:
    """Yield the examples of each docstring in a source; doctest finds none of cached properties and constants."""
    path = Path(module.__file__ or "")
    parser = doctest.DocTestParser()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))) if ">>>" in text:
                yield parser.get_doctest(text, {**vars(module)}, module.__name__, str(path), node.lineno)


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_blocks(block: Block) -> None:
    if "load()" in block.source:
        needs_demo()
    with namespace() as module:
        run(block, module)
