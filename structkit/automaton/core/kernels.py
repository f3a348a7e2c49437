"""The automaton's loops that must be fast, compiled by numba and cached on disk."""

from __future__ import annotations

# One name a line would make the arguments of a kernel longer than its body.
# fmt: off
# ruff: noqa: D417
import numpy as np

from structkit.automaton.core.jit import helper, kernel

__all__ = [
    "AT_END",
    "ENTER",
    "EXIT",
    "FULL",
    "OPERATION_BITS",
    "OPERATION_MASK",
    "TOO_MANY",
    "UNREACHABLE",
    "apply_operation",
    "common_byte_classes",
    "compact",
    "min_iterations",
    "product",
    "run_bytes",
    "write_rule",
]

UNREACHABLE = 1 << 29
"""No end can be reached. Distances that are larger are told as one less."""

AT_END = -(1 << 30)
"""The hop of a state at which the rule ends."""


OPERATION_BITS = 6
"""The bits of a transition that say what it does to the counter; see `structkit.automaton.core.dfa`."""

OPERATION_MASK = (1 << OPERATION_BITS) - 1
"""The operation of a transition."""

ENTER, EXIT = 1, OPERATION_MASK


@helper
def apply_operation(count, operation, min_count, max_count):
    """The counter after an operation, or -1 if it is forbidden."""
    if operation == 0:
        return count
    if operation == EXIT:
        return count if count >= min_count else -1
    if max_count >= 0:
        return count + operation if count + operation <= max_count else -1
    return min(count + operation, np.int64(min_count))


@kernel
def run_bytes(row, targets, classes, rule, byte_only, min_count, max_count, state, count, text, position):
    """Read bytes from one frame for as long as nothing else can happen.

    Args:
        byte_only: bool[states], whether nothing but a byte leaves the state.
        state: The frame's state.
        count: The frame's counter.
        text: uint8[...], the bytes.
        position: The first one to read.

    Returns:
        `(the first byte not read, state, count)`.
    """
    inside = rule[state]
    while position < len(text):
        target = targets[row[state] + classes[inside, text[position]]]
        if target < 0 or not byte_only[target >> OPERATION_BITS]:
            break
        after = apply_operation(count, target & OPERATION_MASK, min_count[inside], max_count[inside])
        if after < 0:
            break
        state, count = target >> OPERATION_BITS, after
        position += 1
    return position, state, count


@kernel
def write_rule(
    dfa_targets, dfa_final, calls, callees, distinct, rule_number, first_state, first_transition, first_call,
    row, targets, rule, final, has_moves, byte_only, call_first, call_rule, call_next, call_operation, call_distinct,
):
    """Write the automaton of a rule into the arrays of all; see `structkit.automaton.core.tables`.

    Args:
        dfa_targets: int32[states, classes].
        dfa_final: bool[states].
        calls: int32[calls, 4], `(state, callee, state after it, operation)`, ordered.
        callees: int32[callees], the number of the rule that each is.
        distinct: bool[callees], whether its texts are unique.
        rule_number: The number of the rule.
        first_state: The number of its first state.
        first_transition: Where its transitions begin.
        first_call: Where its calls begin.
    """
    states, width = dfa_targets.shape
    call = 0
    call_first[first_state] = first_call
    for state in range(states):
        at = first_state + state
        row[at] = first_transition + state * width
        rule[at] = rule_number
        final[at] = dfa_final[state]
        has_moves[at] = False
        for klass in range(width):
            target = dfa_targets[state, klass]
            targets[row[at] + klass] = target + (first_state << OPERATION_BITS) if target >= 0 else target
            has_moves[at] |= target >= 0
        silent = True
        while call < len(calls) and calls[call, 0] == state:
            call_rule[first_call + call] = callees[calls[call, 1]]
            call_next[first_call + call] = first_state + calls[call, 2]
            call_operation[first_call + call] = calls[call, 3]
            call_distinct[first_call + call] = distinct[calls[call, 1]]
            call += 1
            silent = False
        call_first[at + 1] = first_call + call
        byte_only[at] = silent and has_moves[at] and not final[at]


@kernel
def min_iterations(targets, iterations):
    """The fewest rounds that begin on a way from each state to one that has 0 at first (Bellman 1958).

    Sweeps from the last state to the first: most transitions lead to later states, so few sweeps settle all.

    Args:
        targets: int32[states, classes], `next_state << BITS | operation`, negative where there is none.
        iterations: int32[states], 0 or `FAR`, receives the rounds; `FAR` where there is no way.
    """
    changed = True
    while changed:
        changed = False
        for state in range(len(iterations) - 1, -1, -1):
            if iterations[state] == 0:
                continue
            for target in targets[state]:
                if target < 0 or iterations[target >> OPERATION_BITS] >= iterations[state]:
                    continue
                operation = target & OPERATION_MASK
                far = iterations[target >> OPERATION_BITS] + (0 if operation == EXIT else operation)
                if far < iterations[state]:
                    iterations[state] = far
                    changed = True
                    if far == 0:
                        break


