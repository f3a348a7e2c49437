"""Where a text being read is: a state of a rule, its counter, and the frames to return to.

Where a text can be read in several ways that have come to the same state, the frames to return to are the only
difference: they are put below one frame, as in a graph-structured stack (Tomita 1987). Ways that each level doubles
so stay a few frames, however deep.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Below", "Fork", "Frame", "Memory", "fewest", "through", "under"]


class Frame:
    """A state of a rule, the rounds its counter has seen, and the frame to return to when the rule ends.

    Made by `Automaton.frame`, which makes equal frames one object: comparing two is comparing their identity,
    however deep the stack. Not to be changed.

    Attributes:
        state: The state.
        count: The rounds of the rule's counted repetition that have begun.
        below: The frame to return to, or several, one for each way to have read the text before; `None` in the first
            rule.
        memory: The unique texts of this entry of the rule.
        opened: Whether this frame or one below it is inside a unique text.
    """

    __slots__ = ("below", "count", "memory", "opened", "state")

    opened: bool

    def __init__(self, state: int, count: int, below: Below, memory: Memory | None) -> None:
        self.state = state
        self.count = count
        self.below = below
        self.memory = memory
        self.opened = (below is not None and below.opened) or (
            memory is not None and memory.begin is not None
        )

    def __repr__(self) -> str:
        states = [str(frame.state) for frame in under(self)]
        return f"<Frame {self.state}:{self.count}{' on ' if states else ''}{' and '.join(states)}>"


class Fork:
    """Frames to return to, any of which may be. Made by `Automaton.fork`, as frames are; none is inside a unique text.

    Attributes:
        frames: The frames.
    """

    __slots__ = ("frames",)

    opened = False

    def __init__(self, frames: tuple[Frame, ...]) -> None:
        self.frames = frames


Below: TypeAlias = Frame | Fork | None


def under(frame: Frame) -> tuple[Frame, ...]:
    """The frames that a frame may return to."""
    below = frame.below
    if below is None:
        return ()
    return (below,) if isinstance(below, Frame) else below.frames


def through(frame: Frame) -> Iterator[Frame]:
    """A frame and all that are below it, each once."""
    seen: set[Fork] = set()
    pending: list[Below] = [frame]
    while pending:
        at = pending.pop()
        while isinstance(at, Frame):
            yield at
            at = at.below
        if at is not None and at not in seen:
            seen.add(at)
            pending += at.frames


def fewest(top: Below, cost: Callable[[Frame], int], known: dict[Fork, int] | None = None) -> int:
    """The least sum of what frames cost on a way from `top` to the end of the stack.

    Args:
        top: Where it begins.
        cost: What a frame costs.
        known: The answers for forks, to be used again.
    """
    known = {} if known is None else known

    def down(at: Below) -> tuple[int, Fork | None]:
        total = 0
        while isinstance(at, Frame):
            total += cost(at)
            at = at.below
        return total, at

    total, first = down(top)
    pending = [] if first is None else [first]
    while pending:
        ways = [down(frame) for frame in pending[-1].frames]
        unknown = [fork for _, fork in ways if fork is not None and fork not in known]
        if unknown:
            pending += unknown
        else:
            known[pending.pop()] = min(length + (known[fork] if fork else 0) for length, fork in ways)
    return total + (known[first] if first is not None else 0)


@dataclass(frozen=True, slots=True)
class Memory:
    """The unique texts that one entry of a rule has seen, and where the open one begins in the text kept for it.

    Attributes:
        seen: The texts, in order.
        begin: The place of the open one, `None` without one.
    """

    seen: tuple[bytes, ...] = ()
    begin: int | None = None

    def has(self, text: bytes | None) -> bool:
        """Whether the text was seen; `None` never is."""
        if text is None:
            return False
        at = bisect_left(self.seen, text)
        return at < len(self.seen) and self.seen[at] == text

    def closed(self, text: bytes) -> Memory:
        """The memory with one more text, and none open."""
        at = bisect_left(self.seen, text)
        return Memory(self.seen if self.has(text) else (*self.seen[:at], text, *self.seen[at:]))

    def starting(self, begun: bytes) -> tuple[bytes, ...]:
        """The texts seen that begin so."""
        # No text of a JSON value has the byte 255: UTF-8 never does.
        return self.seen[bisect_left(self.seen, begun) : bisect_left(self.seen, begun + b"\xff")]
