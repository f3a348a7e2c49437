"""Kernels of the automaton, compiled by numba and cached on disk."""

from __future__ import annotations

# Formatting off: one parameter per line would make the signatures longer than the bodies.
# fmt: off
# ruff: noqa: D417
import numpy as np

from structkit.automaton.core.jit import helper, kernel

__all__ = [
    "AT_END",
    "ENTER",
    "EXIT",
    "FULL",
    "MAX_LABEL",
    "OPERATION_BITS",
    "OPERATION_MASK",
    "TOO_MANY",
    "UNREACHABLE",
    "accepts_each",
    "apply_operation",
    "common_byte_classes",
    "compact",
    "count_required",
    "exclude_texts",
    "min_iterations",
    "product",
    "remove_finite",
    "remove_transitions",
    "run_bytes",
    "write_rule",
]

UNREACHABLE = 1 << 29
"""Distance without a path to an end. Larger finite distances are clamped to `UNREACHABLE - 1`."""

AT_END = -(1 << 30)
"""The first step of a state at which the rule ends."""

MAX_LABEL = 60
"""The largest label with which a rule can end: those of a trie node are the bits of a number."""

OPERATION_BITS = 6
"""The number of low bits of a transition that contain its operation; see `structkit.automaton.core.dfa`."""

OPERATION_MASK = (1 << OPERATION_BITS) - 1
"""The bits of a transition's operation."""

ENTER, EXIT = 1, OPERATION_MASK


@helper
def apply_operation(count, operation, min_count, max_count):
    """Return the counter after an operation, or -1 if the operation is forbidden."""
    if operation == 0:
        return count
    if operation == EXIT:
        return count if count >= min_count else -1
    if max_count >= 0:
        return count + operation if count + operation <= max_count else -1
    return min(count + operation, np.int64(min_count))


@kernel
def accepts_each(targets, classes, final, min_count, max_count, content, ends, accepted):
    """Read texts with one automaton; see `Dfa.accepts_each`.

    Args:
        targets: int32[states, classes].
        classes: uint8[256].
        final: bool[states].
        content: uint8[...], the bytes of all texts.
        ends: int64[texts], where each text ends in `content`.
        accepted: bool[texts], receives the answers.
    """
    position = np.int64(0)
    for text in range(len(ends)):
        state, count = np.int64(0), np.int64(0)
        while position < ends[text]:
            target = np.int64(targets[state, classes[content[position]]])
            count = apply_operation(count, target & OPERATION_MASK, min_count, max_count) if target >= 0 else -1
            if count < 0:
                break
            state = target >> OPERATION_BITS
            position += 1
        position = np.int64(ends[text])
        accepted[text] = count >= min_count and final[state]


