"""Kernels that find, store and derive the rows of masks; `structkit.index.rows.mask_kernels` writes masks with them.

Rows that few trie nodes determine are computed by kernels, and rows that differ little from another row are derived
from that row. Other rows are computed in Python and added by `add_row`.
"""

from __future__ import annotations

# Formatting off: one name per line would make the lists of slots longer than the code.
# fmt: off
# ruff: noqa: D417
import numpy as np

from structkit.automaton.core.jit import exclusive_kernel, helper
from structkit.automaton.core.kernels import OPERATION_BITS, UNREACHABLE
from structkit.automaton.core.memory import (
    bool_array,
    int32_array,
    int32_matrix,
    int64_array,
    int64_matrix,
    put_at,
    uint8_array,
    uint8_matrix,
    uint32_array,
    uint32_at,
)
from structkit.automaton.runtime.frame_kernels import (
    CALL_FIRST,
    CLASSES,
    COUNTERS,
    DISTANCES,
    FINAL,
    FRAME_COLUMNS,
    FRAMES,
    FULL,
    FULL_SLOT,
    LIST_ENDS,
    LIST_ITEMS,
    MAX_COUNT,
    MAX_INCREMENTS,
    MEMBERS,
    MIN_COUNT,
    NO_FRAME,
    ROW,
    RULE,
    TARGETS,
    TOO_MANY,
    bucket_of,
    intern_frame,
    intern_list,
)
from structkit.automaton.runtime.frame_kernels import SLOTS as FIRST_SLOT
from structkit.index.rows.arena import LABEL_SHIFT

__all__ = [
    "ARENA", "BASE", "BASES", "CHILD_BYTE", "CHILD_COUNT", "CHILD_FIRST", "CHILD_NODE", "DONE", "EOS_VALUES",
    "EOS_WORDS", "EXITS", "EXIT_NODES", "FIRST_WORD", "FOUND_VALUES", "FOUND_WORDS", "LAST_WORD",
    "LONGEST_TOKEN", "MASK", "NO_BASE", "NO_EXITS", "NO_SIGNATURES", "REQUESTS", "REQUEST_COUNT",
    "REQUEST_EXITS", "REQUEST_FRAME", "ROOT", "ROWS", "ROW_BUCKETS", "ROW_COLUMNS", "ROW_COST", "ROW_COUNT",
    "ROW_NEEDED", "SLOTS", "TIGHT", "TRIE_DEPTH", "TRIE_FIRST", "TRIE_IDS", "VALUES", "WALKS", "WORDS",
    "add_row", "derive_row", "find_row", "is_wide", "key_counts", "rehash_rows", "store_row",
]

(
    TRIE_DEPTH, TRIE_FIRST, TRIE_IDS, CHILD_FIRST, CHILD_COUNT, CHILD_BYTE, CHILD_NODE, ROOT, EOS_WORDS, EOS_VALUES,
    ARENA, MASK, FOUND_WORDS, FOUND_VALUES, EXIT_NODES, NO_SIGNATURES, WALKS, TRIE_BYTE, TRIE_END,
    REQUESTS, ROWS, ROW_BUCKETS, WORDS, VALUES, BASES, SLOTS,
) = range(FIRST_SLOT, FIRST_SLOT + 26)
"""The slots of a context that follow those of `frame_kernels`.

- From `TRIE_DEPTH` to `CHILD_NODE`, the arrays of the trie that `walk` reads; `ROOT`: int32[1], node 0.
- `EOS_WORDS`, `EOS_VALUES`: int32[...] and uint32[...], the words of the mask of the end tokens.
- From `ARENA` to `NO_SIGNATURES`, arguments of `walk`.
- `WALKS`: int32[..., 3], scratch: the frames of a mask, with the list of trie nodes at which tokens enter each, and its
  row.
- `TRIE_BYTE`, `TRIE_END`: the other arrays of the trie that `derive_row` reads.
- `REQUESTS`: int32[REQUEST_COUNT], see below.
- `ROWS`: int32[...], rows of `ROW_COLUMNS` numbers; `ROW_BUCKETS`: int32[...], their hash table.
- `WORDS`, `VALUES`: int32[...], the words of masks and their values.
- `BASES`: int64[...], addresses of dense masks.
"""

REQUEST_FRAME, REQUEST_EXITS, ROW_COUNT, WORD_COUNT, LONGEST_TOKEN, REQUEST_COUNT = range(6)
"""The numbers in `REQUESTS`: after `ROW_NEEDED` the frame and the list of exit nodes; the number of rows and words; the
length of the longest token."""

