"""Kernels for call-free rules, compiled by numba and cached on disk. Reference code: `tests/index/plain_twins.py`.

For arrays without a description see `Trie`, `Automaton`, and `Dfa`.
"""

from __future__ import annotations

# One name a line would make the arguments of a kernel longer than its body.
# fmt: off
# ruff: noqa: D417
import numpy as np

from structkit.automaton.core.jit import helper, kernel
from structkit.automaton.core.kernels import EXIT, OPERATION_BITS, OPERATION_MASK
from structkit.index.rows.subtrees import COST, FIRST_LEAD, LENGTHS, MAX_DEPTH, OPERATION, covering, limiting

__all__ = ["diff_masks", "dominant_successor", "is_equivalent", "subautomaton", "walk_counted"]


@kernel
def walk_counted(
    trie_byte, trie_depth, trie_end, trie_first, trie_ids,
    subtree, below, characters, token_characters, row, targets, classes, final, tokens, state, rule,
    mask, words, values, iterations, exit_nodes, exit_iterations, max_costs, states, path_iterations, first, seen,
    numbers, moves, queue,
):
    """Like `walk` from the trie's root and without a budget, for all values of the counter.

    For rules that call no other, whose tokens take one way each: it depends on the counter only how far they get.

    Args:
        mask: uint32[ceil(tokens / 32)], 0, receives the bits of the tokens that some counter allows, as in `walk`.
        words: int64[some], receives the places of the words of the mask that are set, as many as it has room for.
        values: uint32[as many], receives these words.
        iterations: int16[tokens] or, where nothing is counted, int16[0]; receives twice the iterations that a token
            starts, plus 1 if it leaves the repetition; of a token that no counter allows it stays as it is. This and
            the other arrays of int16 are of int32 where tokens may start too many iterations for int16.
        exit_nodes: int32[trie nodes], receives the nodes inside a token at which the rule can end if enough iterations
            have started.
        exit_iterations: int16[trie nodes], receives the iterations that have started there.
        max_costs: int32[2 * iterations that a token may start + 2], receives by what is in `iterations` the most tokens
            needed after such a token, without those of the iterations that are still needed then; it stays as it is
            where there is no such token.
        states: int32[longest token + 1], scratch: the states on the way to the current node.
        path_iterations: int16[longest token + 1], scratch: what is in `iterations`, on that way.
        first: The first state of the rule.
        seen: bool[states of the rule], receives those that a token comes to; or bool[0].
        numbers, moves, queue: Scratch; see `covering`.

    Returns:
        `(exits found, words set)`.
    """
    states[0] = state
    path_iterations[0] = 0
    found = 0
    filled = np.int64(0)
    node = 1
    while node < trie_end[0]:
        depth = trie_depth[node]
        is_lead = trie_byte[node] >= FIRST_LEAD
        before, mark = np.int64(states[depth - 1]), np.int64(path_iterations[depth - 1])
        number, longest = np.int64(0), np.int64(0)
        if is_lead and subtree[node] >= 0:
            number, longest = _cover(
                below, np.int64(subtree[node]), row, targets, classes, final, rule, tokens, before,
                first, numbers, moves, queue, seen,
            )
        if number == 0:
            target = targets[row[before] + classes[rule, trie_byte[node]]]
            if target < 0:
                node = trie_end[node]
                continue
            operation, after = target & OPERATION_MASK, np.int64(target >> OPERATION_BITS)
            mark = mark | 1 if operation == EXIT else mark + 2 * operation
            states[depth], path_iterations[depth] = after, mark
            if len(seen) > 0:
                seen[after - first] = True
            if final[after] and trie_end[node] > node + 1:
                exit_nodes[found] = node
                exit_iterations[found] = mark >> 1
                found += 1
            if trie_first[node] < trie_first[node + 1]:
                max_costs[mark] = max(np.int64(max_costs[mark]), np.int64(tokens[0, after]))
                filled = _set_tokens(
                    trie_ids, trie_first[node], trie_first[node + 1], mark, np.int64(0), np.int64(0), np.int64(1 << 15),
                    token_characters, mask, words, iterations, filled,
                )
            if not is_lead and subtree[node] >= 0:
                number, longest = _cover(
                    below, np.int64(subtree[node]), row, targets, classes, final, rule, tokens, after,
                    first, numbers, moves, queue, seen,
                )
        if number == 0:
            node += 1
            continue
        begins, length = 2 * moves[number, OPERATION], 1
        while below[subtree[node], LENGTHS] >> length and length <= longest:
            if below[subtree[node], LENGTHS] >> length & 1:
                begun = mark + length * begins
                max_costs[begun] = max(np.int64(max_costs[begun]), moves[number, COST])
            length += 1
        filled = _set_tokens(
            trie_ids, trie_first[node if is_lead else node + 1], trie_first[trie_end[node]], mark, begins,
            np.int64(characters[node]) - is_lead, longest, token_characters, mask, words, iterations, filled,
        )
        node = trie_end[node]
    if filled <= len(words):
        for i in range(filled):
            values[i] = mask[words[i]]
            mask[words[i]] = 0
    return found, filled


