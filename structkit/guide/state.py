"""Where a sequence stands: an immutable value, with the answers found for it so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.runtime.distinct import ahead
from structkit.automaton.runtime.stack import Below, Fork, Frame, under
from structkit.index.index import Index
from structkit.index.rows.mask import Mask, few, union, write
from structkit.index.rows.row import Row

__all__ = ["State", "downwards", "growth_of", "look", "mask_of", "suspects", "walks"]


class State:
    """The frames at which a text stands, each a way to read it.

    Attributes:
        frames: The frames.
        kept: The text since the first unique text began that is still open; empty without one.
        can_end: Whether the text may end here.
        forced: The bytes that must come next, once asked for.
        next: The states after tokens taken from here before.
        masks: What the allowed tokens are the union of, without the end tokens, once asked for.
        growth: The most tokens that may be needed to an end after any allowed token, once asked for.
        tight: Whether that was counted exactly.
        way: Tokens that lead to an end, a promise that the states along them inherit; empty if none were found.
        searched: Whether a budget allowed tokens here for the ways of others that lead to the same frames.
    """

    __slots__ = ("can_end", "forced", "frames", "growth", "kept", "masks", "next", "searched", "tight", "way")

    def __init__(self, frames: frozenset[Frame], kept: bytes, can_end: bool) -> None:
        self.frames = frames
        self.kept = kept
        self.can_end = can_end
        self.forced: bytes | None = None
        self.next: dict[int, State] = {}
        self.masks: tuple[Mask, ...] | None = None
        self.growth: int | None = None
        self.tight = False
        self.way: tuple[int, ...] | None = None
        self.searched = False


def look(state: State, index: Index) -> tuple[Mask, ...]:
    """The masks of the state, which are made if they were not yet."""
    masks = state.masks
    if masks is None:
        parts = [row.mask for _, _, row in walks(state, index)]
        if index.automaton.remembers:
            parts = _without_repeats(parts, state, index)
        masks = state.masks = union(parts)
    return masks


def growth_of(state: State, index: Index) -> int:
    """The most tokens that may be needed to an end after any token that the state allows."""
    growth = state.growth
    if growth is None:
        state.tight = index.tight
        growth = state.growth = max(
            (
                row.growth + index.pending(frame) + index.need(frame.below)
                for _, frame, row in walks(state, index)
            ),
            default=0,
        )
    return growth


def mask_of(state: State, index: Index) -> NDArray[np.uint32]:
    """uint32[words]: the tokens that the state allows, without the end tokens."""
    mask = np.empty(index.vocabulary.words, np.uint32)
    write(look(state, index), mask)
    return mask


def walks(state: State, index: Index) -> list[tuple[NDArray[np.int32] | None, Frame, Row]]:
    """What the mask is made of: for each frame its row, then those of the frames below it that a token can reach.

    With each the exits that it reads on from, `None` for the start of every token.
    """
    found: list[tuple[NDArray[np.int32] | None, Frame, Row]] = []
    for frame in state.frames:
        row = index.row(frame)
        found.append((None, frame, row))
        if len(row.exits):
            found += downwards(row.exits, frame.below, index.after)
    return found


def downwards(
    exits: NDArray[np.int32], below: Below, after: Callable[[NDArray[np.int32], Frame], Row]
) -> list[tuple[NDArray[np.int32], Frame, Row]]:
    """What tokens can reach below a frame whose rule they leave at `exits`; with each frame its own exits and row."""
    found: list[tuple[NDArray[np.int32], Frame, Row]] = []
    while isinstance(below, Frame) and len(exits):
        row = after(exits, below)
        found.append((exits, below, row))
        exits, below = row.exits, below.below
    level: dict[Frame, list[NDArray[np.int32]]] = {}
    if isinstance(below, Fork) and len(exits):
        level = {frame: [exits] for frame in below.frames}
    while level:
        following: dict[Frame, list[NDArray[np.int32]]] = {}
        for frame, lists in level.items():
            reached = _union(lists)
            row = after(reached, frame)
            found.append((reached, frame, row))
            for under_it in under(frame) if len(row.exits) else ():
                following.setdefault(under_it, []).append(row.exits)
        level = following
    return found


def _without_repeats(masks: list[Mask], state: State, index: Index) -> list[Mask]:
    """Without the tokens that end a unique text as one seen before, or lead where no other end is left."""
    tokens = suspects(state, index, ended=True)
    if not tokens:
        return masks
    narrow = np.empty(index.vocabulary.words, np.uint32)
    write(masks, narrow)
    allowed = [token for token in tokens if int(narrow[token >> 5]) >> (token & 31) & 1]
    repeating = list(_repeating(allowed, state, index))
    if not repeating:
        return masks
    for token in repeating:
        narrow[token >> 5] &= ~np.uint32(1 << (token & 31))
    words = np.flatnonzero(narrow)
    return [few(words, narrow[words], len(narrow))]


def _repeating(tokens: list[int], state: State, index: Index) -> Iterator[int]:
    """Those of the tokens that lead nowhere; what several of them begin with is read once."""
    texts = index.vocabulary.tokens
    before, path = b"", [(state.frames, state.kept)]
    for token in sorted(tokens, key=texts.__getitem__):
        text = texts[token]
        shared = next((i for i, (a, b) in enumerate(zip(text, before, strict=False)) if a != b), None)
        del path[min(len(before), len(text)) + 1 if shared is None else shared + 1 :]
        while len(path) <= len(text) and path[-1][0]:
            path.append(index.reader.read(*path[-1], text[len(path) - 1 : len(path)]))
        before = text[: len(path) - 1]
        if not path[-1][0]:
            yield token


def _opening(frame: Frame, index: Index, *, ended: bool) -> Iterator[int]:
    """Of the tokens that a frame allows, with those below it, which begin a unique text, or end it there."""
    row = index.row(frame)
    opening = index.opening(None, None, frame, row, ended=ended)
    yield from opening.mask.tokens()
    level = {below: [(row.exits, opening.exits)] for below in under(frame)} if len(row.exits) else {}
    while level:
        following: dict[Frame, list[tuple[NDArray[np.int32], NDArray[np.int32]]]] = {}
        for at, ways in level.items():
            exits, plain = (_union(lists) for lists in zip(*ways, strict=True))
            row = index.after(exits, at)
            opening = index.opening(exits, plain, at, row, ended=ended)
            yield from opening.mask.tokens()
            for below in under(at) if len(row.exits) else ():
                following.setdefault(below, []).append((row.exits, opening.exits))
        level = following


def _union(lists: Sequence[NDArray[np.int32]]) -> NDArray[np.int32]:
    """The exits that are in one of the lists."""
    return lists[0] if len(lists) == 1 else np.unique(np.concatenate(lists))


def suspects(state: State, index: Index, *, ended: bool = False) -> set[int]:
    """The tokens that may repeat a unique text seen before, perhaps with others.

    Rows know nothing of what was seen, so these are tried one by one: those that begin a unique text or must be
    followed by one, and those along the texts seen before where one of them may be repeated. With `ended`, texts count
    only where they end, or where there is an end of what they may go on with: else not all of it was seen.
    """
    found: set[int] = set()
    automaton = index.automaton
    for frame in state.frames:
        found.update(_opening(frame, index, ended=ended))
    for frame in state.frames:
        above, at = frame, frame.below
        while isinstance(at, Frame) and at.opened:
            rule = automaton.rule_of[above.state]
            if ended and index.reader.unique.is_free(rule):
                found.update(index.beginning(ahead(at, state.kept)))
            # A key of its own has one text, and was not entered if that was written before.
            elif automaton.only_text(rule) is None:
                for rest in ahead(at, state.kept):
                    found.update(index.along(rest))
            above, at = at, at.below
    return found
