"""Kernels for the shortest distance from each state to the end of its rule, compiled by numba and cached on disk.

For arrays without a description see `Automaton` and `Tables`.
"""

from __future__ import annotations

# Formatting off: one parameter per line would make the signatures longer than the bodies.
# fmt: off
# ruff: noqa: SIM110 (numba compiles plain loops to faster code than generators)
import numpy as np

from structkit.automaton.core.jit import helper, inlined, kernel
from structkit.automaton.core.kernels import AT_END, ENTER, EXIT, OPERATION_BITS, OPERATION_MASK, UNREACHABLE

__all__ = [
    "BYTES_PER_ITERATION", "CALL_COLUMNS", "CALL_FIRST", "DISTANCE", "FIRST_STEP", "MOVE_COLUMNS", "ROW", "RULE",
    "RULE_COLUMNS", "STATE_COLUMNS", "distances", "measure",
]

ROW, RULE, CALL_FIRST, KNOWN, DISTANCE, MOVE_FIRST, FIRST_STEP = range(7)
"""Rows of `of_states`: index of the state's first transition, its rule, index of its first call, its initial distance
(`UNREACHABLE` if unknown), its distance, index of its first move, and the first step of a shortest path: a byte,
`-1 - call`, or `AT_END`."""

MOVE_COLUMNS = 2
"""The columns of `moves`: a byte class, and the state after it."""

CALL_RULE, CALL_NEXT, CALL_OPERATION = range(3)
"""Rows of `of_calls`: the rule called, the state after the call, and the operation."""

START, STOP, MIN_COUNT, WIDTH, BYTES_PER_ITERATION = range(5)
"""Rows of `of_rules`: the first state, the last state plus one, the minimum iterations, the number of byte classes, and
the bytes of one iteration of the counted repetition, 0 without one."""

STATE_COLUMNS, CALL_COLUMNS, RULE_COLUMNS = FIRST_STEP + 1, CALL_OPERATION + 1, BYTES_PER_ITERATION + 1
"""The number of rows of each array. Values share an array, because each kernel argument adds call overhead."""


@helper
def _any(flags):
    # Numba's `any`, like slices, takes far longer to compile.
    for flag in flags:
        if flag:
            return True
    return False


@helper
def _call_distance(of_states, of_rules, callee, return_state):
    """Return the bytes from a call to the end of the caller; `UNREACHABLE` only if there is no path."""
    inside, after = of_states[DISTANCE, of_rules[START, callee]], of_states[DISTANCE, return_state]
    min_count, each = of_rules[MIN_COUNT, callee], of_rules[BYTES_PER_ITERATION, callee]
    if inside >= UNREACHABLE or after >= UNREACHABLE or (min_count > 0 and each >= UNREACHABLE):
        return UNREACHABLE
    return min(UNREACHABLE - 1, inside + min_count * each + after)


@inlined
def _sweep(moves, final, of_states, of_calls, of_rules, first_byte):
    """Relax the distances until they are stable (Bellman 1958).

    Sweeps run from the last state to the first: rules are numbered breadth first, so few sweeps are needed.
    """
    changed = True
    while changed:
        changed = False
        for state in range(len(final) - 1, -1, -1):
            best = of_states[DISTANCE, state]
            if final[state] and best > 0:
                best = 0
                of_states[FIRST_STEP, state] = AT_END
            for move in range(of_states[MOVE_FIRST, state], of_states[MOVE_FIRST, state + 1]):
                after = of_states[DISTANCE, moves[move, 1]]
                distance = min(after + 1, UNREACHABLE - 1)
                if distance < best and after < UNREACHABLE:
                    best = distance
                    of_states[FIRST_STEP, state] = first_byte[of_states[RULE, state], moves[move, 0]]
            for call in range(of_states[CALL_FIRST, state], of_states[CALL_FIRST, state + 1]):
                distance = _call_distance(of_states, of_rules, of_calls[CALL_RULE, call], of_calls[CALL_NEXT, call])
                if distance < best:
                    best = distance
                    of_states[FIRST_STEP, state] = -1 - call
            if best < of_states[DISTANCE, state]:
                of_states[DISTANCE, state] = best
                changed = True


