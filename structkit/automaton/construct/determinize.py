"""Kernels of the subset construction (Rabin and Scott 1959), compiled by numba and cached on disk."""

from __future__ import annotations

# Formatting off: one parameter per line would make the signatures longer than the bodies.
# fmt: off
# ruff: noqa: SIM110 (numba compiles plain loops to faster code than generators)
import numpy as np

from structkit.automaton.core.jit import helper, inlined, kernel
from structkit.automaton.core.kernels import FULL, OPERATION_BITS, TOO_MANY

__all__ = ["AMBIGUOUS", "BUSY", "determinize", "sort_moves"]

AMBIGUOUS = -1
"""Return value of `determinize` if edges for one byte differ in their operation."""

BUSY = -4
"""Return value of `determinize` if it would visit too many states."""


@inlined
def _close(state, first, epsilon_moves, scratch, generation, count):
    """Append the epsilon closure of `state`, restricted to `scratch[0]`, to `scratch[3, :count]`; return the length."""
    if scratch[1, state] == generation:
        return count
    scratch[1, state] = generation
    scratch[2, 0] = state
    top = 1
    while top > 0:
        top -= 1
        reached = scratch[2, top]
        if scratch[0, reached]:
            scratch[3, count] = reached
            count += 1
        for i in range(first[1, reached], first[1, reached + 1]):
            after = epsilon_moves[i, 1]
            if scratch[1, after] != generation:
                scratch[1, after] = generation
                scratch[2, top] = after
                top += 1
    return count


@inlined
def _bucket(members, low, high, first, edges, width, items, moves):
    """Sort the edges of `members[low:high]` by byte class.

    The targets of class k become `moves[items[0, k] : items[0, k + 1]]`, and their operation `items[1, k]`.
    Return the number of targets, `FULL`, or `AMBIGUOUS` if edges of one class differ in their operation.
    """
    for klass in range(width + 2):
        items[0, klass] = 0
    for m in range(low, high):
        for e in range(first[0, members[m]], first[0, members[m] + 1]):
            for klass in range(edges[e, 1], edges[e, 2] + 1):
                if items[0, klass + 2] == 0:
                    items[1, klass] = edges[e, 4]
                elif items[1, klass] != edges[e, 4]:
                    return np.int64(AMBIGUOUS)
                items[0, klass + 2] += 1
    for klass in range(width):
        items[0, klass + 2] += items[0, klass + 1]
    count = np.int64(items[0, width + 1])
    if count > len(moves):
        return np.int64(FULL)
    for m in range(low, high):
        for e in range(first[0, members[m]], first[0, members[m] + 1]):
            for klass in range(edges[e, 1], edges[e, 2] + 1):
                moves[items[0, klass + 1]] = edges[e, 3]
                items[0, klass + 1] += 1
    return count


@inlined
def _only_edge(members, low, high, first, edges):
    """Return the edge of `members[low:high]` if there is one, of one byte class, and no call; otherwise -1.

    Most states are inside a text.
    """
    if high - low != 1:
        return np.int64(-1)
    edge, state = np.int64(first[0, members[low]]), members[low]
    is_only = first[0, state + 1] - edge == 1 and first[2, state + 1] == first[2, state]
    return edge if is_only and edges[edge, 1] == edges[edge, 2] else np.int64(-1)


@inlined
def _item_of(calls, c, items, positions):
    """Return the item with the callee and the operation of a call, or -1."""
    item = np.int64(positions[2, calls[c, 1]])
    while item >= 0 and items[1, item] != calls[c, 3]:
        item = np.int64(items[3, item])
    return item


@inlined
def _bucket_calls(members, low, high, first, calls, width, items, moves, positions):
    """Sort the calls of `members[low:high]` by callee and operation, and append them to the items of the classes.

    Calls with the same callee, `items[2, k]`, and the same operation become one call. `positions[2]` is scratch, -1 for
    each callee. Return the end of the items, or `FULL`.
    """
    stop = np.int64(width)
    for m in range(low, high):
        for c in range(first[2, members[m]], first[2, members[m] + 1]):
            item = _item_of(calls, c, items, positions)
            if item < 0:
                item = stop
                items[2, item], items[1, item] = calls[c, 1], calls[c, 3]
                items[3, item], positions[2, calls[c, 1]] = positions[2, calls[c, 1]], item
                stop += 1
                items[0, stop] = 0
            items[0, item + 1] += 1
    for item in range(width, stop):
        items[4, item] = items[0, item]
        items[0, item + 1] += items[0, item]
    fits = items[0, stop] <= len(moves)
    if fits:
        for m in range(low, high):
            for c in range(first[2, members[m]], first[2, members[m] + 1]):
                item = _item_of(calls, c, items, positions)
                moves[items[4, item]] = calls[c, 2]
                items[4, item] += 1
    for item in range(width, stop):
        positions[2, items[2, item]] = -1
    return stop if fits else np.int64(FULL)


