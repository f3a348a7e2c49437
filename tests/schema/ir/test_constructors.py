"""Nodes that are simplified when they are made: those without a value, at each bound."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from structkit.schema.ir.constructors import array, union
from structkit.schema.ir.nodes import (
    Anything,
    Array,
    Boolean,
    Contains,
    Integer,
    Never,
    Null,
    Object,
    Property,
    String,
)

NEVER = Never("nothing is allowed")
INTEGER, ANY = Integer(), Anything()


@pytest.mark.parametrize(
    ("node", "reason", "path"),
    [
        (Array(items=NEVER, min_items=1), NEVER.reason, ("[0]",)),
        (Array((INTEGER, NEVER), min_items=2), NEVER.reason, ("[1]",)),
        (Array((INTEGER,), NEVER, min_items=3), NEVER.reason, ("[1]",)),
        (Array(contains=(Contains(NEVER, ANY, 1),)), NEVER.reason, ()),
        (
            Array(max_items=1, contains=(Contains(INTEGER, ANY, 2),)),
            "no array of at most 1 items contains 2",
            (),
        ),
        (
            Array(items=NEVER, contains=(Contains(INTEGER, ANY, 1),)),
            "no array of at most 0 items contains 1",
            (),
        ),
        (
            Array((INTEGER,), max_items=2, contains=(Contains(INTEGER, ANY, 2),)),
            "no array of at most 2 items contains 2",
            (),
        ),
        (Array(min_items=3, max_items=2), "no array has at least 3 and at most 2 items", ()),
        (Array(max_items=1, repeats_item=True), "no array has at least 2 and at most 1 items", ()),
        (
            Array(unique_items=True, repeats_item=True),
            "no array both repeats an item and has unique items",
            (),
        ),
    ],
)
def test_an_array_without_a_value(node: Array, reason: str, path: tuple[str, ...]) -> None:
    found = array(node)
    assert isinstance(found, Never)
    assert (found.reason, found.relative_path) == (reason, path)


@pytest.mark.parametrize(
    "node",
    [
        Array(items=NEVER),
        Array((INTEGER, NEVER), min_items=1),
        Array(contains=(Contains(NEVER, ANY, 0, 3),)),
        Array(max_items=2, contains=(Contains(INTEGER, ANY, 2),)),
        Array((INTEGER,), max_items=3, contains=(Contains(String(), ANY, 2),)),
        Array(min_items=2, max_items=2),
        Array(max_items=2, repeats_item=True),
    ],
)
def test_an_array_with_a_value(node: Array) -> None:
    assert isinstance(array(node), Array)


def test_an_array_ends_before_the_first_item_that_cannot_be() -> None:
    found = array(Array((INTEGER, NEVER, INTEGER), String(), min_items=1, max_items=5))
    assert isinstance(found, Array)
    assert (found.prefix, found.min_items, found.max_items) == ((INTEGER,), 1, 1)


def test_the_order_in_which_keys_are_written_is_no_part_of_a_schema() -> None:
    """Objects with the same values are equal, so a union has each of them once."""
    plain = Object((Property("a", Null()), Property("b", Null())))
    for in_order, also_additional in product((True, False), repeat=2):
        other = Property("a", Null(), in_order=in_order, also_additional=also_additional)
        same = replace(plain, properties=(other, plain.properties[1]))
        assert same == plain and hash(same) == hash(plain) and union((plain, same)) == plain
    for changed in (Property("c", Null()), Property("a", Boolean()), Property("a", Null(), required=False)):
        assert replace(plain, properties=(changed, plain.properties[1])) != plain
