"""Kernels that read tokens from configurations. Reference code: `Reader` and `Automaton.epsilon_closure`.

While a text is read, its parses are rows `(state, count, below)` of the slot `PARSES`, which are interned at the end of
the text only; see `structkit.automaton.runtime.frame_kernels`.
"""

from __future__ import annotations

# Formatting off: one name per line would make the lists of slots longer than the code.
# fmt: off
import numpy as np

from structkit.automaton.core.jit import exclusive_kernel, helper
from structkit.automaton.core.kernels import OPERATION_BITS, OPERATION_MASK, UNREACHABLE, apply_operation
from structkit.automaton.core.memory import bool_array, int32_array, int32_matrix, uint8_array, uint8_matrix
from structkit.automaton.runtime.frame_kernels import (
    BELOW,
    BYTE_ONLY,
    CALL_DISTINCT,
    CALL_FIRST,
    CALL_NEXT,
    CALL_OPERATION,
    CALL_RULE,
    CLASSES,
    COMPUTE,
    COST,
    COUNT,
    COUNTERS,
    FINAL,
    FRAME_COLUMNS,
    FRAMES,
    HAS_DISTINCT,
    HAS_MOVES,
    LIST_ENDS,
    LIST_ITEMS,
    MAX_COUNT,
    MEMBERS,
    MIN_COUNT,
    MISSING,
    MISSING_RULES,
    NO_FRAME,
    PARSES,
    REJECTED,
    ROW,
    RULE,
    START,
    STATE,
    TARGETS,
    TOKEN_BYTES,
    TOKEN_STARTS,
    TOO_MANY,
    intern_frame,
    intern_list,
    intern_return,
    only_ends,
    state_behind,
)
from structkit.automaton.runtime.merge_kernels import (
    drop_superfluous,
    drop_superfluous_after,
    insert,
    insert_below,
    merge,
)

__all__ = [
    "advance", "advance_bytes", "forced_bytes", "intern_parses", "load_parses", "read_byte", "start", "upper_bound",
]


@helper
def _has_parse(parses, low, high, state, count, below):
    """Return whether a parse is one of the rows from `low` to `high - 1`."""
    for i in range(low, high):
        if parses[i, STATE] == state and parses[i, COUNT] == count and parses[i, BELOW] == below:
            return True
    return False


@helper
def _add_parse(parses, low, high, state, count, below):
    """Add a parse to the rows from `low` to `high - 1` unless it is one of them; return the end of the rows."""
    if _has_parse(parses, low, high, state, count, below):
        return high
    parses[high, STATE], parses[high, COUNT], parses[high, BELOW] = state, count, below
    return high + 1


@helper
def _may_end(context, state, count):
    """Return whether the rule of a state may end there."""
    rule = int32_array(context, RULE)[state]
    return bool_array(context, FINAL)[state] and count >= int32_array(context, MIN_COUNT)[rule]


@helper
def _has_label(context, state):
    """Return whether a rule may end with a label in a state; the first rule of a text has no labels."""
    call_first, call_rule = int32_array(context, CALL_FIRST), int32_array(context, CALL_RULE)
    has_label = False
    for call in range(call_first[state], call_first[state + 1]):
        has_label = has_label or call_rule[call] < 0
    return has_label


@helper
def _return(context, parses, low, high, below, label):
    """Add the parses in which the rule above `below` has ended; return the end of the rows, or `TOO_MANY`.

    The label is its number in `Tables.call_rule`, which is negative, or 0 if the rule ends without one.
    """
    frames = int32_array(context, FRAMES)
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    first, last, before = np.int64(0), np.int64(1), np.int64(high)
    if below < 0:
        first, last = np.int64(ends[-2 - below]), np.int64(ends[-1 - below])
    for item in range(first, last):
        if high + 1 >= len(parses):
            return np.int64(TOO_MANY)
        at = np.int64(below if below >= 0 else items[item]) * FRAME_COLUMNS
        state = np.int64(frames[at + STATE])
        if label < 0:  # otherwise the parses of a list differ from each other, as its frames do
            state, before = state_behind(context, state, label), high
        count, next_below = np.int64(frames[at + COUNT]), np.int64(frames[at + BELOW])
        if state >= 0 and not _has_parse(parses, low, before, state, count, next_below):
            parses[high, STATE], parses[high, COUNT], parses[high, BELOW] = state, count, next_below
            high += 1
    return high


