"""Upper bounds on the tokens to the end of a text, where rules end with labels. Reference code of `frame_kernels`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.stack import Below, Frame, return_frames

__all__ = ["labelled_bound"]


def labelled_bound(
    automaton: Automaton, distances: NDArray[np.int32], top: Below, in_rule: Callable[[Frame], int]
) -> int:
    """Return an upper bound on the tokens from a frame to the end of the text; at least `UNREACHABLE` without one.

    A frame to return to counts the longest way behind a label, since the rule above chooses it.

    Args:
        automaton: The automaton.
        distances: int32[2 + labels, ...], see `TokenDistance.distances`.
        top: The frame, or alternative frames.
        in_rule: Returns the tokens from a frame to the end of its rule, for rules without labels.
    """
    known: dict[Frame, int] = {}
    roots = [] if top is None else [top] if isinstance(top, Frame) else list(top.frames)
    pending = list(roots)
    while pending:
        frame = pending[-1]
        ways = _ways(automaton, distances, frame) or [(in_rule(frame), list(return_frames(frame)))]
        missing = [each for _, frames in ways for each in frames if each not in known]
        if missing:
            pending += missing
            continue
        pending.pop()
        totals = [tokens + min((known[each] for each in frames), default=0) for tokens, frames in ways]
        known[frame] = max(totals) if _is_return(automaton, distances, frame) else min(totals)
    return min((known[root] for root in roots), default=0)


def _ways(automaton: Automaton, distances: NDArray[np.int32], frame: Frame) -> list[tuple[int, list[Frame]]]:
    """Return the tokens to each end of the rule of a frame, and the frames that can follow there."""
    below = return_frames(frame)
    labels = range(len(distances) - 2)
    ends = [(label, distances.item(2 + label, frame.state)) for label in labels]
    found = [
        (tokens, [automaton.labelled_return(back, label) for back in below])
        for label, tokens in ends
        if tokens < UNREACHABLE
    ]
    return found or [
        (0, [automaton.labelled_return(frame, label)]) for label in automaton.return_labels(frame.state)
    ]


def _is_return(automaton: Automaton, distances: NDArray[np.int32], frame: Frame) -> bool:
    """Return whether a frame is one to return to: its state is behind a call of a rule with labels."""
    return bool(automaton.return_labels(frame.state)) and bool(
        (distances[2:, frame.state] >= UNREACHABLE).all()
    )