@kernel
def run_bytes(row, targets, classes, rule, byte_only, min_count, max_count, state, count, text, position):
    """Read bytes from one frame while byte transitions are the only moves.

    Args:
        byte_only: bool[states], whether byte transitions are the state's only moves.
        state: The frame's state.
        count: The frame's counter.
        text: uint8[...], the bytes.
        position: Index of the first byte to read.

    Returns:
        `(index of the first byte not read, state, count)`.
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
    """Write the automaton of a rule into the arrays of all rules; see `structkit.automaton.core.tables`.

    Args:
        dfa_targets: int32[states, classes].
        dfa_final: bool[states].
        calls: int32[calls, 4], `(state, callee, state after the call, operation)`, ordered by state.
        callees: int32[callees], the rule number of each callee.
        distinct: bool[callees], whether the texts of each callee must be distinct.
        rule_number: The number of the rule.
        first_state: The number of the rule's first state.
        first_transition: The index of the rule's first transition.
        first_call: The index of the rule's first call.
    """
    states, width = dfa_targets.shape
    call, offset = 0, np.int32(first_state << OPERATION_BITS)
    call_first[first_state] = first_call
    for state in range(states):
        index = first_state + state
        row[index] = first_transition + state * width
        rule[index] = rule_number
        final[index] = dfa_final[state]
        # Of int32, so that the loop is compiled to vector instructions.
        largest = np.int32(-1)
        for klass in range(width):
            target = dfa_targets[state, klass]
            targets[row[index] + klass] = target + offset if target >= 0 else target
            largest = max(largest, target)
        has_moves[index] = largest >= 0
        call_free = True
        while call < len(calls) and calls[call, 0] == state:
            call_rule[first_call + call] = callees[calls[call, 1]]
            call_next[first_call + call] = first_state + calls[call, 2]
            call_operation[first_call + call] = calls[call, 3]
            call_distinct[first_call + call] = distinct[calls[call, 1]]
            call += 1
            call_free = False
        call_first[index + 1] = first_call + call
        byte_only[index] = call_free and has_moves[index] and not final[index]


@kernel
def remove_transitions(row, targets, blocked, dead_ends, kept):
    """Copy the transitions of all rules without some of them; see `Tables.without`.

    Args:
        row: int32[states], the index of each state's first transition.
        targets: int32[transitions].
        blocked: bool[states], the states whose incoming transitions are removed.
        dead_ends: bool[states], the states whose outgoing transitions are removed.
        kept: int32[transitions], receives the transitions, -1 for those removed.
    """
    for state in range(len(row)):
        stop = row[state + 1] if state + 1 < len(row) else len(targets)
        for index in range(row[state], stop):
            target = targets[index]
            kept[index] = -1 if target < 0 or dead_ends[state] or blocked[target >> OPERATION_BITS] else target


@kernel
def remove_finite(targets, first, call_state, call_next, call_counts, calling, endless, sweeps):
    """Remove the states of a rule from which there is an end of texts: none of them leads to an endless state.

    Sweeps run from the last state to the first: most transitions lead to later states, so few sweeps are needed.

    Args:
        targets: int32[states, classes], the transitions of one rule, with states of the whole automaton.
        first: The first state of the rule.
        call_state: int64[calls], the calling states of the rule, from 0, in order.
        call_next: int32[calls], the states after the calls, from 0.
        call_counts: bool[calls], whether the called rule has texts that are not empty and may repeat.
        calling: bool[states], whether a state calls a rule without end.
        endless: bool[states], in place.
        sweeps: The maximum number of sweeps.

    Returns:
        Whether the last sweep removed a state, so that more may follow.
    """
    changed = True
    for _ in range(sweeps):
        changed = False
        call = len(call_state) - 1
        for state in range(len(endless) - 1, -1, -1):
            kept = calling[state]
            while call >= 0 and call_state[call] == state:
                kept = kept or (call_counts[call] and endless[call_next[call]])
                call -= 1
            if kept or not endless[state]:
                continue
            for target in targets[state]:
                if target >= 0 and endless[(target >> OPERATION_BITS) - first]:
                    kept = True
                    break
            if not kept:
                endless[state] = False
                changed = True
        if not changed:
            break
    return changed


@kernel
def min_iterations(targets, iterations):
    """Compute the minimum iterations that start on a path from each state to an end (Bellman 1958).

    Sweeps run from the last state to the first: most transitions lead to later states, so few sweeps are needed.

    Args:
        targets: int32[states, classes], `next_state << OPERATION_BITS | operation`, negative without a transition.
        iterations: int32[states], 0 at ends, else `UNREACHABLE`; receives the result, `UNREACHABLE` without a path.
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
                total = iterations[target >> OPERATION_BITS] + (0 if operation == EXIT else operation)
                if total < iterations[state]:
                    iterations[state] = total
                    changed = True
                    if total == 0:
                        break


@kernel
def count_required(targets, required):
    """Count iterations as soon as they become unavoidable, in place.

    Args:
        targets: int32[states, classes], the transitions; the operations are `NO_OP` or numbers of iterations.
        required: int32[states], the minimum iterations that start on a path from each state to an end.

    Returns:
        The most iterations that a transition counts. If an operation cannot hold them, the transitions are undefined.
    """
    most = np.int64(0)
    for state in range(len(targets)):
        for klass in range(targets.shape[1]):
            target = np.int64(targets[state, klass])
            if target >= 0:
                after = target >> OPERATION_BITS
                increment = (target & OPERATION_MASK) + required[after] - required[state]
                targets[state, klass] = after << OPERATION_BITS | increment
                most = max(most, increment)
    return most


@kernel
def compact(targets, final, iterations):
    """Remove the states of an automaton that cannot reach an end, in place; the start is kept.

    Args:
        targets: int32[states, classes], the transitions, renumbered in place.
        final: bool[states], renumbered in place.
        iterations: int32[states], `UNREACHABLE` for states to remove; receives the new numbers, -1 if removed.

    Returns:
        The number of remaining states.
    """
    kept = 0
    start_reaches_end = iterations[0] < UNREACHABLE
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
            after = iterations[target >> OPERATION_BITS] if target >= 0 and start_reaches_end else -1
            targets[number, klass] = after << OPERATION_BITS | target & OPERATION_MASK if after >= 0 else -1
    return kept


TOO_MANY = -2
"""Return value of kernels whose result would have too many states."""

