"""Kernels that write the mask of a configuration. Reference code: `reachable_rows` in `structkit.guide.state`.

A mask is the union of rows: of each frame of the configuration, and of the frames below that a token can reach; see
`structkit.index.rows.row_kernels`.
"""

from __future__ import annotations

# Formatting off: one name per line would make the lists of slots longer than the code.
# fmt: off
# ruff: noqa: D417
import numpy as np

from structkit.automaton.core.jit import exclusive_kernel, helper, kernel
from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.core.memory import (
    bool_array,
    int32_array,
    int32_matrix,
    int64_array,
    int64_matrix,
    uint8_array,
    uint8_matrix,
    uint32_array,
    uint32_at,
)
from structkit.automaton.runtime.frame_kernels import (
    BYTE_ONLY,
    CALL_DISTINCT,
    CALL_FIRST,
    CALL_NEXT,
    CALL_OPERATION,
    CALL_RULE,
    CLASSES,
    COMPUTE,
    COUNTERS,
    DISTANCES,
    FINAL,
    FRAME_COLUMNS,
    FRAMES,
    HAS_DISTINCT,
    HAS_MOVES,
    LIST_ENDS,
    LIST_ITEMS,
    MAX_COUNT,
    MIN_COUNT,
    MISSING,
    MISSING_RULES,
    NO_FRAME,
    ROW,
    RULE,
    START,
    TARGETS,
    below_cost,
    intern_frame,
    intern_list,
    pending_cost,
    state_behind,
    sum_costs,
)
from structkit.index.rows.arena import LABEL_SHIFT, OVERFLOW
from structkit.index.rows.row_kernels import (
    ARENA,
    BASE,
    BASES,
    CHILD_BYTE,
    CHILD_COUNT,
    CHILD_FIRST,
    CHILD_NODE,
    DONE,
    EOS_VALUES,
    EOS_WORDS,
    EXIT_NODES,
    EXITS,
    FIRST_WORD,
    FOUND_VALUES,
    FOUND_WORDS,
    LAST_WORD,
    MASK,
    NO_BASE,
    NO_EXITS,
    NO_SIGNATURES,
    REQUEST_EXITS,
    REQUEST_FRAME,
    REQUESTS,
    ROOT,
    ROW_COLUMNS,
    ROW_COST,
    ROW_NEEDED,
    ROWS,
    TIGHT,
    TRIE_DEPTH,
    TRIE_FIRST,
    TRIE_IDS,
    VALUES,
    WALKS,
    WORDS,
    derive_row,
    find_row,
    is_wide,
    key_counts,
    store_row,
)
from structkit.index.rows.walk_kernels import MISSING as WALK_MISSING
from structkit.index.rows.walk_kernels import walk

__all__ = [
    "CONFIGURATION",
    "LIMIT",
    "OUT_ROW",
    "PLAN_COLUMNS",
    "RESULT",
    "find_masks",
    "write_fitting",
    "write_found",
    "write_mask",
]

_FUEL = 512
"""Trie nodes that a row visits before Python computes it with kernels for many nodes, which other threads do not wait
for: about 5 µs."""

@helper
def _is_ascending(nodes, size):
    """Return whether no trie node is before a smaller one or, with the same label, an equal one."""
    for i in range(1, size):
        before, node = nodes[i - 1] & ((1 << LABEL_SHIFT) - 1), nodes[i] & ((1 << LABEL_SHIFT) - 1)
        if node < before or (node == before and nodes[i] <= nodes[i - 1]):
            return False
    return True


