"""Stack frames of a partial text: a state of a rule, its counter, and the frames to return to.

If multiple parses of a text reach the same state, they differ only in the frames to return to. These are put below one
frame, as in a graph-structured stack (Tomita 1987). Therefore ambiguity that doubles at each level needs only a few
frames at any depth.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import reduce
from operator import xor
from typing import TypeAlias

__all__ = ["Below", "Frame", "FrameSet", "SeenTexts", "min_stack_cost", "return_frames", "stack_frames"]


class Frame:
    """A state of a rule, the value of its counter, and the frame to return to when the rule ends.

    Made by `Automaton.frame`, which makes equal frames one object: comparing two is comparing their identity,
    however deep the stack. Not to be changed.

    Attributes:
        state: The state.
        count: The iterations of the rule's counted repetition that have started.
        below: The frame to return to, or several, one for each way to have read the text before; `None` in the first
            rule.
        seen_texts: The distinct texts of this entry of the rule.
        inside_distinct: Whether this frame or one below it is inside a distinct text.
        must_differ: Whether this frame or one below it is inside a distinct text that others were written before.
    """

    __slots__ = ("below", "count", "inside_distinct", "must_differ", "seen_texts", "state")

    inside_distinct: bool
    must_differ: bool

    def __init__(self, state: int, count: int, below: Below, seen_texts: SeenTexts | None) -> None:
        self.state = state
        self.count = count
        self.below = below
        self.seen_texts = seen_texts
        is_open = seen_texts is not None and seen_texts.open_start is not None
        self.inside_distinct = is_open or (below is not None and below.inside_distinct)
        self.must_differ = (is_open and bool(seen_texts and seen_texts.texts)) or (
            below is not None and below.must_differ
        )

    def __repr__(self) -> str:
        states = [str(frame.state) for frame in return_frames(self)]
        return f"<Frame {self.state}:{self.count}{' on ' if states else ''}{' and '.join(states)}>"


class FrameSet:
    """Alternative frames to return to, none of which is inside a distinct text. Interned by `Automaton`, like frames.

    Attributes:
        frames: The frames.
    """

    __slots__ = ("frames",)

    inside_distinct = must_differ = False

    def __init__(self, frames: tuple[Frame, ...]) -> None:
        self.frames = frames


Below: TypeAlias = Frame | FrameSet | None


def return_frames(frame: Frame) -> tuple[Frame, ...]:
    """Return the frames that a frame may return to."""
    below = frame.below
    if below is None:
        return ()
    return (below,) if isinstance(below, Frame) else below.frames


def stack_frames(frame: Frame) -> Iterator[Frame]:
    """Yield a frame and all frames below it, each once."""
    seen: set[FrameSet] = set()
    pending: list[Below] = [frame]
    while pending:
        at = pending.pop()
        while isinstance(at, Frame):
            yield at
            at = at.below
        if at is not None and at not in seen:
            seen.add(at)
            pending += at.frames


def min_stack_cost(
    top: Below, cost: Callable[[Frame], int], known: dict[Frame | FrameSet, int] | None = None
) -> int:
    """Return the minimum sum of frame costs on a path from `top` to the end of the stack.

    Args:
        top: Where it begins.
        cost: What a frame costs.
        known: The answers for frames and forks, to be used again; it is added to.
    """
    if top is None:
        return 0
    known = {} if known is None else known
    pending: list[Frame | FrameSet] = [top]
    while pending:
        at = pending[-1]
        if at in known:
            pending.pop()
        elif isinstance(at, FrameSet):
            unknown = [frame for frame in at.frames if frame not in known]
            if not unknown:
                known[pending.pop()] = min([known[frame] for frame in at.frames])
            pending += unknown
        elif at.below is None or at.below in known:
            known[pending.pop()] = cost(at) + (0 if at.below is None else known[at.below])
        else:
            pending.append(at.below)
    return known[top]


class SeenTexts:
    """The distinct texts seen since a rule was entered, and the start of the open one in the buffered text.

    A value, whose hash takes the same time however many texts there are: frames are looked up by it at every byte.

    Attributes:
        texts: The texts, in order.
        open_start: The place of the open one, `None` without one.
    """

    __slots__ = ("_hash", "_texts_hash", "open_start", "texts")

    def __init__(
        self, texts: tuple[bytes, ...] = (), open_start: int | None = None, texts_hash: int | None = None
    ) -> None:
        """Create the texts.

        Args:
            texts: The texts, in order.
            open_start: The place of the open one.
            texts_hash: The exclusive or of the texts' hashes, if it is known.
        """
        self.texts = texts
        self.open_start = open_start
        self._texts_hash = reduce(xor, map(hash, texts), 0) if texts_hash is None else texts_hash
        self._hash = hash((self._texts_hash, len(texts), open_start))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SeenTexts)
            and self._hash == other._hash
            and self.open_start == other.open_start
            and (self.texts is other.texts or self.texts == other.texts)
        )

    def contains(self, text: bytes | None) -> bool:
        """Return whether the text was seen; `False` for `None`."""
        if text is None:
            return False
        at = bisect_left(self.texts, text)
        return at < len(self.texts) and self.texts[at] == text

    def with_open(self, start: int) -> SeenTexts:
        """Return a copy with a text open that starts at a place."""
        return SeenTexts(self.texts, start, self._texts_hash)

    def with_text(self, text: bytes) -> SeenTexts:
        """Return a copy with one more text, and none open."""
        at = bisect_left(self.texts, text)
        if at < len(self.texts) and self.texts[at] == text:
            return SeenTexts(self.texts, None, self._texts_hash)
        return SeenTexts((*self.texts[:at], text, *self.texts[at:]), None, self._texts_hash ^ hash(text))

    def with_prefix(self, prefix: bytes) -> tuple[bytes, ...]:
        """Return the texts seen that start with a prefix."""
        # No text of a JSON value has the byte 255: UTF-8 never does.
        return self.texts[bisect_left(self.texts, prefix) : bisect_left(self.texts, prefix + b"\xff")]
