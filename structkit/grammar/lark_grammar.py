"""Lark grammars as context-free grammars. The only module that imports lark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from structkit.grammar.cfg import Cfg, Symbol, Terminal
from structkit.grammar.python_pattern import read_pattern
from structkit.grammar.threads import build_terminal
from structkit.regex.nodes import EMPTY, Network, Node, Repeat, seq

if TYPE_CHECKING:
    from lark import Lark

__all__ = ["read_lark"]


def read_lark(lark: Lark, start: str) -> Cfg:
    """Return the grammar of a loaded Lark parser, for Earley with the dynamic lexers."""
    nodes = {
        terminal.name: _terminal_node(terminal.pattern.to_regexp(), lark.options.g_regex_flags)
        for terminal in lark.terminals
    }
    ignored = [nodes[name] for name in lark.ignore_tokens]
    gap: Node = EMPTY
    if ignored:
        gap = Repeat(_union(ignored))
    terminals = {name: Terminal(name, seq(gap, node)) for name, node in nodes.items()}
    rules: dict[str, list[tuple[Symbol, ...]]] = {}
    for rule in lark.rules:
        production = tuple(terminals[s.name] if s.is_term else s.name for s in rule.expansion)
        rules.setdefault(rule.origin.name, []).append(production)
    whole = "$text"
    rules[whole] = [(start, Terminal("gap", gap))] if ignored else [(start,)]
    return Cfg(whole, {name: tuple(dict.fromkeys(found)) for name, found in rules.items()})


def _union(nodes: Sequence[Node]) -> Node:
    from structkit.regex.nodes import choice

    return choice(nodes)


def _terminal_node(pattern: str, flags: int) -> Node:
    automaton = build_terminal(read_pattern(pattern, flags))
    # State 1 of a network is its end, which is a new state.
    size = len(automaton.states) + 1
    number = {state: state + (state > 0) for state in range(len(automaton.states))}
    moves: list[tuple[int, Node, int]] = [
        (number[a], charset, number[b]) for a, charset, b in automaton.moves
    ]
    moves += [(number[state], EMPTY, 1) for state in automaton.accepting]
    return Network(size, tuple(moves))
