"""Kernels that write the mask of a configuration. Reference code: `reachable_rows` in `structkit.guide.state`.

A mask is the union of rows: of each frame of the configuration, and of the frames below that a token can reach. Rows
that few trie nodes determine are computed and stored here; other rows are computed in Python and added by `add_row`.
"""

from __future__ import annotations

# Formatting off: one name per line would make the lists of slots longer than the code.
# fmt: off
# ruff: noqa: D417
import numpy as np

from structkit.automaton.core.jit import exclusive_kernel, helper
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
    FULL,
    FULL_SLOT,
    HAS_DISTINCT,
    HAS_MOVES,
    LIST_ENDS,
    LIST_ITEMS,
    MAX_COUNT,
    MAX_INCREMENTS,
    MIN_COUNT,
    MISSING,
    MISSING_RULES,
    NO_FRAME,
    ROW,
    RULE,
    START,
    TARGETS,
    below_cost,
    bucket_of,
    intern_list,
    pending_cost,
    sum_costs,
)
from structkit.automaton.runtime.frame_kernels import SLOTS as FIRST_SLOT
from structkit.index.rows.walk_kernels import MISSING as WALK_MISSING
from structkit.index.rows.walk_kernels import walk

__all__ = [
    "BASES", "CHILD_NODE", "DONE", "EOS_WORDS", "LONGEST_TOKEN", "NO_BASE", "NO_EXITS", "REQUESTS", "REQUEST_COUNT",
    "REQUEST_EXITS", "REQUEST_FRAME", "ROOT", "ROWS", "ROW_COLUMNS", "ROW_NEEDED", "SLOTS", "TIGHT", "TRIE_DEPTH",
    "add_row", "write_mask",
]

(
    TRIE_DEPTH, TRIE_FIRST, TRIE_IDS, CHILD_FIRST, CHILD_COUNT, CHILD_BYTE, CHILD_NODE, ROOT, EOS_WORDS, EOS_VALUES,
    ARENA, MASK, FOUND_WORDS, FOUND_VALUES, EXIT_NODES, NO_SIGNATURES, WALKS,
    REQUESTS, ROWS, ROW_BUCKETS, WORDS, VALUES, BASES, SLOTS,
) = range(FIRST_SLOT, FIRST_SLOT + 24)
"""The slots of a context that follow those of `frame_kernels`.

- From `TRIE_DEPTH` to `CHILD_NODE`, the arrays of the trie that `walk` reads; `ROOT`: int32[1], node 0.
- `EOS_WORDS`, `EOS_VALUES`: int32[...] and uint32[...], the words of the mask of the end tokens.
- From `ARENA` to `NO_SIGNATURES`, arguments of `walk`.
- `WALKS`: int32[..., 3], scratch: the frames of a mask, with the list of trie nodes at which tokens enter each, and its
  row.
- `REQUESTS`: int32[REQUEST_COUNT], see below.
- `ROWS`: int32[...], rows of `ROW_COLUMNS` numbers; `ROW_BUCKETS`: int32[...], their hash table.
- `WORDS`, `VALUES`: int32[...], the words of masks and their values.
- `BASES`: int64[...], addresses of dense masks.
"""

REQUEST_FRAME, REQUEST_EXITS, ROW_COUNT, WORD_COUNT, LONGEST_TOKEN, REQUEST_COUNT = range(6)
"""The numbers in `REQUESTS`: after `ROW_NEEDED` the frame and the list of exit nodes; the number of rows and words; the
length of the longest token."""

EXITS_KEY, STATE_KEY, REQUIRED, ALLOWED, BASE, FIRST_WORD, LAST_WORD, EXITS, ROW_COST, ROW_NEXT, ROW_COLUMNS = range(11)
"""The columns of a row: the four numbers of its key (see `RowKey`), its dense mask or `NO_BASE`, its words, the list
of the trie nodes at which its rule can end or `NO_EXITS`, the cost `Row.max_cost_after`, and the next row in its
bucket."""

NO_BASE = NO_EXITS = -1

DONE, ROW_NEEDED, TIGHT = 0, -6, -7
"""Results besides those of `frame_kernels`: the mask is written; a row must be added; the budget forbids some
tokens."""

_FUEL = 512
"""Trie nodes that a row visits before Python computes it with kernels for many nodes, which other threads do not wait
for: about 5 µs."""

