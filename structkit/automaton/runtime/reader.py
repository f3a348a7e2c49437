"""Reading of texts with an automaton; a kernel reads runs in which byte transitions are the only moves."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core import kernels
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.distinct import (
    DistinctTexts,
    Fuel,
    can_still_differ,
    cannot_repeat,
    has_unused_text,
)
from structkit.automaton.runtime.stack import Frame

__all__ = ["Reader"]


class Reader:
    """Reads texts against an automaton.

    Args:
        automaton: The automaton.

    Attributes:
        automaton: The automaton.
    """

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton

    @cached_property
    def distinct(self) -> DistinctTexts:
        """Facts about the distinct texts of the rules."""
        return DistinctTexts(self.automaton)

    def read(
        self, frames: frozenset[Frame], kept: bytes, text: bytes, fuel: Fuel | None = None
    ) -> tuple[frozenset[Frame], bytes]:
        """Return the frames after more bytes, and the buffered text of the distinct texts that are open then.

        What must be searched for that takes reads from `fuel`.
        """
        at, content = 0, np.frombuffer(text, np.uint8)
        while at < len(text) and frames:
            read = at
            if len(frames) == 1:
                (frame,) = frames
                read, glided = self._glide(frame, content, at)
            if read > at and cannot_repeat(self.distinct, glided, fuel):
                kept += text[at:read]
                at, frames = read, frozenset((glided,))
            else:
                kept += text[at : at + 1]
                frames = frozenset(
                    frame
                    for frame in self.automaton.step(frames, text[at], kept)
                    if can_still_differ(self.distinct, frame, kept, fuel)
                    and has_unused_text(self.distinct, frame, fuel)
                )
                at += 1
            if not any(frame.inside_distinct for frame in frames):
                kept = b""
        return frames, kept

    def _glide(self, frame: Frame, content: NDArray[np.uint8], at: int) -> tuple[int, Frame]:
        """Read bytes while they are the only moves; return the place of the first one not read, and the frame there."""
        automaton = self.automaton
        read, state, count = kernels.run_bytes(
            automaton.row, automaton.targets, automaton.classes, automaton.rule,
            automaton.byte_only, automaton.min_count, automaton.max_count,
            frame.state, frame.count, content, at,
        )  # fmt: skip
        return read, frame if read == at else automaton.frame(state, count, frame.below, frame.seen_texts)

    def accepts(self, text: bytes) -> bool:
        """Return whether the automaton accepts the text.

        >>> from structkit.automaton.link import link
        >>> from structkit.regex.nodes import Choice, RuleRef, Rules, Seq, LiteralText
        >>> nested = Choice((LiteralText("x"), Seq((LiteralText("("), RuleRef("a"), LiteralText(")")))))
        >>> Reader(link(Rules(RuleRef("a"), {"a": nested}))).accepts(b"((x))")
        True
        """
        return self.automaton.is_accepting(self.read(self.automaton.start_frames(), b"", text)[0])
