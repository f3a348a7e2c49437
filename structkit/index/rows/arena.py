"""Frames in the arena of a walk: its columns, and the stored properties of frames."""

from __future__ import annotations

# One name a line would make the arguments of a kernel longer than its body.
# fmt: off
import numpy as np

from structkit.automaton.core.jit import helper, inlined, kernel
from structkit.automaton.core.kernels import MAX_LABEL, OPERATION_BITS

__all__ = [
    "ACTIVE", "ARENA_SIZE", "BELOW", "BUCKETS", "CHILD", "COLUMNS", "COUNT", "ENDED", "FOLLOWING", "HIGH", "KNOWN",
    "KNOWN_STATE", "LABEL_SHIFT", "LAST", "LOOP_STATE", "LOW", "MAX_REPEATED", "MOVED", "MOVED_COUNT", "OVERFLOW",
    "REMAINING", "SEEN", "STATE", "TOP", "add_exits", "add_first", "any_may_end", "are_same", "find",
    "group_by_signature", "intern", "is_loop", "may_end", "may_follow", "mixed", "only_loops", "signature",
]

ARENA_SIZE = 1 << 11
"""Frames that a walk has room for at first; a walk that overflows is tried again with more."""

STATE, COUNT, BELOW, REMAINING, SEEN, BUCKET, OLDER, NEWEST, ACTIVE = range(9)
CHILD, LAST, LOW, HIGH, TOP, MOVED, MOVED_COUNT, ENDED, FOLLOWING, KNOWN_STATE, KNOWN_BYTES = range(9, 20)
"""The columns of the arena.

Of each frame its state, its count, the frame below it (-1 at the frame the walk began with), the tokens that the
frames under it still need, whether it was seen while frames settle, its bucket, and the frame that was the newest one
of the bucket before. Then the newest frame of each bucket, and the active frames.

Then, of the nodes on the way to the current one: the next child to look at and the last, where the frames reached
begin and end among the active ones, where their arena ends, the first of the frames that the byte led to (-1 if none
did) and their number, and whether the rule may have ended: 1 if without a label, and a bit for each label. A byte that
leads to the same frames again leads on to the same frames, as in a loop over letters.

Then, by label, the state behind the label, see `ReturnLabel`. Then, by the lowest bits of a state, the state, and in
four columns the bytes that can follow its labels; behind the last of these states, whether they are those of another
walk. Then in the same way, by state, what `is_loop` has computed: whether it can be left without a byte and whether it
has labels (bits), and in two columns each the ASCII bytes that lead from it to itself and those that do not leave it.
"""

BUCKETS = 1 << 10
"""Buckets of frames, a power of 2, and no more than `ARENA_SIZE`."""

_FEW = 8
"""Frames that are compared one by one."""

KNOWN = 64
"""States of which the bytes that follow are kept, a power of 2."""

MAX_REPEATED = 6
"""Frames that are compared with those of the byte before."""

LOOP_STATE, LOOP_KIND, LOOP_BYTES, DEAD_BYTES = (
    KNOWN_BYTES + 4, KNOWN_BYTES + 5, KNOWN_BYTES + 6, KNOWN_BYTES + 8
)

COLUMNS = DEAD_BYTES + 2
"""How many columns an arena has."""

OVERFLOW = -1
"""What a kernel answers when the arena is full."""

LABEL_SHIFT = 25
"""The bits of an exit node that are the trie node; the others are the label with which the rule ends, plus 1."""


@helper
def find(arena, bottom, top, state, count, below):
    """Find the frame among those made since `bottom`; return its position, or -1.

    Frames in a bucket form a list, the last one first. What an earlier walk left there is known by its place or by its
    bucket.
    """
    if top - bottom <= _FEW:
        for i in range(bottom, top):
            if arena[i, STATE] == state and arena[i, COUNT] == count and arena[i, BELOW] == below:
                return i
    else:
        bucket = (state * 31 + count * 7 + below) & (BUCKETS - 1)
        i, last = arena[bucket, NEWEST], top
        while bottom <= i < last and arena[i, BUCKET] == bucket:
            if arena[i, STATE] == state and arena[i, COUNT] == count and arena[i, BELOW] == below:
                return i
            i, last = arena[i, OLDER], i
    return np.int64(-1)


@helper
def intern(arena, bottom, top, state, count, below, remaining):
    """Find the frame among those made since `bottom`, or make it; returns its position."""
    known = find(arena, bottom, top, state, count, below)
    if known >= 0:
        return known
    bucket = (state * 31 + count * 7 + below) & (BUCKETS - 1)
    arena[top, STATE] = state
    arena[top, COUNT] = count
    arena[top, BELOW] = below
    arena[top, REMAINING] = remaining
    arena[top, SEEN] = False
    arena[top, BUCKET] = bucket
    arena[top, OLDER] = arena[bucket, NEWEST]
    arena[bucket, NEWEST] = top
    return top