@inlined
def _list_moves(targets, states, of_states, of_rules, moves):
    """List the moves of each state: the byte classes with transitions, one per run of equal targets.

    Most states have few such classes, and sweeps skip the others.
    """
    found = 0
    for state in range(states):
        row, rule = of_states[ROW, state], of_states[RULE, state]
        of_states[MOVE_FIRST, state] = found
        # Without a minimum, the path avoids iterations, because the counter may be at its maximum.
        avoids_iterations = of_rules[MIN_COUNT, rule] == 0
        previous = np.int32(-1)
        for klass in range(of_rules[WIDTH, rule]):
            target = targets[row + klass]
            if target == previous:  # most are: of few bytes in most states
                continue
            previous = target
            if target >= 0 and not (avoids_iterations and 0 < target & OPERATION_MASK < EXIT):
                moves[found, 0], moves[found, 1] = klass, target >> OPERATION_BITS
                found += 1
    of_states[MOVE_FIRST, states] = found


@inlined
def _min_iteration_bytes(targets, of_states, of_calls, of_rules, rule):
    """Return the minimum number of bytes that an iteration of the rule's counted repetition adds to a path."""
    shortest = np.int64(UNREACHABLE)
    for state in range(of_rules[START, rule], of_rules[STOP, rule]):
        end = of_states[DISTANCE, state]
        if end >= UNREACHABLE:
            continue
        for klass in range(of_rules[WIDTH, rule]):
            target = targets[of_states[ROW, state] + klass]
            if target < 0 or target & OPERATION_MASK != ENTER:
                continue
            distance = of_states[DISTANCE, target >> OPERATION_BITS]
            if distance < UNREACHABLE:
                shortest = min(shortest, max(distance + 1 - end, 0))
        for call in range(of_states[CALL_FIRST, state], of_states[CALL_FIRST, state + 1]):
            if of_calls[CALL_OPERATION, call] == ENTER:
                distance = _call_distance(of_states, of_rules, of_calls[CALL_RULE, call], of_calls[CALL_NEXT, call])
                if distance < UNREACHABLE:
                    shortest = min(shortest, max(distance - end, 0))
    return shortest


@inlined
def _distinct_iteration_bytes(of_states, of_calls, call_distinct, of_rules, seen, rule):
    """Return an upper bound on the bytes per required iteration if each iteration calls another distinct text.

    The bound is the maximum cost among the cheapest required callees: the required keys of an object in any order are
    each written once, and the value of one may contain the object again. -1 if no iteration calls a distinct text.
    """
    for callee in range(len(seen)):
        seen[callee] = False
    highest = np.int64(-1)
    first, last = of_states[CALL_FIRST, of_rules[START, rule]], of_states[CALL_FIRST, of_rules[STOP, rule]]
    for _ in range(of_rules[MIN_COUNT, rule]):
        cheapest = np.int64(-1)
        cheapest_callee = -1
        for call in range(first, last):
            callee = of_calls[CALL_RULE, call]
            if of_calls[CALL_OPERATION, call] != ENTER or not call_distinct[call] or seen[callee]:
                continue
            cost = _call_distance(of_states, of_rules, callee, of_calls[CALL_NEXT, call])
            if cheapest_callee < 0 or cost < cheapest:
                cheapest, cheapest_callee = np.int64(cost), callee
        if cheapest_callee < 0:
            break
        seen[cheapest_callee] = True
        highest = cheapest
    return highest


@helper
def _distances(targets, final, of_states, of_calls, call_distinct, of_rules, first_byte, seen, moves):
    """Implement `distances`."""
    has_distinct = _any(call_distinct)
    states, rules = len(final), len(seen)
    _list_moves(targets, states, of_states, of_rules, moves)
    for r in range(rules):
        of_rules[BYTES_PER_ITERATION, r] = UNREACHABLE if has_distinct and of_rules[MIN_COUNT, r] > 0 else 0
    for state in range(states):
        of_states[DISTANCE, state] = of_states[KNOWN, state]
    stable = False
    while not stable:
        if not has_distinct:
            for state in range(states):
                of_states[DISTANCE, state] = of_states[KNOWN, state]
        _sweep(moves, final, of_states, of_calls, of_rules, first_byte)
        stable = True
        for r in range(rules):
            if of_rules[MIN_COUNT, r] == 0:
                continue
            each = np.int64(-1)
            if has_distinct:
                each = _distinct_iteration_bytes(of_states, of_calls, call_distinct, of_rules, seen, r)
            if each < 0:
                each = _min_iteration_bytes(targets, of_states, of_calls, of_rules, r)
            previous = of_rules[BYTES_PER_ITERATION, r]
            if (each < previous) if has_distinct else (each > previous):
                of_rules[BYTES_PER_ITERATION, r] = each
                stable = False


