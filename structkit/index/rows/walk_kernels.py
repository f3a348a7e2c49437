"""Kernels that walk the trie, compiled by numba and cached on disk. Reference code: `tests/index/plain_twins.py`.

For arrays without a description see `Trie` and `Automaton`. During a walk, frames are rows of an arena and refer to
each other by index.
"""

from __future__ import annotations

# One name a line would make the arguments of a kernel longer than its body.
# fmt: off
# ruff: noqa: D417
import numpy as np

from structkit.automaton.core.jit import helper, inlined, kernel
from structkit.automaton.core.kernels import (
    OPERATION_BITS,
    OPERATION_MASK,
    UNREACHABLE,
    apply_operation,
)
from structkit.automaton.distance.bounds import DISTINCT_MARGIN
from structkit.index.rows.arena import (
    ACTIVE,
    BELOW,
    BUCKETS,
    CHILD,
    COUNT,
    ENDED,
    FOLLOWING,
    HIGH,
    KNOWN,
    KNOWN_STATE,
    LAST,
    LOOP_STATE,
    LOW,
    MAX_REPEATED,
    MOVED,
    MOVED_COUNT,
    OVERFLOW,
    REMAINING,
    SEEN,
    STATE,
    TOP,
    add_exits,
    add_first,
    any_may_end,
    are_same,
    find,
    intern,
    is_loop,
    may_end,
    may_follow,
    mixed,
    signature,
)
from structkit.index.rows.subtrees import LEADS

__all__ = ["MISSING", "OVERFLOW", "UNREACHABLE", "allow", "walk"]

MISSING = -2
"""What a kernel answers when rules are called that are not built."""


@helper
def _is_superfluous(arena, bottom, top, frame, rule, min_count, max_count):
    """Return whether the same frame with one iteration less is settled, which reads the same and more.

    Without this, a repetition that may be empty counts, without a byte, to each number of iterations.
    """
    state, count, r = arena[frame, STATE], arena[frame, COUNT], rule[arena[frame, STATE]]
    if max_count[r] <= min_count[r] or count <= min_count[r]:
        return False
    known = find(arena, bottom, top, state, count - 1, arena[frame, BELOW])
    return known >= 0 and arena[known, SEEN]


