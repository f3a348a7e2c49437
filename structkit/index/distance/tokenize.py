"""Kernels for shortest tokenizations and token distances, compiled by numba and cached on disk.

For arrays without a description see `Trie` and `Automaton`.
"""

from __future__ import annotations

# One name a line would make the arguments of a kernel longer than its body.
# fmt: off
# ruff: noqa: D417
import numpy as np

from structkit.automaton.core.jit import helper, kernel
from structkit.automaton.core.kernels import AT_END, ENTER, EXIT, OPERATION_BITS, OPERATION_MASK, UNREACHABLE
from structkit.automaton.distance.bounds import DISTINCT_MARGIN

__all__ = ["min_tokens", "tokenize", "trie_path"]


@helper
def _child(child_first, child_count, child_byte, child_node, node, byte):
    """Return the child of a trie node for a byte, or -1.

    As the bytes of n children ascend, a byte b has at most b children before it, and at most 255 - b behind it, which
    leaves few places at the root.
    """
    first, count = np.int64(child_first[node]), np.int64(child_count[node])
    low, high = first + max(np.int64(0), byte + count - 256), first + min(byte + 1, count)
    while low < high:
        middle = (low + high) >> np.int64(1)
        if child_byte[middle] == byte:
            return np.int64(child_node[middle])
        if child_byte[middle] < byte:
            low = middle + 1
        else:
            high = middle
    return np.int64(-1)


@helper
def _sum(remaining, right):
    """Return the sum, `UNREACHABLE` only where a part is: too many tokens are not the same as no path."""
    return UNREACHABLE if remaining >= UNREACHABLE or right >= UNREACHABLE else min(UNREACHABLE - 1, remaining + right)


@helper
def _min_tokens_from(
    child_first, child_count, child_byte, child_node, trie_first,
    row, targets, classes, rule, call_rule, call_next, call_distinct, start, min_count, first_step, tokens,
    state, first, stack, remaining,
):
    """Return the fewest tokens along the shortest text from `state`, its first byte `first` if that is not negative.

    Only tokens that end before the state's rule does, and that neither leave a rule they did not enter nor cross the
    end of a counted repetition: then what follows a token needs exactly one token less, whatever the stack.
    """
    best = np.int64(UNREACHABLE)
    depth = 0
    rest = np.int64(0)
    node = np.int64(0)
    while depth < len(stack):
        step = first if first >= 0 and node == 0 else first_step[state]
        if step == AT_END:
            if depth == 0:
                if node == 0:  # nothing but rules that may be empty was in between
                    best = 0
                break
            depth -= 1
            state = stack[depth]
            rest = remaining[depth]
        elif step < 0:
            callee = call_rule[-1 - step]
            back = call_next[-1 - step]
            if min_count[callee] > 0 or call_distinct[-1 - step]:
                if node == 0:
                    needs = _sum(np.int64(tokens[0, start[callee]]), np.int64(min_count[callee] * tokens[1, callee]))
                    needs = _sum(needs, np.int64(DISTINCT_MARGIN * call_distinct[-1 - step]))
                    best = min(best, _sum(needs, _sum(np.int64(tokens[0, back]), rest)))
                break
            stack[depth] = back
            remaining[depth] = rest
            rest = _sum(rest, np.int64(tokens[0, back]))
            depth += 1
            state = start[callee]
        else:
            target = targets[row[state] + classes[rule[state], step]]
            if target & OPERATION_MASK == EXIT and min_count[rule[state]] > 0 and node != 0:
                break
            node = _child(child_first, child_count, child_byte, child_node, node, np.int64(step))
            if node < 0:
                break
            state = target >> OPERATION_BITS
            if trie_first[node] < trie_first[node + 1]:
                best = min(best, _sum(np.int64(1), _sum(np.int64(tokens[0, state]), rest)))
    return min(best, UNREACHABLE)


