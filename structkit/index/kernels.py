"""The loops that must be fast, compiled by numba and cached on disk. `plain.py` says the same slowly.

All arrays are those of `Trie` and `Automaton`; see there for shapes and meaning. Within one walk, frames live in an
arena of parallel arrays and name each other by position: `state`, `count`, `below` (-1 at the frame the walk began
with) and `rest`, the tokens that the frames under it still need.
"""

from __future__ import annotations

# One name a line would make the arguments of a kernel longer than its body.
# fmt: off
# ruff: noqa: D417
import numba
import numpy as np

from structkit.automaton.kernels import FAR, counted
from structkit.automaton.lengths import TO_DIFFER

__all__ = ["ARENA", "FAR", "OVERFLOW", "group", "walk"]

ARENA = 1 << 11
"""Frames that a walk has room for at first; a walk that overflows is tried again with more."""

OVERFLOW = -1
"""What a kernel answers when the arena is full."""

_jit = numba.njit(cache=True, nogil=True, boundscheck=False)


@_jit
def _intern(arena, flags, bottom, top, state, count, below, rest):
    """Find the frame among those made since `bottom`, or make it; returns its position."""
    for i in range(bottom, top):
        if arena[0, i] == state and arena[1, i] == count and arena[2, i] == below:
            return i
    arena[0, top] = state
    arena[1, top] = count
    arena[2, top] = below
    arena[3, top] = rest
    flags[top] = False
    return top


@_jit
def _mixed(left, right):
    """A hash of two numbers (the finaliser of SplitMix64, Steele et al. 2014, on their combination)."""
    z = np.uint64(left) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(right)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64(z ^ (z >> np.uint64(31)))


@_jit
def _sign(arena, frame, salt):
    """A hash of a frame and all frames below it."""
    sign = np.int64(salt)
    while frame >= 0:
        sign = _mixed(_mixed(sign, arena[0, frame] + 2), arena[1, frame])
        frame = arena[2, frame]
    return sign


@_jit
def _settle(
    arena, flags, active, bottom, top, low, high,
    live, final, rule, call_first, call_rule, call_next, call_operation, call_unique, start, least, most, tokens,
    missing,
):
    """Enter the rules that may be called and leave those that may have ended, without a byte.

    `active[low:high]` are the frames to settle; settled ones that a byte can leave replace them.
    Returns `(top, high, ended)`, `ended` if the frame the walk began with may have ended; `top` is `OVERFLOW` if full.
    Rules that are not built are not entered, but marked in `missing`.
    """
    ended = False
    kept = low
    # Frames to settle wait behind the settled ones, at the far end of `active`.
    waiting = active.shape[0]
    for i in range(low, high):
        waiting -= 1
        active[waiting] = active[i]
        flags[active[i]] = True
    while waiting < active.shape[0]:
        frame = active[waiting]
        waiting += 1
        state = arena[0, frame]
        count = arena[1, frame]
        below = arena[2, frame]
        rest = arena[3, frame]
        r = rule[state]
        if live[state]:
            active[kept] = frame
            kept += 1
        if final[state] and count >= least[r]:
            if below < 0:
                ended = True
            else:
                if top + 2 >= arena.shape[1] or kept + 2 >= waiting:
                    return OVERFLOW, kept, ended
                # A copy made now: the frame itself may be older than `bottom`, and siblings share it.
                up = _intern(
                    arena, flags, bottom, top, arena[0, below], arena[1, below], arena[2, below], arena[3, below]
                )
                if up == top:
                    top += 1
                if not flags[up]:
                    flags[up] = True
                    waiting -= 1
                    active[waiting] = up
        for call in range(call_first[state], call_first[state + 1]):
            after = counted(count, call_operation[call], least[r], most[r])
            if after < 0:
                continue
            callee = call_rule[call]
            if start[callee] < 0:
                missing[callee] = missing[-1] = True
                continue
            if top + 2 >= arena.shape[1] or kept + 2 >= waiting:
                return OVERFLOW, kept, ended
            back_state = call_next[call]
            back = _intern(arena, flags, bottom, top, back_state, after, below, rest)
            if back == top:
                top += 1
            need = max(least[r] - after, 0)
            inner_rest = min(FAR, rest + tokens[0, back_state] + need * tokens[1, r] + TO_DIFFER * call_unique[call])
            inner = _intern(arena, flags, bottom, top, start[callee], 0, back, inner_rest)
            if inner == top:
                top += 1
            if not flags[inner]:
                flags[inner] = True
                waiting -= 1
                active[waiting] = inner
    return top, kept, ended


