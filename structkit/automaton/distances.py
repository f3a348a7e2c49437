"""The shortest ways to the ends of rules; compiled by numba and cached on disk.

All arrays are those of `Automaton`; see there for shapes and meaning.
"""

from __future__ import annotations

# One name a line would make the arguments of a kernel longer than its body.
# fmt: off
# ruff: noqa: D417, SIM110 (numba compiles plain loops to faster code than generators)
import numpy as np

from structkit.automaton.jit import helper, inlined, kernel
from structkit.automaton.kernels import BITS, END, FAR, LEAVE, OPERATION, TICK

__all__ = ["distances", "lay_out"]


@helper
def _any(flags):
    # Numba's own `any` takes far longer to compile, as slices do.
    for flag in flags:
        if flag:
            return True
    return False


@helper
def _through(end, start, least, rounds, callee, after):
    """The bytes from a call to the end of the caller; `FAR` only where there is no end, however far it is."""
    if end[start[callee]] >= FAR or end[after] >= FAR or (least[callee] > 0 and rounds[callee] >= FAR):
        return FAR
    return min(FAR - 1, end[start[callee]] + least[callee] * rounds[callee] + end[after])


@inlined
def _sweep(
    row, targets, width, leading, rule, final, call_first, call_rule, call_next, start, least, first_byte, end, rounds,
    hop,
):
    """Lower the distances to what those of the next states allow, until nothing changes (Bellman 1958).

    Sweeps from the last state to the first: rules are numbered breadth first, so that few sweeps settle all.
    """
    lowered = False
    changed = True
    while changed:
        changed = False
        for state in range(len(row) - 1, -1, -1):
            best = end[state]
            if final[state] and best > 0:
                best = 0
                hop[state] = END
            at = row[state]
            while at < row[state] + width[rule[state]] and leading[at] >= 0:
                target = targets[row[state] + leading[at]]
                far = min(end[target >> BITS] + 1, FAR - 1)
                if far < best and end[target >> BITS] < FAR:
                    best = far
                    hop[state] = first_byte[rule[state], leading[at]]
                at += 1
            for call in range(call_first[state], call_first[state + 1]):
                far = _through(end, start, least, rounds, call_rule[call], call_next[call])
                if far < best:
                    best = far
                    hop[state] = -1 - call
            if best < end[state]:
                end[state] = best
                changed = True
                lowered = True
    return lowered


@inlined
def _lead(row, targets, width, rule, least, leading):
    """Of each state note the byte classes that lead on, of neighbours with the same target the first, then -1.

    Most states of most rules have one such class, or few: so a sweep does not look at the others again.
    """
    for state in range(len(row)):
        r = rule[state]
        at = row[state]
        before = np.int64(-1)
        for klass in range(width[r]):
            target = np.int64(targets[row[state] + klass])
            # Where no rounds are needed the way does without them: there may be no room for another one.
            if target != before and target >= 0 and not (least[r] == 0 and 0 < target & OPERATION < LEAVE):
                leading[at] = klass
                at += 1
            before = target
        if at < row[state] + width[r]:
            leading[at] = -1


@inlined
def _one_round(
    row, targets, width, call_first, call_rule, call_next, call_operation, start, stop, least, end, rounds, r
):
    """The fewest bytes by which a round of the rule's counted repetition makes a way longer."""
    shortest = np.int64(FAR)
    for state in range(start[r], stop[r]):
        if end[state] >= FAR:
            continue
        for klass in range(width[r]):
            target = targets[row[state] + klass]
            if target >= 0 and target & OPERATION == TICK and end[target >> BITS] < FAR:
                shortest = min(shortest, max(end[target >> BITS] + 1 - end[state], 0))
        for call in range(call_first[state], call_first[state + 1]):
            if call_operation[call] == TICK:
                far = _through(end, start, least, rounds, call_rule[call], call_next[call])
                if far < FAR:
                    shortest = min(shortest, max(far - end[state], 0))
    return shortest


@inlined
def _different_rounds(
    call_first, call_rule, call_next, call_operation, call_unique, start, stop, least, end, rounds, seen, r
):
    """Bytes that are enough for each of the rounds that must be there, where each calls another unique text.

    As many as the dearest of the cheapest that are needed: the keys that an object must have, in any order, are all
    written once, and one of them may hold the object again. -1 if no round calls a unique text.
    """
    for callee in range(len(start)):
        seen[callee] = False
    dearest = np.int64(-1)
    for _ in range(least[r]):
        cheapest = np.int64(-1)
        nearest = -1
        for call in range(call_first[start[r]], call_first[stop[r]]):
            if call_operation[call] != TICK or not call_unique[call] or seen[call_rule[call]]:
                continue
            cost = _through(end, start, least, rounds, call_rule[call], call_next[call])
            if nearest < 0 or cost < cheapest:
                cheapest, nearest = np.int64(cost), call_rule[call]
        if nearest < 0:
            break
        seen[nearest] = True
        dearest = cheapest
    return dearest


