"""The parts of a rule that cannot reach its end, and the distances of the others."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from structkit.automaton.construct.compile_rule import build_rule, regular_dfa
from structkit.automaton.core.dfa import DEAD, OPERATION_BITS, Dfa
from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.distance.trim import TrimmedRule, measure_labelled, trim_rule
from structkit.limits import Limits
from structkit.regex.nodes import NEVER, Choice, LiteralText, Node, Repeat, ReturnLabel, RuleRef, Seq

_TEXTS = ["".join(letters) for size in range(6) for letters in product("ab", repeat=size)]
_LENGTHS = {"one": 1, "two": 2, "dead": UNREACHABLE}
_LEAVES = st.sampled_from([*map(RuleRef, _LENGTHS), LiteralText("a"), LiteralText("b"), NEVER])
_NODES: st.SearchStrategy[Node] = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: Seq(tuple(parts)))
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: Choice(tuple(parts)))
        | st.builds(Repeat, inner, st.integers(0, 2))
    ),
    max_leaves=7,
)


@given(_NODES)
@example(Choice((Seq((RuleRef("one"), NEVER)), Seq((LiteralText("a"), RuleRef("one"))))))
@example(Choice((RuleRef("dead"), Seq((RuleRef("two"), RuleRef("one"))))))
def test_what_is_left_reaches_the_end_of_the_rule(node: Node) -> None:
    dfa = build_rule(node, Limits())
    found = trim_rule(dfa, [_LENGTHS[str(callee)] for callee in dfa.rules_called])
    replaced = regular_dfa(_replaced(node))
    texts = [
        text
        for text, is_text in zip(_TEXTS, replaced.accepts_each([t.encode() for t in _TEXTS]), strict=True)
        if is_text
    ]
    if texts:
        assert found.min_length == len(texts[0])
    assert texts or found.min_length > 5
    if found.min_length == UNREACHABLE:
        return
    used = list(dict.fromkeys(found.dfa.calls[:, 1].tolist()))
    assert used == list(range(len(found.dfa.callees))), "the callees are those of the calls, in their order"
    assert "dead" not in found.dfa.callees
    assert (found.distance[found.dfa.calls[:, 2]] < UNREACHABLE).all()
    after = found.dfa.targets[found.dfa.targets != DEAD] >> OPERATION_BITS
    assert (found.distance[after] < UNREACHABLE).all()


def _replaced(node: Node) -> Node:
    """Return a node with texts in place of calls."""
    match node:
        case RuleRef("dead") | Choice(()):
            return NEVER
        case RuleRef(name):
            return LiteralText("a" * _LENGTHS[name])
        case Seq(parts) | Choice(parts):
            return type(node)(tuple(map(_replaced, parts)))
        case Repeat(part, low, high):
            return Repeat(_replaced(part), low, high)
    return node


def _labelled(rng: random.Random) -> Dfa:
    """Return an automaton of eight states: some of the first five call or end, and the others are behind calls."""
    targets = np.full((8, 2), DEAD, np.int32)
    for state in range(5):
        for each in range(2):
            if rng.random() < 0.4:
                targets[state, each] = rng.randrange(5) << OPERATION_BITS
    calls: list[tuple[int, object, int]] = []
    for state in range(5):
        if rng.random() < 0.4:
            calls.append((state, ReturnLabel(rng.randrange(3)), 0))
        if rng.random() < 0.5:
            calls.append((state, rng.choice("xy"), rng.choice([5, 6, 7, 1, 2])))
    for state in (5, 6):
        calls += [
            (state, ReturnLabel(label, is_return=True), rng.randrange(5)) for label in range(rng.randrange(3))
        ]
    callees = list(dict.fromkeys(callee for _, callee, _ in calls))
    rows = sorted((state, callees.index(callee), after, 0) for state, callee, after in calls)
    classes = (np.arange(256) % 2).astype(np.uint8)
    final = np.array([rng.random() < 0.3 for _ in range(8)])
    return Dfa(classes, targets, final, np.array(rows, np.int32).reshape(-1, 4), tuple(callees))  # type: ignore[arg-type]


def _nearest(ends: set[int], edges: list[tuple[int, int, int]]) -> list[int]:
    """Return the distance from each state to the nearest of some ends, by relaxing all edges."""
    distance = [0 if state in ends else UNREACHABLE for state in range(8)]
    for _ in range(8):
        for source, target, cost in edges:
            distance[source] = min(distance[source], distance[target] + cost)
    return distance


def test_the_distances_of_a_rule_with_labels_are_those_of_its_graph() -> None:
    rng, lengths = random.Random(1), {"x": {None: 4, 0: 1, 1: 7}, "y": {None: 2, 0: 3, 1: 0}}
    seen = set()
    for _ in range(300):
        dfa = _labelled(rng)
        calls = [(state, dfa.callees[callee], after) for state, callee, after, _ in dfa.calls.tolist()]
        returns = {
            state: [(key.number, after) for at, key, after in calls if at == state]
            for state, key, _ in calls
            if isinstance(key, ReturnLabel) and key.is_return
        }
        own = [
            (state, key.number)
            for state, key, _ in calls
            if isinstance(key, ReturnLabel) and not key.is_return
        ]
        edges = [
            (state, target >> OPERATION_BITS, 1)
            for state in range(8)
            for target in dfa.targets[state].tolist()
            if target != DEAD
        ]
        for state, key, after in calls:
            if isinstance(key, str):
                edges += [
                    (state, to, lengths[key][label]) for label, to in returns.get(after, [(None, after)])
                ]
        found = measure_labelled(dfa, lambda key, label: lengths[str(key)][label])
        ends = {state for state, _ in own} or set(np.flatnonzero(dfa.final).tolist())
        expected = _nearest(ends, edges)
        for state, targets in returns.items():
            expected[state] = max(expected[target] for _, target in targets)
        assert found.distance.tolist() == expected
        assert found.dfa is dfa
        assert found.label_distance.tolist() == [
            _nearest({state for state, each in own if each == label}, edges)
            for label in range(max((label for _, label in own), default=-1) + 1)
        ]
        seen |= {bool(own), bool(returns) + 2}
    assert seen == {False, True, 2, 3}


def test_the_length_of_a_shortest_text_is_bounded() -> None:
    """A text that is too long to be counted is not the same as none."""
    for count, distance, each in product((0, 2), (0, 3, UNREACHABLE - 1, UNREACHABLE), (1, UNREACHABLE)):
        dfa = replace(build_rule(LiteralText("a"), Limits()), min_count=count)
        no_labels = np.empty((0, 1), np.int32)
        found = TrimmedRule(dfa, np.array([distance], np.int32), np.zeros(1, np.int32), each, no_labels)
        if distance == UNREACHABLE or (count and each == UNREACHABLE):
            assert found.min_length == UNREACHABLE
        else:
            assert found.min_length == min(distance + count * each, UNREACHABLE - 1)
