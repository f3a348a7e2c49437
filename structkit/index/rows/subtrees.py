"""Subtrees of the trie that a walk takes as a whole, because a state allows every sequence of their characters.

Most states of a text, such as `[^x]*` or `.{3,80}`, allow any sequence of nearly all characters. A walk then need not
visit the nodes below a node one by one: where the characters below the node are among these, it takes all the tokens.
"""

from __future__ import annotations

# Formatting off: one parameter per line would make the signatures longer than the bodies.
# fmt: off
# ruff: noqa: D417
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.jit import helper, inlined, kernel
from structkit.automaton.core.kernels import EXIT, OPERATION_BITS, OPERATION_MASK
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = [
    "COST", "FIRST_LEAD", "LEADS", "LENGTHS", "MAX_DEPTH", "MAX_QUEUED", "MOVE_COLUMNS", "MOVE_ROWS", "OPERATION",
    "STATE_ROWS", "Subtrees", "covering", "limiting", "nodes_before", "subtrees_of",
    "summarize",
]

_MIN_NODES = 8
"""Minimum number of nodes of a subtree that is taken as a whole; smaller ones are walked as fast."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Subtrees:
    """What is below the nodes of a trie.

    Attributes:
        number: int32[nodes], the row of the node in `below`; -1 if a walk visits the node's subtree.
        below: int64[..., 4], the set of the characters below the node, and a bit for each length in characters, from
            the node, of a token below it. The last character of a token may lack bytes. If the node's byte is the first
            of a character beyond ASCII, all this is about the node and what is below it, from the node's parent.
        characters: int16[nodes], the characters that begin on the way to the node.
        token_characters: int16[tokens], the characters of each token of `Trie.token_ids`.
    """

    number: NDArray[np.int32]
    below: NDArray[np.int64]
    characters: NDArray[np.int16]
    token_characters: NDArray[np.int16]


@lru_cache(maxsize=4)
def subtrees_of(vocabulary: Vocabulary) -> Subtrees:
    """Return the subtrees of a vocabulary's trie."""
    trie = vocabulary.trie
    nodes = len(trie.byte)
    characters, missing = np.zeros(nodes, np.int16), np.zeros(nodes, np.int8)
    number = np.full(nodes, -1, np.int32)
    large = trie.end - np.arange(nodes, dtype=np.int32) >= _MIN_NODES
    below = np.empty((np.count_nonzero(large), LENGTHS + 1), np.int64)
    path = np.zeros((vocabulary.max_token_length + 2, LENGTHS + 1), np.int64)
    found = summarize(trie.byte, trie.depth, trie.first, large, characters, missing, path, number, below)
    return Subtrees(number, below[:found].copy(), characters, np.repeat(characters, np.diff(trie.first)))


@lru_cache(maxsize=16)
def nodes_before(vocabulary: Vocabulary, allowed: bytes) -> NDArray[np.bool_]:
    """Return for each node of the trie whether the byte of one of its children is allowed.

    Args:
        vocabulary: The vocabulary.
        allowed: For each byte 1 if it is allowed, otherwise 0.
    """
    trie = vocabulary.trie
    counts = np.zeros(len(trie.byte), np.int32)
    np.cumsum(np.frombuffer(allowed, np.bool_)[trie.child_byte], out=counts[1:])
    before: NDArray[np.bool_] = counts[trie.child_first + trie.child_count] > counts[trie.child_first]
    return before


_LOW, _HIGH, LEADS, LENGTHS = range(4)
"""Columns of `Subtrees.below`: the ASCII characters up to 63 and from 64, the first bytes of other characters, counted
from `FIRST_LEAD`, and the lengths."""

FIRST_LEAD, _LAST_LEAD = 0xC2, 0xF4
"""The first bytes of the characters beyond ASCII."""

OPERATION, COST = 3, 4
"""Columns of `moves`, beside the first three columns of `Subtrees.below`; see `covering`."""

_ROWS, _GENERATION, _QUEUED, _VISITS, _ENDS, _LEVEL, _HAS_CYCLE, _INSIDE_COST = range(8)
"""Columns of the first row of `moves`: how many rows were written, the number of the current search, how many states it
found, how many states all searches read, whether the search ends before the current state, how many characters it still
reads, whether two texts of different lengths lead to one state, and the most tokens that are needed in a state inside a
character."""