_WIDE = 64
"""ASCII characters that can follow a state of free text."""


@helper
def _key_counts(context, state, count):
    """Return the iterations that a frame needs and allows, as far as a token can tell them apart; see `RowKey`."""
    rule = int32_array(context, RULE)[state]
    min_count = np.int64(int32_array(context, MIN_COUNT)[rule])
    max_count = np.int64(int32_array(context, MAX_COUNT)[rule])
    longest = np.int64(int32_array(context, REQUESTS)[LONGEST_TOKEN]) + 1
    required = min(max(min_count - count, 0), longest)
    if max_count < 0:
        return required, np.int64(-1)
    return required, min(max_count - count, longest * np.int64(int32_array(context, MAX_INCREMENTS)[rule]))


@helper
def _find_row(context, exits, state, required, allowed):
    """Return the number of a row, or -1."""
    rows, buckets = int32_array(context, ROWS), int32_array(context, ROW_BUCKETS)
    row = np.int64(buckets[bucket_of(exits, state, required, allowed, np.int64(len(buckets)))]) - 1
    while row >= 0:
        at = row * ROW_COLUMNS
        if (
            rows[at + EXITS_KEY] == exits and rows[at + STATE_KEY] == state
            and rows[at + REQUIRED] == required and rows[at + ALLOWED] == allowed
        ):
            return row
        row = np.int64(rows[at + ROW_NEXT])
    return row


@helper
def _store_row(context, exits, state, required, allowed, base, word_count, exit_count, cost):
    """Store the row whose words and exit nodes are in the scratch arrays; return its number, or `FULL`."""
    rows, buckets = int32_array(context, ROWS), int32_array(context, ROW_BUCKETS)
    words, values = int32_array(context, WORDS), uint32_array(context, VALUES)
    counters, requests = int32_array(context, COUNTERS), int32_array(context, REQUESTS)
    row, first_word = np.int64(requests[ROW_COUNT]), np.int64(requests[WORD_COUNT])
    at = row * ROW_COLUMNS
    exit_list = np.int64(NO_EXITS)
    if at + ROW_COLUMNS > len(rows):
        counters[FULL_SLOT] = ROWS
    elif first_word + word_count > len(words):
        counters[FULL_SLOT] = WORDS
    elif first_word + word_count > len(values):
        counters[FULL_SLOT] = VALUES
    else:
        if exit_count > 0:
            exit_list = intern_list(context, int32_array(context, EXIT_NODES), np.int64(exit_count))
            if exit_list < 0:
                return exit_list
        found_words, found_values = int64_array(context, FOUND_WORDS), uint32_array(context, FOUND_VALUES)
        for i in range(word_count):
            words[first_word + i], values[first_word + i] = found_words[i], found_values[i]
        bucket = bucket_of(exits, state, required, allowed, np.int64(len(buckets)))
        rows[at + EXITS_KEY], rows[at + STATE_KEY] = exits, state
        rows[at + REQUIRED], rows[at + ALLOWED] = required, allowed
        rows[at + BASE], rows[at + EXITS] = base, exit_list
        rows[at + ROW_COST] = max(min(cost, np.int64(UNREACHABLE)), np.int64(-UNREACHABLE))
        rows[at + FIRST_WORD], rows[at + LAST_WORD] = first_word, first_word + word_count
        rows[at + ROW_NEXT] = buckets[bucket] - 1
        requests[ROW_COUNT] = buckets[bucket] = row + 1
        requests[WORD_COUNT] = first_word + word_count
        return row
    return np.int64(FULL)


@helper
def _is_wide(context, state):
    """Return whether many bytes can follow a state, as in free text: then its row needs many trie nodes."""
    rule, row = int32_array(context, RULE)[state], int32_array(context, ROW)[state]
    targets, classes = int32_array(context, TARGETS), uint8_matrix(context, CLASSES)
    leaving = 0
    for byte in range(128):
        leaving += targets[row + classes[rule, byte]] >= 0
    return leaving >= _WIDE


