"""When a guide is stored: what it would save, and what is on disk already."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from structkit.index import guide_file
from structkit.index.guide_file import GuideSaver


def _saver(
    built: int = 4,
    *,
    initial: int = 4,
    has_new: bool = False,
    has_unsaved: bool = False,
    stored: bool = False,
    address: object = "here",
    unbounded_bytes: int | None = None,
) -> GuideSaver:
    tables = SimpleNamespace(nbytes=unbounded_bytes or 0)
    automaton: Any = SimpleNamespace(
        built=dict.fromkeys(range(built)), is_unbounded=unbounded_bytes is not None, tables=tables
    )
    key: Any = SimpleNamespace(address=lambda: address, serialize=bytes)
    files: Any = SimpleNamespace(has_unsaved=has_unsaved)
    rows: Any = SimpleNamespace(has_new=has_new)
    known: Any = SimpleNamespace(source=None) if stored else None
    nothing: Any = None
    return GuideSaver(key, automaton, nothing, files, rows, initial, known)


@pytest.mark.parametrize(("has_new", "has_unsaved", "grown"), [*product([False, True], repeat=3)])
def test_a_stored_guide_is_worth_another_file_if_something_grew(
    has_new: bool, has_unsaved: bool, grown: bool
) -> None:
    saver = _saver(8 if grown else 4, has_new=has_new, has_unsaved=has_unsaved, stored=True)
    assert saver.is_stored
    is_new = has_new or grown
    assert saver.has_new_parts == (is_new or has_unsaved)
    assert saver.is_worth_it(0.0) == (is_new or has_unsaved)
    assert saver.is_worth_it(9.0) == (is_new or has_unsaved)


def test_a_new_guide_is_worth_a_file_if_it_took_long() -> None:
    saver = _saver()
    assert not saver.is_stored and saver.has_new_parts
    assert not saver.is_worth_it(guide_file.MIN_SECONDS / 2)
    assert saver.is_worth_it(guide_file.MIN_SECONDS) and saver.is_worth_it(9.0)
    assert _saver(has_unsaved=True).is_worth_it(0.0) and _saver(5).is_worth_it(0.0)
    saver._is_queued = True
    assert not saver.is_worth_it(9.0)


def test_few_new_rules_need_no_new_file() -> None:
    """A file is written again when a part of its rules is new, so that the writes of a growing guide stay few."""
    initial = 100
    worth = [new for new in range(60) if _saver(initial + new, initial=initial, stored=True).has_new_parts]
    least = initial // guide_file._NEW_PART + 1
    assert worth == list(range(least, 60))


@pytest.mark.parametrize("address", ["", None])
def test_a_guide_without_an_address_has_no_file(address: object) -> None:
    assert not _saver(address=address).has_new_parts
    assert _saver(address=address, has_unsaved=True).has_new_parts


def test_a_guide_whose_texts_create_rules_is_stored_while_it_is_small() -> None:
    most = guide_file._MAX_UNBOUNDED
    assert [_saver(unbounded_bytes=size).has_new_parts for size in (most, most + 1)] == [True, False]