@helper
def _cover(
    below, subtree, row, targets, classes, final, rule, tokens, state, first, numbers, moves, queue, seen,
):
    """Return the row of `moves` that describes the tokens of a subtree, or 0, and the characters of the longest one."""
    number = covering(
        below, subtree, row, targets, classes, final, rule, tokens, state, first, numbers, moves, queue, seen
    )
    if number > 0:
        return number, np.int64(MAX_DEPTH)
    return limiting(below, subtree, state - first, numbers, moves), np.int64(numbers[2, state - first])


@helper
def _set_tokens(
    trie_ids, start, stop, mark, begins, characters, longest, token_characters, mask, words, iterations, filled,
):
    """Set the bits of tokens with at most `longest` more than `characters` characters; return the number of words.

    A token begins `begins // 2` iterations with each of its further characters.
    """
    for i in range(start, stop):
        further = np.int64(token_characters[i]) - characters
        if further > longest:
            continue
        token = trie_ids[i]
        word = token >> 5
        if mask[word] == 0:
            if filled < len(words):
                words[filled] = word
            filled += 1
        mask[word] |= np.uint32(1) << np.uint32(token & 31)
        if len(iterations) > 0:
            iterations[token] = mark + begins * further
    return filled


@helper
def _set_bit(token, allowed, base_mask, slots, words, values, filled):
    """Set the bit of a token in `values`; return the number of words. For the arguments see `diff_masks`."""
    word = token >> 5
    if slots[word] == 0:
        if filled < len(words):
            words[filled], values[filled] = word, base_mask[word]
        filled += 1
        slots[word] = filled
    slot = slots[word] - 1
    bit = np.uint32(1) << np.uint32(token & 31)
    if slot < len(words) and allowed:
        values[slot] |= bit
    elif slot < len(words):
        values[slot] &= ~bit
    return filled


_MIN_WALKED = 4096
"""Nodes that `diff_masks` walks before it examines states; most differences are smaller."""


@kernel
def diff_masks(
    trie_byte, trie_depth, trie_end, trie_first, trie_ids,
    subtree, below, row, targets, classes, final, tokens, state, other, rule,
    base_mask, slots, words, values, changed_exit_nodes, states, other_states,
    first, seen, numbers, moves, queue,
):
    """Compute the difference between the masks of two states of a call-free rule without a counter.

    Args:
        base_mask: uint32[ceil(tokens / 32)], the mask of `other`.
        slots: uint32[ceil(tokens / 32)], zeros, which it is again if there was room for all words.
        words: int64[some], receives the places of the words in which the two masks may differ.
        values: uint32[as many], receives what they are in the mask of `state`.
        changed_exit_nodes: int32[trie nodes], receives the nodes inside a token at which the rule can end for one of
            the two only.
        states: int32[longest token + 1], scratch: the states on the way to the current node.
        other_states: int32[longest token + 1], scratch: those of the way that begins in `other`.
        first: The first state of the rule.
        seen: bool[0].
        numbers, moves, queue: Scratch; see `covering`.

    Returns:
        `(nodes changed, the most tokens that are needed after a token of the nodes walked, words)`; if there is no room
        for so many words, only that number is of use.
    """
    states[0] = state
    other_states[0] = other
    found = 0
    walked = 0
    worst = 0
    filled = 0
    node = 1
    while node < trie_end[0]:
        depth = trie_depth[node]
        klass = classes[rule, trie_byte[node]]
        left = targets[row[states[depth - 1]] + klass] >> OPERATION_BITS if states[depth - 1] >= 0 else -1
        right = targets[row[other_states[depth - 1]] + klass] >> OPERATION_BITS if other_states[depth - 1] >= 0 else -1
        if left == right:
            node = trie_end[node]
            continue
        states[depth] = left
        other_states[depth] = right
        if trie_end[node] > node + 1 and (left >= 0 and final[left]) != (right >= 0 and final[right]):
            changed_exit_nodes[found] = node
            found += 1
        if trie_first[node] < trie_first[node + 1]:
            if left >= 0:
                worst = max(worst, np.int64(tokens[0, left]))
            for i in range(trie_first[node], trie_first[node + 1]):
                filled = _set_bit(trie_ids[i], left >= 0, base_mask, slots, words, values, filled)
        walked += 1
        # The states, of which one may not exist, allow all tokens below the node or none of them.
        of_left, of_right = np.int64(0), np.int64(0)
        if walked > _MIN_WALKED and subtree[node] >= 0 and trie_byte[node] < FIRST_LEAD:
            if left >= 0:
                of_left = covering(
                    below, np.int64(subtree[node]), row, targets, classes, final, rule, tokens,
                    np.int64(left), first, numbers, moves, queue, seen,
                )
            if right >= 0 and (left < 0 or of_left):
                of_right = covering(
                    below, np.int64(subtree[node]), row, targets, classes, final, rule, tokens,
                    np.int64(right), first, numbers, moves, queue, seen,
                )
        if (left >= 0 and not of_left) or (right >= 0 and not of_right) or not (of_left or of_right):
            node += 1
            continue
        if left >= 0:
            worst = max(worst, moves[of_left, COST])
        first_token, last_token = trie_first[node + 1], trie_first[trie_end[node]]
        for i in range(first_token, first_token if left >= 0 and right >= 0 else last_token):
            filled = _set_bit(trie_ids[i], left >= 0, base_mask, slots, words, values, filled)
        node = trie_end[node]
    if filled <= len(words):
        for i in range(filled):
            slots[words[i]] = 0
    return found, worst, filled


