"""Unique texts: an open one must still be able to become different from those seen before."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from structkit.automaton.frames import Below, Frame

if TYPE_CHECKING:
    from structkit.automaton.automaton import Automaton

__all__ = ["ahead", "has_another", "leaves_room"]


def leaves_room(automaton: Automaton, frame: Frame, kept: bytes) -> bool:
    """Whether every unique text that is open in the frame's stack can still end as one not seen before."""
    above: list[Frame] = []
    at: Below = frame
    while isinstance(at, Frame) and at.opened:
        texts = _alike(at, kept)
        if texts:
            # The frame that the unique text entered is the one right above: a key of its own, say, with one text.
            only = automaton.only_text(automaton.rule_of[above[-1].state]) if above else None
            repeats = (
                automaton.ways_on(above[0].state) <= len(texts)
                and not _differs(automaton, above, ahead(at, kept), kept)
                if only is None
                else only in texts
            )
            if repeats:
                return False
        above.append(at)
        at = at.below
    return True


def has_another(automaton: Automaton, frame: Frame) -> bool:
    """Whether the rule of a frame can end without another unique text, or there is one that was not seen before.

    A separator, say, must not be written once all texts that may follow it are taken.
    """
    memory = frame.memory
    if memory is None or memory.begin is not None or not memory.seen:
        return True
    rule = automaton.rule_of[frame.state]
    if not automaton.needs_unique(rule)[frame.state - int(automaton.start[rule])]:
        return True
    for callee in automaton.unique_ahead(frame.state):
        only = automaton.only_text(callee)
        entered = automaton.frame(automaton.enter(callee))
        if not memory.has(only) if only is not None else _differs(automaton, [entered], memory.seen, b""):
            return True
    return False


def ahead(frame: Frame, kept: bytes) -> frozenset[bytes]:
    """What the frame's open unique text must not go on with: the rests of the seen texts that begin as it does."""
    texts = _alike(frame, kept)
    begun = len(kept) - (frame.memory.begin or 0) if frame.memory else 0
    return frozenset(text[begun:] for text in texts)


def _alike(frame: Frame, kept: bytes) -> tuple[bytes, ...]:
    """The texts seen that begin as the frame's open unique text does."""
    memory = frame.memory
    return () if memory is None or memory.begin is None else memory.starting(kept[memory.begin :])


def _differs(automaton: Automaton, above: list[Frame], rests: Collection[bytes], kept: bytes) -> bool:
    """Whether the rule entered by the lowest of `above` can end with a text that is not among `rests`.

    Any byte that leads away from all of them will do, since every state leads to an end; so only their own
    beginnings are walked.
    """
    below: Frame | None = None
    for frame in reversed(above):
        below = automaton.frame(frame.state, frame.count, below, frame.memory)
    if automaton.ways_on(above[0].state) > len({rest[:1] for rest in rests}):
        return True
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
