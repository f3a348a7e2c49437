"""The kernel that searches for the fewest tokens to the end of a text; see `structkit.guide.completion`.

For arrays without a description see `frame_kernels` and `Trie`.
"""

from __future__ import annotations

# Formatting off: one name per line would make the lists of slots longer than the code.
# fmt: off
import numpy as np

from structkit.automaton.core.jit import exclusive_kernel, helper, inlined
from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.core.memory import int32_array, int32_matrix, uint8_array, uint8_matrix
from structkit.automaton.runtime.frame_kernels import (
    BELOW,
    CLASSES,
    COUNT,
    DISTANCES,
    PARSES,
    ROW,
    RULE,
    STATE,
    TARGETS,
    TOO_MANY,
    below_cost,
    bucket_of,
    pending_cost,
    sum_costs,
)
from structkit.automaton.runtime.parse_kernels import intern_parses, load_parses, read_byte
from structkit.index.rows.row_kernels import (
    CHILD_BYTE,
    CHILD_COUNT,
    CHILD_FIRST,
    CHILD_NODE,
    TRIE_FIRST,
    TRIE_IDS,
)

__all__ = [
    "EDGE_COLUMNS", "ENTRY_COLUMNS", "EXHAUSTED", "NOT_FOUND", "PARENT", "PLACE_COLUMNS", "TOKEN", "search_completions",
]

CONFIGURATION, EXCESS, LEFT, PARENT, TOKEN, TO_END, ENTRY_COLUMNS = range(7)
"""The columns of an entry: the configuration after some tokens, the bytes by which the text so far and a shortest rest
are longer than a shortest text, the bytes of a shortest rest, the entry before the last token, that token, and finally
the tokens to the end."""

FROM, TO, EDGE_TOKEN, EDGE_COLUMNS = range(4)
"""The columns of an edge: the entries before and after a token, and the token."""

CHILD, LAST_CHILD, FIRST_PARSE, PARSE_COUNT, PLACE_COLUMNS = range(5)
"""The columns of a place in the trie, one for each depth: the next child to visit, the end of the children, and the
parses there."""

NOT_FOUND, EXHAUSTED = -20, -21
"""Results: no text within the limits exists; the search is too large."""


@helper
def _bytes_left(context, parses, count):
    """Return the bytes of a shortest rest of the text; the distances of the context are in bytes."""
    lowest = np.int64(UNREACHABLE)
    distances = int32_matrix(context, DISTANCES)
    for i in range(count):
        state = np.int64(parses[i, STATE])
        cost = sum_costs(np.int64(distances[0, state]), pending_cost(context, state, np.int64(parses[i, COUNT])))
        lowest = min(lowest, sum_costs(cost, below_cost(context, np.int64(parses[i, BELOW]))))
    return lowest


@helper
def _copy_parses(source, first, count, target, start):
    for i in range(count):
        for column in range(3):
            target[start + i, column] = source[first + i, column]


@inlined
def _list_first_tokens(entries, entry_count, edges, edge_count, max_tokens, first_tokens):
    """List the first tokens of the completions; return their number."""
    for entry in range(entry_count):
        entries[entry, TO_END] = 0 if entries[entry, CONFIGURATION] & 1 else UNREACHABLE
    changed = True
    while changed:
        changed = False
        for edge in range(edge_count - 1, -1, -1):
            to_end = entries[edges[edge, TO], TO_END] + 1
            if to_end < entries[edges[edge, FROM], TO_END]:
                entries[edges[edge, FROM], TO_END] = to_end
                changed = True
    count = 0
    for edge in range(edge_count):
        fits = edges[edge, FROM] == 0 and entries[edges[edge, TO], TO_END] < max_tokens
        if fits and count < len(first_tokens):
            first_tokens[count] = edges[edge, EDGE_TOKEN]
            count += 1
    return count