@helper
def _epsilon_closure(
    arena, bottom, top, low, high, node, child_first, child_count, child_byte, row, targets, classes,
    has_moves, final, rule, call_first, call_rule, call_next, call_operation, call_distinct,
    start, min_count, max_count, token_distances, missing,
):
    """Enter the rules that may be called and leave those that may have ended, without a byte.

    `arena[low:high, ACTIVE]` are the frames to settle; settled ones that a byte can leave replace them. A rule that
    can go on, and behind whose end no byte behind the trie node `node` can follow, does not end; if `node` is negative,
    it does.
    Returns `(top, high, ended)`, `ended` how the rule of the frame that the walk began with may have ended: 1 if
    without a label, and a bit for each label. `top` is `OVERFLOW` if the arena is full.
    Rules that are not built are not entered, but marked in `missing`; behind a leaf of the trie, where no byte follows,
    the frame that calls one stays active instead.
    """
    ended = np.int64(0)
    kept = low
    if low + 2 * (high - low) + 2 >= len(arena):  # those that wait would overlap those that are active
        return OVERFLOW, kept, ended
    # Frames to settle wait behind the settled ones, at the far end of the active ones.
    waiting = len(arena)
    for i in range(low, high):
        waiting -= 1
        frame = arena[i, ACTIVE]
        arena[waiting, ACTIVE] = frame
        arena[frame, SEEN] = True
    while waiting < len(arena):
        frame = arena[waiting, ACTIVE]
        waiting += 1
        state = arena[frame, STATE]
        count = arena[frame, COUNT]
        below = arena[frame, BELOW]
        rest = arena[frame, REMAINING]
        r = rule[state]
        is_active = has_moves[state]
        if is_active:
            arena[kept, ACTIVE] = frame
            kept += 1
        if final[state] and count >= min_count[r]:
            if below < 0:
                ended |= 1
            elif not _is_superfluous(arena, bottom, top, below, rule, min_count, max_count):
                if top + 2 >= len(arena) or kept + 2 >= waiting:
                    return OVERFLOW, kept, ended
                # A copy made now: the frame itself may be older than `bottom`, and siblings share it.
                up = intern(
                    arena, bottom, top, arena[below, STATE], arena[below, COUNT], arena[below, BELOW],
                    arena[below, REMAINING],
                )
                if up == top:
                    top += 1
                if not arena[up, SEEN]:
                    arena[up, SEEN] = True
                    waiting -= 1
                    arena[waiting, ACTIVE] = up
        ends_here = np.int64(-1)
        for call in range(call_first[state], call_first[state + 1]):
            callee = call_rule[call]
            if callee < 0:
                if ends_here < 0:
                    ends_here = np.int64(node < 0 or not has_moves[state] or may_end(
                        arena, state, node, call_first, call_rule, call_next, child_first, child_count, child_byte,
                        row, targets, classes, rule, has_moves,
                    ))
                if not ends_here:
                    continue
                if below < 0:
                    ended |= np.int64(1) << np.int64(-callee)
                    arena[-callee, FOLLOWING] = call_next[call]
                    continue
                after_end = np.int64(call_next[call])
                if node >= 0 and has_moves[state] and has_moves[after_end] and not may_follow(
                    node, after_end, child_first, child_count, child_byte, row, targets, classes, rule
                ):
                    continue
                if top + 2 >= len(arena) or kept + 2 >= waiting:
                    return OVERFLOW, kept, ended
                behind = arena[below, STATE]
                for back_call in range(call_first[behind], call_first[behind + 1]):
                    if call_rule[back_call] == callee:
                        up = intern(
                            arena, bottom, top, np.int64(call_next[back_call]), arena[below, COUNT],
                            arena[below, BELOW], arena[below, REMAINING],
                        )
                        if up == top:
                            top += 1
                        if not arena[up, SEEN]:
                            arena[up, SEEN] = True
                            waiting -= 1
                            arena[waiting, ACTIVE] = up
                continue
            after = apply_operation(count, np.int64(call_operation[call]), min_count[r], max_count[r])
            if after < 0:
                continue
            if start[callee] < 0:
                if node < 0 or child_count[node] > 0:
                    missing[callee] = missing[-1] = True
                elif not is_active:
                    is_active = True
                    arena[kept, ACTIVE] = frame
                    kept += 1
                continue
            if top + 2 >= len(arena) or kept + 2 >= waiting:
                return OVERFLOW, kept, ended
            back_state = np.int64(call_next[call])
            back = intern(arena, bottom, top, back_state, after, below, rest)
            if back == top:
                top += 1
            need = max(min_count[r] - after, 0)
            inner_rest = rest + token_distances[0, back_state] + need * token_distances[1, r]
            if call_distinct[call]:
                inner_rest += DISTINCT_MARGIN
                missing[-2] = True
            inner_rest = min(UNREACHABLE, inner_rest)
            inner = intern(
                arena, bottom, top, np.int64(start[callee]), np.int64(0), back, np.int64(inner_rest)
            )
            if inner == top:
                top += 1
            if not arena[inner, SEEN]:
                arena[inner, SEEN] = True
                waiting -= 1
                arena[waiting, ACTIVE] = inner
    return top, kept, ended


@inlined
def _move(arena, bottom, low, high, byte, row, targets, classes, rule, min_count, max_count):
    """Read a byte from the frames `arena[low:high, ACTIVE]`; the frames after it follow them.

    Returns `(top, end)`: the end of the arena, `OVERFLOW` if it is full, and the end of the active frames.
    """
    top = bottom
    end = high
    for i in range(low, high):
        frame = arena[i, ACTIVE]
        state = arena[frame, STATE]
        r = rule[state]
        target = targets[row[state] + classes[r, byte]]
        if target < 0:
            continue
        count = apply_operation(arena[frame, COUNT], target & OPERATION_MASK, min_count[r], max_count[r])
        if count < 0:
            continue
        if top + 2 >= len(arena) or end + 2 >= len(arena):
            return OVERFLOW, end
        position = intern(
            arena, bottom, top, target >> OPERATION_BITS, count, arena[frame, BELOW], arena[frame, REMAINING]
        )
        if position == top:
            top += 1
            arena[end, ACTIVE] = position
            end += 1
    return top, end