@kernel
def min_tokens(
    child_first, child_count, child_byte, child_node, trie_first,
    row, targets, classes, rule, call_first, call_rule, call_next, call_operation, call_distinct,
    start, stop, min_count, first_byte, width, distance, first_step, order, tokens, stack, remaining,
):
    """Compute upper bounds on the tokens from each state to the end of its rule.

    Args:
        distance: int32[states], from `distances`.
        first_step: int32[states], from `distances`.
        order: int32[states], the states by distance, of equal ones the last first.
        tokens: int32[2, max(states, rules)], receives in row 0 the tokens from each state to its rule's end, in row 1
            the tokens of each iteration that a rule's counter still needs; at first `UNREACHABLE` and 0.
        stack: int32[...], scratch: the states that come after the rules called.
        remaining: int64[...], scratch: for each of them the tokens that the rules under it need.
    """
    changed = True
    while changed:
        changed = False
        for state in order:
            if distance[state] >= UNREACHABLE:
                continue
            best = 0 if first_step[state] == AT_END else _min_tokens_from(
                child_first, child_count, child_byte, child_node, trie_first,
                row, targets, classes, rule, call_rule, call_next, call_distinct, start, min_count, first_step, tokens,
                np.int64(state), np.int64(-1), stack, remaining,
            )
            if best != tokens[0, state]:
                tokens[0, state] = best
                changed = True
        for r in range(len(start)):
            if min_count[r] == 0:
                continue
            shortest = UNREACHABLE
            farthest = 0
            for state in range(start[r], stop[r]):
                if tokens[0, state] >= UNREACHABLE:
                    continue
                for klass in range(width[r]):
                    target = targets[row[state] + klass]
                    if target >= 0 and target & OPERATION_MASK == ENTER:
                        needs = _min_tokens_from(
                            child_first, child_count, child_byte, child_node, trie_first,
                            row, targets, classes, rule, call_rule, call_next, call_distinct,
                            start, min_count, first_step, tokens,
                            np.int64(state), np.int64(first_byte[r, klass]), stack, remaining,
                        )
                        shortest = min(shortest, needs - tokens[0, state])
                for call in range(call_first[state], call_first[state + 1]):
                    if call_operation[call] == ENTER:
                        callee = call_rule[call]
                        iterations = np.int64(min_count[callee] * tokens[1, callee])
                        needs = _sum(np.int64(tokens[0, start[callee]]), iterations)
                        needs = _sum(needs, np.int64(DISTINCT_MARGIN * call_distinct[call]))
                        needs = _sum(needs, np.int64(tokens[0, call_next[call]]))
                        if call_distinct[call]:
                            # One of several that must all be there, each once, with a separator: count the longest.
                            farthest = max(farthest, _sum(needs, np.int64(2)))
                        else:
                            shortest = min(shortest, needs - tokens[0, state])
            shortest = min(max(farthest if farthest > 0 else shortest, 0), (UNREACHABLE - 1) // min_count[r])
            if shortest > tokens[1, r]:
                tokens[1, r] = shortest
                changed = True


@kernel
def trie_path(child_first, child_count, child_byte, child_node, text, nodes):
    """Find the trie nodes along a text, as far as it is a prefix of a token.

    Args:
        nodes: int32[bytes], receives the nodes.

    Returns:
        How many there are.
    """
    node = np.int64(0)
    for position in range(len(text)):
        node = _child(child_first, child_count, child_byte, child_node, node, np.int64(text[position]))
        if node < 0:
            return position
        nodes[position] = node
    return len(text)


@kernel
def tokenize(child_first, child_count, child_byte, child_node, trie_first, trie_ids, text, costs, ends, tokens):
    """Compute the fewest tokens that spell a text.

    Args:
        costs: int64[bytes + 1], scratch: the fewest tokens from each byte on.
        ends: int64[bytes + 1], scratch: where the first of them ends.
        tokens: int32[bytes], receives the tokens.

    Returns:
        How many tokens there are; -1 if none spell the text.
    """
    costs[len(text)] = 0
    for begin in range(len(text) - 1, -1, -1):
        costs[begin] = UNREACHABLE
        node = np.int64(0)
        for position in range(begin, len(text)):
            node = _child(child_first, child_count, child_byte, child_node, node, np.int64(text[position]))
            if node < 0:
                break
            if trie_first[node] < trie_first[node + 1] and costs[position + 1] + 1 < costs[begin]:
                costs[begin] = costs[position + 1] + 1
                ends[begin] = position + 1
                tokens[begin] = trie_ids[trie_first[node]]
    if costs[0] >= UNREACHABLE:
        return -1
    begin = 0
    for i in range(costs[0]):
        tokens[i], begin = tokens[begin], ends[begin]  # the i-th token begins at byte i or after
    return costs[0]