@_jit
def _move(arena, flags, active, bottom, low, high, byte, row, targets, classes, rule, least, most):
    """Read a byte from the frames `active[low:high]`; the frames after it follow them.

    Returns `(top, end)`: the end of the arena, `OVERFLOW` if it is full, and the end of the frames in `active`.
    """
    top = bottom
    end = high
    for i in range(low, high):
        frame = active[i]
        state = arena[0, frame]
        r = rule[state]
        target = targets[row[state] + classes[r, byte]]
        if target < 0:
            continue
        count = counted(arena[1, frame], target & 3, least[r], most[r])
        if count < 0:
            continue
        if top + 2 >= len(active) or end + 2 >= len(active):
            return OVERFLOW, end
        position = _intern(arena, flags, bottom, top, target >> 2, count, arena[2, frame], arena[3, frame])
        if position == top:
            top += 1
            active[end] = position
            end += 1
    return top, end


@_jit
def _needed(arena, active, low, high, rule, least, tokens):
    """The fewest tokens from any of the frames to the end of the rule that the walk began in."""
    needed = FAR
    for i in range(low, high):
        frame = active[i]
        state = arena[0, frame]
        pending = max(least[rule[state]] - arena[1, frame], 0)
        needed = min(needed, arena[3, frame] + tokens[0, state] + pending * tokens[1, rule[state]])
    return needed


@_jit
def _allow(trie_first, trie_ids, node, mask):
    """Mark the tokens that end at a node."""
    for i in range(trie_first[node], trie_first[node + 1]):
        mask[trie_ids[i] >> 5] |= np.uint32(1) << np.uint32(trie_ids[i] & 31)


@_jit
def _add_signs(trie_first, trie_ids, node, arena, active, low, high, ended, salt, signs):
    """Add a hash of the frames `active[low:high]` to the tokens that end at a node."""
    sign = _mixed(salt, 1) if ended else np.int64(0)
    for i in range(low, high):
        sign += _sign(arena, active[i], salt)
    for i in range(trie_first[node], trie_first[node + 1]):
        signs[trie_ids[i]] += sign


