"""Finds the states of quotes; compiled by numba and cached on disk."""

from __future__ import annotations

# One name a line would make the arguments of a kernel longer than its body.
# fmt: off
import numpy as np

from structkit.automaton.core.jit import inlined, kernel
from structkit.automaton.core.kernels import BITS, FULL, TOO_MANY

__all__ = ["places"]


@inlined
def _alike(codes, starts, at, stop, depth):
    """The end of the run of starts, from `at` on, after which the same byte follows."""
    code = codes[starts[at] + depth]
    low, high = at + 1, stop
    while low < high:
        middle = (low + high) >> 1
        if codes[starts[middle] + depth] == code:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _least(least, at, after):
    """The least of the starts from `at` to before `after`."""
    level = 0
    while (2 << level) <= after - at:
        level += 1
    return min(least[level, at], least[level, after - (1 << level)])


@inlined
def _may_end(starts, ends, at, after, depth):
    """Whether one of the places is an end."""
    for i in range(at, after):
        end = ends[starts[i] + depth]
        if end != 1:
            return end == 2
    return False


@kernel
def places(codes, starts, least, ends, within, most, found, slots, targets, final):
    """Number the sets of places at which texts stand, breadth first.

    Args:
        codes: int16[bytes + 1], the class of each byte, -1 where no quote goes on; the last is such.
        starts: int32[starts], where quotes begin, in the order of the suffixes there.
        least: int32[levels, starts], the least of the `1 << level` starts from each on.
        ends: uint8[bytes + 1], whether a quote may end there: 2 yes, 1 not there, 0 nowhere after the same text.
        within: bool[bytes + 1], whether the byte is not the first of a character.
        most: How many states there may be.
        found: int32[room, 6], zeros; receives for each state its first start, the one after its last, the bytes read,
            and its key: the first place, the number of places, and within a character the state before, else -1.
        slots: int32[a power of 2, more than the room], -1.
        targets: int32[room, classes], `DEAD`; receives the transitions.
        final: bool[room], receives whether a quote may end.

    Returns:
        The number of states; `TOO_MANY` or `FULL` if there is no room.
    """
    found[0, 1] = len(starts)
    found[0, 3] = -1
    states = 1
    for state in range(len(targets)):
        if state == states:
            break
        at, stop, depth = np.int64(found[state, 0]), np.int64(found[state, 1]), np.int64(found[state, 2])
        while at < stop:
            after = _alike(codes, starts, at, stop, depth)
            code = codes[starts[at] + depth]
            if code >= 0:
                place = _least(least, at, after) + depth + 1
                count = after - at
                before = state if within[place] else -1
                slot = (((place * 1000003 + count) * 1000003 + before) * 2654435761 >> 7) & (len(slots) - 1)
                while slots[slot] >= 0:
                    other = slots[slot]
                    if found[other, 3] == place and found[other, 4] == count and found[other, 5] == before:
                        break
                    slot = (slot + 1) & (len(slots) - 1)
                if slots[slot] < 0:
                    if states == most:
                        return TOO_MANY
                    if states == len(targets):
                        return FULL
                    slots[slot] = states
                    found[states, 0], found[states, 1], found[states, 2] = at, after, depth + 1
                    found[states, 3], found[states, 4] = place, count
                    found[states, 5] = before
                    final[states] = _may_end(starts, ends, at, after, depth + 1)
                    states += 1
                targets[state, code] = slots[slot] << BITS
            at = after
    return states
