"""Interned frames and lists of numbers, in the arrays of a context. Reference code: `Automaton.frame`.

A frame is a state of a rule, the value of the rule's counter, and what is below: a frame, a set of frames, or nothing.
A configuration is the set of the frames after a text. Frames, sets of frames and configurations are interned in arrays
and named by numbers, so that equal ones have equal numbers, also across texts (a graph-structured stack, Tomita 1987).

Kernels receive one `context`, see `structkit.automaton.core.memory`, whose slots are named below.
"""

from __future__ import annotations

# Formatting off: one name per line would make the lists of slots longer than the code.
# fmt: off
import numpy as np

from structkit.automaton.core.jit import exclusive_kernel, helper
from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.core.memory import bool_array, int32_array, int32_matrix, put, put_at

__all__ = [
    "BELOW", "BYTE_ONLY", "CALL_DISTINCT", "CALL_FIRST", "CALL_NEXT", "CALL_OPERATION", "CALL_RULE", "CLASSES",
    "COMPUTE", "COST", "COUNT", "COUNTERS", "COUNTER_COUNT", "DISTANCES", "FINAL", "FRAMES", "FRAME_BUCKETS",
    "FRAME_COLUMNS", "FULL", "FULL_SLOT", "HAS_DISTINCT", "HAS_MOVES", "LIST_BUCKETS", "LIST_ENDS", "LIST_ITEMS",
    "LIST_NEXT", "MAX_COUNT", "MAX_INCREMENTS", "MEMBERS", "MIN_COUNT", "MISSING", "MISSING_RULES", "NO_FRAME",
    "PARSES", "REJECTED", "ROW", "RULE", "SLOTS", "START", "STATE", "TABLES", "TARGETS", "TOKEN_BYTES",
    "TOKEN_STARTS", "TOO_MANY", "add_frame", "add_list", "below_cost", "bucket_of", "intern_frame", "intern_list",
    "intern_return", "only_ends", "pending_cost", "put_tables", "rehash_frames", "rehash_lists", "state_behind",
    "sum_costs",
]

