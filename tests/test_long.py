"""Tests with the marker `long` are left out by default, and the end of a run says so."""

from __future__ import annotations

import pytest

TESTS = """
import pytest

@pytest.mark.long
def test_alone(): ...

@pytest.mark.long(every=2)
@pytest.mark.parametrize("number", range(5))
def test_cases(number): ...
"""


@pytest.mark.parametrize(
    ("arguments", "passed", "deselected", "is_said"),
    [
        ((), 3, 3, True),
        (("-k", "alone"), 0, 6, True),
        (("-m", "long"), 3, 3, False),
        (("test_it.py::test_alone",), 1, 0, False),
    ],
    ids=str,
)
def test_long_tests_run_when_they_are_chosen(
    arguments: tuple[str, ...],
    passed: int,
    deselected: int,
    is_said: bool,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("STRUCTKIT_ALL", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest("from tests.conftest import pytest_collection_modifyitems, pytest_terminal_summary")
    pytester.makeini("[pytest]\nmarkers = long")
    pytester.makepyfile(test_it=TESTS)
    result = pytester.runpytest_inprocess(*arguments)
    result.assert_outcomes(passed=passed, deselected=deselected)
    assert ("tests left out: `sh scripts/test -m long` runs them" in result.stdout.str()) is is_said