_MAIN, _EXAMINED, _ENDING, _FOUND_AT, STATE_ROWS = 3, 4, 5, 6, 7
"""Rows of `numbers` after the first three: the number of the search in which most characters lead to the state; whether
the state was examined; the row of `moves` whose longer texts the state forbids; how many characters the search still
read when it found the state; and the number of rows."""

_BROKEN = 1 << 62
"""Bit of `LEADS` while the subtrees are computed: some token below is no sequence of characters, of which the last may
lack bytes."""

MAX_DEPTH = 24
"""Maximum number of characters below a node; few subtrees have longer tokens."""

_MAX_VISITS = 400
"""States that a walk reads before it examines no further states, at about 0.5 µs each."""

MOVE_ROWS, MOVE_COLUMNS, MAX_QUEUED = 64, 8, 256
"""The shape of `moves`, and the length of `queue`. A walk examines fewer than `MOVE_ROWS` states, and looks at fewer
than `MAX_QUEUED` states for each; it takes no subtrees in other states."""


@inlined
def _classify(trie_byte, trie_depth, characters, missing, path):
    """Compute `characters`, and for each node the bytes missing in the character at the node, -1 after other bytes."""
    for node in range(1, len(trie_byte)):
        depth = trie_depth[node]
        byte = np.int64(trie_byte[node])
        # By depth: the node, and the least and the greatest continuation byte.
        parent = path[depth - 1, 0]
        characters[node] = characters[parent] + (0 if 0x80 <= byte < 0xC0 else 1)
        low, high = np.int64(0x80), np.int64(0xBF)
        left = np.int64(-1)
        if missing[parent] == 0:
            left = _continuation_bytes(byte)
            low, high = _first_continuation(byte)
        elif missing[parent] > 0 and path[depth - 1, 1] <= byte <= path[depth - 1, 2]:
            left = np.int64(missing[parent]) - 1
        missing[node] = left
        path[depth, 0], path[depth, 1], path[depth, 2] = node, low, high


@helper
def _continuation_bytes(byte):
    """Return how many bytes complete the character that begins with a byte; -1 if none does."""
    if byte < 0x80:
        return np.int64(0)
    if byte < FIRST_LEAD or byte > _LAST_LEAD:
        return np.int64(-1)
    return np.int64(1) + (byte >= 0xE0) + (byte >= 0xF0)


@helper
def _first_continuation(byte):
    """Return the least and the greatest byte after the first byte of a character (RFC 3629, section 4)."""
    low, high = np.int64(0x80), np.int64(0xBF)
    if byte == 0xE0:
        low = np.int64(0xA0)
    elif byte == 0xED:
        high = np.int64(0x9F)
    elif byte == 0xF0:
        low = np.int64(0x90)
    elif byte == 0xF4:
        high = np.int64(0x8F)
    return low, high


@kernel
def summarize(trie_byte, trie_depth, trie_first, large, characters, missing, path, number, below):
    """Compute the arrays of `Subtrees`; for those without a description see `Trie` and `Subtrees`.

    Args:
        large: bool[nodes], whether a node has enough nodes below it.
        characters: int16[nodes], zeros.
        missing: int8[nodes], zeros, scratch.
        path: int64[longest token + 2, 4], zeros, scratch.
        number: int32[nodes], -1.
        below: int64[large nodes, 4].

    Returns:
        The number of rows of `below`.
    """
    _classify(trie_byte, trie_depth, characters, missing, path)
    for depth in range(len(path)):
        for column in range(path.shape[1]):
            path[depth, column] = 0
    found = 0
    # Backwards, so that `path` has at the depth of a node's children what is below the node.
    for node in range(len(trie_byte) - 1, 0, -1):
        depth = trie_depth[node]
        leads, lengths = path[depth + 1, LEADS], path[depth + 1, LENGTHS]
        if large[node] and missing[node] == 0 and not leads & _BROKEN:
            number[node] = found
            for column in range(path.shape[1]):
                below[found, column] = path[depth + 1, column]
            found += 1
        path[depth, _LOW] |= path[depth + 1, _LOW]
        path[depth, _HIGH] |= path[depth + 1, _HIGH]
        byte = np.int64(trie_byte[node])
        if trie_first[node] < trie_first[node + 1]:
            lengths |= 1
        if missing[node] < 0:
            leads |= _BROKEN
        elif byte >= FIRST_LEAD:
            leads |= np.int64(1) << (byte - FIRST_LEAD)
        elif byte < 64:
            path[depth, _LOW] |= np.int64(1) << byte
        elif byte < 128:
            path[depth, _HIGH] |= np.int64(1) << (byte - 64)
        if not 0x80 <= byte < 0xC0:
            lengths <<= 1
            if lengths >> (MAX_DEPTH + 1):
                leads |= _BROKEN
        if large[node] and missing[node] > 0 and byte >= FIRST_LEAD and not leads & _BROKEN:
            number[node] = found
            below[found, _LOW], below[found, _HIGH] = path[depth + 1, _LOW], path[depth + 1, _HIGH]
            below[found, LEADS], below[found, LENGTHS] = leads, lengths
            found += 1
        path[depth, LEADS] |= leads
        path[depth, LENGTHS] |= lengths
        for column in range(path.shape[1]):
            path[depth + 1, column] = 0
    return found