@helper
def _compute_row(context, exits, frame, state, count, required, allowed):
    """Compute and store the row of a frame; return its number, or a negative result."""
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    mask, found_words = uint32_array(context, MASK), int64_array(context, FOUND_WORDS)
    nodes, requests = int32_array(context, ROOT), int32_array(context, REQUESTS)
    requests[REQUEST_FRAME], requests[REQUEST_EXITS] = frame, exits
    if exits < 0 and is_wide(context, state):
        return derive_row(context, state)
    if exits >= 0:
        nodes = items[ends[exits] : ends[exits + 1]]
    found, worst, filled = walk(
        int32_array(context, TRIE_DEPTH), nodes[:0], int32_array(context, TRIE_FIRST), int32_array(context, TRIE_IDS),
        int32_array(context, CHILD_FIRST), int32_array(context, CHILD_COUNT), uint8_array(context, CHILD_BYTE),
        int32_array(context, CHILD_NODE), nodes[:0], int64_matrix(context, ARENA)[:0],
        int32_array(context, ROW), int32_array(context, TARGETS),
        uint8_matrix(context, CLASSES), int32_array(context, RULE), bool_array(context, FINAL),
        bool_array(context, HAS_MOVES), bool_array(context, BYTE_ONLY), int32_array(context, CALL_FIRST),
        int32_array(context, CALL_RULE), int32_array(context, CALL_NEXT), int32_array(context, CALL_OPERATION),
        bool_array(context, CALL_DISTINCT), int32_array(context, START), int32_array(context, MIN_COUNT),
        int32_array(context, MAX_COUNT), int32_matrix(context, DISTANCES),
        nodes, bool_array(context, HAS_MOVES)[:0], nodes[:0], state, count, np.int64(UNREACHABLE) << 8,
        int64_matrix(context, ARENA), np.int64(0),
        mask, found_words, uint32_array(context, FOUND_VALUES), int32_array(context, EXIT_NODES),
        int64_array(context, NO_SIGNATURES), bool_array(context, MISSING_RULES), np.int64(_FUEL),
        np.int64(0), np.int64(0), np.int64(0),
    )
    flags = bool_array(context, MISSING_RULES)
    enters_distinct, flags[len(flags) - 2] = flags[len(flags) - 2], False
    if found > 1 and len(nodes) > 1 and not _is_ascending(int32_array(context, EXIT_NODES), np.int64(found)):
        found = np.int64(OVERFLOW)  # a list with repetitions grows with each row; Python leaves them out
    if found >= 0 and filled <= len(found_words):
        cost = np.int64(UNREACHABLE) if enters_distinct else np.int64(worst) - pending_cost(context, state, count)
        return store_row(
            context, exits, state, required, allowed, np.int64(NO_BASE), np.int64(filled), np.int64(found), cost
        )
    for word in range(len(mask)):
        mask[word] = 0
    if found == WALK_MISSING:
        return np.int64(MISSING)
    return np.int64(ROW_NEEDED)


@helper
def _add_walk(context, walks, low, high, frame, exits):
    """Add a frame that tokens enter at a list of trie nodes to the walks of its level, from `low` to `high - 1`.

    Returns the end of the walks, or a negative result. Trie nodes at which tokens enter the same frame are united.
    """
    for i in range(low, high):
        if walks[i, 0] == frame:
            if walks[i, 1] == exits:
                return high
            ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
            united, size = int32_array(context, EXIT_NODES), np.int64(0)
            left, left_end = np.int64(ends[walks[i, 1]]), np.int64(ends[walks[i, 1] + 1])
            right, right_end = np.int64(ends[exits]), np.int64(ends[exits + 1])
            while left < left_end or right < right_end:
                takes_left = right == right_end or (left < left_end and items[left] <= items[right])
                node = items[left] if takes_left else items[right]
                left += np.int64(takes_left)
                right += np.int64(not takes_left)
                if size == 0 or united[size - 1] != node:
                    if size >= len(united):
                        return np.int64(COMPUTE)
                    united[size] = node
                    size += 1
            both = intern_list(context, united, size)
            if both >= 0:
                walks[i, 1] = both
            return high if both >= 0 else both
    if high >= len(walks):
        return np.int64(COMPUTE)
    walks[high, 0], walks[high, 1] = frame, exits
    return high + 1


@helper
def _add_labelled(context, walks, low, high, frame, exits):
    """Add the frames that tokens enter above `frame` at trie nodes with labels, as `_add_walk` does."""
    frames = int32_array(context, FRAMES)
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    at = frame * FRAME_COLUMNS
    for i in range(ends[-2 - exits], ends[-1 - exits], 2):
        entered = frame
        if items[i] > 0:
            state = state_behind(context, np.int64(frames[at]), -np.int64(items[i]))
            if state < 0:
                continue
            entered = intern_frame(context, state, np.int64(frames[at + 1]), np.int64(frames[at + 2]))
            if entered < 0:
                return entered
        high = _add_walk(context, walks, low, high, entered, np.int64(items[i + 1]))
        if high < 0:
            return high
    return high


@helper
def _cost_of(context, frame, row):
    """Return an upper bound on the tokens to the end of the text after each token of the row of a frame."""
    at = frame * FRAME_COLUMNS
    frames, rows = int32_array(context, FRAMES), int32_array(context, ROWS)
    pending = pending_cost(context, np.int64(frames[at]), np.int64(frames[at + 1]))
    after = np.int64(rows[row * ROW_COLUMNS + ROW_COST]) + pending
    return sum_costs(after, below_cost(context, np.int64(frames[at + 2])))


