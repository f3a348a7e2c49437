"""Kernels of suffix automata, compiled by numba and cached on disk."""

from __future__ import annotations

# Formatting off: one parameter per line would make the signatures longer than the bodies.
# fmt: off
import numpy as np

from structkit.automaton.core.jit import inlined, kernel
from structkit.automaton.core.kernels import FULL, OPERATION_BITS, TOO_MANY

__all__ = ["suffix_states"]


@inlined
def _equal_range_end(codes, starts, start, stop, depth):
    """Return the end of the run of starts, from `start` on, with the same next byte."""
    code = codes[starts[start] + depth]
    low, high = start + 1, stop
    while low < high:
        middle = (low + high) >> 1
        if codes[starts[middle] + depth] == code:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _range_min(range_minima, start, stop):
    """Return the minimum of `starts[start:stop]`."""
    level = 0
    while (2 << level) <= stop - start:
        level += 1
    return min(range_minima[level, start], range_minima[level, stop - (1 << level)])


@inlined
def _may_end(starts, ends, start, stop, depth):
    """Return whether a quote may end at one of the positions."""
    for i in range(start, stop):
        end = ends[starts[i] + depth]
        if end != 1:
            return end == 2
    return False


@kernel
def suffix_states(codes, starts, range_minima, ends, continuation, max_states, found, slots, targets, final):
    """Number the sets of end positions of texts, breadth first.

    Args:
        codes: int16[bytes + 1], the class of each byte, -1 where no quote continues, as in the last entry.
        starts: int32[starts], the positions at which quotes start, in the order of their suffixes.
        range_minima: int32[levels, starts], the minimum of the `1 << level` starts from each start on.
        ends: uint8[bytes + 1], whether a quote may end there: 2 yes, 1 not there, 0 nowhere after the same text.
        continuation: bool[bytes + 1], whether the byte is not the first of a character.
        max_states: The maximum number of states.
        found: int32[capacity, 6], zeros; receives for each state its first start, the end of its range of starts, the
            number of bytes read, and its key: the first position, the number of positions, and inside a character the
            previous state, else -1.
        slots: int32[a power of 2 above the capacity], all -1.
        targets: int32[capacity, classes], `DEAD`; receives the transitions.
        final: bool[capacity], receives whether a quote may end.

    Returns:
        The number of states, `TOO_MANY` or `FULL`.
    """
    found[0, 1] = len(starts)
    found[0, 3] = -1
    states = 1
    for state in range(len(targets)):
        if state == states:
            break
        start, stop, depth = np.int64(found[state, 0]), np.int64(found[state, 1]), np.int64(found[state, 2])
        while start < stop:
            after = _equal_range_end(codes, starts, start, stop, depth)
            code = codes[starts[start] + depth]
            if code >= 0:
                position = _range_min(range_minima, start, after) + depth + 1
                count = after - start
                previous = state if continuation[position] else -1
                slot = (((position * 1000003 + count) * 1000003 + previous) * 2654435761 >> 7) & (len(slots) - 1)
                while slots[slot] >= 0:
                    other = slots[slot]
                    if found[other, 3] == position and found[other, 4] == count and found[other, 5] == previous:
                        break
                    slot = (slot + 1) & (len(slots) - 1)
                if slots[slot] < 0:
                    if states == max_states:
                        return TOO_MANY
                    if states == len(targets):
                        return FULL
                    slots[slot] = states
                    found[states, 0], found[states, 1], found[states, 2] = start, after, depth + 1
                    found[states, 3], found[states, 4] = position, count
                    found[states, 5] = previous
                    final[states] = _may_end(starts, ends, start, after, depth + 1)
                    states += 1
                targets[state, code] = slots[slot] << OPERATION_BITS
            start = after
    return states
