"""The page about large numbers has every size of every keyword, and counts do not enlarge the automaton."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.growth import KEYWORDS, Point, curves, sizes_of, table
from benchmarks.plot import draw
from structkit.automaton.link import link
from structkit.targets.targets import read_target


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_the_page_has_a_row_for_every_size(root: Path, keyword: str) -> None:
    page = (root / "docs/explain/growth.md").read_text(encoding="utf-8")
    for size in sizes_of(keyword):
        assert f"\n| `{keyword}` | {size:,} |" in page


@pytest.mark.parametrize("keyword", ["maxLength", "maxItems", "minItems"])
def test_a_count_does_not_enlarge_the_automaton(keyword: str) -> None:
    def states(size: int) -> int:
        schema, _ = KEYWORDS[keyword](size)
        return len(link(read_target({"type": "array", **schema}).rules()).build_all().row)

    assert states(1_000) == states(1_000_000)


def test_definitions_are_built_when_a_text_reaches_them() -> None:
    schema, _ = KEYWORDS["$defs"](1_000)
    assert len(link(read_target({"type": "array", **schema}).rules()).built) < 10


def test_points_are_rows_and_curves() -> None:
    points = [
        Point("enum", 10, compiled=0.001, first_mask=0.002, steps=(1e-6, 3e-6, 5e-6), memory=10**7),
        Point("enum", 100, problem="refused: `states`", compiled=1.5),
        Point("enum", 100, raised=True, compiled=2, first_mask=2, steps=(1e-6,), memory=10**9),
    ]
    assert table(points).splitlines()[2:] == [
        "| `enum` | 10 | 1.0 | 2.0 | 3.0 | 3.0 | 5.0 | 10.0 |",
        "| `enum` | 100 | 1,500 | refused: `states` |  |  |  | 0.0 |",
        "| `enum`, limits raised | 100 | 2,000 | 2,000 | 1.0 | 1.0 | 1.0 | 1,000 |",
    ]
    words = [text for text in ElementTree.fromstring(draw(curves(points))).itertext() if text.strip()]
    assert {"enum", "enum, limits raised", "refused", "ms to the first mask", "MB at the peak"} <= set(words)
