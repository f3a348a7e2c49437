"""Removal of unsatisfiable parts."""

from __future__ import annotations

from typing import Any

import pytest

import structkit as sk
from structkit.testing import byte_vocabulary
from tests.hostile import shapes


@pytest.mark.parametrize(
    "case",
    [case for case in shapes.CASES if ", 30 deep" in case.name and "uneval" in case.name],
    ids=lambda case: case.name,
)
def test_a_part_in_many_places_is_visited_once(case: Any) -> None:
    guide = sk.compile(case.make(), byte_vocabulary(), cache=False)  # 2 ** 30 visits would take minutes
    assert guide.cursor().forced_bytes().startswith(b"{")
    assert "unevaluatedProperties" in {row.keyword for row in sk.explain(case.make()).rows}
