"""The library's own source as syntax trees, for rules about it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.shared import ROOT

PACKAGE = ROOT / "structkit"


@dataclass(frozen=True)
class Import:
    """An imported module; `typing_only` if the import is under `if TYPE_CHECKING`."""

    module: str
    line: int
    typing_only: bool


@dataclass(frozen=True)
class Source:
    """A file of the library."""

    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def relative_path(self) -> str:
        """The path inside the package, such as `schema/json_schema/parse.py`."""
        return self.path.relative_to(PACKAGE).as_posix()

    @property
    def component(self) -> str:
        """The folder or file directly below the package, such as `schema` or `processors`."""
        return self.path.relative_to(PACKAGE).parts[0].removesuffix(".py")

    @property
    def folder(self) -> str:
        """The folder inside the component, such as `ir`; empty for files directly in the component."""
        parts = self.path.relative_to(PACKAGE).parts
        return parts[1] if len(parts) > 2 else ""

    @property
    def module(self) -> str:
        """The dotted name, such as `structkit.schema.json_schema.parse`."""
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def imports(self) -> list[Import]:
        """Every import, including imports inside functions."""
        typing_only = {
            id(node)
            for test in ast.walk(self.tree)
            if isinstance(test, ast.If) and ast.unparse(test.test) == "TYPE_CHECKING"
            for node in ast.walk(test)
        }
        return [
            Import(name, node.lineno, id(node) in typing_only)
            for node in ast.walk(self.tree)
            for name in _imported(node)
        ]


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        # `from structkit.index import store` imports a module, `from structkit.limits import Limits` a name.
        modules = [name for name in names if (ROOT / name.replace(".", "/")).with_suffix(".py").is_file()]
        return modules or [node.module or ""]
    return []


SOURCES = [Source(path) for path in sorted(PACKAGE.rglob("*.py"))]