@kernel
def distances(
    row, targets, width, rule, final, call_first, call_rule, call_next, call_operation, call_unique, start, stop,
    least, first_byte, given, end, rounds, hop, seen, leading,
):
    """The fewest bytes from each state to the end of its rule, calls included and the counter left out.

    Where a counted rule must do its rounds, each adds `rounds[rule]` bytes; those follow from the distances and the
    distances of callers from them, so the whole is repeated until they agree. With unique texts rounds are bounded
    from above, coming from `FAR`, so that a shortest way never enters a rule for which it is too long by itself
    (Knuth 1977); else they are bounded from below.

    Args:
        width: int32[rules], the byte classes of each rule.
        stop: int32[rules], the state after the last of each rule.
        first_byte: uint8[rules, 256], a byte of each class.
        given: int32[states], what is known of the distances already, else `FAR`.
        end: int32[states], receives the distances, `FAR` where there is no end.
        rounds: int32[rules], receives the bytes of one round of the counted repetition, 0 without one.
        hop: int32[states], receives the first step of a shortest path: a byte, `-1 - call`, or `END`.
        seen: bool[rules], scratch.
        leading: int32[transitions], scratch.
    """
    unique = _any(call_unique)
    _lead(row, targets, width, rule, least, leading)
    for r in range(len(start)):
        rounds[r] = FAR if unique and least[r] > 0 else 0
    for state in range(len(end)):
        end[state] = given[state]
    agreed = False
    while not agreed:
        if not unique:
            for state in range(len(end)):
                end[state] = given[state]
        _sweep(
            row, targets, width, leading, rule, final, call_first, call_rule, call_next, start, least, first_byte,
            end, rounds, hop,
        )
        agreed = True
        for r in range(len(start)):
            if least[r] == 0:
                continue
            each = np.int64(-1)
            if unique:
                each = _different_rounds(
                    call_first, call_rule, call_next, call_operation, call_unique, start, stop, least, end, rounds,
                    seen, r,
                )
            if each < 0:
                each = _one_round(
                    row, targets, width, call_first, call_rule, call_next, call_operation, start, stop, least, end,
                    rounds, r,
                )
            if (each < rounds[r]) if unique else (each > rounds[r]):
                rounds[r] = each
                agreed = False


@kernel
def lay_out(
    targets, classes, dfa_final, calls, callee_unique, lengths, dfa_least,
    of_states, final, of_calls, unique, of_rules, first_byte,
):
    """Write one rule as `distances` reads it; each rule that it calls is a state of its own, whose distance is given.

    Args:
        targets: int32[states, classes], the transitions.
        classes: uint8[256], the class of each byte.
        dfa_final: bool[states].
        calls: int32[calls, 4], `(state, callee, state after it, operation)`.
        callee_unique: bool[callees], whether its texts are unique.
        lengths: int32[callees], the bytes of a text of each, `FAR` if it has none.
        dfa_least: The rounds that the rule's counter needs.
        of_states: int32[4 or more, states + callees + 1], zeros, receives `(row, rule, call_first, given)`.
        final: bool[states + callees], zeros.
        of_calls: int32[3, calls], receives `(call_rule, call_next, call_operation)`.
        unique: bool[calls].
        of_rules: int32[4 or more, 1 + callees], zeros, receives `(start, stop, least, width)`.
        first_byte: uint8[1, 256].
    """
    states, width = targets.shape
    for state in range(states):
        of_states[0, state], of_states[3, state], final[state] = state * width, FAR, dfa_final[state]
    of_rules[1, 0], of_rules[2, 0], of_rules[3, 0] = states, dfa_least, width
    for callee in range(len(lengths)):
        state = states + callee
        of_states[1, state], of_states[3, state] = 1 + callee, lengths[callee]
        of_rules[0, 1 + callee], of_rules[1, 1 + callee] = state, state + 1
    for call in range(len(calls)):
        of_states[2, calls[call, 0] + 1] += 1
        of_calls[0, call], of_calls[1, call] = 1 + calls[call, 1], calls[call, 2]
        of_calls[2, call], unique[call] = calls[call, 3], callee_unique[calls[call, 1]]
    for state in range(states + len(lengths)):
        of_states[2, state + 1] += of_states[2, state]
    for byte in range(255, -1, -1):
        first_byte[0, classes[byte]] = byte
