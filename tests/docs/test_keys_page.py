"""The benchmark of keys gives the same target to each arm, and the page has a row for each arm and number of keys."""

from __future__ import annotations

import json
from pathlib import Path

import lark
import pytest

import structkit as sk
from benchmarks.keys import ARMS, SIZES, Run, cases_of, lark_of, panels, table
from benchmarks.plot import draw
from structkit.testing import byte_vocabulary
from tests.reading import reads


@pytest.mark.parametrize("keys", SIZES)
def test_the_page_has_a_row_for_every_arm(root: Path, keys: int) -> None:
    page = (root / "docs/explain/speed.md").read_text(encoding="utf-8")
    for arm in ARMS:
        assert f"\n| {keys} | {arm} |" in page


@pytest.mark.parametrize("keys", SIZES)
def test_the_grammar_says_the_same_as_the_type(keys: int) -> None:
    case = cases_of(keys, 1)[0]
    parser = lark.Lark(lark_of(case))
    guide = sk.compile(case.target, byte_vocabulary())
    value = dict.fromkeys(case.keys, "x" * 10)
    for changed, is_value in (({}, True), ({"name": "x" * 11}, False), ({"zip": "x"}, False)):
        text = json.dumps({**value, **changed})
        try:
            parser.parse(text)
        except lark.UnexpectedInput:
            assert not is_value
        else:
            assert is_value
        assert reads(guide.cursor(), text.encode()) == is_value


def test_runs_are_rows_and_curves() -> None:
    runs = [
        Run("masked", 10, 50, 0.5, 0.25, passes=20),
        Run("masked", 10, 50, 0.5, 0.25, passes=30),
        Run("grammar-guide", 10, 40, 2.0, 1.0, corrections=9, calls=10, passes=100),
        Run("grammar-guide", 10, 20, 2.0, 1.0, corrections=20, calls=20, passes=150, is_finished=False),
    ]
    assert table(runs, "cpu").splitlines()[2:] == [
        "| 10 | masked | 200 | 0.25 | 50 | 25 |  |  | 100 % |",
        "| 10 | grammar-guide | 30 | 1.00 | 30 | 125 | 15 | 14 | 50 % |",
    ]
    rates, seconds = panels(runs, "cpu")
    assert rates.curves == {"masked": [(10, 200.0)], "grammar-guide": [(10, 30.0)]}
    assert seconds.curves == {"masked": [(10, 0.25)], "grammar-guide": [(10, 2.0)]}
    assert draw([rates, seconds]).startswith("<svg")
