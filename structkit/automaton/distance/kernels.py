"""The shortest ways to the ends of rules; compiled by numba and cached on disk.

All arrays are those of `Automaton`; see there for shapes and meaning.
"""

from __future__ import annotations

# One name a line would make the arguments of a kernel longer than its body.
# fmt: off
# ruff: noqa: SIM110 (numba compiles plain loops to faster code than generators)
import numpy as np

from structkit.automaton.core.jit import helper, inlined, kernel
from structkit.automaton.core.kernels import AT_END, ENTER, EXIT, OPERATION_BITS, OPERATION_MASK, UNREACHABLE

__all__ = ["BYTES_PER_ITERATION", "CALL_COLUMNS", "CALL_FIRST", "DISTANCE", "FIRST_STEP", "ROW", "RULE", "RULE_COLUMNS", "STATE_COLUMNS", "distances", "measure"]

ROW, RULE, CALL_FIRST, KNOWN, DISTANCE, FIRST_STEP = range(6)
"""Of each state where its transitions begin, its rule, where its calls begin, what is known of its distance already
(else `FAR`), its distance, and the first step of a shortest way: a byte, `-1 - call`, or `END`."""

CALL_RULE, CALL_NEXT, CALL_OPERATION = range(3)
"""Of each call the rule, the state after it, and the operation."""

START, STOP, MIN_COUNT, WIDTH, BYTES_PER_ITERATION = range(5)
"""Of each rule its first state, the one after its last, the rounds it needs, its byte classes, and the bytes of one
round of its counted repetition, 0 without one."""

STATE_COLUMNS, CALL_COLUMNS, RULE_COLUMNS = FIRST_STEP + 1, CALL_OPERATION + 1, BYTES_PER_ITERATION + 1
"""How many numbers there are of each. One array holds them all, for each argument of a kernel takes its time."""


@helper
def _any(flags):
    # Numba's own `any` takes far longer to compile, as slices do.
    for flag in flags:
        if flag:
            return True
    return False


@helper
def _call_distance(of_states, of_rules, callee, return_state):
    """The bytes from a call to the end of the caller; `FAR` only where there is no end, however far it is."""
    inside, behind = of_states[DISTANCE, of_rules[START, callee]], of_states[DISTANCE, return_state]
    least, each = of_rules[MIN_COUNT, callee], of_rules[BYTES_PER_ITERATION, callee]
    if inside >= UNREACHABLE or behind >= UNREACHABLE or (least > 0 and each >= UNREACHABLE):
        return UNREACHABLE
    return min(UNREACHABLE - 1, inside + least * each + behind)


@inlined
def _sweep(targets, leading, final, of_states, of_calls, of_rules, first_byte):
    """Lower the distances to what those of the next states allow, until nothing changes (Bellman 1958).

    Sweeps from the last state to the first: rules are numbered breadth first, so that few sweeps settle all.
    """
    changed = True
    while changed:
        changed = False
        for state in range(len(final) - 1, -1, -1):
            best = of_states[DISTANCE, state]
            if final[state] and best > 0:
                best = 0
                of_states[FIRST_STEP, state] = AT_END
            row, rule = of_states[ROW, state], of_states[RULE, state]
            at = row
            while at < row + of_rules[WIDTH, rule] and leading[at] >= 0:
                after = of_states[DISTANCE, targets[row + leading[at]] >> OPERATION_BITS]
                far = min(after + 1, UNREACHABLE - 1)
                if far < best and after < UNREACHABLE:
                    best = far
                    of_states[FIRST_STEP, state] = first_byte[rule, leading[at]]
                at += 1
            for call in range(of_states[CALL_FIRST, state], of_states[CALL_FIRST, state + 1]):
                far = _call_distance(of_states, of_rules, of_calls[CALL_RULE, call], of_calls[CALL_NEXT, call])
                if far < best:
                    best = far
                    of_states[FIRST_STEP, state] = -1 - call
            if best < of_states[DISTANCE, state]:
                of_states[DISTANCE, state] = best
                changed = True


@inlined
def _index_moves(targets, states, of_states, of_rules, leading):
    """Of each state note the byte classes that lead on, of neighbours with the same target the first, then -1.

    Most states of most rules have one such class, or few: so a sweep does not look at the others again.
    """
    for state in range(states):
        row, rule = of_states[ROW, state], of_states[RULE, state]
        at = row
        before = np.int64(-1)
        for klass in range(of_rules[WIDTH, rule]):
            target = np.int64(targets[row + klass])
            # Where no rounds are needed the way does without them: there may be no room for another one.
            if target != before and target >= 0 and not (of_rules[MIN_COUNT, rule] == 0 and 0 < target & OPERATION_MASK < EXIT):
                leading[at] = klass
                at += 1
            before = target
        if at < row + of_rules[WIDTH, rule]:
            leading[at] = -1


@inlined
def _min_iteration_bytes(targets, of_states, of_calls, of_rules, rule):
    """The fewest bytes by which a round of the rule's counted repetition makes a way longer."""
    shortest = np.int64(UNREACHABLE)
    for state in range(of_rules[START, rule], of_rules[STOP, rule]):
        end = of_states[DISTANCE, state]
        if end >= UNREACHABLE:
            continue
        for klass in range(of_rules[WIDTH, rule]):
            target = targets[of_states[ROW, state] + klass]
            if target >= 0 and target & OPERATION_MASK == ENTER and of_states[DISTANCE, target >> OPERATION_BITS] < UNREACHABLE:
                shortest = min(shortest, max(of_states[DISTANCE, target >> OPERATION_BITS] + 1 - end, 0))
        for call in range(of_states[CALL_FIRST, state], of_states[CALL_FIRST, state + 1]):
            if of_calls[CALL_OPERATION, call] == ENTER:
                far = _call_distance(of_states, of_rules, of_calls[CALL_RULE, call], of_calls[CALL_NEXT, call])
                if far < UNREACHABLE:
                    shortest = min(shortest, max(far - end, 0))
    return shortest


