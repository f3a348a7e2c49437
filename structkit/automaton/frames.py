"""Where a text being read is: a state of a rule, its counter, and the frames to return to."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

__all__ = ["Frame", "Memory"]


class Frame:
    """A state of a rule, the rounds its counter has seen, and the frame to return to when the rule ends.

    Made by `Automaton.frame`, which makes equal frames one object: comparing two is comparing their identity,
    however deep the stack. Not to be changed.

    Attributes:
        state: The state.
        count: The rounds of the rule's counted repetition that have begun.
        below: The frame to return to, `None` in the first rule.
        memory: The unique texts of this entry of the rule.
        opened: Whether this frame or one below it is inside a unique text.
    """

    __slots__ = ("below", "count", "memory", "opened", "state")

    opened: bool

    def __init__(self, state: int, count: int, below: Frame | None, memory: Memory | None) -> None:
        self.state = state
        self.count = count
        self.below = below
        self.memory = memory
        self.opened = (below is not None and below.opened) or (
            memory is not None and memory.begin is not None
        )

    def __repr__(self) -> str:
        return f"<Frame {self.state}:{self.count}{'' if self.below is None else f' on {self.below.state}'}>"


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
