"""The loop that looks whether stored tables can be walked, compiled by numba and cached on disk."""

from __future__ import annotations

# One name a line would make the arguments of a kernel longer than its body.
# fmt: off
# ruff: noqa: D417
from structkit.automaton.jit import kernel
from structkit.automaton.kernels import BITS, LEAVE, OPERATION, TICK

__all__ = ["fits"]


@kernel
def fits(
    row, targets, classes, rule, final, live, quiet, call_first, call_rule, call_next, call_operation, call_unique,
    start, least, most, tokens, most_rounds, most_tokens,
):
    """Whether no position in the tables lies outside an array. They may hold anything, but have the right sizes.

    Several rounds begin at once only where a counter has an end.

    Args:
        row: With all up to `most` as in `structkit.automaton.tables.Tables`.
        tokens: int32[2, ...], those that states and rounds need.
        most_rounds: What `least` may be.
        most_tokens: What `tokens` may be.
    """
    built = 0
    for number in range(len(start)):
        if start[number] != -1:
            built += 1
        if not (0 <= least[number] <= most_rounds and most[number] >= -1):
            return False
    for kind in range(2):
        for at in range(tokens.shape[1]):
            if not 0 <= tokens[kind, at] <= most_tokens:
                return False
    # The states of a rule follow each other, and their transitions do.
    first = 0
    offset = 0
    while first < len(row):
        number = rule[first]
        if not 0 <= number < len(start) or start[number] != first or (first == 0 and number != 0):
            return False
        stop = first + 1
        while stop < len(row) and rule[stop] == number:
            stop += 1
        end = row[stop] if stop < len(row) else len(targets)
        width = (end - offset) // (stop - first)
        if end > len(targets) or not 0 < width <= 256 or width * (stop - first) != end - offset:
            return False
        for byte in range(256):
            if classes[number, byte] >= width:
                return False
        for state in range(first, stop):
            if row[state] != offset + (state - first) * width:
                return False
        for at in range(offset, end):
            target = targets[at]
            if target != -1 and not first <= target >> BITS < stop:
                return False
            if target != -1 and TICK < target & OPERATION < LEAVE and most[number] < 0:
                return False
        first, offset, built = stop, end, built - 1
    if built != 0 or offset != len(targets) or call_first[0] != 0 or call_first[len(row)] != len(call_rule):
        return False
    for state in range(len(row)):
        if call_first[state + 1] < call_first[state]:
            return False
        for call in range(call_first[state], call_first[state + 1]):
            if not (0 <= call < len(call_rule) and 0 <= call_rule[call] < len(start)):
                return False
            if not (0 <= call_next[call] < len(row) and 0 <= call_operation[call] <= OPERATION):
                return False
            if rule[call_next[call]] != rule[state]:
                return False
    return True