(
    ROW, TARGETS, CLASSES, RULE, FINAL, HAS_MOVES, BYTE_ONLY, CALL_FIRST, CALL_RULE, CALL_NEXT, CALL_OPERATION,
    CALL_DISTINCT, START, MIN_COUNT, MAX_COUNT, DISTANCES, MAX_INCREMENTS, MISSING_RULES, TOKEN_BYTES, TOKEN_STARTS,
    PARSES, MEMBERS, COUNTERS, FRAMES, FRAME_BUCKETS, LIST_ENDS, LIST_NEXT, LIST_ITEMS, LIST_BUCKETS, SLOTS,
) = range(30)
"""The slots of a context.

From `ROW` to `MAX_COUNT`, the fields of `Tables`. Then:

- `DISTANCES`: int32[2 + labels, states or rules], upper bounds on the tokens from each state to the end of its rule, of
  one iteration of each rule's counted repetition, and from each state to the end of its rule with each label.
- `MAX_INCREMENTS`: int32[rules or more], the most iterations of a rule's counted repetition that one byte starts.
- `MISSING_RULES`: bool[rules + 2 or more], receives the rules to build after `MISSING`, then whether a row enters a
  distinct text, and in the last place whether there is a rule to build.
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

FRAME_COUNT, LIST_COUNT, FULL_SLOT, HAS_DISTINCT, COUNTER_COUNT = range(5)
"""The numbers in `COUNTERS`: of frames, of lists, after `FULL` the slot to extend, and whether a built rule has
distinct texts."""

STATE, COUNT, BELOW, COST, NEXT, FRAME_COLUMNS = range(6)
"""The columns of a frame: its state and counter, what is below, an upper bound on the tokens from the frame to the end
of the text, and the next frame in its bucket. `BELOW` is a frame, `NO_FRAME`, or `-2 - list` for a set of frames."""

NO_FRAME = -1

REJECTED, FULL, MISSING, COMPUTE, TOO_MANY = range(-1, -6, -1)
"""Negative results: the language does not allow the text; an array must be extended; a rule must be built; the parse
has distinct texts, which only `Reader` reads; there are more parses than allowed."""


@exclusive_kernel
def put_tables(
    context, row, targets, classes, rule, final, has_moves, byte_only, call_first, call_rule, call_next, call_operation,
    call_distinct, start, min_count, max_count, distances, max_increments, missing_rules,
):
    """Put the arrays of an automaton into the slots from `ROW` to `MISSING_RULES`."""
    put(context, ROW, row)
    put(context, TARGETS, targets)
    put(context, CLASSES, classes)
    put(context, RULE, rule)
    put(context, FINAL, final)
    put(context, HAS_MOVES, has_moves)
    put(context, BYTE_ONLY, byte_only)
    put(context, CALL_FIRST, call_first)
    put(context, CALL_RULE, call_rule)
    put(context, CALL_NEXT, call_next)
    put(context, CALL_OPERATION, call_operation)
    put(context, CALL_DISTINCT, call_distinct)
    put(context, START, start)
    put(context, MIN_COUNT, min_count)
    put(context, MAX_COUNT, max_count)
    put(context, DISTANCES, distances)
    put(context, MAX_INCREMENTS, max_increments)
    put(context, MISSING_RULES, missing_rules)


@helper
def state_behind(context, state, label):
    """Return the state in which a rule continues when the callee above `state` ends with a label; -1 if it does not."""
    call_first, call_rule = int32_array(context, CALL_FIRST), int32_array(context, CALL_RULE)
    for call in range(call_first[state], call_first[state + 1]):
        if call_rule[call] == label:
            return np.int64(int32_array(context, CALL_NEXT)[call])
    return np.int64(-1)


@helper
def only_ends(context, state):
    """Return whether a rule can only end in a state behind a call, with the label of the callee if it has one."""
    final, has_moves = bool_array(context, FINAL), bool_array(context, HAS_MOVES)
    call_first, call_rule = int32_array(context, CALL_FIRST), int32_array(context, CALL_RULE)
    first, last = call_first[state], call_first[state + 1]
    if first == last:
        return final[state] and not has_moves[state] and (
            int32_array(context, MIN_COUNT)[int32_array(context, RULE)[state]] == 0
        )
    for call in range(first, last):
        if call_rule[call] >= 0:
            return False
        after = int32_array(context, CALL_NEXT)[call]
        only = call_first[after]
        if (
            call_first[after + 1] - only != 1 or call_rule[only] != call_rule[call]
            or has_moves[after] or final[after]
        ):
            return False
    return True


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
def _find_frame(context, state, count, below):
    """Return the number of a frame, or -1."""
    frames, buckets = int32_array(context, FRAMES), int32_array(context, FRAME_BUCKETS)
    frame = np.int64(buckets[bucket_of(state, count, below, np.int64(0), np.int64(len(buckets)))]) - 1
    while frame >= 0:
        at = frame * FRAME_COLUMNS
        if frames[at + STATE] == state and frames[at + COUNT] == count and frames[at + BELOW] == below:
            return frame
        frame = np.int64(frames[at + NEXT])
    return np.int64(-1)


@helper
def _cost_behind(context, below, label):
    """Return an upper bound on the tokens to the end of the text once the rule above has ended with a label."""
    frames = int32_array(context, FRAMES)
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    first, last = np.int64(0), np.int64(1)
    if below < 0:
        first, last = np.int64(ends[-2 - below]), np.int64(ends[-1 - below])
    lowest = np.int64(UNREACHABLE)
    for item in range(first, last):
        at = np.int64(below if below >= 0 else items[item]) * FRAME_COLUMNS
        state = state_behind(context, np.int64(frames[at + STATE]), -1 - np.int64(label))
        if state >= 0:
            found = _find_frame(context, state, np.int64(frames[at + COUNT]), np.int64(frames[at + BELOW]))
            if found >= 0:
                lowest = min(lowest, np.int64(frames[found * FRAME_COLUMNS + COST]))
    return lowest


@helper
def _cost(context, state, count, below):
    """Return an upper bound on the tokens from a frame to the end of the text.

    A frame to return to counts the longest way behind a label, since the rule above chooses it.
    """
    distances, frames = int32_matrix(context, DISTANCES), int32_array(context, FRAMES)
    cost = sum_costs(np.int64(distances[0, state]), pending_cost(context, state, count))
    if len(distances) == 2:
        return sum_costs(cost, below_cost(context, below))
    lowest, has_ends = np.int64(UNREACHABLE), False
    for row in range(2, len(distances)):
        if distances[row, state] < UNREACHABLE:
            has_ends = True
            if below != NO_FRAME:
                lowest = min(lowest, sum_costs(np.int64(distances[row, state]), _cost_behind(context, below, row - 2)))
    if has_ends:
        return lowest
    call_first, call_rule = int32_array(context, CALL_FIRST), int32_array(context, CALL_RULE)
    farthest = np.int64(-1)
    for call in range(call_first[state], call_first[state + 1]):
        if call_rule[call] < 0:
            found = _find_frame(context, np.int64(int32_array(context, CALL_NEXT)[call]), count, below)
            farthest = max(farthest, np.int64(frames[found * FRAME_COLUMNS + COST]) if found >= 0 else UNREACHABLE)
    return farthest if farthest >= 0 else sum_costs(cost, below_cost(context, below))


@helper
def intern_return(context, state, count, below):
    """Return the number of a frame to return to, or `FULL`; the frames behind labels are interned first."""
    call_first, call_rule = int32_array(context, CALL_FIRST), int32_array(context, CALL_RULE)
    for call in range(call_first[state], call_first[state + 1]):
        if call_rule[call] < 0:
            behind = intern_frame(context, np.int64(int32_array(context, CALL_NEXT)[call]), count, below)
            if behind < 0:
                return behind
    return intern_frame(context, state, count, below)


@helper
def intern_frame(context, state, count, below):
    """Return the number of a frame, or `FULL`."""
    frames, buckets = int32_array(context, FRAMES), int32_array(context, FRAME_BUCKETS)
    found = _find_frame(context, state, count, below)
    if found >= 0:
        return found
    bucket = bucket_of(state, count, below, np.int64(0), np.int64(len(buckets)))
    counters = int32_array(context, COUNTERS)
    frame = np.int64(counters[FRAME_COUNT])
    at = frame * FRAME_COLUMNS
    if at + FRAME_COLUMNS > len(frames):
        counters[FULL_SLOT] = FRAMES
        return np.int64(FULL)
    frames[at + STATE], frames[at + COUNT], frames[at + BELOW] = state, count, below
    frames[at + COST] = _cost(context, state, count, below)
    frames[at + NEXT] = buckets[bucket] - 1
    counters[FRAME_COUNT] = buckets[bucket] = frame + 1
    return frame


@helper
def _list_bucket(numbers, first, size, buckets):
    """Return the bucket of the list of `size` numbers of an array, from `first` on."""
    mixed = np.int64(size)
    for i in range(first, first + size):
        mixed = mixed * np.int64(1000003) + np.int64(numbers[i])
    return bucket_of(mixed, np.int64(0), np.int64(0), np.int64(0), buckets)


@helper
def intern_list(context, numbers, size):
    """Return the number of the list of the first `size` numbers of an array, or `FULL`."""
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    buckets, following = int32_array(context, LIST_BUCKETS), int32_array(context, LIST_NEXT)
    bucket = _list_bucket(numbers, np.int64(0), np.int64(size), np.int64(len(buckets)))
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


@exclusive_kernel
def rehash_frames(context, buckets, address):
    """Use other buckets for the frames: int32[a power of 2], zeros. Long lists in a few buckets are slow."""
    frames = int32_array(context, FRAMES)
    for frame in range(int32_array(context, COUNTERS)[FRAME_COUNT]):
        at = frame * FRAME_COLUMNS
        bucket = bucket_of(
            np.int64(frames[at + STATE]), np.int64(frames[at + COUNT]), np.int64(frames[at + BELOW]), np.int64(0),
            np.int64(len(buckets)),
        )
        frames[at + NEXT] = buckets[bucket] - 1
        buckets[bucket] = frame + 1
    put_at(context, FRAME_BUCKETS, buckets, address)


@exclusive_kernel
def rehash_lists(context, buckets, address):
    """Use other buckets for the lists: int32[a power of 2], zeros."""
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    following = int32_array(context, LIST_NEXT)
    for number in range(int32_array(context, COUNTERS)[LIST_COUNT]):
        first = np.int64(ends[number])
        bucket = _list_bucket(items, first, np.int64(ends[number + 1]) - first, np.int64(len(buckets)))
        following[number] = buckets[bucket] - 1
        buckets[bucket] = number + 1
    put_at(context, LIST_BUCKETS, buckets, address)


@exclusive_kernel
def add_frame(context, state, count, below):
    """Return the number of a frame, or `FULL`."""
    return intern_return(context, state, count, below)


@exclusive_kernel
def add_list(context, numbers):
    """Return the number of a list, int32[...], or `FULL`."""
    return intern_list(context, numbers, np.int64(len(numbers)))