@helper
def _avoided(moves):
    """Return the mark, in the second row of `numbers`, of states that the current search avoids."""
    return -1 - moves[0, _ROWS]


@helper
def _visit(state, final, first, numbers, moves, queue, seen):
    """Append a state to `queue` if it is new; return false if it is final or avoided, or if the queue is full."""
    if final[state] or numbers[1, state - first] == _avoided(moves):
        return False
    if numbers[1, state - first] != moves[0, _GENERATION]:
        if moves[0, _QUEUED] == queue.shape[1]:
            return False
        numbers[1, state - first] = moves[0, _GENERATION]
        numbers[_FOUND_AT, state - first] = moves[0, _LEVEL]
        queue[0, moves[0, _QUEUED]] = state
        moves[0, _QUEUED] += 1
    elif numbers[_FOUND_AT, state - first] != moves[0, _LEVEL]:
        moves[0, _HAS_CYCLE] = 1
    if len(seen) > 0:
        seen[state - first] = True
    return True


@helper
def _pass(state, tokens, first, moves, seen):
    """Note a state inside a character, which some token may come to."""
    moves[0, _INSIDE_COST] = max(moves[0, _INSIDE_COST], np.int64(tokens[0, state]))
    if len(seen) > 0:
        seen[state - first] = True


@helper
def _read_rest(row, targets, classes, final, rule, tokens, state, low, high, left, first, numbers, moves, queue, seen):
    """Read the bytes `low` to `high`, then `left` continuation bytes; return whether all of them are allowed.

    The states after them are visited. A state inside a character has no operation and is not final.
    """
    before, before_deep = np.int64(-1), np.int64(-1)
    for byte in range(low, high + 1):
        target = np.int64(targets[row[state] + classes[rule, byte]])
        after = target >> OPERATION_BITS
        if target < 0 or target & OPERATION_MASK or final[after]:
            return False
        if after == before:
            continue
        before = after
        if left == 0:
            if not _visit(after, final, first, numbers, moves, queue, seen):
                return False
            continue
        _pass(after, tokens, first, moves, seen)
        for follow in range(0x80, 0xC0):
            target = np.int64(targets[row[after] + classes[rule, follow]])
            deep = target >> OPERATION_BITS
            if target < 0 or target & OPERATION_MASK or final[deep]:
                return False
            if deep == before_deep:
                continue
            before_deep = deep
            if left == 1:
                if not _visit(deep, final, first, numbers, moves, queue, seen):
                    return False
                continue
            _pass(deep, tokens, first, moves, seen)
            for last in range(0x80, 0xC0):
                target = np.int64(targets[row[deep] + classes[rule, last]])
                if target < 0 or target & OPERATION_MASK:
                    return False
                if not _visit(target >> OPERATION_BITS, final, first, numbers, moves, queue, seen):
                    return False
    return True