@inlined
def _distinct_iteration_bytes(of_states, of_calls, call_distinct, of_rules, seen, rule):
    """Bytes that are enough for each of the rounds that must be there, where each calls another unique text.

    As many as the dearest of the cheapest that are needed: the keys that an object must have, in any order, are all
    written once, and one of them may hold the object again. -1 if no round calls a unique text.
    """
    for callee in range(len(seen)):
        seen[callee] = False
    dearest = np.int64(-1)
    first, last = of_states[CALL_FIRST, of_rules[START, rule]], of_states[CALL_FIRST, of_rules[STOP, rule]]
    for _ in range(of_rules[MIN_COUNT, rule]):
        cheapest = np.int64(-1)
        nearest = -1
        for call in range(first, last):
            callee = of_calls[CALL_RULE, call]
            if of_calls[CALL_OPERATION, call] != ENTER or not call_distinct[call] or seen[callee]:
                continue
            cost = _call_distance(of_states, of_rules, callee, of_calls[CALL_NEXT, call])
            if nearest < 0 or cost < cheapest:
                cheapest, nearest = np.int64(cost), callee
        if nearest < 0:
            break
        seen[nearest] = True
        dearest = cheapest
    return dearest


@helper
def _distances(targets, final, of_states, of_calls, call_distinct, of_rules, first_byte, seen, leading):
    """What `distances` does."""
    unique = _any(call_distinct)
    states, rules = len(final), len(seen)
    _index_moves(targets, states, of_states, of_rules, leading)
    for r in range(rules):
        of_rules[BYTES_PER_ITERATION, r] = UNREACHABLE if unique and of_rules[MIN_COUNT, r] > 0 else 0
    for state in range(states):
        of_states[DISTANCE, state] = of_states[KNOWN, state]
    agreed = False
    while not agreed:
        if not unique:
            for state in range(states):
                of_states[DISTANCE, state] = of_states[KNOWN, state]
        _sweep(targets, leading, final, of_states, of_calls, of_rules, first_byte)
        agreed = True
        for r in range(rules):
            if of_rules[MIN_COUNT, r] == 0:
                continue
            each = np.int64(-1)
            if unique:
                each = _distinct_iteration_bytes(of_states, of_calls, call_distinct, of_rules, seen, r)
            if each < 0:
                each = _min_iteration_bytes(targets, of_states, of_calls, of_rules, r)
            if (each < of_rules[BYTES_PER_ITERATION, r]) if unique else (each > of_rules[BYTES_PER_ITERATION, r]):
                of_rules[BYTES_PER_ITERATION, r] = each
                agreed = False


@kernel
def distances(targets, final, of_states, of_calls, call_distinct, of_rules, first_byte, seen, leading):
    """The fewest bytes from each state to the end of its rule, calls included and the counter left out.

    Where a counted rule must do its rounds, each adds its bytes; those follow from the distances and the distances of
    callers from them, so the whole is repeated until they agree. With unique texts rounds are bounded from above,
    coming from `FAR`, so that a shortest way never enters a rule for which it is too long by itself (Knuth 1977); else
    they are bounded from below.

    Args:
        targets: int32[transitions].
        final: bool[states].
        of_states: int32[STATES, states + 1], receives the distances and the first steps.
        of_calls: int32[CALLS, calls].
        call_distinct: bool[calls].
        of_rules: int32[RULES, rules], receives the bytes of one round.
        first_byte: uint8[rules, 256], a byte of each class.
        seen: bool[rules], scratch.
        leading: int32[transitions], scratch.
    """
    _distances(targets, final, of_states, of_calls, call_distinct, of_rules, first_byte, seen, leading)


@kernel
def measure(
    targets, width, classes, dfa_final, calls, callee_distinct, lengths, dfa_min_count,
    final, of_states, of_calls, distinct, of_rules, first_byte, seen, leading,
):
    """Find the distances of one rule; each rule that it calls is a state of its own, whose distance is given.

    Args:
        targets: int32[transitions].
        width: The byte classes.
        classes: uint8[256], the class of each byte.
        dfa_final: bool[states].
        calls: int32[calls, 4], `(state, callee, state after it, operation)`.
        callee_distinct: bool[callees], whether its texts are unique.
        lengths: int32[callees], the bytes of a text of each, `FAR` if it has none.
        dfa_min_count: The rounds that the rule's counter needs.
        final: bool[states + callees], zeros; it and those that follow become what `distances` has.
        of_states: int32[STATES, states + callees + 1], zeros.
        of_calls: int32[CALLS, calls].
        distinct: bool[calls].
        of_rules: int32[RULES, 1 + callees], zeros.
        first_byte: uint8[1, 256].
        seen: bool[1 + callees].
        leading: int32[transitions].

    Returns:
        The farthest distance; at least `FAR` if the rule's end cannot be reached from a state, or a callee has no text.
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
    _distances(targets, final, of_states, of_calls, distinct, of_rules, first_byte, seen, leading)
    farthest = np.int64(0)
    for state in range(len(final)):
        farthest = max(farthest, np.int64(of_states[DISTANCE, state]))
    return farthest
