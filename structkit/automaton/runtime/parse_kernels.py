"""Kernels that read tokens from configurations. Reference code: `Reader` and `Automaton.epsilon_closure`.

A frame is a state of a rule, the value of the rule's counter, and what is below: a frame, a set of frames, or nothing.
A configuration is the set of the frames after a text. Frames, sets of frames and configurations are interned in arrays
and named by numbers, so that equal ones have equal numbers, also across texts (a graph-structured stack, Tomita 1987).

Kernels receive one `context`, see `structkit.automaton.core.memory`, whose slots are named below. While a text is read,
its parses are rows `(state, count, below)` of the slot `PARSES`, which are interned at the end of the text only.
"""

from __future__ import annotations

# Formatting off: one name per line would make the lists of slots longer than the code.
# fmt: off
# ruff: noqa: D417
import numpy as np

from structkit.automaton.core.jit import exclusive_kernel, helper
from structkit.automaton.core.kernels import OPERATION_BITS, OPERATION_MASK, UNREACHABLE, apply_operation
from structkit.automaton.core.memory import bool_array, int32_array, int32_matrix, uint8_array, uint8_matrix

__all__ = [
    "COMPUTE", "COUNTERS", "COUNTER_COUNT", "DISTANCES", "FRAMES", "FRAME_BUCKETS", "FRAME_COLUMNS", "FULL",
    "FULL_SLOT", "LIST_BUCKETS", "LIST_ENDS", "LIST_ITEMS", "LIST_NEXT", "MAX_INCREMENTS", "MEMBERS", "MISSING", "MISSING_RULES",
    "NO_FRAME", "PARSES", "REJECTED", "SLOTS", "TABLES", "TOKEN_BYTES", "TOKEN_STARTS", "TOO_MANY", "add_frame",
    "add_list", "advance", "advance_bytes", "below_cost", "bucket_of", "forced_bytes", "intern_list",
    "pending_cost", "sum_costs", "upper_bound",
]

(
    ROW, TARGETS, CLASSES, RULE, FINAL, HAS_MOVES, BYTE_ONLY, CALL_FIRST, CALL_RULE, CALL_NEXT, CALL_OPERATION,
    CALL_DISTINCT, START, MIN_COUNT, MAX_COUNT, DISTANCES, MAX_INCREMENTS, MISSING_RULES, TOKEN_BYTES, TOKEN_STARTS,
    PARSES, MEMBERS, COUNTERS, FRAMES, FRAME_BUCKETS, LIST_ENDS, LIST_NEXT, LIST_ITEMS, LIST_BUCKETS, SLOTS,
) = range(30)
"""The slots of a context.

From `ROW` to `MAX_COUNT`, the fields of `Tables`. Then:

- `DISTANCES`: int32[2, states or rules], upper bounds on the tokens from each state to the end of its rule, and of one
  iteration of each rule's counted repetition.
- `MAX_INCREMENTS`: int32[rules or more], the most iterations of a rule's counted repetition that one byte starts.
- `MISSING_RULES`: bool[rules + 1 or more], receives the rules to build after `MISSING`, and in the last place whether there
  is any.
- `TOKEN_BYTES`, `TOKEN_STARTS`: uint8[...] and int32[tokens + 1], the bytes of all tokens.
- `PARSES`: int32[twice the maximum number of parses + 2, 3], scratch.
- `MEMBERS`: int32[maximum number of parses + 1], scratch: the items of a list.
- `COUNTERS`: int32[COUNTER_COUNT], see below.
- `FRAMES`: int32[...], rows of `FRAME_COLUMNS` numbers.
- `LIST_ENDS`, `LIST_ITEMS`: int32[lists + 1] and int32[...], the interned lists: configurations, which are ascending
  lists of frames; sets of frames; and trie nodes. A negative item is a configuration that no kernel can read.
- `FRAME_BUCKETS`, `LIST_BUCKETS`: int32[...], hash tables: in each bucket the number of its first entry plus 1; `NEXT`
  and `LIST_NEXT` chain the entries.
"""

