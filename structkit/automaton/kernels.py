"""The automaton's loops that must be fast, compiled by numba and cached on disk."""

from __future__ import annotations

import numba

__all__ = ["END", "FAR", "distances"]

FAR = 1 << 29
"""Further than any end: an end that cannot be reached."""

END = -(1 << 30)
"""The hop of a state at which the rule ends."""


@numba.njit(cache=True, nogil=True)
def distances(
    row, targets, width, rule, final, call_first, call_rule, call_next, call_operation, start, least, first_byte,
    end, rounds, hop,
):
    """The fewest bytes from each state to the end of its rule, calls included and the counter left out.

    Sweeps from the last state to the first until nothing changes (Bellman 1958): rules are numbered breadth first,
    so that few sweeps settle all. Where a counted rule must do its rounds, each adds `rounds[rule]` bytes; those
    follow from the distances and the distances of callers from them, so the whole is repeated until they agree.

    Args:
        width: int32[rules], the byte classes of each rule.
        first_byte: uint8[rules, 256], a byte of each class.
        end: int32[states], receives the distances, `FAR` where there is no end.
        rounds: int32[rules], receives the bytes of one round of the counted repetition, 0 without one.
        hop: int32[states], receives the first step of a shortest path: a byte, `-1 - call`, or `END`.
    """
    rounds[:] = 0
    agreed = False
    while not agreed:
        end[:] = FAR
        changed = True
        while changed:
            changed = False
            for state in range(len(row) - 1, -1, -1):
                best = end[state]
                if final[state] and best > 0:
                    best = 0
                    hop[state] = END
                for klass in range(width[rule[state]]):
                    target = targets[row[state] + klass]
                    if target >= 0 and end[target >> 2] + 1 < best:
                        best = end[target >> 2] + 1
                        hop[state] = first_byte[rule[state], klass]
                for call in range(call_first[state], call_first[state + 1]):
                    callee = call_rule[call]
                    far = end[start[callee]] + least[callee] * rounds[callee] + end[call_next[call]]
                    if far < best:
                        best = far
                        hop[state] = -1 - call
                if best < end[state]:
                    end[state] = best
                    changed = True
        agreed = True
        for r in range(len(start)):
            if least[r] == 0:
                continue
            shortest = FAR
            last = start[r + 1] if r + 1 < len(start) else len(row)
            for state in range(start[r], last):
                if end[state] >= FAR:
                    continue
                for klass in range(width[r]):
                    target = targets[row[state] + klass]
                    if target >= 0 and target & 3 == 1:
                        shortest = min(shortest, end[target >> 2] + 1 - end[state])
                for call in range(call_first[state], call_first[state + 1]):
                    if call_operation[call] == 1:
                        callee = call_rule[call]
                        far = end[start[callee]] + least[callee] * rounds[callee] + end[call_next[call]]
                        shortest = min(shortest, far - end[state])
            if shortest > FAR // 1024:
                shortest = FAR // max(1, least[r])
            if shortest > rounds[r]:
                rounds[r] = shortest
                agreed = False