@inlined
def _same_targets(moves, items, item):
    """Return whether an item has the same targets as the previous item."""
    start, stop = items[0, item], items[0, item + 1]
    before = items[0, item - 1]
    if stop - start != start - before:
        return False
    for i in range(stop - start):
        if moves[start + i] != moves[before + i]:
            return False
    return True


@inlined
def _sort(scratch, count):
    """Sort `scratch[3, :count]` in place (Shell 1959); most inputs are short and already sorted."""
    gap = 1
    while 3 * gap < count:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            value = scratch[3, i]
            at = i
            while at >= gap and scratch[3, at - gap] > value:
                scratch[3, at] = scratch[3, at - gap]
                at -= gap
            scratch[3, at] = value
        gap //= 3


@inlined
def _find(scratch, count, hashed, slots, table, members):
    """Return the slot of the state with the members `scratch[3, :count]`, or the empty slot for it."""
    slot = (hashed ^ (hashed >> 29)) & (len(slots) - 1)
    while slots[slot] >= 0:
        start = table[slots[slot], 0]
        if table[slots[slot], 1] == hashed and table[slots[slot] + 1, 0] - start == count:
            equal = 0
            while equal < count and members[start + equal] == scratch[3, equal]:
                equal += 1
            if equal == count:
                break
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@inlined
def _number(scratch, count, final, slots, table, members, ends, states):
    """Return the number of the state with the members `scratch[3, :count]`; add it as `states` if it is new."""
    _sort(scratch, count)
    hashed = np.int64(count)
    for i in range(count):
        hashed = (hashed ^ np.int64(scratch[3, i])) * np.int64(1099511628211)
    slot = _find(scratch, count, hashed, slots, table, members)
    if slots[slot] < 0:
        slots[slot] = states
        start = table[states, 0]
        table[states, 1] = hashed
        ends[states] = False
        for i in range(count):
            members[start + i] = scratch[3, i]
            if scratch[3, i] == final:
                ends[states] = True
        table[states + 1, 0] = start + count
    return np.int64(slots[slot])


@kernel
def determinize(
    first, edges, epsilon_moves, nfa_calls, final, max_states, max_visits,
    scratch, items, moves, slots, table, members, targets, ends, calls, callee_positions,
):
    """Subset construction over byte classes.

    Args:
        first: int32[3, NFA states + 2], the index of the first edge, epsilon move and call of each state.
        edges: int32[edges, 5], `(source, first class, last class, target, operation)`, by source.
        epsilon_moves: int32[epsilon moves, 2], `(source, target)`, by source.
        nfa_calls: int32[calls, 4], `(source, callee number, target, operation)`, by source.
        final: The only final state.
        max_states: The maximum number of states.
        max_visits: The maximum number of NFA states visited, each as often as a subset that is looked up has it.
        scratch: int32[5, NFA states + 1], zeros; the last row has the state after each single target, plus one.
        items: int32[5, classes + calls + 2], scratch.
        moves: int32[...], scratch for the targets of a state.
        slots: int32[a power of 2 above the capacity], scratch.
        table: int64[capacity + 1, 2], row 0 zero; receives the start of each state's members, and their hash.
        members: int32[...], receives the members of all states.
        targets: int32[capacity, classes], receives the transitions.
        ends: bool[capacity], receives whether each state is final.
        calls: int32[..., 4], receives the calls as in `nfa_calls`, with callees numbered by first occurrence.
        callee_positions: int32[3, callees], receives the new number of each callee, and the old number of each new one;
            the last row is scratch.

    Returns:
        The numbers `(states, calls, callees)`; on failure the first is `AMBIGUOUS`, `TOO_MANY`, `FULL` or `BUSY`.
    """
    size, width = first.shape[1] - 2, targets.shape[1]
    for state in range(size):
        scratch[0, state] = first[0, state + 1] - first[0, state] + first[2, state + 1] - first[2, state]
    scratch[0, final] = 1
    for i in range(len(slots)):
        slots[i] = -1
    for i in range(callee_positions.shape[1]):
        callee_positions[0, i] = callee_positions[2, i] = -1
    # State -1 is a virtual state whose one successor is the start; others have a successor per class, then per call.
    items[0, 0], items[0, 1], items[1, 0], moves[0] = 0, 1, 0, 0
    # Literals have other types than the variables, so the helpers would be compiled twice.
    begin, stop, states, count, number = np.int64(0), np.int64(1), np.int64(0), np.int64(0), np.int64(0)
    call_count, callee_count, generation, visits = 0, 0, 0, 0
    for state in range(-1, len(targets)):
        if state == states:
            break
        if state >= 0:
            low, high = table[state, 0], table[state + 1, 0]
            begin = np.int64(0)
            edge = _only_edge(members, low, high, first, edges)
            if edge >= 0:
                for item in range(width):
                    targets[state, item] = -1
                begin = np.int64(edges[edge, 1])
                stop = begin + 1
                items[0, begin], items[0, stop], items[1, begin], moves[0] = 0, 1, edges[edge, 4], edges[edge, 3]
            else:
                stop = _bucket(members, low, high, first, edges, width, items, moves)
                if stop >= 0:
                    stop = _bucket_calls(
                        members, low, high, first, nfa_calls, width, items, moves, callee_positions
                    )
                if stop < 0:
                    return stop, call_count, callee_count
        for item in range(begin, stop):
            if items[0, item] == items[0, item + 1]:
                targets[state, item] = -1
                continue
            start, count = items[0, item], items[0, item + 1] - items[0, item]
            if count == 1 and scratch[4, moves[start]] > 0:
                number = np.int64(scratch[4, moves[start]] - 1)
            elif item == begin or not _same_targets(moves, items, item):
                only = moves[start] if count == 1 else -1
                generation += 1
                count = np.int64(0)
                for i in range(start, items[0, item + 1]):
                    count = _close(moves[i], first, epsilon_moves, scratch, generation, count)
                visits += count
                if visits > max_visits:
                    return np.int64(BUSY), call_count, callee_count
                if states == len(targets) or table[states, 0] + count > len(members):
                    return FULL, call_count, callee_count
                number = _number(scratch, count, final, slots, table, members, ends, states)
                if number == states:
                    if states == max_states:
                        return TOO_MANY, call_count, callee_count
                    states += 1
                if only >= 0:
                    scratch[4, only] = number + 1
            if item >= width:
                if call_count == len(calls):
                    return FULL, call_count, callee_count
                callee = items[2, item]
                if callee_positions[0, callee] < 0:
                    callee_positions[0, callee], callee_positions[1, callee_count] = callee_count, callee
                    callee_count += 1
                calls[call_count, 0], calls[call_count, 1] = state, callee_positions[0, callee]
                calls[call_count, 2], calls[call_count, 3] = number, items[1, item]
                call_count += 1
            elif state >= 0:
                targets[state, item] = number << OPERATION_BITS | items[1, item]
    return states, call_count, callee_count