TABLES = ROW
"""The first slot of the arrays of an automaton."""

FRAME_COUNT, LIST_COUNT, FULL_SLOT, COUNTER_COUNT = range(4)
"""The numbers in `COUNTERS`: of frames, of lists, and after `FULL` the slot to extend."""

STATE, COUNT, BELOW, COST, NEXT, FRAME_COLUMNS = range(6)
"""The columns of a frame: its state and counter, what is below, an upper bound on the tokens from the frame to the end
of the text, and the next frame in its bucket. `BELOW` is a frame, `NO_FRAME`, or `-2 - list` for a set of frames."""

NO_FRAME = -1

REJECTED, FULL, MISSING, COMPUTE, TOO_MANY = range(-1, -6, -1)
"""Negative results: the language does not allow the text; an array must be extended; a rule must be built; the parse has
distinct texts, which only `Reader` reads; there are more parses than allowed."""


@helper
def bucket_of(first, second, third, fourth, buckets):
    """Return the bucket of four numbers (multiplicative hashing, Knuth, volume 3, section 6.4)."""
    mixed = ((first * np.int64(1000003) + second) * np.int64(1000003) + third) * np.int64(1000003) + fourth
    return ((mixed * np.int64(-7046029254386353131)) >> np.int64(33)) & np.int64(buckets - 1)


@helper
def sum_costs(left, right):
    """Return the sum of two costs; `UNREACHABLE` is no bound, and a larger sum is the largest bound."""
    if left >= UNREACHABLE or right >= UNREACHABLE:
        return np.int64(UNREACHABLE)
    return min(left + right, np.int64(UNREACHABLE - 1))


@helper
def pending_cost(context, state, count):
    """Return an upper bound on the tokens of the iterations that a frame still needs."""
    rule = int32_array(context, RULE)[state]
    iterations = np.int64(max(int32_array(context, MIN_COUNT)[rule] - count, 0))
    return iterations * np.int64(int32_matrix(context, DISTANCES)[1, rule])


@helper
def below_cost(context, below):
    """Return an upper bound on the tokens to the end of the text once the rule above has ended."""
    frames = int32_array(context, FRAMES)
    if below == NO_FRAME:
        return np.int64(0)
    if below >= 0:
        return np.int64(frames[below * FRAME_COLUMNS + COST])
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    lowest = np.int64(UNREACHABLE)
    for item in range(ends[-2 - below], ends[-1 - below]):
        lowest = min(lowest, np.int64(frames[items[item] * FRAME_COLUMNS + COST]))
    return lowest


@helper
def _intern_frame(context, state, count, below):
    """Return the number of a frame, or `FULL`."""
    frames, buckets = int32_array(context, FRAMES), int32_array(context, FRAME_BUCKETS)
    bucket = bucket_of(state, count, below, np.int64(0), np.int64(len(buckets)))
    frame = np.int64(buckets[bucket]) - 1
    while frame >= 0:
        at = frame * FRAME_COLUMNS
        if frames[at + STATE] == state and frames[at + COUNT] == count and frames[at + BELOW] == below:
            return frame
        frame = np.int64(frames[at + NEXT])
    counters = int32_array(context, COUNTERS)
    frame = np.int64(counters[FRAME_COUNT])
    at = frame * FRAME_COLUMNS
    if at + FRAME_COLUMNS > len(frames):
        counters[FULL_SLOT] = FRAMES
        return np.int64(FULL)
    frames[at + STATE], frames[at + COUNT], frames[at + BELOW] = state, count, below
    cost = sum_costs(np.int64(int32_matrix(context, DISTANCES)[0, state]), pending_cost(context, state, count))
    frames[at + COST] = sum_costs(cost, below_cost(context, below))
    frames[at + NEXT] = buckets[bucket] - 1
    counters[FRAME_COUNT] = buckets[bucket] = frame + 1
    return frame


