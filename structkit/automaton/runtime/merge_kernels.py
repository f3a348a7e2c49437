"""Kernels that make parses fewer: those that differ only in what is below them, and those that others make superfluous.

See `structkit.automaton.runtime.parse_kernels`.
"""

from __future__ import annotations

import numpy as np

from structkit.automaton.core.jit import helper
from structkit.automaton.core.memory import int32_array
from structkit.automaton.runtime.frame_kernels import (
    BELOW,
    COUNT,
    LIST_ENDS,
    LIST_ITEMS,
    MAX_COUNT,
    MEMBERS,
    MIN_COUNT,
    NO_FRAME,
    RULE,
    STATE,
    TOO_MANY,
    intern_list,
)

__all__ = ["drop_superfluous", "drop_superfluous_after", "insert", "insert_below", "merge"]


@helper
def insert(members, size, number):
    """Insert a number into an ascending list unless it is there; return the size, or `TOO_MANY`."""
    at = size
    while at > 0 and members[at - 1] >= number:
        at -= 1
    if at < size and members[at] == number:
        return size
    if size >= len(members):
        return np.int64(TOO_MANY)
    for i in range(size, at, -1):
        members[i] = members[i - 1]
    members[at] = number
    return size + 1


@helper
def insert_below(context, members, size, below):
    """Insert the frames of `below` into an ascending list; return the size, or `TOO_MANY`."""
    if below >= 0:
        return insert(members, size, below)
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    first, last = np.int64(ends[-2 - below]), np.int64(ends[-1 - below])
    added, at = np.int64(0), np.int64(0)
    for item in range(first, last):
        while at < size and members[at] < items[item]:
            at += 1
        added += np.int64(at == size or members[at] != items[item])
    if size + added > len(members):
        return np.int64(TOO_MANY)
    at, item = size - 1, last - 1
    for place in range(size + added - 1, -1, -1):  # both lists ascend; the larger number is written first
        if item < first:
            break
        if at >= 0 and members[at] >= items[item]:
            item -= np.int64(members[at] == items[item])
            members[place] = members[at]
            at -= 1
        else:
            members[place] = items[item]
            item -= 1
    return size + added


@helper
def merge(context, parses, low, high):
    """Merge the parses of a range that differ only in what is below them; return its end, or a negative result."""
    members = int32_array(context, MEMBERS)
    kept = np.int64(low)
    for i in range(low, high):
        state, tally, below = (
            np.int64(parses[i, STATE]),
            np.int64(parses[i, COUNT]),
            np.int64(parses[i, BELOW]),
        )
        if state < 0:
            continue
        size = np.int64(0)
        for j in range(i + 1, high):
            other = np.int64(parses[j, BELOW])
            if (
                parses[j, STATE] != state
                or parses[j, COUNT] != tally
                or below == NO_FRAME
                or other == NO_FRAME
            ):
                continue
            if size == 0:
                size = insert_below(context, members, size, below)
            if size > 0:
                size = insert_below(context, members, size, other)
            if size < 0:
                return size
            parses[j, STATE] = -1
        if size > 0:
            below = intern_list(context, members, size)
            if below < 0:
                return below
            below = -2 - below
        parses[kept, STATE], parses[kept, COUNT], parses[kept, BELOW] = state, tally, below
        kept += 1
    return kept


@helper
def _sort_by_count(parses, high):
    """Sort the first parses by state and count (insertion sort: a byte mostly leaves them sorted)."""
    for i in range(1, high):
        state, tally, below = (
            np.int64(parses[i, STATE]),
            np.int64(parses[i, COUNT]),
            np.int64(parses[i, BELOW]),
        )
        at = i
        while at > 0 and (
            parses[at - 1, STATE] > state
            or (parses[at - 1, STATE] == state and parses[at - 1, COUNT] > tally)
        ):
            for column in range(3):
                parses[at, column] = parses[at - 1, column]
            at -= 1
        parses[at, STATE], parses[at, COUNT], parses[at, BELOW] = state, tally, below


