"""The entries of the rules of a product: which are separated, and how many others there are."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.lowering.containers.product_rule import ProductTable
from structkit.regex.nodes import EMPTY, NEVER, LiteralText, Node

ENTRIES: list[list[Node]] = [[LiteralText("a1"), LiteralText("a2")], [LiteralText("x")], [LiteralText("y")]]


def _table(entries: list[list[Node]]) -> ProductTable:
    states: Any = None
    return ProductTable(states, entries, 1, ", ", "$")


def _accepted(node: Node, texts: list[str]) -> list[bool]:
    if node is NEVER:
        return [False] * len(texts)
    dfa = regular_dfa(node)
    return [dfa.accepts(text.encode()) for text in texts]


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize(("least", "most"), [(0, None), (0, 0), (0, 2), (1, 1), (2, 3), (2, None), (1, 0)])
def test_the_other_entries_are_as_many_as_they_may_be(least: int, most: int | None, started: bool) -> None:
    lists = [", ".join(each) for size in range(5) for each in product("xy", repeat=size)]
    texts = [f", {each}" if started and each else each for each in lists] + [
        "a1",
        ", x" if not started else "x",
    ]
    found = _accepted(_table(ENTRIES).additional(least, most, started=started), texts)
    for text, is_one in zip(texts, found, strict=True):
        count = text.count("x") + text.count("y")
        is_list = text == "" or (text[2:] in lists and text[:2] == ", " if started else text in lists)
        assert is_one == (
            is_list and "a" not in text and least <= count and (most is None or count <= most)
        ), text


def test_without_other_entries_there_is_none() -> None:
    table = _table(ENTRIES[:1])
    for started in (False, True):
        assert table.additional(0, None, started=started) == EMPTY
        assert table.additional(1, None, started=started) is NEVER


@pytest.mark.parametrize("started", [False, True])
def test_an_entry_has_a_value_of_one_of_its_cases(started: bool) -> None:
    table, comma = _table(ENTRIES), ", " if started else ""
    for cases in ([0], [1], [0, 1]):
        texts = [f"{comma}a1", f"{comma}a2", "a1" if started else ", a1", ""]
        found = _accepted(table.entry(0, cases, started=started), texts)
        assert found == [0 in cases, 1 in cases, False, False]