@helper
def _compute_row(context, exits, frame, state, count, required, allowed):
    """Compute and store the row of a frame; return its number, or a negative result."""
    ends, items = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS)
    mask, found_words = uint32_array(context, MASK), int64_array(context, FOUND_WORDS)
    nodes, requests = int32_array(context, ROOT), int32_array(context, REQUESTS)
    requests[REQUEST_FRAME], requests[REQUEST_EXITS] = frame, exits
    if exits < 0 and _is_wide(context, state):
        return np.int64(ROW_NEEDED)
    if exits >= 0:
        nodes = items[ends[exits] : ends[exits + 1]]
    found, worst, filled = walk(
        int32_array(context, TRIE_DEPTH), int32_array(context, TRIE_FIRST), int32_array(context, TRIE_IDS),
        int32_array(context, CHILD_FIRST), int32_array(context, CHILD_COUNT), uint8_array(context, CHILD_BYTE),
        int32_array(context, CHILD_NODE), int32_array(context, ROW), int32_array(context, TARGETS),
        uint8_matrix(context, CLASSES), int32_array(context, RULE), bool_array(context, FINAL),
        bool_array(context, HAS_MOVES), bool_array(context, BYTE_ONLY), int32_array(context, CALL_FIRST),
        int32_array(context, CALL_RULE), int32_array(context, CALL_NEXT), int32_array(context, CALL_OPERATION),
        bool_array(context, CALL_DISTINCT), int32_array(context, START), int32_array(context, MIN_COUNT),
        int32_array(context, MAX_COUNT), int32_matrix(context, DISTANCES),
        nodes, state, count, np.int64(UNREACHABLE) << 8, int64_matrix(context, ARENA), np.int64(0),
        mask, found_words, uint32_array(context, FOUND_VALUES), int32_array(context, EXIT_NODES),
        int64_array(context, NO_SIGNATURES), bool_array(context, MISSING_RULES), np.int64(_FUEL),
    )
    if found >= 0 and filled <= len(found_words):
        cost = np.int64(worst) - pending_cost(context, state, count)
        return _store_row(
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
def _find_rows(context, configuration, walks):
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
        required, allowed = _key_counts(context, state, count)
        row = _find_row(context, exits, state, required, allowed)
        if row < 0:
            row = _compute_row(context, exits, frame, state, count, required, allowed)
            if row < 0:
                return row, cost
        walks[at, 2] = row
        at += 1
        after = np.int64(rows[row * ROW_COLUMNS + ROW_COST]) + pending_cost(context, state, count)
        cost = max(cost, sum_costs(after, below_cost(context, below)))
        exits = np.int64(rows[row * ROW_COLUMNS + EXITS])
        if exits == NO_EXITS or below == NO_FRAME:
            continue
        first, last = np.int64(0), np.int64(1)
        if below < 0:
            first, last = np.int64(ends[-2 - below]), np.int64(ends[-1 - below])
        for item in range(first, last):
            high = _add_walk(context, walks, level, high, np.int64(below if below >= 0 else items[item]), exits)
            if high < 0:
                return high, cost
    return high, cost


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
    if int32_array(context, COUNTERS)[HAS_DISTINCT]:
        return np.int64(COMPUTE)
    walks = int32_matrix(context, WALKS)
    count, cost = _find_rows(context, configuration, walks)
    if count < 0:
        return count
    if cost > remaining:
        return np.int64(TIGHT)
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
def add_row(context, exits, frame, base, words, values, exit_nodes, cost):
    """Store a row that Python computed; return its number, or `FULL`.

    Args:
        exits: The list of trie nodes at which tokens enter, or `NO_EXITS`.
        frame: The frame.
        base: The number of the dense mask, or `NO_BASE`.
        words: int64[k], the words that differ from the dense mask, or that are set; as many as `FOUND_WORDS` at most.
        values: uint32[k], their values.
        exit_nodes: int32[...], the trie nodes at which the rule can end.
        cost: `Row.max_cost_after`.
    """
    frames = int32_array(context, FRAMES)
    state, count = np.int64(frames[frame * FRAME_COLUMNS]), np.int64(frames[frame * FRAME_COLUMNS + 1])
    required, allowed = _key_counts(context, state, count)
    row = _find_row(context, exits, state, required, allowed)
    if row >= 0:
        return row
    found_words, found_values = int64_array(context, FOUND_WORDS), uint32_array(context, FOUND_VALUES)
    for i in range(len(words)):
        found_words[i], found_values[i] = words[i], values[i]
    found_nodes = int32_array(context, EXIT_NODES)
    for i in range(len(exit_nodes)):
        found_nodes[i] = exit_nodes[i]
    return _store_row(
        context, exits, state, required, allowed, base, np.int64(len(words)), np.int64(len(exit_nodes)), cost
    )
