"""Subset construction (Rabin and Scott 1959); compiled by numba and cached on disk."""

from __future__ import annotations

# One name a line would make the arguments of a kernel longer than its body.
# fmt: off
# ruff: noqa: SIM110 (numba compiles plain loops to faster code than generators)
import numba
import numpy as np

from structkit.automaton.kernels import TOO_MANY, doubled

__all__ = ["AMBIGUOUS", "byte_classes", "determinise", "with_runs"]

AMBIGUOUS = -1
"""What `determinise` answers when edges for one byte differ in their operation."""


@numba.njit(cache=True, nogil=True)
def _close(state, silent_first, silent, matters, stamp, mark, stack, found, count):
    """Add the states that `state` reaches without a byte, and that matter, to `found[:count]`; returns the count."""
    if stamp[state] == mark:
        return count
    stamp[state] = mark
    stack[0] = state
    top = 1
    while top > 0:
        top -= 1
        state = stack[top]
        if matters[state]:
            found[count] = state
            count += 1
        for i in range(silent_first[state], silent_first[state + 1]):
            if stamp[silent[i]] != mark:
                stamp[silent[i]] = mark
                stack[top] = silent[i]
                top += 1
    return count


@numba.njit(cache=True, nogil=True)
def _bucket(
    members, low, high, edge_first, edge_low, edge_high, edge_target, edge_operation, counts, operations, moves
):
    """Sort the edges of `members[low:high]` by byte class.

    Targets of class k become `moves[counts[k] : counts[k + 1]]`, and their operation `operations[k]`.
    Returns `moves`, or a larger one in its place; an empty one if edges of one class differ in their operation.
    """
    for klass in range(len(counts)):
        counts[klass] = 0
    for m in range(low, high):
        member = members[m, 0]
        for e in range(edge_first[member], edge_first[member + 1]):
            for klass in range(edge_low[e], edge_high[e] + 1):
                if counts[klass + 1] == 0:
                    operations[klass] = edge_operation[e]
                elif operations[klass] != edge_operation[e]:
                    return moves[:0]
                counts[klass + 1] += 1
    for klass in range(len(operations)):
        counts[klass + 1] += counts[klass]
    if counts[len(operations)] > len(moves):
        moves = np.empty(2 * counts[len(operations)], np.int32)
    filled = np.empty_like(counts)
    for klass in range(len(counts)):
        filled[klass] = counts[klass]
    for m in range(low, high):
        member = members[m, 0]
        for e in range(edge_first[member], edge_first[member + 1]):
            for klass in range(edge_low[e], edge_high[e] + 1):
                moves[filled[klass]] = edge_target[e]
                filled[klass] += 1
    return moves


@numba.njit(cache=True, nogil=True)
def _same(moves, counts, klass):
    """Whether a class has the targets of the one before it."""
    begin, stop = counts[klass], counts[klass + 1]
    before = counts[klass - 1]
    if stop - begin != begin - before:
        return False
    for i in range(stop - begin):
        if moves[begin + i] != moves[before + i]:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _gather_calls(members, low, high, call_first, call_key, call_target, call_operation, gathered):
    """The calls of `members[low:high]` in their order, as `(key, operation, target)` rows; returns how many."""
    count = 0
    for m in range(low, high):
        for c in range(call_first[members[m, 0]], call_first[members[m, 0] + 1]):
            gathered[count, 0] = call_key[c]
            gathered[count, 1] = call_operation[c]
            gathered[count, 2] = call_target[c]
            count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _find(chosen, hashed, slots, hashes, first, members):
    """The number of the state with these members, or -1 and the slot where it belongs."""
    slot = (hashed ^ (hashed >> 29)) & (len(slots) - 1)
    while slots[slot] >= 0:
        other = slots[slot]
        begin = first[other, 0]
        if hashes[other, 0] == hashed and first[other + 1, 0] - begin == len(chosen):
            equal = True
            for i in range(len(chosen)):
                if members[begin + i, 0] != chosen[i]:
                    equal = False
                    break
            if equal:
                return other, slot
        slot = (slot + 1) & (len(slots) - 1)
    return -1, slot