@helper
def find_rows(context, configuration, walks):
    """Find the rows of a mask, in the column 2 of `walks`; return `(their number or a negative result, cost)`."""
    frames, rows = int32_array(context, FRAMES), int32_array(context, ROWS)
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    high, cost = np.int64(0), np.int64(0)
    for item in range(ends[configuration >> 1], ends[(configuration >> 1) + 1]):
        if items[item] < 0 or high >= len(walks):
            return np.int64(COMPUTE), cost
        walks[high, 0], walks[high, 1] = items[item], NO_EXITS
        high += 1
    at, level = np.int64(0), high
    while at < high:
        if at == level:
            level = high
        frame, exits = np.int64(walks[at, 0]), np.int64(walks[at, 1])
        place = frame * FRAME_COLUMNS
        state, count, below = np.int64(frames[place]), np.int64(frames[place + 1]), np.int64(frames[place + 2])
        required, allowed = key_counts(context, state, count)
        row = find_row(context, exits, state, required, allowed)
        if row < 0:
            row = _compute_row(context, exits, frame, state, count, required, allowed)
            if row < 0:
                return row, cost
        walks[at, 2] = row
        at += 1
        cost = max(cost, _cost_of(context, frame, row))
        exits = np.int64(rows[row * ROW_COLUMNS + EXITS])
        if exits == NO_EXITS or below == NO_FRAME:
            continue
        first, last = np.int64(0), np.int64(1)
        if below < 0:
            first, last = np.int64(ends[-2 - below]), np.int64(ends[-1 - below])
        for item in range(first, last):
            back = np.int64(below if below >= 0 else items[item])
            if exits >= 0:
                high = _add_walk(context, walks, level, high, back, exits)
            else:
                high = _add_labelled(context, walks, level, high, back, exits)
            if high < 0:
                return high, cost
    return high, cost


@helper
def find_allowed(context, configuration, remaining, walks):
    """Find the rows of a mask as `find_rows` does, if `remaining` tokens are enough after each of its tokens.

    Returns their number or a negative result: `TIGHT` if the tokens are not enough, `COMPUTE` where a token enters a
    distinct text, or the automaton has distinct texts and there is a budget, which counts those that are written.
    """
    has_distinct = int32_array(context, COUNTERS)[HAS_DISTINCT]
    if has_distinct and remaining < UNREACHABLE:
        return np.int64(COMPUTE)
    count, cost = find_rows(context, configuration, walks)
    if count >= 0 and has_distinct and cost >= UNREACHABLE:
        return np.int64(COMPUTE)
    return np.int64(TIGHT) if count >= 0 and cost > remaining else count


@helper
def _write_row(context, row, out, is_first):
    """Write a row to a mask if it is the first, else add it."""
    rows, bases = int32_array(context, ROWS), int64_array(context, BASES)
    words, values = int32_array(context, WORDS), uint32_array(context, VALUES)
    saved = uint32_array(context, FOUND_VALUES)
    at, size = row * ROW_COLUMNS, np.int64(len(out))
    base, first, last = np.int64(rows[at + BASE]), np.int64(rows[at + FIRST_WORD]), np.int64(rows[at + LAST_WORD])
    if is_first:
        if base < 0:
            for word in range(size):
                out[word] = 0
        else:
            dense = uint32_at(bases[base], size)
            for word in range(size):
                out[word] = dense[word]
        for i in range(first, last):
            out[words[i]] = values[i]
        return
    # The words of a row replace those of its dense mask.
    if base >= 0:
        for i in range(first, last):
            saved[i - first] = out[words[i]]
        dense = uint32_at(bases[base], size)
        for word in range(size):
            out[word] |= dense[word]
        for i in range(first, last):
            out[words[i]] = saved[i - first]
    for i in range(first, last):
        out[words[i]] |= values[i]


