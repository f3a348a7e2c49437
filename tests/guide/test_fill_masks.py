"""`Guide.fill_masks` against `Cursor.fill_mask`, row by row."""

from __future__ import annotations

import threading
from typing import Annotated

import numpy as np
import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.guide.healing import HealedCursor
from structkit.testing import byte_vocabulary, small_vocabulary

V = small_vocabulary()


class Tree(BaseModel):
    name: Annotated[str, Field(max_length=30)]
    size: int
    children: list[Tree]


TARGETS: list[object] = [
    Tree,
    bool,
    sk.Regex("(ab|a)*c"),
    {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
    sk.JsonSchema({"type": "object", "properties": {"a": {}, "b": {"type": "string"}}}),
]


def _walk(guide: sk.Guide, random: np.random.Generator, steps: int) -> sk.Cursor:
    """Advance by random allowed tokens."""
    cursor, out = guide.cursor(), np.empty(V.mask_words, np.uint32)
    for _ in range(steps):
        cursor.fill_mask(out)
        allowed = np.flatnonzero(np.unpackbits(out.view(np.uint8), bitorder="little"))
        if cursor.is_terminated:
            break
        cursor.advance(int(random.choice(allowed)))
    return cursor


@pytest.mark.parametrize("seed", range(8))
def test_each_row_is_the_mask_of_its_cursor(seed: int) -> None:
    random = np.random.default_rng(seed)
    # New guides, so that rows are written both when they are new and when they are known.
    guides = [sk.compile(target, V, cache=False) for target in TARGETS]  # type: ignore[call-overload]
    cursors = [
        _walk(guides[random.integers(len(guides))], random, int(random.integers(30))) for _ in range(80)
    ]
    cursors += [HealedCursor(guides[0], b'{"na'), HealedCursor(guides[0], b"")]
    budgets = [None if random.random() < 0.5 else int(random.integers(40)) for _ in cursors]
    expected = np.empty((len(cursors), V.mask_words), np.uint32)
    for fits in (False, True):
        limits = budgets if fits else None
        for _ in range(2):
            out = np.full_like(expected, 0x5A5A5A5A)
            assert guides[0].fill_masks(cursors, out, limits) == {}
            for row, cursor in enumerate(cursors):
                cursor.fill_mask(expected[row], budgets[row] if fits else None)
            assert (out == expected).all()


def test_a_row_without_a_cursor_allows_everything() -> None:
    guide = sk.compile(bool, V)
    out = np.zeros((3, V.mask_words), np.uint32)
    guide.fill_masks([None, guide.cursor(), None], out)
    assert (out[[0, 2]] == 0xFFFFFFFF).all() and out[1].any()
    guide.fill_masks([], out[:0])


def test_other_layouts_are_written_too() -> None:
    guide = sk.compile(Tree, V)
    cursors = [_walk(guide, np.random.default_rng(seed), 9) for seed in range(9)]
    expected = np.empty((9, V.mask_words), np.uint32)
    guide.fill_masks(cursors, expected)
    for out in (np.empty((18, V.mask_words), np.uint32)[::2], np.empty((V.mask_words, 9), np.uint32).T):
        guide.fill_masks(cursors, out)
        assert (out == expected).all()


def test_a_row_with_an_error_changes_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    guide = sk.compile(Tree, V)
    bad = _walk(guide, np.random.default_rng(1), 5)
    error = sk.LimitExceeded("row_bytes", 1, "a row")

    def fail(*_: object) -> None:
        raise error

    # A terminated, a healed or a new row is written alone; here one is, and fails.
    monkeypatch.setattr(bad, "fill_mask", fail)
    monkeypatch.setattr(bad, "_terminated", True)
    out, expected = np.full((2, 3, V.mask_words), 7, np.uint32)
    guide.fill_masks([guide.cursor()] * 3, expected)
    errors = guide.fill_masks([guide.cursor(), bad, guide.cursor()], out, return_exceptions=True)
    assert errors == {1: error} and "row 1" in str(error)
    assert (out[[0, 2]] == expected[[0, 2]]).all() and not out[1].any()
    out[:] = 7
    with pytest.raises(sk.LimitExceeded, match="row 1"):
        guide.fill_masks([guide.cursor(), bad, guide.cursor()], out)
    assert (out[[0, 2]] == expected[[0, 2]]).all()


def test_a_full_parser_is_renewed() -> None:
    guide = sk.compile(Tree, V, cache=False, limits=sk.Limits(row_bytes=1))
    cursors = [_walk(guide, np.random.default_rng(seed), 60) for seed in range(12)]
    out, expected = np.empty((2, 12, V.mask_words), np.uint32)
    guide.fill_masks(cursors, out)
    for row, cursor in enumerate(cursors):
        cursor.fill_mask(expected[row])
    assert (out == expected).all()


def test_bad_arguments() -> None:
    guide = sk.compile(bool, V)
    words = V.mask_words
    for out in (np.empty((2, words), np.uint32), np.empty((1, words), np.int32), np.empty(words, np.uint32)):
        with pytest.raises(ValueError, match=rf"out must be uint32\[1, {words}\]"):
            guide.fill_masks([guide.cursor()], out)
    one = np.empty((1, words), np.uint32)
    with pytest.raises(ValueError, match="2 budgets for 1 cursors"):
        guide.fill_masks([guide.cursor()], one, [1, 2])
    with pytest.raises(ValueError, match="row 0 has another vocabulary"):
        guide.fill_masks([sk.compile(bool, byte_vocabulary()).cursor()], one)
    one.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        guide.fill_masks([guide.cursor()], one)


def test_threads_share_a_guide_whose_arrays_grow() -> None:
    guide = sk.compile(Tree, V, cache=False)
    failures: list[int] = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        out, expected = np.empty((2, 8, V.mask_words), np.uint32)
        for _ in range(12):
            cursors = [_walk(guide, random, int(random.integers(40))) for _ in range(8)]
            guide.fill_masks(cursors, out)
            for row, cursor in enumerate(cursors):
                cursor.fill_mask(expected[row])
            if not (out == expected).all():
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
