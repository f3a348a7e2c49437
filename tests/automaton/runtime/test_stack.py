"""Parses of a text that differ only in the frames to return to are merged, at any depth."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.stack import (
    Frame,
    FrameSet,
    SeenTexts,
    min_stack_cost,
    return_frames,
    stack_frames,
)
from structkit.errors import LimitExceeded, UnsatisfiableSchema
from structkit.guide.guide import Cursor, Guide
from structkit.regex.nodes import Rules
from tests.languages import recursive_rules, vocabulary

V = vocabulary(b"(0", b"a)", b"b)b)", b"((", b"a)b)a)")

DEEP = 12
"""Nesting levels: pydantic tries both models at each level, so each level doubles the duration."""


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


@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize(
    ("target", "key", "rests"),
    [
        (Plus, "left", [{"right": 2, "plus": True}, {"right": 2, "minus": True}]),
        (Open, "next", [{"a": 1, "z": 1}, {"b": [1], "z": 1}]),
    ],
)
def test_parses_do_not_multiply_with_depth(
    target: type[BaseModel],
    key: str,
    rests: list[dict[str, Any]],
    written: bool,
    order: Literal["declared", "any"],
) -> None:
    schema: Any = target.model_json_schema() if written else target
    guide = sk.compile(schema, sk.testing.byte_vocabulary(), cache=False, order=order)
    value: Any = {key: 1 if target is Plus else None, **rests[1]}
    for level in range(DEEP):
        value = {key: value, **rests[level % 2]}
    text = json.dumps({key: value, **rests[0]})
    target.model_validate_json(text)
    cursor = guide.cursor()
    for byte in text.encode():
        cursor.advance(byte)
        assert len(cursor.state.frames) < 30
    assert cursor.is_accepting


@pytest.mark.long(every=3)
@pytest.mark.parametrize("target", [Plus | Minus, Open, list[Wide | Open]])
def test_the_language_is_the_same(target: Any) -> None:
    report = sk.check(target, n=30)
    assert report.ok, str(report)


class Unmerged(Automaton):
    """An automaton that does not merge frames."""

    def merge_frames(self, frames: Collection[Frame]) -> frozenset[Frame]:
        return frozenset(frames)


@given(recursive_rules, st.none() | st.integers(0, 8), st.data())
def test_masks_equal_those_of_unmerged_frames(rules: Rules, extra: int | None, data: st.DataObject) -> None:
    try:
        automaton = link(rules)
    except UnsatisfiableSchema:
        return
    unmerged = Unmerged(automaton.builder.tables, automaton.limits, automaton.builder)
    merged, plain = Guide(automaton, V).cursor(), Guide(unmerged, V).cursor()
    budget = None if extra is None else merged.min_tokens_to_end() + extra
    for _ in range(7):
        try:
            assert _answers(merged) == _answers(plain)
            allowed = _allowed(merged, budget)
            assert budget is None or _is_valid(allowed, plain, budget)
        except LimitExceeded:  # too many frames without merging
            break
        if not allowed:
            break
        token = data.draw(st.sampled_from(allowed))
        merged.advance(token)
        try:
            plain.advance(token)
        except LimitExceeded:
            break
        budget = None if budget is None else budget - 1


def _answers(cursor: Cursor) -> tuple[list[int], bool, int]:
    return _allowed(cursor, None), cursor.is_accepting, cursor.min_tokens_to_end()


def _allowed(cursor: Cursor, budget: int | None) -> list[int]:
    """Return the allowed tokens, without the end token."""
    mask = np.zeros(V.mask_words, np.uint32)
    cursor.fill_mask(mask, budget)
    tokens: list[int] = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist()
    return [token for token in tokens if token not in V.eos_token_ids]


def _is_valid(allowed: list[int], cursor: Cursor, budget: int) -> bool:
    """Return whether the allowed tokens fit the budget, and are not empty if any token fits and the text must go on.

    The tokens may differ, because they depend on the completion that was found.
    """
    if allowed:
        return all(_fits(cursor, token, budget) for token in allowed)
    return cursor.is_accepting or not any(_fits(cursor, token, budget) for token in _allowed(cursor, None))


def _fits(cursor: Cursor, token: int, budget: int) -> bool:
    after = cursor.fork()
    after.advance(token)
    return budget > 0 and after.fits(budget - 1)


def _paths(top: Frame | FrameSet | None) -> list[list[Frame]]:
    """Return the frames of each way to the end of the stack."""
    if top is None:
        return [[]]
    if isinstance(top, FrameSet):
        return [path for frame in top.frames for path in _paths(frame)]
    return [[top, *path] for path in _paths(top.below)]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(0, 9), max_size=3)), min_size=1, max_size=7)
)
def test_the_cost_of_a_stack_is_that_of_its_cheapest_path(made: list[tuple[int, list[int]]]) -> None:
    frames: list[Frame] = []
    for cost, below in made:
        chosen = list(dict.fromkeys(frames[number % len(frames)] for number in below if frames))
        under = None if not chosen else chosen[0] if len(chosen) == 1 else FrameSet(tuple(chosen))
        frames.append(Frame(cost, 0, under, None))
    for top in frames:
        paths = _paths(top)
        assert min_stack_cost(top, lambda frame: frame.state) == min(
            sum(each.state for each in path) for path in paths
        )
        assert {id(frame) for frame in stack_frames(top)} == {id(frame) for path in paths for frame in path}
        assert list(return_frames(top)) == list(dict.fromkeys(path[1] for path in paths if path[1:]))
    known: dict[Frame | FrameSet, int] = {}
    costs = [min_stack_cost(top, lambda frame: frame.state, known) for top in frames]
    assert costs == [min_stack_cost(top, lambda frame: frame.state, known) for top in frames]
    assert min_stack_cost(None, lambda frame: 1) == 0


@given(st.lists(st.binary(max_size=2)), st.binary(max_size=2), st.none() | st.integers(0, 3))
def test_texts_that_were_seen_are_a_set(texts: list[bytes], other: bytes, start: int | None) -> None:
    seen = SeenTexts()
    for text in texts:
        seen = (seen if start is None else seen.with_open(start)).with_text(text)
    again = SeenTexts()
    for text in reversed(texts):
        again = again.with_text(text)
    assert list(seen.texts) == sorted(set(texts)) and seen.open_start is None
    assert seen == again and hash(seen) == hash(again)
    assert seen.contains(other) == (other in texts) and not seen.contains(None)
    assert (seen.with_text(other) == seen) == (other in texts)
    assert (seen.with_open(1).texts, seen.with_open(1).open_start) == (seen.texts, 1)
    assert seen.with_open(1) != seen != seen.with_open(2) and seen.with_open(1) == again.with_open(1)
    plain = [text for text in seen.texts if text.startswith(other)]
    assert [text for text in seen.with_prefix(other) if b"\xff" not in text] == [
        text for text in plain if b"\xff" not in text
    ]
