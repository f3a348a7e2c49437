"""Every example in a docstring of the library runs: `>>>` examples, and Python blocks as a page each."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest
import structkit
from pytest_examples import CodeExample, EvalExample, find_examples

PACKAGE = Path(structkit.__file__).parent
MODULES = [name for _, name, _ in pkgutil.walk_packages([str(PACKAGE)], "structkit.") if "__main__" not in name]
BLOCKS = [block for path in sorted(PACKAGE.rglob("*.py")) for block in find_examples(path)]


@pytest.mark.parametrize("name", ["structkit", *MODULES])
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert not failed


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_blocks(block: CodeExample, eval_example: EvalExample) -> None:
    eval_example.run(block)
