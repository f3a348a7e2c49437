"""Unique texts: an open one must still be able to become different from those seen before."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structkit.automaton.automaton import Automaton, Frame

__all__ = ["ahead", "leaves_room"]


def leaves_room(automaton: Automaton, frame: Frame, kept: bytes) -> bool:
    """Whether every unique text that is open in the frame's stack can still end as one not seen before."""
    above: list[Frame] = []
    at: Frame | None = frame
    while at is not None and at.opened:
        rests = ahead(at, kept)
        if rests and not _differs(automaton, above, rests, kept):
            return False
        above.append(at)
        at = at.below
    return True


def ahead(frame: Frame, kept: bytes) -> frozenset[bytes]:
    """What the frame's open unique text must not go on with: the rests of the seen texts that begin as it does."""
    if frame.memory is None or frame.memory.begin is None:
        return frozenset()
    begun = kept[frame.memory.begin :]
    return frozenset(text[len(begun) :] for text in frame.memory.seen if text.startswith(begun))


def _differs(automaton: Automaton, above: list[Frame], rests: frozenset[bytes], kept: bytes) -> bool:
    """Whether the rule entered by the lowest of `above` can end with a text that is not among `rests`.

    Any byte that leads away from all of them will do, since every state leads to an end; so only their own
    beginnings are walked.
    """
    below: Frame | None = None
    for frame in reversed(above):
        below = automaton.frame(frame.state, frame.count, below, frame.memory)
    beginnings = {rest[:length] for rest in rests for length in range(len(rest) + 1)}
    pending = [(automaton.settle([below] if below else [], kept), b"")]
    while pending:
        frames, text = pending.pop()
        if automaton.can_end(frames) and text not in rests:
            return True
        for byte in dict.fromkeys(automaton.next_bytes(frames)):
            longer = text + bytes((byte,))
            if longer not in beginnings:
                return True
            pending.append((automaton.step(frames, byte, kept + longer), longer))
    return False