@helper
def _remove_below(context, members, size, below):
    """Remove the frames of `below` from an ascending list; return the size."""
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    first, last = np.int64(0), np.int64(1)
    if below < 0:
        first, last = np.int64(ends[-2 - below]), np.int64(ends[-1 - below])
    kept, item = np.int64(0), first
    for i in range(size):
        while item < last and np.int64(below if below >= 0 else items[item]) < members[i]:
            item += 1
        if item == last or np.int64(below if below >= 0 else items[item]) != members[i]:
            members[kept] = members[i]
            kept += 1
    return kept


@helper
def drop_superfluous(context, parses, high):
    """Leave out parses beside which another one reads the same and more; return their number, or a negative result.

    Beyond the minimum of a counted repetition, a parse with fewer iterations can do all that one with more can. Without
    this, `(?:.{0,40}a){12}` has a parse for each number of characters since each `a`.
    """
    rules, members = int32_array(context, RULE), int32_array(context, MEMBERS)
    min_count, max_count = int32_array(context, MIN_COUNT), int32_array(context, MAX_COUNT)
    counted = np.int64(0)
    for i in range(high):
        rule = rules[parses[i, STATE]]
        counted += np.int64(max_count[rule] > min_count[rule])
    if counted < 2:
        return high
    _sort_by_count(parses, high)
    kept, group = np.int64(0), np.int64(0)
    for i in range(high):
        state, tally, below = (
            np.int64(parses[i, STATE]),
            np.int64(parses[i, COUNT]),
            np.int64(parses[i, BELOW]),
        )
        rule, size = rules[state], np.int64(1)
        if max_count[rule] <= min_count[rule] or tally < min_count[rule]:
            group = kept + 1
        elif group < kept and parses[kept - 1, STATE] == state:
            if below == NO_FRAME:
                for j in range(group, kept):
                    size = min(size, np.int64(parses[j, BELOW] != NO_FRAME))
            else:
                whole = size = insert_below(context, members, np.int64(0), below)
                for j in range(group, kept):
                    if size > 0 and parses[j, BELOW] != NO_FRAME:
                        size = _remove_below(context, members, size, np.int64(parses[j, BELOW]))
                if size < 0:
                    return size
                if 0 < size < whole:
                    below = np.int64(members[0])
                    if size > 1:
                        below = intern_list(context, members, size)
                        if below < 0:
                            return below
                        below = -2 - below
        else:
            group = kept
        if size > 0:
            parses[kept, STATE], parses[kept, COUNT], parses[kept, BELOW] = state, tally, below
            kept += 1
    return kept


@helper
def drop_superfluous_after(context, parses, low, first, high):
    """Leave out parses from the row `first` on that are superfluous beside those from `low` on; return their end.

    This does for parses that calls and returns lead to what `drop_superfluous` does, before they call in turn.
    Without this, a repetition that may be empty counts, without a byte, to each number of iterations.
    """
    rules, members = int32_array(context, RULE), int32_array(context, MEMBERS)
    min_count, max_count = int32_array(context, MIN_COUNT), int32_array(context, MAX_COUNT)
    kept = np.int64(first)
    for i in range(first, high):
        state, tally, below = (
            np.int64(parses[i, STATE]),
            np.int64(parses[i, COUNT]),
            np.int64(parses[i, BELOW]),
        )
        rule, whole, size = rules[state], np.int64(0), np.int64(1)
        if max_count[rule] > min_count[rule] and tally >= min_count[rule]:
            for j in range(low, high):
                other = np.int64(parses[j, COUNT])
                if (
                    parses[j, STATE] != state
                    or kept <= j <= i
                    or other > tally
                    or other < min_count[rule]
                    or (other == tally and j > i)
                    or (parses[j, BELOW] == NO_FRAME) != (below == NO_FRAME)
                ):
                    continue
                if below == NO_FRAME:
                    size = np.int64(0)
                    break
                if whole == 0:
                    whole = size = insert_below(context, members, np.int64(0), below)
                    if size < 0:
                        return size
                size = _remove_below(context, members, size, np.int64(parses[j, BELOW]))
                if size == 0:
                    break
            if 0 < size < whole:
                below = np.int64(members[0])
                if size > 1:
                    below = intern_list(context, members, size)
                    if below < 0:
                        return below
                    below = -2 - below
        if size > 0:
            parses[kept, STATE], parses[kept, COUNT], parses[kept, BELOW] = state, tally, below
            kept += 1
    return kept