@numba.njit(cache=True, nogil=True)
def _spread(slots, hashes, states):
    """The same numbers in twice as many slots."""
    larger = np.full(2 * len(slots), -1, np.int32)
    for number in range(states):
        slot = (hashes[number, 0] ^ (hashes[number, 0] >> 29)) & (len(larger) - 1)
        while larger[slot] >= 0:
            slot = (slot + 1) & (len(larger) - 1)
        larger[slot] = number
    return larger


@numba.njit(cache=True, nogil=True)
def with_runs(edges, runs, texts):
    """int32[..., 5]: edges, and those of runs through states that are numbered in a row.

    Args:
        edges: int32[edges, 5], `(source, first byte, last byte, target, operation)`.
        runs: int32[runs, 3], `(source, first new state, length)`.
        texts: uint8[...], the bytes of all runs.
    """
    table = np.empty((len(edges) + len(texts), 5), np.int32)
    for at in range(len(edges)):
        for column in range(5):
            table[at, column] = edges[at, column]
    at = len(edges)
    for r in range(len(runs)):
        source = runs[r, 0]
        for i in range(runs[r, 2]):
            byte = texts[at - len(edges)]
            target = runs[r, 1] + i
            table[at, 0], table[at, 1], table[at, 2], table[at, 3], table[at, 4] = source, byte, byte, target, 0
            source = target
            at += 1
    return table


@numba.njit(cache=True, nogil=True)
def byte_classes(edges):
    """uint8[256], the class of each byte, and how many there are: bytes that no edge tells apart share one."""
    starts = np.zeros(257, np.bool_)
    for e in range(len(edges)):
        starts[edges[e, 1]] = True
        starts[edges[e, 2] + 1] = True
    classes = np.zeros(256, np.uint8)
    for byte in range(1, 256):
        classes[byte] = classes[byte - 1] + starts[byte]
    return classes, int(classes[255]) + 1


@numba.njit(cache=True, nogil=True)
def _by_source(table, size):
    """`(first int32[size + 1], rows)`: the rows in the order of their sources, and where those of each begin."""
    first = np.zeros(size + 2, np.int32)
    for i in range(len(table)):
        first[table[i, 0] + 2] += 1
    for state in range(size):
        first[state + 2] += first[state + 1]
    rows = np.empty(table.shape, np.int32)
    for i in range(len(table)):
        place = first[table[i, 0] + 1]
        first[table[i, 0] + 1] = place + 1
        for column in range(table.shape[1]):
            rows[place, column] = table[i, column]
    return first[: size + 1], rows


@numba.njit(cache=True, nogil=True)
def _sort(values):
    """Sort in place (Shell 1959); most often there are few, and in order already."""
    gap = 1
    while 3 * gap < len(values):
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, len(values)):
            value = values[i]
            at = i
            while at >= gap and values[at - gap] > value:
                values[at] = values[at - gap]
                at -= gap
            values[at] = value
        gap //= 3


