"""From the rules of a target to its linked automaton."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np

from structkit.automaton import kernels
from structkit.automaton.automaton import Automaton
from structkit.automaton.build import rule_dfa
from structkit.automaton.dfa import DEAD, Dfa, Key
from structkit.errors import UnsatisfiableSchema
from structkit.limits import Limits
from structkit.regex.nodes import Both, Node, Repeat, Rules, Unique

__all__ = ["link"]


def link(rules: Rules, limits: Limits = Limits()) -> Automaton:  # noqa: B008
    """Build the automata of a target's rules and link them.

    Raises:
        LimitExceeded: An automaton would be too large.
        UnsatisfiableSchema: The language is empty.
    """
    numbers: dict[Key | None, int] = {None: 0}
    waiting: deque[Key | None] = deque(numbers)
    dfas: list[Dfa] = []
    while waiting:
        key = waiting.popleft()
        node = _node(rules, key)
        dfa = rule_dfa(node, limits)
        for _, callee, _, _ in dfa.calls:
            if callee not in numbers:
                numbers[callee] = len(numbers)
                waiting.append(callee)
        dfas.append(dfa)
    return _without_dead_ends(_assemble(dfas, numbers, limits))


def _node(rules: Rules, key: Key | None) -> Node:
    match key:
        case None:
            return rules.start
        case str():
            return rules.rules[key]
        case Unique(node):
            return node
        case Repeat() | Both():
            return key


def _without_dead_ends(automaton: Automaton) -> Automaton:
    """Remove the ways into states from which no end can be reached, such as calls of an empty rule."""
    dead = automaton.shortest.end >= kernels.FAR
    if not dead.any():
        return automaton
    if dead[0]:
        raise UnsatisfiableSchema(
            "no text satisfies all parts of the target; look for patterns, lengths or bounds that exclude each other",
            place="$",
        )
    targets = np.where(dead[automaton.targets >> 2], DEAD, automaton.targets)
    live = automaton.live.copy()
    ends = np.append(automaton.row[1:], len(targets))
    for state, (low, high) in enumerate(zip(automaton.row.tolist(), ends.tolist(), strict=True)):
        live[state] = (targets[low:high] != DEAD).any()
    kept = ~(dead[automaton.start[automaton.call_rule]] | dead[automaton.call_next])
    first = np.concatenate([[0], np.cumsum(kept)])[automaton.call_first]
    return replace(
        automaton,
        targets=targets.astype(np.int32),
        live=live,
        call_first=first.astype(np.int32),
        call_rule=automaton.call_rule[kept],
        call_next=automaton.call_next[kept],
        call_operation=automaton.call_operation[kept],
        call_unique=automaton.call_unique[kept],
    )


def _assemble(dfas: list[Dfa], numbers: dict[Key | None, int], limits: Limits) -> Automaton:
    sizes = [len(dfa.final) for dfa in dfas]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    rows, targets, offset = [], [], 0
    calls: list[tuple[int, int, int, int, int]] = []
    for dfa, base in zip(dfas, starts.tolist(), strict=False):
        states, width = dfa.targets.shape
        rows.append(np.arange(states, dtype=np.int32) * width + offset)
        targets.append(np.where(dfa.targets == DEAD, DEAD, dfa.targets + (base << 2)).ravel())
        offset += states * width
        calls += [
            (base + state, numbers[key], base + after, operation, isinstance(key, Unique))
            for state, key, after, operation in dfa.calls
        ]
    call_table = np.array(calls, np.int32).reshape(-1, 5)
    return Automaton(
        row=np.concatenate(rows),
        targets=np.concatenate(targets).astype(np.int32),
        classes=np.stack([dfa.classes for dfa in dfas]),
        rule=np.repeat(np.arange(len(dfas), dtype=np.int32), sizes),
        final=np.concatenate([dfa.final for dfa in dfas]),
        live=np.concatenate([(dfa.targets != DEAD).any(axis=1) for dfa in dfas]),
        call_first=np.searchsorted(call_table[:, 0], np.arange(starts[-1] + 1)).astype(np.int32),
        call_rule=np.ascontiguousarray(call_table[:, 1]),
        call_next=np.ascontiguousarray(call_table[:, 2]),
        call_operation=np.ascontiguousarray(call_table[:, 3]),
        call_unique=call_table[:, 4].astype(bool),
        start=starts[:-1].copy(),
        least=np.array([dfa.least for dfa in dfas], np.int32),
        most=np.array([-1 if dfa.most is None else dfa.most for dfa in dfas], np.int32),
        dfas=tuple(dfas),
        limits=limits,
    )
