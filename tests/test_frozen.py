"""Copies and pickles of nodes."""

from __future__ import annotations

import copy
import pickle

import pytest

from structkit.regex.nodes import NEVER, Choice, Intersection, LiteralText, Seq
from structkit.schema.ir.nodes import Array, Note, Property, String


@pytest.mark.parametrize(
    "value",
    [
        Array(items=String(max_length=3, note=Note("a")), note=Note("b")),
        Property("a", String(), required=False),
        Seq((LiteralText("a"), LiteralText("b"))),
        Choice((LiteralText("a"), LiteralText("b"))),
    ],
)
def test_a_copy_is_equal_and_has_no_cached_hash(value: object) -> None:
    hash(value)
    for other in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert not hasattr(other, "_hash")  # hashes of strings differ between processes
        assert other == value and hash(other) == hash(value) and repr(other) == repr(value)


def test_a_copy_of_the_empty_language_is_itself() -> None:
    node = Intersection(LiteralText("a"), NEVER)
    for other in (copy.copy(node), copy.deepcopy(node), pickle.loads(pickle.dumps(node))):
        assert other.right is NEVER