@kernel
def dominant_successor(targets, classes, state, min_bytes, sizes):
    """Return the state that most bytes lead to, at least `min_bytes`, also from that state; -1 if there is none.

    Args:
        targets: int32[states, classes], the transitions of a rule.
        classes: uint8[256], the class of each byte.
        sizes: int32[classes], zeros, receives how many bytes each class has.
    """
    for byte in range(256):
        sizes[classes[byte]] += 1
    at = state
    for _ in range(2):
        best = -1
        most = min_bytes - 1
        for klass in range(targets.shape[1]):
            target = targets[at, klass] >> OPERATION_BITS
            if target < 0 or target == best:
                continue
            count = 0
            for other in range(targets.shape[1]):
                if targets[at, other] >> OPERATION_BITS == target:
                    count += sizes[other]
            if count > most:
                best, most = target, count
        if best == at or best < 0:
            return best
        at = best
    return -1


@kernel
def subautomaton(targets, classes, final, state, numbers, order, table):
    """Extract the automaton reachable from a state; states are numbered breadth first in byte order.

    Args:
        targets: int32[states, classes], the transitions of a rule.
        classes: uint8[256], the class of each byte.
        final: bool[states].
        numbers: int32[states], -1, receives the numbers.
        order: int32[most], scratch.
        table: int16[most, 257], receives for each byte the number of the next state or -1, then whether the state is
            final.

    Returns:
        How many states it has; 0 if there are more than there is room for.
    """
    numbers[state] = 0
    order[0] = state
    found = 1
    at = 0
    while at < found:
        for byte in range(256):
            target = targets[order[at], classes[byte]] >> OPERATION_BITS
            if target < 0:
                table[at, byte] = -1
                continue
            if numbers[target] < 0:
                if found == len(table):
                    return 0
                numbers[target] = found
                order[found] = target
                found += 1
            table[at, byte] = numbers[target]
        table[at, 256] = final[order[at]]
        at += 1
    return found


@kernel
def is_equivalent(targets, final, seen, other, state, number, order):
    """Return whether two states allow the same tokens along corresponding paths.

    Args:
        targets: int32[states, classes], the transitions of a rule.
        final: bool[states].
        seen: bool[states], those that tokens come to from `other`.
        number: int32[states], -1, receives where tokens come to from `state` instead, for `other` and those seen.
        order: int32[states], scratch.
    """
    number[other] = state
    order[0] = other
    found = 1
    at = 0
    while at < found:
        theirs = order[at]
        mine = number[theirs]
        at += 1
        if final[theirs] != final[mine]:
            return False
        for klass in range(targets.shape[1]):
            target, here = targets[theirs, klass], targets[mine, klass]
            if target < 0:
                if here >= 0:
                    return False
                continue
            after = target >> OPERATION_BITS
            if not seen[after]:  # no token comes there, so none does from the other state
                continue
            if here < 0 or here & OPERATION_MASK != target & OPERATION_MASK:
                return False
            if number[after] < 0:
                number[after] = here >> OPERATION_BITS
                order[found] = after
                found += 1
            elif number[after] != here >> OPERATION_BITS:
                return False
    return True