@helper
def _add_call(parses, high, calls, state, below):
    """Add a call to the last rows, from `calls` on; return the first of them, or `TOO_MANY`.

    A row is `(start state of the callee, 0, below)`, with the count 1 once the callee is entered.
    """
    for i in range(calls, len(parses)):
        if parses[i, STATE] == state and parses[i, BELOW] == below:
            return calls
    if calls - 2 <= high:
        return np.int64(TOO_MANY)
    parses[calls - 1, STATE], parses[calls - 1, COUNT], parses[calls - 1, BELOW] = state, 0, below
    return calls - 1


@helper
def _enter(context, parses, low, high, calls):
    """Add a parse for each callee with new calls; return the end of the parses, or a negative result.

    All calls of one callee are below one parse, so that the ways to come to a place do not multiply.
    """
    members = int32_array(context, MEMBERS)
    for i in range(calls, len(parses)):
        if parses[i, COUNT] == 1:
            continue
        state, below = np.int64(parses[i, STATE]), np.int64(parses[i, BELOW])
        parses[i, COUNT] = 1
        size = np.int64(0)
        for j in range(calls, len(parses)):
            other = np.int64(parses[j, BELOW])
            if j == i or parses[j, STATE] != state or below == NO_FRAME or other == NO_FRAME:
                continue
            parses[j, COUNT] = 1
            if size == 0:
                size = insert_below(context, members, size, below)
            if size > 0:
                size = insert_below(context, members, size, other)
            if size < 0:
                return size
        if size == 1:
            below = np.int64(members[0])
        elif size > 1:
            below = intern_list(context, members, size)
            if below < 0:
                return below
            below = -2 - below
        if high + 1 >= calls:
            return np.int64(TOO_MANY)
        high = _add_parse(parses, low, high, state, np.int64(0), below)
    return high


@helper
def _close(context, parses, low, high):
    """Enter the rules that parses may call and leave those that may have ended, without a byte.

    The parses of the rows from `low` to `high - 1`, after this the ones that a byte can follow or that may end the
    text, are moved to the first rows. Returns their number, or a negative result. A call after which the rule can only
    end is a tail call: it returns to what is below, so that right recursion takes no stack.
    """
    rules, final, has_moves = int32_array(context, RULE), bool_array(context, FINAL), bool_array(context, HAS_MOVES)
    call_first, call_rule = int32_array(context, CALL_FIRST), int32_array(context, CALL_RULE)
    call_next, call_operation = int32_array(context, CALL_NEXT), int32_array(context, CALL_OPERATION)
    start, call_distinct = int32_array(context, START), bool_array(context, CALL_DISTINCT)
    min_count, max_count = int32_array(context, MIN_COUNT), int32_array(context, MAX_COUNT)
    max_parses = (len(parses) - 2) // 2
    done, calls = np.int64(low), np.int64(len(parses))
    while done < high:
        i = done
        while i < high:
            if high - low > max_parses:
                return np.int64(TOO_MANY)
            state, below = np.int64(parses[i, STATE]), np.int64(parses[i, BELOW])
            if below != NO_FRAME and final[state] and parses[i, COUNT] >= min_count[rules[state]]:
                high = _return(context, parses, low, high, below, np.int64(0))
                if high < 0:
                    return high
            if below != NO_FRAME:
                for call in range(call_first[state], call_first[state + 1]):
                    if call_rule[call] < 0:
                        high = _return(context, parses, low, high, below, np.int64(call_rule[call]))
                        if high < 0:
                            return high
            i += 1
        if high - done > 1:
            high = merge(context, parses, done, high)
            if high < 0:
                return high
        if high - low > 1:
            high = drop_superfluous_after(context, parses, low, done, high)
            if high < 0:
                return high
        for i in range(done, high):
            state, count, below = np.int64(parses[i, STATE]), np.int64(parses[i, COUNT]), np.int64(parses[i, BELOW])
            rule = rules[state]
            for call in range(call_first[state], call_first[state + 1]):
                if call_rule[call] < 0:
                    continue
                after = np.int64(
                    apply_operation(
                        count, np.int64(call_operation[call]), np.int64(min_count[rule]), np.int64(max_count[rule])
                    )
                )
                if after < 0:
                    continue
                if call_distinct[call]:
                    return np.int64(COMPUTE)
                callee = call_rule[call]
                if start[callee] < 0:
                    missing = bool_array(context, MISSING_RULES)
                    missing[callee] = missing[len(missing) - 1] = True
                    return np.int64(MISSING)
                back, next_state = below, np.int64(call_next[call])
                if not only_ends(context, next_state):
                    back = intern_return(context, next_state, after, below)
                    if back < 0:
                        return back
                calls = _add_call(parses, high, calls, np.int64(start[callee]), back)
                if calls < 0:
                    return calls
        done = high
        if calls < len(parses):
            high = _enter(context, parses, low, high, calls)
            if high < 0:
                return high
    kept = np.int64(0)
    for i in range(low, high):
        state = np.int64(parses[i, STATE])
        is_end = parses[i, BELOW] == NO_FRAME and (
            _may_end(context, state, np.int64(parses[i, COUNT])) or _has_label(context, state)
        )
        if has_moves[state] or is_end:
            parses[kept, STATE], parses[kept, COUNT], parses[kept, BELOW] = (
                parses[i, STATE], parses[i, COUNT], parses[i, BELOW],
            )
            kept += 1
    if kept > 1:
        kept = merge(context, parses, np.int64(0), kept)
    return drop_superfluous(context, parses, kept) if kept > 1 else kept


