"""Find the code blocks of pages, run them from top to bottom in one namespace, and compare their output.

The expected output is in comments that start with `#>`, directly below the statement that prints it. To write the
actual output into the pages: `STRUCTKIT_UPDATE_DOCS=1 sh scripts/test tests/docs`.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from types import ModuleType

import pytest

from tests.models.demo_gguf import write_gguf
from tests.shared import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
UPDATE = bool(os.environ.get("STRUCTKIT_UPDATE_DOCS"))

_OUTPUT = re.compile(r" *#>")


@dataclass(frozen=True)
class Block:
    """A block of code: its source, and the number of lines of the page above it."""

    path: Path
    above: int
    source: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT).as_posix()}:{self.above + 1}"


def find_blocks(path: Path, language: str) -> list[Block]:
    """Return the fenced blocks of a language in a file that are not indented."""
    text = path.read_text(encoding="utf-8")
    matches = re.finditer(rf"^```{language}\n(.*?)^```$", text, flags=re.M | re.S)
    return [Block(path, text[: each.start(1)].count("\n"), each[1]) for each in matches]


@contextmanager
def namespace() -> Iterator[ModuleType]:
    """Create a module for the blocks of one page, in which pydantic looks up names."""
    module = ModuleType("page")
    sys.modules["page"] = module
    try:
        yield module
    finally:
        del sys.modules["page"]


def run(block: Block, module: ModuleType) -> str:
    """Run a block.

    Returns:
        The source with the actual output.
    """
    statements = list(ast.walk(ast.parse(block.source)))
    printed: dict[int, list[str]] = {}

    def record(*values: object, sep: str = " ") -> None:
        line = sys._getframe(1).f_lineno - block.above
        end_lines = [
            node.end_lineno or 0
            for node in statements
            if isinstance(node, ast.Expr) and node.lineno <= line <= (node.end_lineno or 0)
        ]
        printed.setdefault(min(end_lines), []).extend(sep.join(map(str, values)).rstrip("\n").split("\n"))

    vars(module)["print"] = record
    # With these line numbers, errors contain the line of the page.
    code = compile("\n" * block.above + block.source, str(block.path), "exec", dont_inherit=True)
    exec(code, vars(module))
    return "".join(_with_output(block.source, printed))


def _with_output(source: str, printed: dict[int, list[str]]) -> Iterator[str]:
    for number, line in enumerate(source.splitlines(keepends=True), start=1):
        if _OUTPUT.match(line):
            continue
        yield line
        margin = line[: len(line) - len(line.lstrip())]
        for text in printed.get(number, []):
            yield indent(f"#> {text}".rstrip(), margin) + "\n"


def check_page(path: Path) -> None:
    """Run the Python blocks of a page and compare their output; with `STRUCTKIT_UPDATE_DOCS=1` write it instead."""
    text = path.read_text(encoding="utf-8")
    with namespace() as module:
        for block in find_blocks(path, "python"):
            actual = run(block, module)
            if UPDATE:
                text = text.replace(block.source, actual)
                path.write_text(text, encoding="utf-8")
            else:
                assert block.source == actual, f"{block} has another output"


def needs_llama_cpp(folder: Path) -> None:
    """Write `model.gguf` to the folder; skip the test if the packages are not installed."""
    pytest.importorskip("llama_cpp", reason="the extra llama-cpp is not installed")
    pytest.importorskip("gguf", reason="pip install gguf")
    write_gguf(folder / "model.gguf")


def needs_mcp() -> None:
    """Skip the test if the extra `mcp` is not installed."""
    pytest.importorskip("mcp.server.mcpserver", reason="the extra mcp is not installed")


def needs_pydantic_ai() -> None:
    pytest.importorskip("pydantic_ai", reason="pip install 'structkit-llm[pydantic-ai]'")


def needs_langchain() -> None:
    """Skip the test if LangChain is missing."""
    pytest.importorskip("langchain_core", reason="pip install 'structkit-llm[langchain]'")


def needs_serve() -> None:
    """Skip the test if the extra `serve` is not installed."""
    for package in ("openai", "prometheus_client", "starlette", "uvicorn"):
        pytest.importorskip(package, reason=f"the package {package} is not installed")


def needs_clients() -> None:
    """Skip the test if a client of hosted models is missing."""
    for package in ("anthropic", "google.genai", "openai"):
        pytest.importorskip(package, reason=f"the package {package} is not installed")


def needs_recipe_packages() -> None:
    pytest.importorskip("fastapi", reason="pip install fastapi")
    pytest.importorskip("pydantic_evals", reason="pip install pydantic-evals")


def needs_demo() -> None:
    """Skip the test if the demo model is missing."""
    if not (ROOT / "structkit/demo/model/config.json").is_file():
        pytest.skip("the demo model is missing; scripts/train_demo.py trains it")