@helper
def _count(table, kind, first):
    for i in range(len(table)):
        first[kind, table[i, 0] + 2] += 1


@helper
def _sort_by_source(table, kind, first, rows):
    for i in range(len(table)):
        position = first[kind, table[i, 0] + 1]
        first[kind, table[i, 0] + 1] = position + 1
        for column in range(table.shape[1]):
            rows[position, column] = table[i, column]


@kernel
def sort_moves(edges, runs, texts, epsilon, calls, classes, first, edge_rows, epsilon_rows, call_rows):
    """Sort edges, epsilon moves and calls by source, and compute the byte classes.

    Args:
        edges: int32[edges, 5], `(source, first byte, last byte, target, operation)`.
        runs: int32[runs, 3], `(source, first new state, length)`: further edges, through consecutive states.
        texts: uint8[...], the bytes of all runs.
        epsilon: int32[epsilon moves, 2], `(source, target)`.
        calls: int32[calls, 4], `(source, callee number, target, operation)`.
        classes: uint8[256], zeros, receives the class of each byte.
        first: int32[3, NFA states + 2], zeros, receives the index of the first edge, epsilon move and call of each
            state.
        edge_rows: int32[edges + bytes of runs, 5], receives the edges by source, with byte classes.
        epsilon_rows: int32[epsilon moves, 2], receives the epsilon moves by source.
        call_rows: int32[calls, 4], receives the calls by source.
    """
    # Literals have three types, so the helpers would be compiled three times.
    of_edges, of_epsilon, of_calls = np.int64(0), np.int64(1), np.int64(2)
    _count(edges, of_edges, first)
    _count(epsilon, of_epsilon, first)
    _count(calls, of_calls, first)
    for e in range(len(edges)):
        classes[edges[e, 1]] = 1
        if edges[e, 2] < 255:
            classes[edges[e, 2] + 1] = 1
    byte = 0
    for r in range(len(runs)):
        source = runs[r, 0]
        for i in range(runs[r, 2]):
            first[0, source + 2] += 1
            source = runs[r, 1] + i
            classes[texts[byte]] = 1
            if texts[byte] < 255:
                classes[texts[byte] + 1] = 1
            byte += 1
    classes[0] = 0
    for each in range(1, 256):
        classes[each] += classes[each - 1]
    for kind in range(3):
        for state in range(first.shape[1] - 2):
            first[kind, state + 2] += first[kind, state + 1]
    _sort_by_source(edges, of_edges, first, edge_rows)
    _sort_by_source(epsilon, of_epsilon, first, epsilon_rows)
    _sort_by_source(calls, of_calls, first, call_rows)
    byte = 0
    for r in range(len(runs)):
        source = runs[r, 0]
        for i in range(runs[r, 2]):
            position = first[0, source + 1]
            first[0, source + 1] = position + 1
            edge_rows[position, 0], edge_rows[position, 1], edge_rows[position, 2] = source, texts[byte], texts[byte]
            source = runs[r, 1] + i
            edge_rows[position, 3], edge_rows[position, 4] = source, 0
            byte += 1
    for e in range(len(edge_rows)):
        edge_rows[e, 1], edge_rows[e, 2] = classes[edge_rows[e, 1]], classes[edge_rows[e, 2]]