EXITS_KEY, STATE_KEY, REQUIRED, ALLOWED, BASE, FIRST_WORD, LAST_WORD, EXITS, ROW_COST, ROW_NEXT, ROW_COLUMNS = range(11)
"""The columns of a row: the four numbers of its key (see `RowKey`), its dense mask or `NO_BASE`, its words, the trie
nodes at which its rule can end, its cost, and the next row in its bucket. The cost is `Row.max_cost_after`, or
`UNREACHABLE` if a token enters a distinct text. The trie nodes are a list, `NO_EXITS`, or, if the rule can end with
labels, `-2 - list`: in this list each label plus 1, or 0 for an end without a label, precedes the list of its trie
nodes."""

NO_BASE = NO_EXITS = -1

DONE, ROW_NEEDED, TIGHT = 0, -6, -7
"""Results besides those of `frame_kernels`: the mask is written; a row must be added; the budget forbids some
tokens."""

_MAX_DIFFERENCE = 2048
"""Trie nodes that `derive_row` visits, of which 256 are the first bytes of tokens."""

_WIDE = 64
"""ASCII characters that can follow a state of free text."""

_LEFT, _RIGHT, _CHANGED = range(3)
"""Columns of the arena in `derive_row`: by depth, the states after the bytes of a node from the state and from
the other state; and the nodes that are an exit node of only one of the two rows."""


@helper
def key_counts(context, state, count):
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
def find_row(context, exits, state, required, allowed):
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
def _intern_labelled(context, exit_nodes, count, last_label):
    """Return the list of the lists of exit nodes with labels, see `EXITS`, or a negative result."""
    pairs, size = int32_array(context, MEMBERS), np.int64(0)
    if 2 * count > len(exit_nodes) or 2 * last_label + 2 > len(pairs):
        return np.int64(TOO_MANY)
    nodes = exit_nodes[count:]
    for label in range(last_label + 1):
        found = np.int64(0)
        for i in range(count):
            if np.int64(exit_nodes[i]) >> LABEL_SHIFT == label:
                nodes[found] = exit_nodes[i] & ((1 << LABEL_SHIFT) - 1)
                found += 1
        if found:
            pairs[size], pairs[size + 1] = label, intern_list(context, nodes, found)
            if pairs[size + 1] < 0:
                return np.int64(FULL)
            size += 2
    return intern_list(context, pairs, size)


@exclusive_kernel
def rehash_rows(context, buckets, address):
    """Use other buckets for the rows: int32[a power of 2], zeros."""
    rows = int32_array(context, ROWS)
    for row in range(int32_array(context, REQUESTS)[ROW_COUNT]):
        at = row * ROW_COLUMNS
        bucket = bucket_of(
            np.int64(rows[at + EXITS_KEY]), np.int64(rows[at + STATE_KEY]), np.int64(rows[at + REQUIRED]),
            np.int64(rows[at + ALLOWED]), np.int64(len(buckets)),
        )
        rows[at + ROW_NEXT] = buckets[bucket] - 1
        buckets[bucket] = row + 1
    put_at(context, ROW_BUCKETS, buckets, address)


@helper
def store_row(context, exits, state, required, allowed, base, word_count, exit_count, cost):
    """Store the row whose words and exit nodes are in the scratch arrays; return its number, or `FULL`."""
    rows, buckets = int32_array(context, ROWS), int32_array(context, ROW_BUCKETS)
    words, values = int32_array(context, WORDS), uint32_array(context, VALUES)
    counters, requests = int32_array(context, COUNTERS), int32_array(context, REQUESTS)
    row, first_word = np.int64(requests[ROW_COUNT]), np.int64(requests[WORD_COUNT])
    at = row * ROW_COLUMNS
    exit_list = np.int64(NO_EXITS)
    exit_nodes = int32_array(context, EXIT_NODES)
    if at + ROW_COLUMNS > len(rows):
        counters[FULL_SLOT] = ROWS
    elif first_word + word_count > len(words):
        counters[FULL_SLOT] = WORDS
    elif first_word + word_count > len(values):
        counters[FULL_SLOT] = VALUES
    else:
        if exit_count > 0:
            last_label = np.int64(0)
            for i in range(exit_count):
                last_label = max(last_label, np.int64(exit_nodes[i]) >> LABEL_SHIFT)
            if last_label == 0:
                exit_list = intern_list(context, exit_nodes, np.int64(exit_count))
            else:
                exit_list = _intern_labelled(context, exit_nodes, np.int64(exit_count), last_label)
            if exit_list < 0:
                return exit_list
            exit_list = -2 - exit_list if last_label > 0 else exit_list
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
def is_wide(context, state):
    """Return whether many bytes can follow a state, as in free text: then its row needs many trie nodes."""
    rule, row = int32_array(context, RULE)[state], int32_array(context, ROW)[state]
    targets, classes = int32_array(context, TARGETS), uint8_matrix(context, CLASSES)
    leaving = 0
    for byte in range(128):
        leaving += targets[row + classes[rule, byte]] >= 0
    return leaving >= _WIDE


