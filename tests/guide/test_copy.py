"""Copies of guides and cursors, and why they are not pickled."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import structkit as sk
from structkit.testing import byte_vocabulary


def test_a_guide_is_shared_by_its_copies() -> None:
    guide = sk.compile(bool, byte_vocabulary())
    assert copy.copy(guide) is guide
    assert copy.deepcopy({"guide": guide})["guide"] is guide


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_cursor_is_independent(copied: Any) -> None:
    cursor = sk.compile(bool, byte_vocabulary()).cursor()
    cursor.advance(ord("t"))
    other = copied(cursor)
    for letter in "rue":
        other.advance(ord(letter))
    assert (cursor.is_accepting, other.is_accepting) == (False, True)
    cursor.advance(ord("r"))


def test_the_error_of_pickling_has_a_remedy() -> None:
    guide = sk.compile(bool, byte_vocabulary())
    with pytest.raises(TypeError, match=r"Guide cannot be pickled.*; call structkit.compile"):
        pickle.dumps(guide)
    with pytest.raises(TypeError, match=r"Cursor cannot be pickled.*; pass its tokens"):
        pickle.dumps(guide.cursor())