@inlined
def _min_tokens(arena, low, high, rule, min_count, token_distances):
    """The fewest tokens from any of the frames to the end of the rule that the walk began in."""
    needed = UNREACHABLE
    for i in range(low, high):
        frame = arena[i, ACTIVE]
        state = arena[frame, STATE]
        pending = max(min_count[rule[state]] - arena[frame, COUNT], 0)
        iterations = pending * token_distances[1, rule[state]]
        needed = min(needed, arena[frame, REMAINING] + token_distances[0, state] + iterations)
    return needed


@helper
def allow(trie_ids, first, last, mask, words, filled):
    """Mark the tokens `trie_ids[first:last]`; returns how many words are filled, of which the first are listed."""
    for i in range(first, last):
        word = trie_ids[i] >> 5
        if mask[word] == 0:
            if filled < len(words):
                words[filled] = word
            filled += 1
        mask[word] |= np.uint32(1) << np.uint32(trie_ids[i] & 31)
    return filled


@inlined
def _add_signatures(trie_ids, first, last, arena, low, high, ended, salt, signatures):
    """Add a hash of the frames `arena[low:high, ACTIVE]` to the tokens `trie_ids[first:last]`."""
    sign = mixed(salt, ended) if ended else np.int64(0)
    for i in range(low, high):
        sign += signature(arena, arena[i, ACTIVE], salt)
    for i in range(first, last):
        signatures[trie_ids[i]] += sign


