"""Kernel that walks the trie in states from which only bytes lead. Reference code: `tests/index/plain_twins.py`.

Most states of words, comments and names are such states. One frame at the bottom of the stack is enough there, so a
node takes less than half the time that it takes in `walk_kernels.walk`, which continues where calls begin.
"""

from __future__ import annotations

# Formatting off: one name per line would make the arguments of the kernel longer than its body.
# fmt: off
# ruff: noqa: D417
from structkit.automaton.core.jit import kernel
from structkit.automaton.core.kernels import OPERATION_BITS

__all__ = ["walk_simple"]


@kernel
def walk_simple(
    trie_byte, trie_depth, trie_end, trie_first, trie_ids,
    row, targets, classes, rule, final, call_first, token_distances,
    nodes, state, path_states, mask, words, exit_nodes, other_nodes, other_states,
):
    """Mark the tokens that a state allows as far as no state calls a rule, and list the nodes where one does.

    Args:
        nodes: int32[k], the trie nodes to continue from; node 0 is the start of all tokens.
        state: A state of a rule without counter, whose calls are not followed.
        path_states: int32[longest token + 1], scratch: the state at each depth.
        mask: uint32[ceil(tokens / 32)], 0, receives the bits of the allowed tokens.
        words: int64[some], receives the indices of the words of the mask that are set, as many as fit.
        exit_nodes: int32[trie nodes], receives the nodes at which the rule can end inside a token.
        other_nodes: int32[trie nodes], receives the nodes after whose byte a state can call a rule.
        other_states: int32[trie nodes], receives these states.

    Returns:
        `(exit nodes, most tokens needed after any allowed token, words set, other nodes)`.
    """
    found = 0
    worst = 0
    filled = 0
    others = 0
    inside = rule[state]
    for begin in nodes:
        path_states[trie_depth[begin]] = state
        node, end = begin + 1, trie_end[begin]
        if begin > 0 and final[state] and node < end:
            exit_nodes[found] = begin
            found += 1
        while node < end:
            depth = trie_depth[node]
            target = targets[row[path_states[depth - 1]] + classes[inside, trie_byte[node]]]
            if target < 0:
                node = trie_end[node]
                continue
            after = target >> OPERATION_BITS
            if call_first[after] < call_first[after + 1]:
                other_nodes[others] = node
                other_states[others] = after
                others += 1
                node = trie_end[node]
                continue
            path_states[depth] = after
            need = 0
            if final[after]:
                if trie_end[node] > node + 1:
                    exit_nodes[found] = node
                    found += 1
            else:
                need = token_distances[0, after]
            first, last = trie_first[node], trie_first[node + 1]
            if first < last:
                worst = max(worst, need)
                for i in range(first, last):
                    word = trie_ids[i] >> 5
                    if mask[word] == 0:
                        if filled < len(words):
                            words[filled] = word
                        filled += 1
                    mask[word] |= 1 << (trie_ids[i] & 31)
            node += 1
    return found, worst, filled, others