@helper
def read_byte(context, parses, count, byte):
    """Replace the first `count` parses by those after a byte; return their number, or a negative result."""
    rules, row, targets = int32_array(context, RULE), int32_array(context, ROW), int32_array(context, TARGETS)
    classes, byte_only = uint8_matrix(context, CLASSES), bool_array(context, BYTE_ONLY)
    min_count, max_count = int32_array(context, MIN_COUNT), int32_array(context, MAX_COUNT)
    high, is_closed = count, True
    for i in range(count):
        state = parses[i, STATE]
        rule = rules[state]
        target = np.int64(targets[row[state] + classes[rule, byte]])
        if target < 0:
            continue
        after = np.int64(
            apply_operation(
                np.int64(parses[i, COUNT]), target & OPERATION_MASK,
                np.int64(min_count[rule]), np.int64(max_count[rule]),
            )
        )
        if after < 0:
            continue
        is_closed = is_closed and byte_only[target >> OPERATION_BITS]
        high = _add_parse(parses, count, high, target >> OPERATION_BITS, after, np.int64(parses[i, BELOW]))
    if count == 1 and is_closed and high == 2:  # most bytes: one parse, and a state without calls or an end
        parses[0, STATE], parses[0, COUNT] = parses[1, STATE], parses[1, COUNT]
        return count
    return _close(context, parses, count, high)


@helper
def load_parses(context, configuration, parses):
    """Copy the frames of a configuration to the first parses; return their number, or `COMPUTE`."""
    frames = int32_array(context, FRAMES)
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    count = np.int64(0)
    for item in range(ends[configuration >> 1], ends[(configuration >> 1) + 1]):
        if items[item] < 0:
            return np.int64(COMPUTE)
        at = np.int64(items[item]) * FRAME_COLUMNS
        parses[count, STATE], parses[count, COUNT], parses[count, BELOW] = (
            frames[at + STATE], frames[at + COUNT], frames[at + BELOW],
        )
        count += 1
    return count


@helper
def _is_accepting(context, parses, count):
    """Return whether the text may end in one of the first `count` parses."""
    for i in range(count):
        is_outermost = parses[i, BELOW] == NO_FRAME
        if is_outermost and _may_end(context, np.int64(parses[i, STATE]), np.int64(parses[i, COUNT])):
            return True
    return False


