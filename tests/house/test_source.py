"""House rules about every file of the library."""

from __future__ import annotations

import ast
import re
from collections import Counter

import pytest

from tests.house.source import SOURCES, Source

LONGEST = 500
"""Lines; a file is one room, read in ten minutes."""

MOST_FILES = 13
"""Files of a folder, its `__init__.py` aside; more are read as folders of their own."""

each_source = pytest.mark.parametrize("source", SOURCES, ids=lambda s: s.place)


@each_source
def test_a_file_is_one_room(source: Source) -> None:
    assert len(source.text.splitlines()) <= LONGEST


def test_a_folder_is_read_at_a_glance() -> None:
    files = Counter(source.path.parent for source in SOURCES if source.path.name != "__init__.py")
    assert not {folder: count for folder, count in files.items() if count > MOST_FILES}


def test_no_folder_is_named_after_nothing() -> None:
    assert not {"util", "utils", "common", "helpers", "misc"} & {
        part for source in SOURCES for part in source.path.parts
    }


@each_source
def test_a_file_says_what_it_makes(source: Source) -> None:
    if source.text.strip():
        assert ast.get_docstring(source.tree)
        assert "from __future__ import annotations" in source.text


@each_source
def test_nothing_is_asserted_printed_or_left_for_later(source: Source) -> None:
    found = [
        f"line {node.lineno}: {ast.unparse(node)[:60]}" for node in ast.walk(source.tree) if _unwanted(node)
    ]
    found += re.findall(r"(?:#|\.\. ?).*\b(?:TODO|FIXME|XXX|HACK)\b.*", source.text)
    assert not found


def _unwanted(node: ast.AST) -> bool:
    """An `assert` vanishes under `python -O`; output belongs to the caller; text is never run as code."""
    called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    return isinstance(node, ast.Assert) or called in {"print", "eval", "exec", "breakpoint"}