@kernel
def distances(targets, final, of_states, of_calls, call_distinct, of_rules, first_byte, seen, moves):
    """Compute the fewest bytes from each state to the end of its rule, with calls and without the counter.

    A rule with a minimum of iterations adds the bytes of each. The bytes per iteration depend on the distances, and the
    distances of callers depend on them, so both are computed until they are stable. With distinct texts the bytes per
    iteration decrease from `UNREACHABLE`, so that a shortest path never enters a rule recursively in a way that makes
    the path longer (Knuth 1977); without, they increase from 0.

    Args:
        targets: int32[transitions].
        final: bool[states].
        of_states: int32[STATES, states + 1], receives the distances and the first steps.
        of_calls: int32[CALLS, calls].
        call_distinct: bool[calls].
        of_rules: int32[RULES, rules], receives the bytes of one iteration.
        first_byte: uint8[rules, 256], a byte of each class.
        seen: bool[rules], scratch.
        moves: int32[transitions, MOVE_COLUMNS], scratch.
    """
    _distances(targets, final, of_states, of_calls, call_distinct, of_rules, first_byte, seen, moves)


@kernel
def measure(
    targets, width, classes, dfa_final, calls, callee_distinct, lengths, dfa_min_count,
    final, of_states, of_calls, distinct, of_rules, first_byte, seen, moves, ends, last_ends, label_distances,
):
    """Compute the distances of one rule; each callee is represented by an extra state with a given distance.

    Args:
        targets: int32[transitions].
        width: The number of byte classes.
        classes: uint8[256], the class of each byte.
        dfa_final: bool[states].
        calls: int32[calls, 4], `(state, callee, state after the call, operation)`.
        callee_distinct: bool[callees], whether the texts of each callee must be distinct.
        lengths: int32[callees], the bytes of a text of each callee, `UNREACHABLE` if it has none.
        dfa_min_count: The minimum iterations of the rule's counter.
        final: bool[states + callees], zeros; this and the following arrays become the arguments of `distances`.
        of_states: int32[STATES, states + callees + 1], zeros.
        of_calls: int32[CALLS, calls].
        distinct: bool[calls].
        of_rules: int32[RULES, 1 + callees], zeros.
        first_byte: uint8[1, 256].
        seen: bool[1 + callees].
        moves: int32[transitions, MOVE_COLUMNS]. Most of it is not written, so that it takes no memory.
        ends: int32[...], the states in which the rule may end with each label, those of one label after another.
        last_ends: int32[labels], how many of these there are up to each label.
        label_distances: int32[labels, states], receives the distances to the ends with each label.

    Returns:
        The maximum distance; at least `UNREACHABLE` if a state cannot reach the rule's end, or a callee has no text.
    """
    states = len(dfa_final)
    for state in range(states):
        of_states[ROW, state], of_states[KNOWN, state], final[state] = state * width, UNREACHABLE, dfa_final[state]
    of_rules[STOP, 0], of_rules[MIN_COUNT, 0], of_rules[WIDTH, 0] = states, dfa_min_count, width
    for callee in range(len(lengths)):
        state = states + callee
        of_states[RULE, state], of_states[KNOWN, state] = 1 + callee, lengths[callee]
        of_rules[START, 1 + callee], of_rules[STOP, 1 + callee] = state, state + 1
    for call in range(len(calls)):
        of_states[CALL_FIRST, calls[call, 0] + 1] += 1
        of_calls[CALL_RULE, call], of_calls[CALL_NEXT, call] = 1 + calls[call, 1], calls[call, 2]
        of_calls[CALL_OPERATION, call], distinct[call] = calls[call, 3], callee_distinct[calls[call, 1]]
    for state in range(len(final)):
        of_states[CALL_FIRST, state + 1] += of_states[CALL_FIRST, state]
    for byte in range(255, -1, -1):
        first_byte[0, classes[byte]] = byte
    end = 0
    for label in range(len(last_ends)):
        for state in range(states):
            final[state] = False
        while end < last_ends[label]:
            final[ends[end]] = True
            end += 1
        _distances(targets, final, of_states, of_calls, distinct, of_rules, first_byte, seen, moves)
        for state in range(states):
            label_distances[label, state] = of_states[DISTANCE, state]
            final[state] = dfa_final[state]
    _distances(targets, final, of_states, of_calls, distinct, of_rules, first_byte, seen, moves)
    max_distance = np.int64(0)
    for state in range(len(final)):
        max_distance = max(max_distance, np.int64(of_states[DISTANCE, state]))
    return max_distance