@exclusive_kernel
def write_mask(context, configuration, remaining, out):
    """Write the mask of a configuration, with the end tokens if it is accepting.

    Args:
        configuration: The configuration.
        remaining: Tokens that may follow the next one.
        out: uint32[words], receives the mask.

    Returns:
        `DONE`, or a negative result; then `out` is unchanged.
    """
    walks = int32_matrix(context, WALKS)
    count = find_allowed(context, configuration, remaining, walks)
    if count < 0:
        return count
    for i in range(count):
        _write_row(context, np.int64(walks[i, 2]), out, i == 0)
    if count == 0:
        for word in range(len(out)):
            out[word] = 0
    if configuration & 1:
        words, values = int32_array(context, EOS_WORDS), uint32_array(context, EOS_VALUES)
        for i in range(len(words)):
            out[words[i]] |= values[i]
    return np.int64(DONE)


@exclusive_kernel
def write_fitting(context, configuration, remaining, out):
    """Write the tokens of the rows of a mask after each of whose tokens `remaining` tokens are enough.

    Args:
        configuration: The configuration.
        remaining: Tokens that may follow the next one.
        out: uint32[words], zeros, receives the tokens.

    Returns:
        `DONE`, or a negative result; then `out` is unchanged.
    """
    walks = int32_matrix(context, WALKS)
    count, _ = find_rows(context, configuration, walks)
    if count < 0:
        return count
    for i in range(count):
        if _cost_of(context, np.int64(walks[i, 0]), np.int64(walks[i, 2])) <= remaining:
            _write_row(context, np.int64(walks[i, 2]), out, False)
    return np.int64(DONE)


CONFIGURATION, LIMIT, OUT_ROW, RESULT, END, PLAN_COLUMNS = range(6)
"""Columns of a plan, one row for each mask of a batch: the configuration, the tokens that may follow the next one, the
row of the array that receives the mask, the result as of `write_mask`, and the end of its rows in `found`."""


@exclusive_kernel
def find_masks(context, plan, found):
    """Find the rows of the masks of a batch; nothing is written to the masks.

    Args:
        plan: int64[masks, PLAN_COLUMNS], receives `RESULT` and `END`.
        found: int64[...], receives the numbers of the rows; a mask for which it has no room has the result `COMPUTE`.
    """
    walks = int32_matrix(context, WALKS)
    size = np.int64(0)
    for i in range(len(plan)):
        plan[i, RESULT], plan[i, END] = COMPUTE, size
        count = find_allowed(context, np.int64(plan[i, CONFIGURATION]), np.int64(plan[i, LIMIT]), walks)
        if count < 0:
            plan[i, RESULT] = count
        elif size + count <= len(found):
            for j in range(count):
                found[size + j] = walks[j, 2]
            size += count
            plan[i, RESULT], plan[i, END] = DONE, size


@kernel
def write_found(plan, found, rows, words, values, bases, ends, end_values, saved, out):
    """Write the masks of a plan.

    The interpreter lock is released: rows that were found do not change, and the caller keeps the arrays that contain
    them.

    Args:
        plan: As `find_masks` left it; masks whose result is not `DONE` are left out.
        found: int64[...], the numbers of the rows.
        rows: int32[...], the slot `ROWS`; the slots `WORDS`, `VALUES`, `BASES`, `EOS_WORDS` and `EOS_VALUES` follow.
        saved: uint32[...], scratch, as many as a row has words.
        out: uint32[rows, words], receives the masks.
    """
    size = np.int64(out.shape[1])
    start = np.int64(0)
    for i in range(len(plan)):
        end, target = np.int64(plan[i, END]), np.int64(plan[i, OUT_ROW])
        if plan[i, RESULT] != DONE:
            continue
        for word in range(0 if end > start and rows[found[start] * ROW_COLUMNS + BASE] >= 0 else size):
            out[target, word] = 0
        for item in range(start, end):
            at = np.int64(found[item]) * ROW_COLUMNS
            base = np.int64(rows[at + BASE])
            first, last = np.int64(rows[at + FIRST_WORD]), np.int64(rows[at + LAST_WORD])
            if base >= 0:
                dense = uint32_at(bases[base], size)
                # The words of a row replace those of its dense mask.
                for j in range(first, last):
                    saved[j - first] = out[target, words[j]] if item > start else np.uint32(0)
                if item == start:
                    for word in range(size):
                        out[target, word] = dense[word]
                else:
                    for word in range(size):
                        out[target, word] |= dense[word]
                for j in range(first, last):
                    out[target, words[j]] = saved[j - first]
            for j in range(first, last):
                out[target, words[j]] |= values[j]
        if plan[i, CONFIGURATION] & 1:
            for j in range(len(ends)):
                out[target, ends[j]] |= end_values[j]
        start = end
