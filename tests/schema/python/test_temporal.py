"""Datetimes within bounds: those that pydantic accepts."""

from __future__ import annotations

import datetime as dt
import json
from itertools import product
from typing import Annotated, Any

import pytest
from pydantic import (
    AwareDatetime,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    NaiveDatetime,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic_core import CoreSchema

import structkit as sk
from structkit.testing import byte_vocabulary

V = byte_vocabulary()
ZONES = "", "Z", "+02:00", "-00:30"
LOCAL, INSTANT = dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)


def _accepts(guide: sk.Guide, text: str) -> bool:
    cursor = guide.cursor()
    try:
        for byte in text.encode():
            cursor.advance(byte)
    except sk.TokenRejected:
        return False
    return cursor.is_accepting


@pytest.mark.parametrize("bound", [LOCAL, INSTANT], ids=["local", "instant"])
@pytest.mark.parametrize("base", [dt.datetime, AwareDatetime, NaiveDatetime])
@pytest.mark.parametrize("name", ["gt", "le"])
def test_datetimes_are_those_of_pydantic_or_fewer_offsets(base: Any, bound: dt.datetime, name: str) -> None:
    target = Annotated[base, Field(**{name: bound})]
    guide, adapter = sk.compile(target, V, cache=False), TypeAdapter(target)
    for year, zone in product((2019, 2020, 2021), ZONES):
        text = f'"{year}-06-01T00:00:00{zone}"'
        try:
            adapter.validate_json(text)
            is_valid = True
        except ValidationError:
            is_valid = False
        found = _accepts(guide, text)
        assert found <= is_valid, text
        assert found == is_valid or zone not in ("", "Z"), text


class _Offset:
    """A datetime must have this offset in seconds."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        return {**schema, "tz_constraint": self.seconds}  # type: ignore[typeddict-unknown-key]


@pytest.mark.parametrize("bounds", [{}, {"ge": INSTANT}], ids=["any", "bounded"])
@pytest.mark.parametrize("seconds", [0, 7200, -1800])
def test_datetimes_of_an_offset_are_those_of_pydantic(seconds: int, bounds: dict[str, dt.datetime]) -> None:
    target = Annotated[dt.datetime, _Offset(seconds), Field(**bounds)]  # type: ignore[arg-type]
    guide, adapter = sk.compile(target, V, cache=False), TypeAdapter(target)
    own = {0: "Z", 7200: "+02:00", -1800: "-00:30"}[seconds]
    for day, hour, zone in product(("2019-12-31", "2020-01-01"), range(0, 24, 2), ZONES):
        text = f'"{day}T{hour:02}:00:00{zone}"'
        try:
            adapter.validate_json(text)
            is_valid = True
        except ValidationError:
            is_valid = False
        assert _accepts(guide, text) == is_valid and is_valid <= (zone == own), text


@pytest.mark.parametrize("form", ["float", "iso8601"])
@pytest.mark.parametrize(
    "bounds", [{}, {"ge": 0}, {"le": 0}, {"gt": -2, "lt": 90}, {"ge": 60, "le": 60}], ids=str
)
def test_durations_are_those_of_pydantic(bounds: dict[str, int], form: Any) -> None:
    field = Field(**{name: dt.timedelta(seconds=bound) for name, bound in bounds.items()})  # type: ignore[arg-type]
    made = create_model(
        "Made", __config__=ConfigDict(ser_json_timedelta=form), d=(Annotated[dt.timedelta, field], ...)
    )
    guide = sk.compile(made, V, cache=False)
    for seconds in (-3, -2, -1.5, -1, 0, 0.5, 1, 59, 59.999, 60, 61, 89.5, 90, 91, 86400.25):
        text = made.model_construct(d=dt.timedelta(seconds=seconds)).model_dump_json()
        try:
            made.model_validate_json(text)
            is_valid = True
        except ValidationError:
            is_valid = False
        written = json.dumps(json.loads(text))
        assert _accepts(guide, written) == is_valid, written