@numba.njit(cache=True, nogil=True)
def determinise(edges, classes, silent_moves, nfa_calls, size, final, width, most):
    """Subset construction over byte classes.

    Args:
        edges: int32[edges, 5], `(source, first byte, last byte, target, operation)`.
        classes: uint8[256], the class of each byte.
        silent_moves: int32[silent moves, 2], `(source, target)`.
        nfa_calls: int32[calls, 4], `(source, number of the callee, target, operation)`.
        size: How many states the automaton has.
        final: The one final state.
        width: How many classes there are.
        most: How many states there may be.

    Returns:
        `(states, targets int32[states, classes], final bool[states, 1], calls int32[calls, 4])`; the first is
        `AMBIGUOUS` or `TOO_MANY` on failure.
    """
    edge_first, edges = _by_source(edges, size)
    edge_low, edge_high = np.empty(len(edges), np.int32), np.empty(len(edges), np.int32)
    for e in range(len(edges)):
        edge_low[e], edge_high[e] = classes[edges[e, 1]], classes[edges[e, 2]]
    edge_target, edge_operation = edges[:, 3], edges[:, 4]
    silent_first, silent_moves = _by_source(silent_moves, size)
    silent = silent_moves[:, 1]
    call_first, sorted_calls = _by_source(nfa_calls, size)
    call_key, call_target, call_operation = sorted_calls[:, 1], sorted_calls[:, 2], sorted_calls[:, 3]
    matters = np.zeros(size, np.bool_)
    for state in range(size):
        leaves = edge_first[state] < edge_first[state + 1] or call_first[state] < call_first[state + 1]
        matters[state] = leaves or state == final
    stamp = np.zeros(size, np.int64)
    mark = np.int64(0)
    stack = np.empty(size + 1, np.int32)
    found = np.empty(size + 1, np.int32)
    # The members of state s are members[first[s, 0] : first[s + 1, 0], 0].
    members = np.empty((256, 1), np.int32)
    first = np.zeros((64, 1), np.int64)
    hashes = np.empty((64, 1), np.int64)
    targets = np.empty((64, width), np.int32)
    finals = np.empty((64, 1), np.bool_)
    calls = np.empty((16, 4), np.int32)
    gathered = np.empty((len(call_key) + 1, 3), np.int32)
    slots = np.full(256, -1, np.int32)
    counts = np.zeros(width + 1, np.int32)
    operations = np.zeros(width, np.int32)
    moves = np.empty(256, np.int32)
    states = 0
    made_calls = 0
    # State -1 stands for the start, which has one successor; others have one by class, then one by call.
    state = -1
    while state < states:
        called = 0
        if state >= 0:
            low, high = first[state, 0], first[state + 1, 0]
            moves = _bucket(
                members, low, high, edge_first, edge_low, edge_high, edge_target, edge_operation,
                counts, operations, moves,
            )
            if len(moves) == 0:
                return AMBIGUOUS, targets, finals, calls
            called = _gather_calls(members, low, high, call_first, call_key, call_target, call_operation, gathered)
        successors = 1 if state < 0 else width + called
        while states + successors + 2 >= len(first):
            first, hashes = doubled(first), doubled(hashes)
            targets, finals = doubled(targets), doubled(finals)
        number = -1
        for item in range(successors):
            mark += 1
            count = 0
            operation = 0
            call = item - width
            if state < 0:
                count = _close(0, silent_first, silent, matters, stamp, mark, stack, found, count)
            elif call < 0:
                operation = operations[item]
                if counts[item] == counts[item + 1]:
                    targets[state, item] = -1
                    continue
                if item > 0 and number >= 0 and _same(moves, counts, item):
                    targets[state, item] = number << 2 | operation
                    continue
                for i in range(counts[item], counts[item + 1]):
                    count = _close(moves[i], silent_first, silent, matters, stamp, mark, stack, found, count)
            else:
                # Calls of one callee with one operation are one call; the first of them stands for all.
                operation = gathered[call, 1]
                repeated = False
                for other in range(called):
                    if gathered[other, 0] == gathered[call, 0] and gathered[other, 1] == operation:
                        repeated = repeated or other < call
                        count = _close(
                            gathered[other, 2], silent_first, silent, matters, stamp, mark, stack, found, count
                        )
                if repeated:
                    continue
            chosen = found[:count]
            _sort(chosen)
            hashed = np.int64(count)
            for i in range(count):
                hashed = (hashed ^ np.int64(chosen[i])) * np.int64(1099511628211)
            number, slot = _find(chosen, hashed, slots, hashes, first, members)
            if number < 0:
                if states >= most:
                    return TOO_MANY, targets, finals, calls
                number = states
                states += 1
                begin = first[number, 0]
                while begin + count > len(members):
                    members = doubled(members)
                finals[number, 0] = False
                for i in range(count):
                    members[begin + i, 0] = chosen[i]
                    finals[number, 0] = finals[number, 0] or chosen[i] == final
                first[number + 1, 0] = begin + count
                hashes[number, 0] = hashed
                slots[slot] = number
                if 2 * states > len(slots):
                    slots = _spread(slots, hashes, states)
            if state >= 0 and call < 0:
                targets[state, item] = number << 2 | operation
            elif state >= 0:
                if made_calls == len(calls):
                    calls = doubled(calls)
                calls[made_calls, 0] = state
                calls[made_calls, 1] = gathered[call, 0]
                calls[made_calls, 2] = number
                calls[made_calls, 3] = operation
                made_calls += 1
        state += 1
        if state == states:
            break
    return states, targets[:states], finals[:states], calls[:made_calls]