@helper
def _read(context, configuration, text, first, last):
    """Return the configuration after the bytes `text[first:last]`, or a negative result."""
    parses = int32_matrix(context, PARSES)
    count = load_parses(context, configuration, parses)
    for position in range(first, last):
        if count <= 0:
            break
        count = read_byte(context, parses, count, text[position])
    if count == 0:
        return np.int64(REJECTED)
    return count if count < 0 else intern_parses(context, parses, count)


@helper
def intern_parses(context, parses, count):
    """Return the configuration of the first `count` parses, or a negative result."""
    members = int32_array(context, MEMBERS)
    is_accepting = _is_accepting(context, parses, count)
    size = np.int64(0)
    for i in range(count):
        frame = intern_frame(
            context, np.int64(parses[i, STATE]), np.int64(parses[i, COUNT]), np.int64(parses[i, BELOW])
        )
        size = frame if frame < 0 else insert(members, size, frame)
        if size < 0:
            return size
    found = intern_list(context, members, size)
    return found if found < 0 else 2 * found + np.int64(is_accepting)


@exclusive_kernel
def advance(context, configuration, token):
    """Return the configuration after a token, or a negative result.

    A configuration is twice the number of its list, plus 1 if the text may end.
    """
    starts = int32_array(context, TOKEN_STARTS)
    first, last = np.int64(starts[token]), np.int64(starts[token + 1])
    if first == last:  # not text
        return np.int64(REJECTED)
    return _read(context, configuration, uint8_array(context, TOKEN_BYTES), first, last)


@exclusive_kernel
def advance_bytes(context, configuration, text):
    """Return the configuration after a text, uint8[...], or a negative result."""
    return _read(context, configuration, text, np.int64(0), np.int64(len(text)))


@exclusive_kernel
def forced_bytes(context, configuration, out):
    """Write the bytes that must come next to `out`, uint8[...]; return their number, or a negative result."""
    rules, row, targets = int32_array(context, RULE), int32_array(context, ROW), int32_array(context, TARGETS)
    classes, parses = uint8_matrix(context, CLASSES), int32_matrix(context, PARSES)
    min_count, max_count = int32_array(context, MIN_COUNT), int32_array(context, MAX_COUNT)
    count = load_parses(context, configuration, parses)
    for position in range(len(out)):
        if count < 0:
            return count
        if _is_accepting(context, parses, count):
            return np.int64(position)
        only = -1
        for i in range(count):
            state = parses[i, STATE]
            rule = rules[state]
            for byte in range(256):
                target = np.int64(targets[row[state] + classes[rule, byte]])
                if target < 0 or byte == only:
                    continue
                after = apply_operation(
                    np.int64(parses[i, COUNT]), target & OPERATION_MASK,
                    np.int64(min_count[rule]), np.int64(max_count[rule]),
                )
                if after < 0:
                    continue
                if only >= 0:
                    return np.int64(position)
                only = byte
        if only < 0:
            return np.int64(position)
        out[position] = only
        count = read_byte(context, parses, count, np.uint8(only))
    return np.int64(len(out)) if count >= 0 else count


@exclusive_kernel
def upper_bound(context, configuration):
    """Return an upper bound on the tokens to the end of the text; `COMPUTE` if there are, or were, distinct texts."""
    if int32_array(context, COUNTERS)[HAS_DISTINCT]:
        return np.int64(COMPUTE)
    if configuration & 1:
        return np.int64(0)
    frames = int32_array(context, FRAMES)
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    lowest = np.int64(UNREACHABLE)
    for item in range(ends[configuration >> 1], ends[(configuration >> 1) + 1]):
        if items[item] < 0:
            return np.int64(COMPUTE)
        lowest = min(lowest, np.int64(frames[np.int64(items[item]) * FRAME_COLUMNS + COST]))
    return lowest


@exclusive_kernel
def start(context, state):
    """Return the configuration of the empty text from the start state of the first rule, or a negative result."""
    parses = int32_matrix(context, PARSES)
    parses[0, STATE], parses[0, COUNT], parses[0, BELOW] = state, 0, NO_FRAME
    count = _close(context, parses, np.int64(0), np.int64(1))
    return intern_parses(context, parses, count) if count > 0 else count
