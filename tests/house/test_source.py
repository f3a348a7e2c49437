"""House rules about every file of the library."""

from __future__ import annotations

import ast
import re
from collections import Counter

from tests.house.source import SOURCES

MAX_LINES = 500
"""Maximum lines of a file, so that it can be read in ten minutes."""

MAX_FILES = 13
"""Maximum files of a folder, without `__init__.py`; a larger folder is divided."""


def test_a_file_is_short() -> None:
    lines = {source.relative_path: len(source.text.splitlines()) for source in SOURCES}
    assert not {path: count for path, count in lines.items() if count > MAX_LINES}


def test_a_folder_has_few_files() -> None:
    files = Counter(source.path.parent for source in SOURCES if source.path.name != "__init__.py")
    assert not {folder: count for folder, count in files.items() if count > MAX_FILES}


def test_no_folder_or_file_has_a_generic_name() -> None:
    assert not {"util", "utils", "common", "helpers", "misc"} & {
        part for source in SOURCES for part in source.path.parts
    }


def test_a_file_has_a_docstring_and_future_annotations() -> None:
    sources = [source for source in SOURCES if source.text.strip()]
    assert not [source.relative_path for source in sources if not ast.get_docstring(source.tree)]
    future = "from __future__ import annotations"
    assert not [source.relative_path for source in sources if future not in source.text]


def test_there_are_no_asserts_prints_and_todos() -> None:
    found = [
        f"{source.relative_path} line {node.lineno}: {ast.unparse(node)[:60]}"
        for source in SOURCES
        for node in ast.walk(source.tree)
        if _is_forbidden(node)
    ]
    for source in SOURCES:
        found += re.findall(r"(?:#|\.\. ?).*\b(?:TODO|FIXME|XXX|HACK)\b.*", source.text)
    assert not found


def _is_forbidden(node: ast.AST) -> bool:
    """Whether a node is an `assert`, which `python -O` removes, a `print`, or code that runs text."""
    called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    return isinstance(node, ast.Assert) or called in {"print", "eval", "exec", "breakpoint"}


def test_a_broad_except_has_a_reason() -> None:
    """An `except` for all exceptions raises one again, or says behind its colon why it may not."""
    without = [
        f"{source.relative_path} line {node.lineno}"
        for source in SOURCES
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ExceptHandler) and _is_broad(node.type)
        if not any(isinstance(each, ast.Raise) for each in ast.walk(node))
        if "#" not in source.text.splitlines()[node.lineno - 1]
    ]
    assert not without


def _is_broad(kind: ast.expr | None) -> bool:
    parts = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(each is None or ast.unparse(each) in ("Exception", "BaseException") for each in parts)