@kernel
def walk(
    trie_depth, trie_end, trie_first, trie_ids, child_first, child_count, child_byte, child_node, subtree, below,
    row, targets, classes, rule, final, has_moves, byte_only,
    call_first, call_rule, call_next, call_operation, call_distinct, start, min_count, max_count, token_distances,
    nodes, starts, states, state, count, remaining, arena, salt, mask, words, values, exit_nodes, signatures, missing,
    fuel, found, worst, filled,
):
    """Mark the tokens that a frame allows, continuing from the given trie nodes.

    Args:
        subtree: int32[nodes], `Subtrees.number`; or int32[0], and then each node is visited.
        below: int64[..., 4], `Subtrees.below`.
        byte_only: bool[states], whether nothing but a byte leaves the state.
        token_distances: int32[2, states or rules]: row 0 the fewest tokens from each state to its rule's end, row 1 the
            tokens that one iteration of a rule's counted repetition takes.
        nodes: int32[k], the trie nodes to read on from; node 0 alone stands for the start of every token.
        starts: bool[trie nodes], true at `nodes`, which are ascending, if some of them lie behind others; else bool[0].
            The frame is added to those that come to a node, so that no trie node is visited for each of the nodes
            before it; all are false afterwards.
        states: int32[k], the frame's state at each node, the token that ends at the node included; or int32[0].
        state: The frame's state, if `states` is empty.
        count: The frame's counter.
        remaining: Tokens that may be needed after the next one; larger than `UNREACHABLE` for no budget.
        arena: int64[room, COLUMNS], scratch.
        salt: A number for the frames under this one, part of the signs.
        mask: uint32[ceil(tokens / 32)], 0, receives the bits of the allowed tokens, if the words that are set are more
            than there is room for below; else it is 0 again.
        words: int64[some], receives the places of the words of the mask that are set, as many as it has room for.
        values: uint32[as many], receives these words.
        exit_nodes: int32[...], receives the nodes at which the frame's rule can end inside a token; those at which it
            ends with a label have the label plus 1 above the lowest `LABEL_SHIFT` bits.
        signatures: int64[tokens] or int64[0]; where a token is allowed, a hash of the frames after it is added, so that
            tokens with equal signs lead to the same frames.
        missing: bool[rules + 2], receives which rules are called that are not built, then whether a distinct text is
            entered, and in the last place whether any rule is not built; then the rest is of no use.
        fuel: Maximum number of trie nodes to visit.
        found: The exits that another walk found, which stand in `exit_nodes`.
        worst: The most tokens needed after any token that another walk allowed.
        filled: The words of the mask that another walk set.

    Returns:
        `(exits found, most tokens needed after any allowed token, words set)`; the first is `OVERFLOW` if the arena is
        full or the fuel is spent, and `MISSING` if rules are.
    """
    room = len(arena)
    if room < BUCKETS:  # the columns that are no frames' have as many rows
        return np.int64(OVERFLOW), worst, filled
    root, one = np.int64(0), np.int64(1)  # literals have other types, for which helpers would be compiled again
    arena[0, STATE] = state
    arena[0, COUNT] = count
    arena[0, BELOW] = -1
    arena[0, REMAINING] = 0
    arena[0, ACTIVE] = 0
    arena[KNOWN, KNOWN_STATE] = arena[KNOWN, LOOP_STATE] = 1  # those of another walk are of other states
    first_top, first_high, at_end = one, one, root
    # At the start of a token the frame is one of several that are settled already.
    if len(states) == 0 and len(nodes) > 0 and nodes[0] > 0:
        first_top, first_high, at_end = _epsilon_closure(
            arena, root, first_top, root, first_high, -one, child_first, child_count, child_byte, row, targets, classes,
            has_moves, final, rule, call_first, call_rule, call_next, call_operation, call_distinct,
            start, min_count, max_count, token_distances, missing,
        )
        if first_top < 0:
            return OVERFLOW, worst, filled
    for number in range(len(nodes)):
        begin, base = nodes[number], trie_depth[nodes[number]]
        if len(starts) > 0:
            if not starts[begin]:
                continue
            starts[begin] = False
        if len(states) > 0:
            arena[0, STATE] = states[number]
            arena[0, ACTIVE] = 0
            first_top, first_high, at_end = _epsilon_closure(
                arena, root, one, root, one, np.int64(begin),
                child_first, child_count, child_byte, row, targets, classes,
                has_moves, final, rule, call_first, call_rule, call_next, call_operation, call_distinct,
                start, min_count, max_count, token_distances, missing,
            )
            if first_top < 0:
                return OVERFLOW, worst, filled
            if trie_first[begin] < trie_first[begin + 1] and (first_high > 0 or at_end):
                need = 0 if at_end else _min_tokens(arena, root, first_high, rule, min_count, token_distances)
                worst = max(worst, need)
                filled = allow(trie_ids, trie_first[begin], trie_first[begin + 1], mask, words, filled)
        if at_end and child_count[begin] > 0:
            found = add_exits(
                arena, np.int64(begin), at_end, child_first, child_count, child_byte,
                row, targets, classes, rule, has_moves, exit_nodes, found,
            )
            if found < 0:
                return OVERFLOW, worst, filled
        if base + 2 >= room:
            return OVERFLOW, worst, filled
        depth = base
        arena[depth, LOW], arena[depth, HIGH], arena[depth, TOP] = 0, first_high, first_top
        arena[depth, MOVED], arena[depth, MOVED_COUNT] = (0 if begin > 0 else -1), 1
        arena[depth, ENDED] = at_end
        arena[depth, CHILD] = child_first[begin]
        arena[depth, LAST] = arena[depth, CHILD] + child_count[begin]
        while depth >= base:
            place, last = arena[depth, CHILD], arena[depth, LAST]
            bottom, low = arena[depth, TOP], arena[depth, HIGH]
            only = np.int64(-1)
            if low - arena[depth, LOW] == 1:  # most often there is one frame, which most bytes do not leave
                only = arena[low - 1, ACTIVE]
                inside = rule[arena[only, STATE]]
                leaving = row[arena[only, STATE]]
                while place < last and targets[leaving + classes[inside, child_byte[place]]] < 0:
                    place += 1
            if place == last:
                depth -= 1
                continue
            fuel -= 1
            arena[depth, CHILD] = place + 1
            byte = child_byte[place]
            if bottom + 2 >= room or low + 2 >= room or depth + 2 >= room or fuel < 0:
                return OVERFLOW, worst, filled
            node = child_node[place]
            part = np.int64(subtree[node]) if len(subtree) > 0 else -one
            if part >= 0 and byte < 128 and below[part, LEADS] == 0 and is_loop(
                arena, np.int64(depth), low, below[part, 0] | (one << np.int64(byte) if byte < 64 else root),
                below[part, 1] | (one << np.int64(byte - 64) if byte >= 64 else root),
                row, targets, classes, rule, final, has_moves, call_first, call_rule, call_next,
            ):
                need = _min_tokens(arena, arena[depth, LOW], low, rule, min_count, token_distances)
                if need <= remaining:
                    begun, ending = trie_first[node], trie_first[trie_end[node]]
                    worst = max(worst, need)
                    filled = allow(trie_ids, begun, ending, mask, words, filled)
                    if len(signatures) > 0:
                        _add_signatures(trie_ids, begun, ending, arena, arena[depth, LOW], low, root, salt, signatures)
                continue
            top, high, ended, moved, moved_count = bottom, low, root, bottom, one
            if only >= 0:  # and there is nothing but bytes around it
                target = targets[leaving + classes[inside, byte]]
                after = apply_operation(
                    arena[only, COUNT], target & OPERATION_MASK, min_count[inside], max_count[inside]
                )
                if after < 0:
                    continue
                if byte_only[target >> OPERATION_BITS]:
                    arena[top, STATE] = target >> OPERATION_BITS
                    arena[top, COUNT] = after
                    arena[top, BELOW] = arena[only, BELOW]
                    arena[top, REMAINING] = arena[only, REMAINING]
                    arena[high, ACTIVE] = top
                    top += 1
                    high += 1
            if high == low:
                top, high = _move(
                    arena, bottom, arena[depth, LOW], low, byte, row, targets, classes, rule, min_count, max_count
                )
                if top < 0:
                    return OVERFLOW, worst, filled
                if high == low:
                    continue
                moved, moved_count = bottom, high - low
                before = arena[depth, MOVED]
                repeated = before >= 0 and moved_count == arena[depth, MOVED_COUNT] <= MAX_REPEATED
                if repeated and are_same(arena, bottom, before, moved_count) and not any_may_end(
                    arena, bottom, moved_count, np.int64(node), call_first, call_rule, call_next,
                    child_first, child_count, child_byte, row, targets, classes, rule, has_moves,
                ):
                    low, high, top = arena[depth, LOW], low, bottom
                    moved, ended = before, arena[depth, ENDED]
                else:
                    top, high, ended = _epsilon_closure(
                        arena, bottom, top, low, high, np.int64(node),
                        child_first, child_count, child_byte, row, targets, classes,
                        has_moves, final, rule, call_first, call_rule, call_next, call_operation, call_distinct,
                        start, min_count, max_count, token_distances, missing,
                    )
                if top < 0:
                    return OVERFLOW, worst, filled
                if high == low and not ended:  # nothing follows, as where texts may start and not end
                    continue
            starting = len(starts) > 0 and starts[node]
            exits = ended | at_end if starting else ended
            if exits and child_count[node] > 0:
                found = add_exits(
                    arena, np.int64(node), exits, child_first, child_count, child_byte,
                    row, targets, classes, rule, has_moves, exit_nodes, found,
                )
                if found < 0:
                    return OVERFLOW, worst, filled
            if trie_first[node] < trie_first[node + 1]:
                need = 0 if ended else _min_tokens(arena, low, high, rule, min_count, token_distances)
                if need <= remaining:
                    worst = max(worst, need)
                    begun, ending = trie_first[node], trie_first[node + 1]
                    filled = allow(trie_ids, begun, ending, mask, words, filled)
                    if len(signatures) > 0:
                        _add_signatures(trie_ids, begun, ending, arena, low, high, ended, salt, signatures)
            if starting:  # behind the tokens that end here, because the row's tokens go on
                starts[node] = False
                if high + first_high + 2 >= room:
                    return OVERFLOW, worst, filled
                high, moved, ended = add_first(arena, first_high, low, high), -one, exits
            if high > low and child_count[node] > 0:
                depth += 1
                arena[depth, LOW], arena[depth, HIGH], arena[depth, TOP] = low, high, top
                arena[depth, MOVED], arena[depth, MOVED_COUNT] = moved, moved_count
                arena[depth, ENDED] = ended
                arena[depth, CHILD] = child_first[node]
                arena[depth, LAST] = arena[depth, CHILD] + child_count[node]
    if filled <= len(words):
        for i in range(filled):
            values[i] = mask[words[i]]
            mask[words[i]] = 0
    return MISSING if missing[-1] else found, worst, filled
