"""Alternatives that begin alike are read as one, however deep they hold each other."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

import structkit as sk
from structkit.automaton.link import link
from structkit.regex.from_schema import lower
from structkit.schema.output import OutputType

DEEP = 12
"""Levels: pydantic tries both models at each, so it takes twice as long for one more."""


class Plus(BaseModel):
    left: Plus | Minus | int
    right: int | Minus | Plus
    plus: bool


class Minus(BaseModel):
    left: Plus | Minus | int
    right: Plus | Minus | int
    minus: bool


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    next: Open | Wide | None
    a: int = 0


class Wide(BaseModel):
    model_config = ConfigDict(extra="allow")
    next: Wide | Open | None
    b: list[int] = Field(max_length=5_000)


@pytest.mark.parametrize(
    ("target", "key", "rests"),
    [
        (Plus, "left", [{"right": 2, "plus": True}, {"right": 2, "minus": True}]),
        (Open, "next", [{"a": 1, "z": 1}, {"b": [1], "z": 1}]),
    ],
)
def test_ways_to_read_do_not_multiply_with_depth(
    target: type[BaseModel], key: str, rests: list[dict[str, Any]]
) -> None:
    guide = sk.compile(target, sk.testing.byte_vocabulary(), cache=False)
    value: Any = {key: 1 if target is Plus else None, **rests[1]}
    for level in range(DEEP):
        value = {key: value, **rests[level % 2]}
    text = json.dumps({key: value, **rests[0]})
    target.model_validate_json(text)
    cursor = guide.cursor()
    for byte in text.encode():
        cursor.advance(byte)
        assert len(cursor.state.frames) < 10
    assert cursor.can_end


@pytest.mark.parametrize("target", [Plus | Minus, Open, list[Wide | Open]])
def test_the_language_is_the_same(target: Any) -> None:
    report = sk.check(target, n=30)
    assert report.ok, str(report)


def test_what_begins_apart_stays_as_it_is() -> None:
    rules = lower(OutputType.of(dict[str, Plus | list[int]]).document).rules
    assert {"#Plus", "#Minus | #Plus"} <= rules.keys()
    assert link(lower(OutputType.of(Plus).document)).accepts(b'{"left": 1, "right": 2, "plus": true}')
