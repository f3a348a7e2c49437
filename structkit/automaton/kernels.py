"""The automaton's loops that must be fast, compiled by numba and cached on disk."""

from __future__ import annotations

# One name a line would make the arguments of a kernel longer than its body.
# fmt: off
# ruff: noqa: D417
import numba
import numpy as np

__all__ = ["END", "FAR", "TOO_MANY", "counted", "doubled", "glide", "place", "product", "spread"]

FAR = 1 << 29
"""No end can be reached. Distances that are larger are told as one less."""

END = -(1 << 30)
"""The hop of a state at which the rule ends."""


@numba.njit(cache=True, nogil=True)
def counted(count, operation, least, most):
    """The counter after an operation, or -1 if it is forbidden."""
    if operation == 1:
        if most >= 0:
            return count + 1 if count < most else -1
        return min(count + 1, least)
    if operation == 2 and count < least:
        return -1
    return count


@numba.njit(cache=True, nogil=True)
def glide(row, targets, classes, rule, quiet, least, most, state, count, text, at):
    """Read bytes from one frame for as long as nothing else can happen.

    Args:
        quiet: bool[states], whether nothing but a byte leaves the state.
        state: The frame's state.
        count: The frame's counter.
        text: uint8[...], the bytes.
        at: The first one to read.

    Returns:
        `(the first byte not read, state, count)`.
    """
    inside = rule[state]
    while at < len(text):
        target = targets[row[state] + classes[inside, text[at]]]
        if target < 0 or not quiet[target >> 2]:
            break
        after = counted(count, target & 3, least[inside], most[inside])
        if after < 0:
            break
        state, count = target >> 2, after
        at += 1
    return at, state, count


@numba.njit(cache=True, nogil=True)
def place(
    dfa_targets, dfa_final, calls, number, base, offset, called,
    row, targets, rule, final, live, quiet, call_first, call_rule, call_next, call_operation, call_unique,
):
    """Write the automaton of a rule into the arrays of all; see `structkit.automaton.tables`.

    Args:
        dfa_targets: int32[states, classes].
        dfa_final: bool[states].
        calls: int32[calls, 5], `(state, rule called, state after it, operation, whether its text is unique)`, ordered.
        number: The number of the rule.
        base: The number of its first state.
        offset: Where its transitions begin.
        called: Where its calls begin.
    """
    states, width = dfa_targets.shape
    call = 0
    call_first[base] = called
    for state in range(states):
        at = base + state
        row[at] = offset + state * width
        rule[at] = number
        final[at] = dfa_final[state]
        live[at] = False
        for klass in range(width):
            target = dfa_targets[state, klass]
            targets[row[at] + klass] = target + (base << 2) if target >= 0 else target
            live[at] |= target >= 0
        silent = True
        while call < len(calls) and calls[call, 0] == state:
            call_rule[called + call] = calls[call, 1]
            call_next[called + call] = base + calls[call, 2]
            call_operation[called + call] = calls[call, 3]
            call_unique[called + call] = calls[call, 4] != 0
            call += 1
            silent = False
        call_first[at + 1] = called + call
        quiet[at] = silent and live[at] and not final[at]


@numba.njit(cache=True, nogil=True)
def spread(targets, alive):
    """Mark the states from which a marked one is reached.

    Sweeps from the last state to the first: most transitions lead to later states, so few sweeps settle all.

    Args:
        targets: int32[states, classes], `next_state << 2 | operation`, negative where there is none.
        alive: bool[states], holds the marks and receives more.
    """
    changed = True
    while changed:
        changed = False
        for state in range(len(alive) - 1, -1, -1):
            if alive[state]:
                continue
            for target in targets[state]:
                if target >= 0 and alive[target >> 2]:
                    alive[state] = True
                    changed = True
                    break


TOO_MANY = -2
"""What `product` and `subset.determinise` answer when there would be too many states."""


@numba.njit(cache=True, nogil=True)
def _pair(pair, keys):
    """The slot of a pair of states in a table of open addressing."""
    slot = ((pair * np.int64(0x9E3779B97F4A7C1)) >> np.int64(20)) & (len(keys) - 1)
    while keys[slot] >= 0 and keys[slot] != pair:
        slot = (slot + 1) & (len(keys) - 1)
    return slot


@numba.njit(cache=True, nogil=True)
def product(left, right, operations, left_final, right_final, negate, most):
    """The pairs of states that two automata reach together (Rabin and Scott 1959).

    Args:
        left: int32[states, classes], the next state of the first automaton, negative where there is none.
        right: int32[states, classes], that of the second one.
        operations: int32[states, classes], what the second one does to its counter.
        left_final: bool[states].
        right_final: bool[states].
        negate: Whether the second automaton must not accept.
        most: How many pairs there may be.

    Returns:
        `(pairs, targets int32[pairs, classes], final bool[pairs])`; the first is `TOO_MANY` on failure.
    """
    width = left.shape[1]
    side = np.int64(right.shape[0] + 1)
    keys = np.full(1024, -1, np.int64)
    numbers = np.empty(1024, np.int32)
    pairs = np.empty((256, 1), np.int64)
    targets = np.empty((256, width), np.int32)
    final = np.empty((256, 1), np.bool_)
    pairs[0, 0] = 1  # state 0 of both; the second one is counted from 1, for 0 is no state
    slot = _pair(np.int64(1), keys)
    keys[slot], numbers[slot] = 1, 0
    found = 1
    current = 0
    while current < found:
        while found + width + 1 >= len(pairs):
            pairs, targets, final = doubled(pairs), doubled(targets), doubled(final)
        a, b = pairs[current, 0] // side, pairs[current, 0] % side - 1
        final[current, 0] = left_final[a] and (b >= 0 and right_final[b]) != negate
        for klass in range(width):
            after = left[a, klass]
            other = right[b, klass] if b >= 0 else -1
            if after < 0 or (other < 0 and not negate):
                targets[current, klass] = -1
                continue
            pair = np.int64(after) * side + np.int64(max(other, -1) + 1)
            slot = _pair(pair, keys)
            if keys[slot] < 0:
                if found >= most:
                    return TOO_MANY, targets, final[:, 0]
                keys[slot], numbers[slot] = pair, found
                pairs[found, 0] = pair
                found += 1
                if 2 * found > len(keys):
                    old_keys, old_numbers = keys, numbers
                    keys = np.full(2 * len(old_keys), -1, np.int64)
                    numbers = np.empty(2 * len(old_keys), np.int32)
                    for i in range(len(old_keys)):
                        if old_keys[i] >= 0:
                            to = _pair(old_keys[i], keys)
                            keys[to], numbers[to] = old_keys[i], old_numbers[i]
                    slot = _pair(pair, keys)
            operation = operations[b, klass] if b >= 0 else 0
            targets[current, klass] = numbers[slot] << 2 | operation
        current += 1
    return found, targets[:found], final[:found, 0]


@numba.njit(cache=True, nogil=True)
def doubled(array):
    """A table with room for twice as many rows, which begins with the rows of another."""
    # A loop, not a slice: that would take a second longer to compile.
    larger = np.empty((2 * array.shape[0], array.shape[1]), array.dtype)
    for row in range(array.shape[0]):
        for column in range(array.shape[1]):
            larger[row, column] = array[row, column]
    return larger
