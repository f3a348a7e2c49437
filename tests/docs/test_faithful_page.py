"""What the pages say of faithful sampling, and the benchmark behind it."""

from __future__ import annotations

import doctest
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import faithful
from benchmarks.plot import draw


def test_the_examples_of_the_docstrings_run() -> None:
    assert doctest.testmod(faithful).failed == 0


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[int, faithful.Row]]:
    return {
        case.name: {count: faithful.measure(case, count, 20, seed=1) for count in (2, 16)}
        for case in faithful.CASES
    }


def test_the_table_has_each_case_and_the_plot_is_drawn(rows: dict[str, dict[int, faithful.Row]]) -> None:
    page = Path("docs/explain/right-answers.md").read_text(encoding="utf-8")
    for line in faithful.table(rows).splitlines():
        if "| masked |" in line or line.startswith("| case"):
            assert line in page  # what does not depend on random numbers
    ElementTree.fromstring(draw(faithful.panels(rows)))


def test_every_distribution_sums_to_1() -> None:
    for case in faithful.CASES:
        exact, total = faithful.exact_law(case)
        assert sum(exact.values()) == pytest.approx(1)
        assert sum(faithful.masked_law(case).values()) == pytest.approx(1)
        assert 0 < total < 1
        assert not set(exact) & case.refused
