"""Kernel that walks the trie in states that call no rule. Reference code: `tests/index/plain_twins.py`.

Most states of words, comments and names are such states. One frame at the bottom of the stack is enough there, so a
node takes less than half the time that it takes in `walk_kernels.walk`, which continues where calls begin.
"""

from __future__ import annotations

# Formatting off: one name per line would make the arguments of the kernel longer than its body.
# fmt: off
# ruff: noqa: D417
import numpy as np

from structkit.automaton.core.jit import helper, inlined, kernel
from structkit.automaton.core.kernels import OPERATION_BITS
from structkit.index.rows.arena import (
    FOLLOWING,
    KNOWN,
    KNOWN_STATE,
    LOOP_STATE,
    add_exits,
    may_end,
    only_loops,
)
from structkit.index.rows.subtrees import LEADS
from structkit.index.rows.walk_kernels import allow

__all__ = ["walk_simple"]


@helper
def _calls_a_rule(state, call_first, call_rule):
    """Return whether a state calls a rule, and does not only end with labels."""
    for call in range(call_first[state], call_first[state + 1]):  # noqa: SIM110  # numba compiles no generator
        if call_rule[call] >= 0:
            return True
    return False


@helper
def _ends(
    arena, state, node, row, targets, classes, rule, final, has_moves, call_first, call_rule, call_next,
    child_first, child_count, child_byte,
):
    """Return how the rule may end in a state at a trie node: 1 if without a label, and a bit for each label.

    If the node is negative, it may end with each label of the state; see `_epsilon_closure` of `walk_kernels`.
    """
    ended = np.int64(final[state])
    if call_first[state] < call_first[state + 1] and (node < 0 or not has_moves[state] or may_end(
        arena, state, node, call_first, call_rule, call_next, child_first, child_count, child_byte,
        row, targets, classes, rule, has_moves,
    )):
        for call in range(call_first[state], call_first[state + 1]):
            label = -np.int64(call_rule[call])
            ended |= np.int64(1) << label
            arena[label, FOLLOWING] = call_next[call]
    return ended


@inlined
def _is_taken_whole(
    arena, state, node, byte, subtree, below, row, targets, classes, rule, final, has_moves,
    call_first, call_rule, call_next,
):
    """Return whether a state goes on unchanged with the byte of a node and whatever is below it."""
    part = np.int64(subtree[node])
    if part < 0 or byte >= 128 or below[part, LEADS] != 0:
        return False
    one, none = np.int64(1), np.int64(0)
    low = below[part, 0] | (one << np.int64(byte) if byte < 64 else none)
    high = below[part, 1] | (one << np.int64(byte - 64) if byte >= 64 else none)
    return only_loops(
        arena, state, low, high, row, targets, classes, rule, final, has_moves, call_first, call_rule, call_next
    )


@kernel
def walk_simple(
    trie_byte, trie_depth, trie_end, trie_first, trie_ids, child_first, child_count, child_byte, subtree, below,
    row, targets, classes, rule, final, has_moves, call_first, call_rule, call_next, token_distances,
    nodes, state, path_states, arena, mask, words, exit_nodes, other_nodes, other_states,
):
    """Mark the tokens that a state allows as far as no state calls a rule, and list the nodes where one does.

    Args:
        subtree: int32[nodes], `Subtrees.number`.
        below: int64[..., 4], `Subtrees.below`.
        nodes: int32[k], the trie nodes to continue from; node 0 is the start of all tokens.
        state: A state of a rule without counter, whose calls are not followed.
        path_states: int32[longest token + 1], scratch: the state at each depth.
        arena: int64[more than `KNOWN`, COLUMNS], scratch for what is known of the labels and loops of states.
        mask: uint32[ceil(tokens / 32)], 0, receives the bits of the allowed tokens.
        words: int64[some], receives the indices of the words of the mask that are set, as many as fit.
        exit_nodes: int32[...], receives the nodes at which the rule can end inside a token, as in `walk_kernels.walk`.
        other_nodes: int32[trie nodes], receives the nodes after whose byte a state can call a rule.
        other_states: int32[trie nodes], receives these states.

    Returns:
        `(exit nodes, most tokens needed after any allowed token, words set, other nodes)`; the first is `OVERFLOW` if
        there is no room for the exit nodes.
    """
    found = np.int64(0)
    worst = np.int64(0)
    filled = np.int64(0)
    others = np.int64(0)
    inside = rule[state]
    arena[KNOWN, KNOWN_STATE] = arena[KNOWN, LOOP_STATE] = 1  # those of another walk are of other states
    for begin in nodes:
        path_states[trie_depth[begin]] = state
        node, end = np.int64(begin + 1), np.int64(trie_end[begin])
        if begin > 0 and node < end:
            ended = _ends(
                arena, np.int64(state), np.int64(-1), row, targets, classes, rule, final, has_moves,
                call_first, call_rule, call_next, child_first, child_count, child_byte,
            )
            if ended:
                found = add_exits(
                    arena, np.int64(begin), ended, child_first, child_count, child_byte,
                    row, targets, classes, rule, has_moves, exit_nodes, found,
                )
                if found < 0:
                    return found, worst, filled, others
        while node < end:
            depth = trie_depth[node]
            byte = trie_byte[node]
            before = np.int64(path_states[depth - 1])
            target = targets[row[before] + classes[inside, byte]]
            if target < 0:
                node = np.int64(trie_end[node])
                continue
            after = np.int64(target >> OPERATION_BITS)
            if after == before and _is_taken_whole(
                arena, before, node, byte, subtree, below, row, targets, classes, rule, final, has_moves,
                call_first, call_rule, call_next,
            ):
                worst = max(worst, np.int64(token_distances[0, before]))
                filled = allow(trie_ids, trie_first[node], trie_first[trie_end[node]], mask, words, filled)
                node = np.int64(trie_end[node])
                continue
            ended = np.int64(final[after])
            if call_first[after] < call_first[after + 1]:
                if _calls_a_rule(after, call_first, call_rule):
                    other_nodes[others] = node
                    other_states[others] = after
                    others += 1
                    node = np.int64(trie_end[node])
                    continue
                ended = _ends(
                    arena, after, node, row, targets, classes, rule, final, has_moves,
                    call_first, call_rule, call_next, child_first, child_count, child_byte,
                )
            path_states[depth] = after
            if ended and child_count[node] > 0:
                found = add_exits(
                    arena, node, ended, child_first, child_count, child_byte,
                    row, targets, classes, rule, has_moves, exit_nodes, found,
                )
                if found < 0:
                    return found, worst, filled, others
            first, last = trie_first[node], trie_first[node + 1]
            if first < last:
                worst = max(worst, np.int64(0) if ended else np.int64(token_distances[0, after]))
                filled = allow(trie_ids, first, last, mask, words, filled)
            node += 1
    return found, worst, filled, others