@helper
def _frequent_successor(context, state):
    """Return the state that many characters lead to, as in free text; -1 if there is none (Boyer and Moore 1991)."""
    rule, row = int32_array(context, RULE)[state], int32_array(context, ROW)[state]
    targets, classes = int32_array(context, TARGETS), uint8_matrix(context, CLASSES)
    found, votes, count = np.int64(-1), 0, 0
    for byte in range(128):
        target = np.int64(targets[row + classes[rule, byte]])
        if votes == 0:
            found = target
        votes += 1 if target == found else -1
    for byte in range(128):
        count += targets[row + classes[rule, byte]] == found
    return found >> OPERATION_BITS if count >= _WIDE else np.int64(-1)


@helper
def _step(context, state, byte):
    """Return the state after a byte, -1 if there is none."""
    if state < 0:
        return np.int64(-1)
    rule, targets = int32_array(context, RULE)[state], int32_array(context, TARGETS)
    place = int32_array(context, ROW)[state] + uint8_matrix(context, CLASSES)[rule, byte]
    return np.int64(targets[place] >> OPERATION_BITS)


@helper
def _has_calls(context, state):
    """Return whether a state calls a rule or ends with a label; false for no state."""
    call_first = int32_array(context, CALL_FIRST)
    return state >= 0 and call_first[state] < call_first[state + 1]


@helper
def _write_difference(context, base_row, state, other):
    """Compute the row of a state from the row of another state of the same rule, which has no counter.

    The words and exit nodes are written to the scratch arrays. Only the trie nodes are visited at which the states
    after the bytes from `state` and from `other` differ.

    Returns:
        `(words, exit nodes, cost)`; the number of words is negative if the states differ too much.
    """
    depths, ends = int32_array(context, TRIE_DEPTH), int32_array(context, TRIE_END)
    bytes_of = uint8_array(context, TRIE_BYTE)
    firsts, ids, final = int32_array(context, TRIE_FIRST), int32_array(context, TRIE_IDS), bool_array(context, FINAL)
    rows, arena, slots = int32_array(context, ROWS), int64_matrix(context, ARENA), uint32_array(context, MASK)
    words, values = int64_array(context, FOUND_WORDS), uint32_array(context, FOUND_VALUES)
    at = base_row * ROW_COLUMNS
    base, cost, first_word = np.int64(rows[at + BASE]), np.int64(rows[at + ROW_COST]), np.int64(rows[at + FIRST_WORD])
    dense = uint32_at(int64_array(context, BASES)[max(base, 0)], np.int64(len(slots)))
    count = np.int64(rows[at + LAST_WORD]) - first_word
    for i in range(count):
        words[i] = int32_array(context, WORDS)[first_word + i]
        values[i] = uint32_array(context, VALUES)[first_word + i]
        slots[words[i]] = i + 1
    arena[0, _LEFT], arena[0, _RIGHT] = state, other
    changed, visited, node, failed = np.int64(0), 0, np.int64(1), False
    while node < ends[0] and not failed:
        depth = np.int64(depths[node])
        visited += 1
        if visited > _MAX_DIFFERENCE or depth >= len(arena):
            failed = True
            break
        left = _step(context, arena[depth - 1, _LEFT], bytes_of[node])
        right = _step(context, arena[depth - 1, _RIGHT], bytes_of[node])
        if left == right:
            node = np.int64(ends[node])
            continue
        arena[depth, _LEFT], arena[depth, _RIGHT] = left, right
        failed = _has_calls(context, left) or _has_calls(context, right)
        if ends[node] > node + 1 and (left >= 0 and final[left]) != (right >= 0 and final[right]):
            failed = failed or changed == len(arena)
            arena[min(changed, np.int64(len(arena) - 1)), _CHANGED] = node
            changed += 1
        if left >= 0 and firsts[node] < firsts[node + 1]:
            cost = max(cost, np.int64(int32_matrix(context, DISTANCES)[0, left]))
        for i in range(firsts[node], firsts[node + 1]):
            word, bit = np.int64(ids[i] >> 5), np.uint32(1) << np.uint32(ids[i] & 31)
            if slots[word] == 0 and count == len(words):
                failed = True
                break
            if slots[word] == 0:
                words[count], values[count] = word, dense[word] if base >= 0 else np.uint32(0)
                count += 1
                slots[word] = count
            if left >= 0:
                values[slots[word] - 1] |= bit
            else:
                values[slots[word] - 1] &= ~bit
        node += 1
    for i in range(count):
        slots[words[i]] = 0
    return np.int64(-1) if failed else count, _toggle_exits(context, base_row, changed), cost