@exclusive_kernel
def search_completions(
    context, configuration, max_excess, max_tokens, fuel, entries, buckets, edges, places, saved, sizes, first_tokens,
):
    """Search breadth-first, token by token, for completions that are not much longer in bytes than a shortest one.

    Args:
        context: A context whose `DISTANCES` are in bytes.
        configuration: The configuration after the text so far.
        max_excess: The bytes by which a completion may be longer.
        max_tokens: The tokens that it may have.
        fuel: The bytes to read; one that several parses read counts for each of them.
        entries: int64[..., ENTRY_COLUMNS], receives the configurations found.
        buckets: int32[a power of 2], scratch.
        edges: int64[..., EDGE_COLUMNS], receives the tokens between entries.
        places: int64[depth of the trie + 1, PLACE_COLUMNS], scratch.
        saved: int32[..., 3], scratch: parses.
        sizes: int64[2], receives the first entry whose text is complete, or -1, and the number of first tokens.
        first_tokens: int64[...], receives the first tokens of the completions found, some of them repeatedly. If it is
            empty, the search ends when it has found a completion.

    Returns:
        The fewest tokens of a completion, `NOT_FOUND`, `EXHAUSTED`, or a negative result of `frame_kernels`.
    """
    parses = int32_matrix(context, PARSES)
    rules, row, targets = int32_array(context, RULE), int32_array(context, ROW), int32_array(context, TARGETS)
    classes, child_byte = uint8_matrix(context, CLASSES), uint8_array(context, CHILD_BYTE)
    child_first, child_count = int32_array(context, CHILD_FIRST), int32_array(context, CHILD_COUNT)
    child_node, firsts, ids = (
        int32_array(context, CHILD_NODE), int32_array(context, TRIE_FIRST), int32_array(context, TRIE_IDS),
    )
    for bucket in range(len(buckets)):
        buckets[bucket] = 0
    count = load_parses(context, configuration, parses)
    if count < 0:
        return count
    entries[0, CONFIGURATION], entries[0, EXCESS], entries[0, PARENT], entries[0, TOKEN] = configuration, 0, -1, -1
    entries[0, LEFT] = _bytes_left(context, parses, count)
    buckets[bucket_of(configuration, np.int64(0), np.int64(0), np.int64(0), np.int64(len(buckets)))] = 1
    first, last, edge_count, fewest, found = np.int64(0), np.int64(1), np.int64(0), np.int64(NOT_FOUND), np.int64(-1)
    if entries[0, LEFT] > fuel:
        return np.int64(EXHAUSTED)
    tokens = np.int64(0)
    while first < last and tokens < max_tokens and (len(first_tokens) > 0 or found < 0):
        tokens += 1
        end = last
        for entry in range(first, last):
            count = load_parses(context, entries[entry, CONFIGURATION], parses)
            if count < 0:
                return count
            if count > len(saved):
                return np.int64(EXHAUSTED)
            _copy_parses(parses, np.int64(0), count, saved, np.int64(0))
            depth = np.int64(0)
            places[0, CHILD], places[0, LAST_CHILD] = child_first[0], child_first[0] + child_count[0]
            places[0, FIRST_PARSE], places[0, PARSE_COUNT] = 0, count
            while depth >= 0:
                child = places[depth, CHILD]
                if child == places[depth, LAST_CHILD]:
                    depth -= 1
                    continue
                places[depth, CHILD] = child + 1
                offset, count, byte = places[depth, FIRST_PARSE], places[depth, PARSE_COUNT], child_byte[child]
                is_read = False
                for i in range(offset, offset + count):
                    state = saved[i, STATE]
                    is_read = is_read or targets[row[state] + classes[rules[state], byte]] >= 0
                if not is_read:
                    continue
                _copy_parses(saved, offset, count, parses, np.int64(0))
                after = read_byte(context, parses, count, byte)
                fuel -= max(count, after)
                if fuel < 0:
                    return np.int64(EXHAUSTED)
                if after <= 0:
                    if after == 0 or after == TOO_MANY:
                        continue
                    return after
                left = _bytes_left(context, parses, after)
                excess = max(entries[entry, EXCESS] + depth + 1 + left - entries[entry, LEFT], entries[entry, EXCESS])
                if excess > max_excess or left >= UNREACHABLE:
                    continue
                if max_excess >= UNREACHABLE:
                    excess = np.int64(0)
                node = child_node[child]
                if child_count[node] > 0:
                    if offset + count + after > len(saved):
                        return np.int64(EXHAUSTED)
                    depth += 1
                    places[depth, CHILD] = child_first[node]
                    places[depth, LAST_CHILD] = child_first[node] + child_count[node]
                    places[depth, FIRST_PARSE], places[depth, PARSE_COUNT] = offset + count, after
                    _copy_parses(parses, np.int64(0), after, saved, offset + count)
                if firsts[node] == firsts[node + 1]:
                    continue
                reached = intern_parses(context, parses, after)
                if reached < 0:
                    if reached == TOO_MANY:
                        continue
                    return reached
                bucket = bucket_of(reached, np.int64(0), np.int64(0), np.int64(0), np.int64(len(buckets)))
                while buckets[bucket] > 0 and entries[buckets[bucket] - 1, CONFIGURATION] != reached:
                    bucket = (bucket + 1) & np.int64(len(buckets) - 1)
                at = np.int64(buckets[bucket]) - 1
                if edge_count == len(edges) or end == len(entries):
                    return np.int64(EXHAUSTED)
                if at < 0 or entries[at, EXCESS] > excess:
                    at = end
                    entries[at, CONFIGURATION], entries[at, EXCESS], entries[at, LEFT] = reached, excess, left
                    entries[at, PARENT], entries[at, TOKEN] = entry, ids[firsts[node]]
                    end += 1
                    buckets[bucket] = end
                    if found < 0 and reached & 1:
                        found, fewest = at, tokens
                edges[edge_count, FROM], edges[edge_count, TO] = entry, at
                edges[edge_count, EDGE_TOKEN] = ids[firsts[node]]
                edge_count += 1
        first, last = last, end
    sizes[0], sizes[1] = found, 0
    if len(first_tokens) > 0:
        sizes[1] = _list_first_tokens(entries, last, edges, edge_count, max_tokens, first_tokens)
    return fewest