@helper
def may_follow(node, state, child_first, child_count, child_byte, row, targets, classes, rule):
    """Return whether a byte behind a trie node leaves a state."""
    for child in range(child_first[node], child_first[node] + child_count[node]):
        if targets[row[state] + classes[rule[state], child_byte[child]]] >= 0:
            return True
    return False


@helper
def may_end(
    arena, state, node, call_first, call_rule, call_next, child_first, child_count, child_byte, row, targets, classes,
    rule, has_moves,
):
    """Return whether a byte behind a trie node can follow the end of a rule with a label, as far as that is known."""
    if child_count[node] == 0 or call_first[state] == call_first[state + 1]:
        return False
    if arena[KNOWN, KNOWN_STATE]:
        arena[: KNOWN + 1, KNOWN_STATE] = -1
        arena[KNOWN, KNOWN_STATE] = 0
    place = state & (KNOWN - 1)
    if arena[place, KNOWN_STATE] != state:
        arena[place, KNOWN_STATE] = state
        for word in range(4):
            arena[place, KNOWN_BYTES + word] = 0
        for call in range(call_first[state], call_first[state + 1]):
            if call_rule[call] >= 0:
                continue
            following = np.int64(call_next[call])
            for byte in range(256):
                if not has_moves[following] or targets[row[following] + classes[rule[following], byte]] >= 0:
                    arena[place, KNOWN_BYTES + (byte >> 6)] |= np.int64(1) << np.int64(byte & 63)
    for child in range(child_first[node], child_first[node] + child_count[node]):
        byte = child_byte[child]
        if arena[place, KNOWN_BYTES + (byte >> 6)] >> np.int64(byte & 63) & 1:
            return True
    return False


@helper
def add_exits(
    arena, node, ended, child_first, child_count, child_byte, row, targets, classes, rule, has_moves, exit_nodes, found
):
    """Add a trie node for each way in which the rule may have ended there; returns their number, or `OVERFLOW`."""
    if found + MAX_LABEL + 2 >= len(exit_nodes):
        return np.int64(OVERFLOW)
    if ended & 1:
        exit_nodes[found] = node
        found += 1
    labels, label = ended >> 1, np.int64(1)
    while labels:
        following = arena[label, FOLLOWING]
        if labels & 1 and (
            not has_moves[following]
            or may_follow(node, following, child_first, child_count, child_byte, row, targets, classes, rule)
        ):
            exit_nodes[found] = node + (label << LABEL_SHIFT)
            found += 1
        labels >>= 1
        label += 1
    return np.int64(found)


@inlined
def are_same(arena, first, before, count):
    """Return whether frames are equal to as many others."""
    for i in range(first, first + count):
        same = before
        while same < before + count and not (
            arena[same, COUNT] == arena[i, COUNT]
            and arena[same, STATE] == arena[i, STATE]
            and arena[same, BELOW] == arena[i, BELOW]
        ):
            same += 1
        if same == before + count:
            return False
    return True


@helper
def any_may_end(
    arena, first, count, node, call_first, call_rule, call_next, child_first, child_count, child_byte, row, targets,
    classes, rule, has_moves,
):
    """Return whether one of the frames may end with a label at a trie node; see `may_end`."""
    for i in range(first, first + count):
        if may_end(
            arena, arena[i, STATE], node, call_first, call_rule, call_next, child_first, child_count, child_byte,
            row, targets, classes, rule, has_moves,
        ):
            return True
    return False


@helper
def is_loop(
    arena, depth, end, low, high, row, targets, classes, rule, final, has_moves, call_first, call_rule, call_next,
):
    """Return whether the active frames at a depth, up to `end`, go on unchanged whatever bytes of a set are read.

    Either each frame does, or those do that the last byte led to, and the bytes leave none of the others, which follow
    from these again. `low` and `high` have a bit for each ASCII byte of the set, below 64 and from 64.
    """
    begin, loops, kinds = arena[depth, LOW], np.int64(0), np.int64(0)
    for i in range(begin, end):
        place = _known_loop(
            arena, arena[arena[i, ACTIVE], STATE], row, targets, classes, rule, final, has_moves,
            call_first, call_rule, call_next,
        )
        kinds |= arena[place, LOOP_KIND]
        if not (low & ~arena[place, LOOP_BYTES] or high & ~arena[place, LOOP_BYTES + 1]):
            loops += 1
        elif low & ~arena[place, DEAD_BYTES] or high & ~arena[place, DEAD_BYTES + 1]:
            return False
    if loops == 0:
        return False
    if loops == end - begin and not kinds & _CAN_LEAVE:
        return True
    first, count = arena[depth, MOVED], arena[depth, MOVED_COUNT]
    if kinds & _HAS_LABELS or arena[depth, ENDED] or first < 0 or loops != count or count > MAX_REPEATED:
        return False
    for i in range(first, first + count):
        place = arena[i, STATE] & (KNOWN - 1)
        if arena[place, LOOP_STATE] != arena[i, STATE] or low & ~arena[place, LOOP_BYTES] or (
            high & ~arena[place, LOOP_BYTES + 1]
        ):
            return False
    return True