@_jit
def walk(
    trie_depth, trie_first, trie_ids, child_first, child_count, child_byte, child_node,
    row, targets, classes, rule, final, live, quiet,
    call_first, call_rule, call_next, call_operation, call_unique, start, least, most, tokens,
    nodes, state, count, left, room, salt, mask, exits, signs, missing,
):
    """Mark the tokens that a frame allows, read on from the given trie nodes.

    Args:
        quiet: bool[states], whether nothing but a byte leaves the state.
        tokens: int32[2, states or rules]: row 0 the fewest tokens from each state to its rule's end, row 1 the
            tokens that one round of a rule's counted repetition takes.
        nodes: int32[k], the trie nodes to read on from; node 0 stands for the start of every token.
        state: The frame's state.
        count: The frame's counter.
        left: Tokens that may be needed after the next one; larger than `FAR` for no budget.
        room: Frames that the arena holds.
        salt: A number for the frames under this one, part of the signs.
        mask: uint32[words], receives the bits of the allowed tokens.
        exits: int32[trie nodes], receives the nodes at which the frame's rule can end.
        signs: int64[tokens] or int64[0]; where a token is allowed, a hash of the frames after it is added, so that
            tokens with equal signs lead to the same frames.
        missing: bool[rules + 1], receives which rules are called that are not built, and in the last place whether any
            is; then the rest is of no use.

    Returns:
        `(exits found, most tokens needed after any allowed token)`; the first is `OVERFLOW` if the arena is full.
    """
    arena = np.empty((4, room), np.int32)
    flags = np.empty(room, np.bool_)
    active = np.empty(room, np.int32)
    # Of the nodes on the way to the current one: the children to look at next, and the frames reached.
    child, last, lows, highs, tops = np.empty((5, room), np.int32)
    found = 0
    worst = 0
    for begin in nodes:
        base = trie_depth[begin]
        arena[0, 0] = state
        arena[1, 0] = count
        arena[2, 0] = -1
        arena[3, 0] = 0
        active[0] = 0
        top, high, ended = 1, 1, False
        if begin > 0:  # at the start of a token the frame is one of several that are settled already
            top, high, ended = _settle(
                arena, flags, active, 0, 1, 0, 1,
                live, final, rule, call_first, call_rule, call_next, call_operation, call_unique,
                start, least, most, tokens, missing,
            )
            if top < 0:
                return OVERFLOW, worst
        if ended:
            exits[found] = begin
            found += 1
        depth = base
        lows[depth], highs[depth], tops[depth] = 0, high, top
        child[depth] = child_first[begin]
        last[depth] = child[depth] + child_count[begin]
        while depth >= base:
            place = child[depth]
            if place == last[depth]:
                depth -= 1
                continue
            child[depth] = place + 1
            byte = child_byte[place]
            bottom, low = tops[depth], highs[depth]
            if max(bottom, low, depth) + 2 >= room:
                return OVERFLOW, worst
            top, high, ended = bottom, low, False
            if low - lows[depth] == 1:  # most often there is one frame, and nothing but bytes around it
                only = active[low - 1]
                inside = rule[arena[0, only]]
                target = targets[row[arena[0, only]] + classes[inside, byte]]
                after = counted(arena[1, only], target & 3, least[inside], most[inside]) if target >= 0 else -1
                if after < 0:
                    continue
                if quiet[target >> 2]:
                    arena[0, top] = target >> 2
                    arena[1, top] = after
                    arena[2, top] = arena[2, only]
                    arena[3, top] = arena[3, only]
                    active[high] = top
                    top += 1
                    high += 1
            if high == low:
                top, high = _move(
                    arena, flags, active, bottom, lows[depth], low, byte, row, targets, classes, rule, least, most
                )
                if top < 0:
                    return OVERFLOW, worst
                if high == low:
                    continue
                top, high, ended = _settle(
                    arena, flags, active, bottom, top, low, high,
                    live, final, rule, call_first, call_rule, call_next, call_operation, call_unique,
                    start, least, most, tokens, missing,
                )
                if top < 0:
                    return OVERFLOW, worst
            node = child_node[place]
            if ended:
                exits[found] = node
                found += 1
            if trie_first[node] < trie_first[node + 1]:
                need = 0 if ended else _needed(arena, active, low, high, rule, least, tokens)
                if need <= left:
                    worst = max(worst, need)
                    _allow(trie_first, trie_ids, node, mask)
                    if len(signs) > 0:
                        _add_signs(trie_first, trie_ids, node, arena, active, low, high, ended, salt, signs)
            if high > low and child_count[node] > 0:
                depth += 1
                lows[depth], highs[depth], tops[depth] = low, high, top
                child[depth] = child_first[node]
                last[depth] = child[depth] + child_count[node]
    return found, worst


@_jit
def group(signs, mask, number, first):
    """Number the signs of the tokens in the mask.

    Args:
        number: int32[tokens], receives for each token in the mask the number of its sign, from 0.
        first: int64[tokens], receives for each sign the first token that has it.

    Returns:
        How many different signs there are.
    """
    size = 1024
    while size < 2 * len(signs):
        size *= 2
    slots = np.full(size, -1, np.int32)
    found = 0
    for token in range(len(signs)):
        if not mask[token >> 5] >> np.uint32(token & 31) & np.uint32(1):
            continue
        slot = signs[token] & (size - 1)
        while slots[slot] >= 0 and signs[first[slots[slot]]] != signs[token]:
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = found
            first[found] = token
            found += 1
        number[token] = slots[slot]
    return found