@helper
def intern_list(context, numbers, size):
    """Return the number of the list of the first `size` numbers of an array, or `FULL`."""
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    buckets, following = int32_array(context, LIST_BUCKETS), int32_array(context, LIST_NEXT)
    mixed = np.int64(size)
    for i in range(size):
        mixed = mixed * np.int64(1000003) + np.int64(numbers[i])
    bucket = bucket_of(mixed, np.int64(0), np.int64(0), np.int64(0), np.int64(len(buckets)))
    found = np.int64(buckets[bucket]) - 1
    while found >= 0:
        first = np.int64(ends[found])
        if ends[found + 1] - first == size:
            same = 0
            while same < size and items[first + same] == numbers[same]:
                same += 1
            if same == size:
                return found
        found = np.int64(following[found])
    counters = int32_array(context, COUNTERS)
    found = np.int64(counters[LIST_COUNT])
    first = np.int64(ends[found])
    if found + 2 > len(ends):
        counters[FULL_SLOT] = LIST_ENDS
    elif found + 1 > len(following):
        counters[FULL_SLOT] = LIST_NEXT
    elif first + size > len(items):
        counters[FULL_SLOT] = LIST_ITEMS
    else:
        for i in range(size):
            items[first + i] = numbers[i]
        ends[found + 1] = first + size
        following[found] = buckets[bucket] - 1
        counters[LIST_COUNT] = buckets[bucket] = found + 1
        return found
    return np.int64(FULL)


@helper
def _add_parse(parses, low, high, state, count, below):
    """Add a parse to the rows from `low` to `high - 1` unless it is one of them; return the end of the rows."""
    for i in range(low, high):
        if parses[i, STATE] == state and parses[i, COUNT] == count and parses[i, BELOW] == below:
            return high
    parses[high, STATE], parses[high, COUNT], parses[high, BELOW] = state, count, below
    return high + 1


@helper
def _may_end(context, state, count):
    """Return whether the rule of a state may end there."""
    rule = int32_array(context, RULE)[state]
    return bool_array(context, FINAL)[state] and count >= int32_array(context, MIN_COUNT)[rule]


@helper
def _return(context, parses, low, high, below):
    """Add the parses in which the rule above `below` has ended; return the end of the rows, or `TOO_MANY`."""
    frames = int32_array(context, FRAMES)
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    first, last = np.int64(0), np.int64(1)
    if below < 0:
        first, last = np.int64(ends[-2 - below]), np.int64(ends[-1 - below])
    for item in range(first, last):
        if high + 1 >= len(parses):
            return np.int64(TOO_MANY)
        at = np.int64(below if below >= 0 else items[item]) * FRAME_COLUMNS
        high = _add_parse(
            parses, low, high,
            np.int64(frames[at + STATE]), np.int64(frames[at + COUNT]), np.int64(frames[at + BELOW]),
        )
    return high


@helper
def _close(context, parses, low, high):
    """Enter the rules that parses may call and leave those that may have ended, without a byte.

    The parses of the rows from `low` to `high - 1`, after this the ones that a byte can follow or that may end the
    text, are moved to the first rows. Returns their number, or a negative result.
    """
    rules, final, has_moves = int32_array(context, RULE), bool_array(context, FINAL), bool_array(context, HAS_MOVES)
    call_first, call_rule = int32_array(context, CALL_FIRST), int32_array(context, CALL_RULE)
    call_next, call_operation = int32_array(context, CALL_NEXT), int32_array(context, CALL_OPERATION)
    start, call_distinct = int32_array(context, START), bool_array(context, CALL_DISTINCT)
    min_count, max_count = int32_array(context, MIN_COUNT), int32_array(context, MAX_COUNT)
    max_parses = (len(parses) - 2) // 2
    i = np.int64(low)
    while i < high:
        if high - low > max_parses:
            return np.int64(TOO_MANY)
        state, count, below = np.int64(parses[i, STATE]), np.int64(parses[i, COUNT]), np.int64(parses[i, BELOW])
        rule = rules[state]
        i += 1
        if below != NO_FRAME and final[state] and count >= min_count[rule]:
            high = _return(context, parses, low, high, below)
            if high < 0:
                return high
        for call in range(call_first[state], call_first[state + 1]):
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
            if high + 1 >= len(parses):
                return np.int64(TOO_MANY)
            back = _intern_frame(context, np.int64(call_next[call]), after, below)
            if back < 0:
                return back
            high = _add_parse(parses, low, high, np.int64(start[callee]), np.int64(0), back)
    kept = np.int64(0)
    for i in range(low, high):
        state = np.int64(parses[i, STATE])
        is_end = parses[i, BELOW] == NO_FRAME and _may_end(context, state, np.int64(parses[i, COUNT]))
        if has_moves[state] or is_end:
            parses[kept, STATE], parses[kept, COUNT], parses[kept, BELOW] = (
                parses[i, STATE], parses[i, COUNT], parses[i, BELOW],
            )
            kept += 1
    return _merge(context, parses, kept) if kept > 1 else kept


