"""Automata as plain rules: a rule for each state where paths meet, in right-linear form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from structkit.regex.charset import union
from structkit.regex.nodes import CharClass, LiteralText, Node, Repeat, RuleRef, choice, seq
from structkit.regex.walk import exceeds_size

__all__ = ["state_rules"]

_MAX_INLINED = 40
"""Maximum size of a state that is written where the only move to it is, in nodes."""


def state_rules(
    moves: Mapping[int, Iterable[tuple[Node, int]]],
    ends: Mapping[int, Node],
    start: int,
    add_rule: Callable[[Node | None, str | None], str],
) -> Node:
    """Return the node of the paths of an automaton from a state to the ends.

    Args:
        moves: The moves of each state, as the nodes that they read, which are not empty, and the states after them.
        ends: What remains to be read at the states where a path may end.
        start: The first state.
        add_rule: Takes a node and returns the name of its rule. `None` reserves a name, with which it is called again.

    >>> made = {}
    >>> def add_rule(node, name=None):
    ...     made.setdefault(name or "s", node)
    ...     return name or "s"
    >>> from structkit.regex.nodes import EMPTY, LiteralText
    >>> a, b = LiteralText("a"), LiteralText("b")
    >>> node = state_rules({0: [(a, 1)], 1: [(a, 1), (b, 2)]}, {2: EMPTY}, 0, add_rule)
    >>> node == seq(a, Repeat(a, 0, None), b)
    True
    """
    joined = {state: _joined(leaving) for state, leaving in moves.items()}
    order = _postorder(joined, start)
    entering = dict.fromkeys(order, 0)
    for source in order:
        for target in joined.get(source, ()):
            entering[target] += target != source
    # A cycle is entered where it is left by a rule: at a state with two moves to it, or at the start.
    names: dict[int, str] = {
        state: add_rule(None, None) for state in reversed(order) if entering[state] > (state != start)
    }
    written: dict[int, Node] = {}
    for state in order:
        parts: list[Node] = [ends[state]] if state in ends else []
        loop: Node | None = None
        for target, label in joined.get(state, {}).items():
            if target == state:
                loop = label
            else:
                parts.append(seq(label, written[target] if target in written else RuleRef(names[target])))
        node = choice(parts)
        if loop is not None:
            node = seq(Repeat(loop, 0, None), node)
        if state in names:
            add_rule(node, names[state])
            node = RuleRef(names[state])
        elif exceeds_size(node, _MAX_INLINED):
            node = RuleRef(add_rule(node, None))
        written[state] = node
    return written[start]


def _joined(leaving: Iterable[tuple[Node, int]]) -> dict[int, Node]:
    """Return the union of the moves to each state."""
    classes: dict[int, list[CharClass]] = {}
    others: dict[int, list[Node]] = {}
    for label, target in leaving:
        others.setdefault(target, [])
        if isinstance(label, CharClass):
            classes.setdefault(target, []).append(label)
        else:
            others[target].append(label)
    return {
        target: choice([*([_character(union(classes[target]))] if target in classes else []), *labels])
        for target, labels in others.items()
    }


def _character(charset: CharClass) -> Node:
    """Return the text of a class with one character, which becomes a part of a longer text, or the class."""
    ((first, last), *others) = charset.ranges
    return LiteralText(chr(first)) if first == last and not others else charset


def _postorder(moves: Mapping[int, Mapping[int, Node]], start: int) -> list[int]:
    """Return the states that can be reached; on each path without a cycle, later states come first."""
    order: list[int] = []
    seen = {start}
    walk = [(start, iter(moves.get(start, ())))]
    while walk:
        state, following = walk[-1]
        for target in following:
            if target not in seen:
                seen.add(target)
                walk.append((target, iter(moves.get(target, ()))))
                break
        else:
            order.append(state)
            walk.pop()
    return order