@helper
def _read_all(row, targets, classes, final, rule, tokens, state, number, first, numbers, moves, queue, seen):
    """Read each character of the set `moves[number]` from a state, and visit the states after it.

    Characters that the state does not allow, with the operation of the set, leave the set. If most characters would
    leave, the search avoids the state instead, or ends before it if most characters lead there, as at the end of a
    limited number of characters. Return whether the search must start again.
    """
    operation = moves[number, OPERATION]
    low, high, leads = moves[number, _LOW], moves[number, _HIGH], moves[number, LEADS]
    kept, removed, main, votes = 0, 0, np.int64(-1), 0
    for byte in range(128):
        if not (high if byte >= 64 else low) >> (byte & 63) & 1:
            continue
        target = np.int64(targets[row[state] + classes[rule, byte]])
        if target >= 0 and target & OPERATION_MASK == operation and _visit(
            target >> OPERATION_BITS, final, first, numbers, moves, queue, seen
        ):
            kept += 1
            # The state that most characters lead to, if it has a majority (Boyer and Moore 1991).
            if votes == 0:
                main = target >> OPERATION_BITS
            votes += 1 if target >> OPERATION_BITS == main else -1
            continue
        removed += 1
        if byte >= 64:
            high &= ~(np.int64(1) << (byte - 64))
        else:
            low &= ~(np.int64(1) << byte)
    if removed > kept and state != queue[0, 0]:
        if numbers[_MAIN, state - first] == moves[0, _GENERATION]:
            moves[0, _ENDS] = 1  # the text must end or change here: longer texts are not covered
        else:
            numbers[1, state - first] = _avoided(moves)
        return True
    if main >= 0:
        numbers[_MAIN, main - first] = moves[0, _GENERATION]
    before, left_before = np.int64(-1), np.int64(-1)
    for byte in range(FIRST_LEAD, _LAST_LEAD + 1):
        if not leads >> (byte - FIRST_LEAD) & 1:
            continue
        target = np.int64(targets[row[state] + classes[rule, byte]])
        after = target >> OPERATION_BITS
        least, greatest = _first_continuation(np.int64(byte))
        left = _continuation_bytes(np.int64(byte)) - 1
        allowed = target >= 0 and target & OPERATION_MASK == operation and not final[after]
        if allowed and (after != before or left != left_before):
            _pass(after, tokens, first, moves, seen)
            allowed = _read_rest(
                row, targets, classes, final, rule, tokens, after, least, greatest, left,
                first, numbers, moves, queue, seen,
            )
            if allowed and greatest - least == 0x3F:
                before, left_before = after, left
        if not allowed:
            leads &= ~(np.int64(1) << (byte - FIRST_LEAD))
    changed = low != moves[number, _LOW] or high != moves[number, _HIGH] or leads != moves[number, LEADS]
    moves[number, _LOW], moves[number, _HIGH], moves[number, LEADS] = low, high, leads
    return changed


@helper
def _forbids_all(row, targets, classes, rule, state, number, moves):
    """Return whether a state allows no character of the set `moves[number]`."""
    for byte in range(_LAST_LEAD + 1):
        if 128 <= byte < FIRST_LEAD or targets[row[state] + classes[rule, byte]] < 0:
            continue
        bits, bit = moves[number, _LOW], np.int64(byte)
        if byte >= FIRST_LEAD:
            bits, bit = moves[number, LEADS], np.int64(byte - FIRST_LEAD)
        elif byte >= 64:
            bits, bit = moves[number, _HIGH], np.int64(byte - 64)
        if bits >> bit & 1:
            return False
    return True