@helper
def _toggle_exits(context, row, changed):
    """Write the exit nodes of a row, without the changed nodes among them and with the others; return their number."""
    ends, items, arena = int32_array(context, LIST_ENDS), int32_array(context, LIST_ITEMS), int64_matrix(context, ARENA)
    exits, nodes = np.int64(int32_array(context, ROWS)[row * ROW_COLUMNS + EXITS]), int32_array(context, EXIT_NODES)
    left, left_end = np.int64(0), np.int64(0)
    if exits >= 0:
        left, left_end = np.int64(ends[exits]), np.int64(ends[exits + 1])
    right, size = np.int64(0), np.int64(0)
    while left < left_end or right < changed:
        if left < left_end and right < changed and items[left] == arena[right, _CHANGED]:
            left += 1
            right += 1
            continue
        takes_left = right == changed or (left < left_end and items[left] < arena[right, _CHANGED])
        nodes[size] = items[left] if takes_left else arena[right, _CHANGED]
        left += np.int64(takes_left)
        right += np.int64(not takes_left)
        size += 1
    return size


@helper
def derive_row(context, state):
    """Compute and store the row of a state of free text from that of a similar state; return its number.

    Such states are those after the beginning of a declared key, where another key can follow. The result is
    `ROW_NEEDED` if the similar state has no row yet, which is then requested, or if the states differ too much.
    """
    rule = int32_array(context, RULE)[state]
    other = _frequent_successor(context, state)
    if int32_array(context, MIN_COUNT)[rule] > 0 or int32_array(context, MAX_COUNT)[rule] >= 0:
        return np.int64(ROW_NEEDED)
    if other < 0 or other == state or _frequent_successor(context, other) != other:
        return np.int64(ROW_NEEDED)
    base_row = find_row(context, np.int64(NO_EXITS), other, np.int64(0), np.int64(-1))
    if base_row < 0:
        frame = intern_frame(context, other, np.int64(0), np.int64(NO_FRAME))
        int32_array(context, REQUESTS)[REQUEST_FRAME] = frame
        return np.int64(ROW_NEEDED) if frame >= 0 else frame
    if int32_array(context, ROWS)[base_row * ROW_COLUMNS + EXITS] < NO_EXITS:
        return np.int64(ROW_NEEDED)  # exits with labels
    count, exit_count, cost = _write_difference(context, base_row, state, other)
    if count < 0:
        return np.int64(ROW_NEEDED)
    base = np.int64(int32_array(context, ROWS)[base_row * ROW_COLUMNS + BASE])
    return store_row(
        context, np.int64(NO_EXITS), state, np.int64(0), np.int64(-1), base, count, exit_count, cost
    )


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
        cost: `Row.max_cost_after`, or `UNREACHABLE` if a token may enter a distinct text.
    """
    frames = int32_array(context, FRAMES)
    state, count = np.int64(frames[frame * FRAME_COLUMNS]), np.int64(frames[frame * FRAME_COLUMNS + 1])
    required, allowed = key_counts(context, state, count)
    row = find_row(context, exits, state, required, allowed)
    if row >= 0:
        return row
    found_words, found_values = int64_array(context, FOUND_WORDS), uint32_array(context, FOUND_VALUES)
    for i in range(len(words)):
        found_words[i], found_values[i] = words[i], values[i]
    found_nodes = int32_array(context, EXIT_NODES)
    for i in range(len(exit_nodes)):
        found_nodes[i] = exit_nodes[i]
    return store_row(
        context, exits, state, required, allowed, base, np.int64(len(words)), np.int64(len(exit_nodes)), cost
    )