@kernel
def compact(targets, final, iterations):
    """Leave out the states of an automaton from which there is no way to the end, in place; but the start stays.

    Args:
        targets: int32[states, classes], the transitions, numbered anew.
        final: bool[states].
        iterations: int32[states], `FAR` where there is no way; receives the new numbers, -1 for the states left out.

    Returns:
        How many states there are then.
    """
    kept = 0
    begins = iterations[0] < UNREACHABLE
    for state in range(len(iterations)):
        if iterations[state] < UNREACHABLE or state == 0:
            iterations[state] = kept
            kept += 1
        else:
            iterations[state] = -1
    for state in range(len(iterations)):
        number = iterations[state]
        if number < 0:
            continue
        final[number] = final[state]
        for klass in range(targets.shape[1]):
            target = targets[state, klass]
            after = iterations[target >> OPERATION_BITS] if target >= 0 and begins else -1
            targets[number, klass] = after << OPERATION_BITS | target & OPERATION_MASK if after >= 0 else -1
    return kept


TOO_MANY = -2
"""What `subset.determinise` answers when there would be too many states."""

FULL = -3
"""What `product` and `subset.determinise` answer when the tables that they were given are too small."""


@kernel
def common_byte_classes(left, right, classes, class_pairs):
    """Find the bytes that neither of two automata tells apart.

    Args:
        left: uint8[256], the class of each byte in the first automaton.
        right: uint8[256], that in the second one.
        classes: uint8[256], receives the class of each byte in both.
        class_pairs: uint8[2, 256], receives the first and the second one's class of each of these.

    Returns:
        How many classes there are.
    """
    found = 0
    for byte in range(256):
        klass = 0
        while klass < found and (class_pairs[0, klass] != left[byte] or class_pairs[1, klass] != right[byte]):
            klass += 1
        if klass == found:
            class_pairs[0, klass], class_pairs[1, klass] = left[byte], right[byte]
            found += 1
        classes[byte] = klass
    return found


@kernel
def product(left, left_final, right, right_final, class_pairs, negate, slots, pairs, targets, final):
    """The pairs of states that two automata reach together (Rabin and Scott 1959).

    Args:
        left: int32[states, classes], the transitions of the first automaton.
        left_final: bool[states].
        right: int32[states, classes], those of the second one; its counter counts on.
        right_final: bool[states].
        class_pairs: uint8[2, 256], the class that each class of the product is in either.
        negate: Whether the second automaton must not accept.
        slots: int32[a power of 2, more than the pairs], scratch.
        pairs: int64[pairs], receives each pair: the first one's state times one more than the second one has, plus the
            second one's counted from 1, or 0 where it has none.
        targets: int32[pairs, classes], receives the transitions.
        final: bool[pairs], receives whether each is final.

    Returns:
        How many pairs there are, or `FULL`.
    """
    side = np.int64(len(right) + 1)
    found = 1
    for place in range(len(slots)):
        slots[place] = -1
    pairs[0] = 1
    slots[_slot(pairs[0], slots, pairs)] = 0
    for current in range(len(pairs)):
        if current == found:
            break
        a, b = pairs[current] // side, pairs[current] % side - 1
        final[current] = left_final[a] and (b >= 0 and right_final[b]) != negate
        for klass in range(targets.shape[1]):
            after = left[a, class_pairs[0, klass]] >> OPERATION_BITS
            other = np.int64(right[b, class_pairs[1, klass]]) if b >= 0 else np.int64(-1)
            if after < 0 or (other < 0 and not negate):
                targets[current, klass] = -1
                continue
            both = after * side + (other >> OPERATION_BITS) + 1
            slot = _slot(both, slots, pairs)
            if slots[slot] < 0:
                if found == len(pairs):
                    return FULL
                slots[slot] = found
                pairs[found] = both
                found += 1
            targets[current, klass] = slots[slot] << OPERATION_BITS | (other & OPERATION_MASK if other >= 0 else 0)
    return found


@helper
def _slot(pair, slots, pairs):
    """The slot of a pair in a table of open addressing, or the empty one where it belongs."""
    slot = ((pair * np.int64(0x9E3779B97F4A7C1)) >> np.int64(20)) & (len(slots) - 1)
    while slots[slot] >= 0 and pairs[slots[slot]] != pair:
        slot = (slot + 1) & (len(slots) - 1)
    return slot