@helper
def _insert(members, size, number):
    """Insert a number into an ascending list unless it is there; return the size, or `TOO_MANY`."""
    at = size
    while at > 0 and members[at - 1] >= number:
        at -= 1
    if at < size and members[at] == number:
        return size
    if size >= len(members):
        return np.int64(TOO_MANY)
    for i in range(size, at, -1):
        members[i] = members[i - 1]
    members[at] = number
    return size + 1


@helper
def _insert_below(context, members, size, below):
    """Insert the frames of `below` into an ascending list; return the size, or `TOO_MANY`."""
    if below >= 0:
        return _insert(members, size, below)
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    for item in range(ends[-2 - below], ends[-1 - below]):
        size = _insert(members, size, np.int64(items[item]))
        if size < 0:
            return size
    return size


@helper
def _merge(context, parses, count):
    """Merge the parses that differ only in what is below them; return their number, or a negative result."""
    members = int32_array(context, MEMBERS)
    kept = np.int64(0)
    for i in range(count):
        state, tally, below = np.int64(parses[i, STATE]), np.int64(parses[i, COUNT]), np.int64(parses[i, BELOW])
        if state < 0:
            continue
        size = np.int64(0)
        for j in range(i + 1, count):
            other = np.int64(parses[j, BELOW])
            if parses[j, STATE] != state or parses[j, COUNT] != tally or below == NO_FRAME or other == NO_FRAME:
                continue
            if size == 0:
                size = _insert_below(context, members, size, below)
            if size > 0:
                size = _insert_below(context, members, size, other)
            if size < 0:
                return size
            parses[j, STATE] = -1
        if size > 0:
            below = intern_list(context, members, size)
            if below < 0:
                return below
            below = -2 - below
        parses[kept, STATE], parses[kept, COUNT], parses[kept, BELOW] = state, tally, below
        kept += 1
    return kept


@helper
def _read_byte(context, parses, count, byte):
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
def _load(context, configuration, parses):
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
    parses, members = int32_matrix(context, PARSES), int32_array(context, MEMBERS)
    count = _load(context, configuration, parses)
    for position in range(first, last):
        if count <= 0:
            break
        count = _read_byte(context, parses, count, text[position])
    if count <= 0:
        return count if count < 0 else np.int64(REJECTED)
    is_accepting = _is_accepting(context, parses, count)
    size = np.int64(0)
    for i in range(count):
        frame = _intern_frame(
            context, np.int64(parses[i, STATE]), np.int64(parses[i, COUNT]), np.int64(parses[i, BELOW])
        )
        size = frame if frame < 0 else _insert(members, size, frame)
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
    count = _load(context, configuration, parses)
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
        count = _read_byte(context, parses, count, np.uint8(only))
    return np.int64(len(out)) if count >= 0 else count


@exclusive_kernel
def upper_bound(context, configuration):
    """Return an upper bound on the tokens to the end of the text, or `COMPUTE`."""
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
def add_frame(context, state, count, below):
    """Return the number of a frame, or `FULL`."""
    return _intern_frame(context, state, count, below)


@exclusive_kernel
def add_list(context, numbers):
    """Return the number of a list, int32[...], or `FULL`."""
    return intern_list(context, numbers, np.int64(len(numbers)))
