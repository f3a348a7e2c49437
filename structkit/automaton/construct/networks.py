"""Fragments of finite automata over nodes, as the rules of grammars are."""

from __future__ import annotations

from typing import Protocol

from structkit.automaton.construct.optional_parts import Emitter
from structkit.automaton.construct.utf8 import class_edges
from structkit.regex.charset import char_class, intersection
from structkit.regex.nodes import CharClass, Network, Node, Repeat

__all__ = ["MAX_DIRECT_RANGES", "emit_network"]

_ASCII, _NOT_ASCII = char_class([(0, 127)]), char_class([(128, 0x10FFFF)])

MAX_DIRECT_RANGES = 8
"""Maximum number of ranges of a character class that is emitted directly; larger classes are kept as tables."""

_MAX_WIDE_STATES = 30_000
r"""Maximum states for the characters beyond ASCII of large classes in a rule. Further ones are calls, so that a
terminal such as `/\w{1,64}@\w{1,63}/` has few states."""


class CallEmitter(Emitter, Protocol):
    """Adds calls, too.

    Attributes:
        has_calls: Whether the automaton may have calls.
        wide_states: The states for the characters beyond ASCII of large classes so far.
    """

    has_calls: bool
    wide_states: int

    def call_rule(self, key: Repeat, start: int) -> int:
        """Add a call of a rule; return its end."""
        ...


def emit_network(emitter: CallEmitter, node: Network, start: int) -> int:
    """Add new states and the moves between them; return the end.

    The move into a state ends there if nothing else enters it.
    """
    states = [emitter.state() for _ in range(node.size)]
    emitter.link(start, states[0])
    # Equal moves from several states share the states inside them: rules of a grammar repeat their terminals.
    shared: dict[tuple[Node, int], int] = {}
    for source, part, target in node.moves:
        if isinstance(part, CharClass) and len(part.ranges) > MAX_DIRECT_RANGES:
            ascii_part, others = intersection(part, _ASCII), intersection(part, _NOT_ASCII)
            if ascii_part.ranges:
                emitter.link(emitter.emit(ascii_part, states[source]), states[target])
            if emitter.has_calls and emitter.wide_states > _MAX_WIDE_STATES:
                emitter.link(emitter.call_rule(Repeat(others, 1, 1), states[source]), states[target])
                continue
            part = others
        elif type(part) is not Network:
            emitter.link(emitter.emit(part, states[source]), states[target])
            continue
        begin = shared.get((part, target))
        if begin is None:
            begin = shared[part, target] = emitter.state()
            emitter.link(emitter.emit(part, begin), states[target])
            emitter.wide_states += class_edges(part.ranges)[0] if isinstance(part, CharClass) else 0
        emitter.link(states[source], begin)
    return states[1]