_CAN_LEAVE, _HAS_LABELS = 1, 2
"""Bits of `LOOP_KIND`."""


@helper
def only_loops(
    arena, state, low, high, row, targets, classes, rule, final, has_moves, call_first, call_rule, call_next,
):
    """Return whether a state goes on unchanged whatever bytes of a set are read, and cannot be left; see `is_loop`."""
    place = _known_loop(
        arena, state, row, targets, classes, rule, final, has_moves, call_first, call_rule, call_next
    )
    is_left = arena[place, LOOP_KIND] & _CAN_LEAVE or low & ~arena[place, LOOP_BYTES]
    return not (is_left or high & ~arena[place, LOOP_BYTES + 1])


@helper
def _known_loop(arena, state, row, targets, classes, rule, final, has_moves, call_first, call_rule, call_next):
    """Return the row of the arena with what `is_loop` needs of a state."""
    if arena[KNOWN, LOOP_STATE]:
        arena[: KNOWN + 1, LOOP_STATE] = -1
        arena[KNOWN, LOOP_STATE] = 0
    place = state & (KNOWN - 1)
    if arena[place, LOOP_STATE] != state:
        _describe_loop(
            arena, place, state, row, targets, classes, rule, final, has_moves, call_first, call_rule, call_next
        )
    return place


@helper
def _describe_loop(
    arena, place, state, row, targets, classes, rule, final, has_moves, call_first, call_rule, call_next
):
    """Compute what `is_loop` needs of a state. Bytes that can follow a label of it do not lead to itself."""
    arena[place, LOOP_STATE] = state
    arena[place, LOOP_KIND] = _CAN_LEAVE if final[state] else 0
    for word in range(2):
        loops, dead = np.int64(0), np.int64(0)
        for byte in range(64 * word, 64 * word + 64):
            target = targets[row[state] + classes[rule[state], byte]]
            if target < 0:
                dead |= np.int64(1) << np.int64(byte & 63)
            elif target == state << OPERATION_BITS:
                loops |= np.int64(1) << np.int64(byte & 63)
        for call in range(call_first[state], call_first[state + 1]):
            if call_rule[call] >= 0:
                arena[place, LOOP_KIND] |= _CAN_LEAVE
                continue
            arena[place, LOOP_KIND] |= _HAS_LABELS
            following = np.int64(call_next[call])
            for byte in range(64 * word, 64 * word + 64):
                if not has_moves[following] or targets[row[following] + classes[rule[following], byte]] >= 0:
                    loops &= ~(np.int64(1) << np.int64(byte & 63))
        arena[place, LOOP_BYTES + word], arena[place, DEAD_BYTES + word] = loops, dead


@helper
def mixed(remaining, right):
    """A hash of two numbers (the finaliser of SplitMix64, Steele et al. 2014, on their combination)."""
    z = np.uint64(remaining) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(right)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64(z ^ (z >> np.uint64(31)))


@inlined
def signature(arena, frame, salt):
    """A hash of a frame and all frames below it."""
    sign = np.int64(salt)
    while frame >= 0:
        sign = mixed(mixed(sign, arena[frame, STATE] + 2), arena[frame, COUNT])
        frame = arena[frame, BELOW]
    return sign


@inlined
def add_first(arena, first_high, low, high):
    """Add the first frames to the active ones, `arena[low:high, ACTIVE]`, unless they are there; return the end."""
    for i in range(first_high):
        first, known = arena[i, ACTIVE], False
        for j in range(low, high):
            frame = arena[j, ACTIVE]
            if (
                arena[frame, STATE] == arena[first, STATE]
                and arena[frame, COUNT] == arena[first, COUNT]
                and arena[frame, BELOW] == arena[first, BELOW]
            ):
                known = True
                break
        if not known:
            arena[high, ACTIVE] = first
            high += 1
    return high


@kernel
def group_by_signature(signatures, mask, group_of, representatives, slots):
    """Group the tokens of a mask by signature.

    Args:
        signatures: int64[tokens], the signatures.
        mask: uint32[ceil(tokens / 32)], the tokens to group.
        group_of: int32[tokens], receives for each token in the mask the number of its sign, from 0.
        representatives: int64[tokens], receives for each sign the first token that has it.
        slots: int32[a power of 2, more than the tokens], -1.

    Returns:
        How many different signs there are.
    """
    found = 0
    for token in range(len(signatures)):
        if not mask[token >> 5] >> np.uint32(token & 31) & np.uint32(1):
            continue
        slot = signatures[token] & (len(slots) - 1)
        while slots[slot] >= 0 and signatures[representatives[slots[slot]]] != signatures[token]:
            slot = (slot + 1) & (len(slots) - 1)
        if slots[slot] < 0:
            slots[slot] = found
            representatives[found] = token
            found += 1
        group_of[token] = slots[slot]
    return found
