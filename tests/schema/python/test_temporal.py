"""Datetimes within bounds: those that pydantic accepts."""

from __future__ import annotations

import datetime as dt
from itertools import product
from typing import Annotated, Any

import pytest
from pydantic import AwareDatetime, Field, NaiveDatetime, TypeAdapter, ValidationError

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