@helper
def _examine(row, targets, classes, final, rule, tokens, state, number, first, numbers, moves, queue, seen):
    """Find characters of which a state allows every sequence, and write the set of them as `moves[number]`."""
    # The most frequent operation, if it has a majority (Boyer and Moore 1991).
    operation, votes = np.int64(0), 0
    for byte in range(128):
        target = np.int64(targets[row[state] + classes[rule, byte]])
        if target >= 0:
            if votes == 0:
                operation = target & OPERATION_MASK
            votes += 1 if target & OPERATION_MASK == operation else -1
    moves[number, OPERATION], moves[number, COST] = operation, 0
    full = np.int64(0 if operation == EXIT or final[state] else -1)
    moves[number, _LOW], moves[number, _HIGH], moves[number, LEADS] = full, full, full
    # Fewer characters lead to fewer states, which allow more of the characters.
    changed, at, most = full != 0, np.int64(0), np.int64(MAX_DEPTH)
    while changed:
        changed = False
        moves[0, _GENERATION] += 1
        moves[0, _QUEUED], moves[0, _ENDS], moves[0, _HAS_CYCLE], moves[0, _LEVEL] = 0, 0, 0, MAX_DEPTH + 1
        moves[0, _INSIDE_COST] = 0
        _visit(state, final, first, numbers, moves, queue, seen)
        at = np.int64(0)
        for depth in range(most, 0, -1):
            stop = moves[0, _QUEUED]
            moves[0, _LEVEL] = depth
            while at < stop and not changed:
                queue[1, at] = depth
                moves[0, _VISITS] += 1
                changed = _read_all(
                    row, targets, classes, final, rule, tokens, queue[0, at], number,
                    first, numbers, moves, queue, seen,
                )
                at += 1
            if moves[0, _ENDS]:
                most -= depth
                break
        if moves[0, _QUEUED] == queue.shape[1]:  # the set may lack characters, or have too many
            moves[number, _LOW], moves[number, _HIGH], moves[number, LEADS] = 0, 0, 0
            return
    if full == 0:
        return
    moves[number, COST] = moves[0, _INSIDE_COST]
    for each in range(moves[0, _QUEUED]):
        moves[number, COST] = max(moves[number, COST], np.int64(tokens[0, queue[0, each]]))
    complete = at == moves[0, _QUEUED]  # longer texts lead to no other states
    ending = not complete and not moves[0, _HAS_CYCLE]
    for each in range(at, moves[0, _QUEUED]):
        ending = ending and _forbids_all(row, targets, classes, rule, queue[0, each], number, moves)
    for each in range(at):
        depth, inside = MAX_DEPTH if complete else queue[1, each], queue[0, each] - first
        if numbers[2, inside] < depth:
            numbers[0, inside], numbers[2, inside] = number, depth
            if ending:
                numbers[_ENDING, inside] = number
        if most < MAX_DEPTH and numbers[_MAIN, inside] == moves[0, _GENERATION]:
            numbers[_EXAMINED, inside] = 1  # its texts end at the same state


@helper
def covering(
    below, subtree, row, targets, classes, final, rule, tokens, state, first, numbers, moves, queue, seen,
):
    """Return the row of `moves` that describes a state, if the state allows all tokens below a node, 0 otherwise.

    The states after the tokens, and inside them, are not final, and each character has the same operation. A state may
    allow all tokens without being found to.

    Args:
        below: int64[..., 4], see `Subtrees`.
        subtree: The row of `below`.
        state: The state at the node.
        first: The first state of the rule.
        numbers: int32[STATE_ROWS, states of the rule], zeros at the start of a walk: by state, the row of `moves` that
            describes the state, a mark of the current search, how many characters the row covers, and see `_MAIN`.
        moves: int64[MOVE_ROWS, MOVE_COLUMNS], the first row 0 at the start of a walk. The other rows receive a set of
            characters as in `below`, the operation of each character, and the most tokens that are needed after them.
        queue: int64[2, MAX_QUEUED], scratch: states, and how many more characters the search reads.
        seen: bool[states of the rule], receives at least the states that tokens below the node come to; or bool[0].
    """
    inside = state - first
    if below[subtree, LENGTHS] >> (numbers[2, inside] + 1):
        if numbers[_EXAMINED, inside] or moves[0, _ROWS] == len(moves) - 1 or moves[0, _VISITS] > _MAX_VISITS:
            return np.int64(0)
        moves[0, _ROWS] += 1
        numbers[_EXAMINED, inside] = 1
        _examine(
            row, targets, classes, final, rule, tokens, state, moves[0, _ROWS], first, numbers, moves, queue, seen
        )
        if below[subtree, LENGTHS] >> (numbers[2, inside] + 1):
            return np.int64(0)
    return _superset(below, subtree, np.int64(numbers[0, inside]), moves)


@helper
def limiting(below, subtree, inside, numbers, moves):
    """Return the row of `moves` that describes a state, if the state allows exactly the short tokens below a node.

    These are the tokens with at most `numbers[2, inside]` more characters. The result is 0 otherwise, and if `covering`
    did not examine the state. The state is counted from the rule's first; for the other arguments see `covering`.
    """
    number = np.int64(numbers[0, inside])
    if number == 0 or numbers[_ENDING, inside] != number:
        return np.int64(0)
    return _superset(below, subtree, number, moves)


@helper
def _superset(below, subtree, number, moves):
    """Return a row of `moves` if its set has all characters below a node, else 0."""
    for column in range(LENGTHS):
        if below[subtree, column] & ~moves[number, column]:
            return np.int64(0)
    return number
