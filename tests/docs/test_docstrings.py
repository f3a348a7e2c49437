"""Every example in a docstring of the library runs: `>>>` examples and fenced blocks."""

from __future__ import annotations

import doctest
import importlib
import linecache
import pkgutil

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
    module = importlib.import_module(name)
    linecache.clearcache()  # doctest looks at each file of the cache once for each docstring
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert not failed


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_blocks(block: Block) -> None:
    if "load()" in block.source:
        needs_demo()
    with namespace() as module:
        run(block, module)
