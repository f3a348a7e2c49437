"""Valid grammars on disk: a later process knows that a grammar is valid, and reads it only when its rules are needed.

Reading the grammar of Python takes more than a second, and its guide in the disk cache needs none of it. A grammar is
known by its text, its arguments, and the contents of the files that it imports. What is stored depends on the source of
structkit and on the version of Lark, as all files of the cache do.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache

import numpy as np

from structkit.grammar.read import GrammarSource
from structkit.grammar.syntax.files import Files
from structkit.index.disk import store
from structkit.limits import Limits
from structkit.schema.ir.json_values import exact_bytes

__all__ = ["recalled", "remember"]

_LAYOUT: store.ArrayLayout = {"files": ("uint8", 1)}

_MIN_SECONDS = 0.02
"""Seconds that reading a grammar takes at least for a file: to read the file takes 0.1 ms."""


def recalled(source: GrammarSource) -> GrammarSource:
    """Return a grammar with its files, if an earlier process found it valid and they are unchanged."""
    if not _can_be_stored(source) or not store.may_contain(content := _content(source)):
        return source
    arrays = store.load(_addresses().of(content), _LAYOUT)
    if arrays is None:
        return source
    imported, looked_for = json.loads(arrays["files"].tobytes())
    files = Files(tuple(map(tuple, imported)), tuple(map(tuple, looked_for)))
    return replace(source, known_files=files) if files.are_unchanged else source


def remember(source: GrammarSource, seconds: float) -> None:
    """Store a grammar that is valid, unless it is read fast or with a warning.

    Args:
        source: The grammar.
        seconds: How long reading it took.
    """
    is_new = source.is_read and source.known_files is None
    if seconds < _MIN_SECONDS or not is_new or not _can_be_stored(source) or source.rules.narrowed:
        return
    files = np.frombuffer(json.dumps([source.files.imported, source.files.looked_for]).encode(), np.uint8)
    if address := _addresses().of(_content(source)):
        store.save(address, _LAYOUT, {"files": files}, source.limits.disk_bytes)


def _can_be_stored(source: GrammarSource) -> bool:
    return not source.holes and source.limits == Limits()


def _content(source: GrammarSource) -> bytes:
    return exact_bytes((source.syntax, source.path, repr(source.options), source.text))


@lru_cache(maxsize=1)
def _addresses() -> store.Addresses:
    return store.Addresses("valid grammar")