FULL = -3
"""Return value of kernels whose output arrays are too small."""


@kernel
def common_byte_classes(left, right, classes, class_pairs):
    """Compute the common refinement of the byte classes of two automata.

    Args:
        left: uint8[256], the class of each byte in the first automaton.
        right: uint8[256], the class of each byte in the second automaton.
        classes: uint8[256], receives the common class of each byte.
        class_pairs: uint8[2, 256], receives the class in the first and in the second automaton of each common class.

    Returns:
        The number of common classes.
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
def exclude_texts(left, left_final, left_classes, texts, lengths, classes, class_of, targets, final):
    """Compute the automaton of the texts of `left` that are none of some given texts.

    The states are a start, those of `left` in their order, and one for each beginning that some given texts share with
    texts of `left`: the trie of these beginnings, whose states behave as those of `left` outside the trie.

    Args:
        left: int32[states, classes], the transitions of the automaton, without operations.
        left_final: bool[states].
        left_classes: uint8[256].
        texts: uint8[...], the bytes of the given texts, one after another.
        lengths: int32[texts], the length of each text.
        classes: uint8[256], receives the class of each byte; each byte of a text has a class of its own.
        class_of: uint8[256], receives the class in `left` of each class.
        targets: int32[...], receives the transitions; room for all states and classes.
        final: bool[states], receives whether each state is final.

    Returns:
        `(number of states, number of classes)`.
    """
    for byte in range(256):
        classes[byte] = 0
    for position in range(len(texts)):
        classes[texts[position]] = 1
    width, is_alone = np.int64(0), False
    for byte in range(256):
        was_alone, is_alone = is_alone, classes[byte] == 1
        if byte == 0 or was_alone or is_alone or left_classes[byte] != left_classes[byte - 1]:
            class_of[width] = left_classes[byte]
            width += 1
        classes[byte] = width - 1
    base = np.int64(len(left) + 1)
    found = base
    for state in range(base):
        source = max(state - 1, 0)
        final[state] = left_final[source]
        for klass in range(width):
            target = left[source, class_of[klass]]
            targets[state * width + klass] = target + (1 << OPERATION_BITS) if target >= 0 else -1
    position = np.int64(0)
    for text in range(len(lengths)):
        stop = position + lengths[text]
        at = np.int64(0)
        while position < stop and at >= 0:
            edge = at * width + classes[texts[position]]
            after = targets[edge] >> OPERATION_BITS
            if 0 <= after < base:
                for klass in range(width):
                    targets[found * width + klass] = targets[after * width + klass]
                final[found] = final[after]
                after = found
                targets[edge] = after << OPERATION_BITS
                found += 1
            at = np.int64(after)
            position += 1
        if at >= 0:
            final[at] = False
        position = stop
    return found, width


@kernel
def product(left, left_final, right, right_final, class_pairs, negate, slots, pairs, targets, final):
    """Compute the product of two automata, the pairs of states reached together (Rabin and Scott 1959).

    Args:
        left: int32[states, classes], the transitions of the first automaton.
        left_final: bool[states].
        right: int32[states, classes], the transitions of the second automaton, whose operations are kept.
        right_final: bool[states].
        class_pairs: uint8[2, 256], the class in each automaton of each class of the product.
        negate: Whether the second automaton must not accept.
        slots: int32[a power of 2 above the number of pairs], scratch.
        pairs: int64[pairs], receives each pair as `left_state * (len(right) + 1) + right_state + 1`; `right_state` is
            -1 if the second automaton is dead.
        targets: int32[pairs, classes], receives the transitions.
        final: bool[pairs], receives whether each pair is final.

    Returns:
        The number of pairs, or `FULL`.
    """
    side = np.int64(len(right) + 1)
    found = 1
    for i in range(len(slots)):
        slots[i] = -1
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
            pair = after * side + (other >> OPERATION_BITS) + 1
            slot = _slot(pair, slots, pairs)
            if slots[slot] < 0:
                if found == len(pairs):
                    return FULL
                slots[slot] = found
                pairs[found] = pair
                found += 1
            targets[current, klass] = slots[slot] << OPERATION_BITS | (other & OPERATION_MASK if other >= 0 else 0)
    return found


@helper
def _slot(pair, slots, pairs):
    """Return the slot of a pair in a hash table with open addressing, or the empty slot for it."""
    slot = ((pair * np.int64(0x9E3779B97F4A7C1)) >> np.int64(20)) & (len(slots) - 1)
    while slots[slot] >= 0 and pairs[slots[slot]] != pair:
        slot = (slot + 1) & (len(slots) - 1)
    return slot
