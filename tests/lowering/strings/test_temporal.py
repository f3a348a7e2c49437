"""Bounds of dates, times and durations, compared with pydantic."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any

import pytest
from annotated_types import Ge, Le
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.lowering.strings.temporal import dates, datetimes, durations, times
from structkit.regex.nodes import NEVER
from tests.regex.oracle import holds
from tests.shared import cases

_TICK = dt.timedelta(microseconds=1)
_LONG = dt.timedelta(days=99_999_999)
_spans = st.timedeltas(-_LONG, _LONG) | st.timedeltas(dt.timedelta(-2), dt.timedelta(2))


def _accepts(kind: Any, low: Any, high: Any, text: str) -> bool:
    try:
        TypeAdapter(Annotated[kind, Ge(low), Le(high)]).validate_python(text)
    except ValidationError:
        return False
    return True


@settings(max_examples=cases(10, of=60), deadline=None)
@given(st.lists(st.dates(), min_size=3, max_size=3))
def test_dates_are_within_the_bounds(days: list[dt.date]) -> None:
    low, high = sorted(days[:2])
    language = dates(low.isoformat(), high.isoformat())
    for day in (*days, low, high):
        assert holds(language, day.isoformat()) == (low <= day <= high)


@settings(max_examples=cases(10, of=60), deadline=None)
@given(st.lists(st.datetimes(), min_size=3, max_size=3))
def test_datetimes_are_within_the_bounds(moments: list[dt.datetime]) -> None:
    low, high = sorted(moments[:2])
    language = datetimes(low.isoformat(), high.isoformat(), "naive")
    for moment in (*moments, low, high, low.replace(microsecond=0), high.replace(microsecond=999_999)):
        text = moment.isoformat()
        assert holds(language, text) == (low <= moment <= high) == _accepts(dt.datetime, low, high, text)


@settings(max_examples=cases(10, of=60), deadline=None)
@given(st.lists(st.times(), min_size=3, max_size=3))
def test_times_are_within_the_bounds(drawn_times: list[dt.time]) -> None:
    low, high = sorted(drawn_times[:2])
    language = times(low.isoformat(), high.isoformat(), "naive")
    for time in (*drawn_times, low, high):
        assert holds(language, time.isoformat()) == (low <= time <= high)


@settings(max_examples=cases(10, of=60), deadline=None)
@given(st.lists(_spans, min_size=3, max_size=3))
def test_durations_are_within_the_bounds(spans: list[dt.timedelta]) -> None:
    low, high = sorted(spans[:2])
    language = durations(low // _TICK, high // _TICK)
    for span in (*spans, low, high, low - _TICK, high + _TICK):
        text = TypeAdapter(dt.timedelta).dump_json(span).decode()[1:-1]
        assert holds(language, text) == (low <= span <= high)


def test_inverted_bounds_are_empty() -> None:
    assert dates("2024-01-02", "2024-01-01") == NEVER


def test_canonical_values_have_one_text() -> None:
    language = datetimes(canonical=True)
    texts = ["2024-01-01T00:00:00", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.500000"]
    assert all(holds(language, text) for text in texts)
    others = ["2024-01-01T00:00:00+00:00", "2024-01-01T00:00:00.5", "2024-01-01T00:00:00.000000"]
    assert not any(holds(language, text) for text in others)


@given(st.integers(-3, 3), st.integers(-3, 3))
def test_no_duration_is_written_if_and_only_if_it_is_within_the_bounds(low: int, high: int) -> None:
    node = durations(low, high)
    assert (node is not NEVER and holds(node, "PT0S")) == (low <= 0 <= high)


ZONES = {
    "naive": [""],
    "aware": ["Z", "+01:00", "-23:59"],
    "utc": ["Z"],
    "any": ["", "Z", "+01:00", "-23:59"],
    "+05:30": ["+05:30"],
}


@pytest.mark.parametrize("zone", ZONES)
def test_the_offsets_of_each_zone(zone: str) -> None:
    for node, clock in ((times(zone=zone), "01:02:03"), (datetimes(zone=zone), "2024-02-29T01:02:03")):
        accepts = regular_dfa(node).accepts
        found = {each for each in ["", "Z", "+01:00", "-23:59", "+05:30", "+24:00", "z", "+1"]
                 if accepts(f"{clock}{each}".encode())}  # fmt: skip
        expected = {*ZONES[zone], *(["+05:30"] if zone in ("aware", "any") else [])}
        assert found == expected
