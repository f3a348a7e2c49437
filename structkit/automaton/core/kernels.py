"""The automaton's loops that must be fast, compiled by numba and cached on disk."""

from __future__ import annotations

# One name a line would make the arguments of a kernel longer than its body.
# fmt: off
# ruff: noqa: D417
import numpy as np

from structkit.automaton.core.jit import helper, kernel

__all__ = [
    "BITS", "END", "FAR", "FULL", "LEAVE", "OPERATION", "TICK", "TOO_MANY", "compact", "counted", "fewest_rounds",
    "glide", "pair", "place", "product",
]

FAR = 1 << 29
"""No end can be reached. Distances that are larger are told as one less."""

END = -(1 << 30)
"""The hop of a state at which the rule ends."""


BITS = 6
"""The bits of a transition that say what it does to the counter; see `structkit.automaton.core.dfa`."""

OPERATION = (1 << BITS) - 1
"""The operation of a transition."""

TICK, LEAVE = 1, OPERATION


@helper
def counted(count, operation, least, most):
    """The counter after an operation, or -1 if it is forbidden."""
    if operation == 0:
        return count
    if operation == LEAVE:
        return count if count >= least else -1
    if most >= 0:
        return count + operation if count + operation <= most else -1
    return min(count + operation, np.int64(least))


@kernel
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
        if target < 0 or not quiet[target >> BITS]:
            break
        after = counted(count, target & OPERATION, least[inside], most[inside])
        if after < 0:
            break
        state, count = target >> BITS, after
        at += 1
    return at, state, count


@kernel
def place(
    dfa_targets, dfa_final, calls, callees, unique, number, base, offset, called,
    row, targets, rule, final, live, quiet, call_first, call_rule, call_next, call_operation, call_unique,
):
    """Write the automaton of a rule into the arrays of all; see `structkit.automaton.core.tables`.

    Args:
        dfa_targets: int32[states, classes].
        dfa_final: bool[states].
        calls: int32[calls, 4], `(state, callee, state after it, operation)`, ordered.
        callees: int32[callees], the number of the rule that each is.
        unique: bool[callees], whether its texts are unique.
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
            targets[row[at] + klass] = target + (base << BITS) if target >= 0 else target
            live[at] |= target >= 0
        silent = True
        while call < len(calls) and calls[call, 0] == state:
            call_rule[called + call] = callees[calls[call, 1]]
            call_next[called + call] = base + calls[call, 2]
            call_operation[called + call] = calls[call, 3]
            call_unique[called + call] = unique[calls[call, 1]]
            call += 1
            silent = False
        call_first[at + 1] = called + call
        quiet[at] = silent and live[at] and not final[at]


@kernel
def fewest_rounds(targets, rounds):
    """The fewest rounds that begin on a way from each state to one that has 0 at first (Bellman 1958).

    Sweeps from the last state to the first: most transitions lead to later states, so few sweeps settle all.

    Args:
        targets: int32[states, classes], `next_state << BITS | operation`, negative where there is none.
        rounds: int32[states], 0 or `FAR`, receives the rounds; `FAR` where there is no way.
    """
    changed = True
    while changed:
        changed = False
        for state in range(len(rounds) - 1, -1, -1):
            if rounds[state] == 0:
                continue
            for target in targets[state]:
                if target < 0 or rounds[target >> BITS] >= rounds[state]:
                    continue
                operation = target & OPERATION
                far = rounds[target >> BITS] + (0 if operation == LEAVE else operation)
                if far < rounds[state]:
                    rounds[state] = far
                    changed = True
                    if far == 0:
                        break


@kernel
def compact(targets, final, rounds):
    """Leave out the states of an automaton from which there is no way to the end, in place; but the start stays.

    Args:
        targets: int32[states, classes], the transitions, numbered anew.
        final: bool[states].
        rounds: int32[states], `FAR` where there is no way; receives the new numbers, -1 for the states left out.

    Returns:
        How many states there are then.
    """
    kept = 0
    begins = rounds[0] < FAR
    for state in range(len(rounds)):
        if rounds[state] < FAR or state == 0:
            rounds[state] = kept
            kept += 1
        else:
            rounds[state] = -1
    for state in range(len(rounds)):
        number = rounds[state]
        if number < 0:
            continue
        final[number] = final[state]
        for klass in range(targets.shape[1]):
            target = targets[state, klass]
            after = rounds[target >> BITS] if target >= 0 and begins else -1
            targets[number, klass] = after << BITS | target & OPERATION if after >= 0 else -1
    return kept


TOO_MANY = -2
"""What `subset.determinise` answers when there would be too many states."""

FULL = -3
"""What `product` and `subset.determinise` answer when the tables that they were given are too small."""


@kernel
def pair(left, right, classes, of):
    """Find the bytes that neither of two automata tells apart.

    Args:
        left: uint8[256], the class of each byte in the first automaton.
        right: uint8[256], that in the second one.
        classes: uint8[256], receives the class of each byte in both.
        of: uint8[2, 256], receives the first and the second one's class of each of these.

    Returns:
        How many classes there are.
    """
    found = 0
    for byte in range(256):
        klass = 0
        while klass < found and (of[0, klass] != left[byte] or of[1, klass] != right[byte]):
            klass += 1
        if klass == found:
            of[0, klass], of[1, klass] = left[byte], right[byte]
            found += 1
        classes[byte] = klass
    return found


@kernel
def product(left, left_final, right, right_final, of, negate, slots, pairs, targets, final):
    """The pairs of states that two automata reach together (Rabin and Scott 1959).

    Args:
        left: int32[states, classes], the transitions of the first automaton.
        left_final: bool[states].
        right: int32[states, classes], those of the second one; its counter counts on.
        right_final: bool[states].
        of: uint8[2, 256], the class that each class of the product is in either.
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
            after = left[a, of[0, klass]] >> BITS
            other = np.int64(right[b, of[1, klass]]) if b >= 0 else np.int64(-1)
            if after < 0 or (other < 0 and not negate):
                targets[current, klass] = -1
                continue
            both = after * side + (other >> BITS) + 1
            slot = _slot(both, slots, pairs)
            if slots[slot] < 0:
                if found == len(pairs):
                    return FULL
                slots[slot] = found
                pairs[found] = both
                found += 1
            targets[current, klass] = slots[slot] << BITS | (other & OPERATION if other >= 0 else 0)
    return found


@helper
def _slot(pair, slots, pairs):
    """The slot of a pair in a table of open addressing, or the empty one where it belongs."""
    slot = ((pair * np.int64(0x9E3779B97F4A7C1)) >> np.int64(20)) & (len(slots) - 1)
    while slots[slot] >= 0 and pairs[slots[slot]] != pair:
        slot = (slot + 1) & (len(slots) - 1)
    return slot
