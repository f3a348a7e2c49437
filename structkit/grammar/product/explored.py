"""The automaton of a rule behind all contexts that can be before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from structkit.grammar.rules.cfg import Symbol
from structkit.grammar.rules.graph import reached
from structkit.grammar.rules.layout import LineMove
from structkit.regex.nodes import CharClass

__all__ = ["Call", "Entry", "Explored", "indented"]

Entry: TypeAlias = "tuple[str, int]"
"""A rule, and the state in which it is entered."""


class Call(NamedTuple):
    """A move over a rule.

    Attributes:
        entry: The rule, and the state in which it is entered.
        after: The context with which it ends.
    """

    entry: Entry
    after: int


_Move: TypeAlias = "tuple[Symbol | Call | LineMove | None, int]"
"""What a move reads, and its target."""


@dataclass
class Explored:
    """The automaton of a rule behind all contexts, or of a token, which is entered in state 0 alone.

    Attributes:
        outgoing: The moves of each state.
        ends: The state in which the rule ends with each context.
        places: For each state of a rule, the state of its graph and the context.
        numbers: The number of the state for each place.
        exits: The contexts with which the rule can end, for each state in which it is entered.
        entries: For each state, the numbers in `exits` of the states from which it is reached, as bits.
        following: The characters that can follow the rule, for each context; empty if these are not known.
        pending: The states in which an indent or a dedent must follow; see `structkit.grammar.rules.context.Layout`.
        is_line_break: Whether the rule is the token of a line break, whose blanks decide how it ends.
    """

    outgoing: dict[int, list[_Move]] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    places: list[tuple[int, int]] = field(default_factory=list)
    numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    exits: dict[int, dict[int, None]] = field(default_factory=dict)
    entries: list[int] = field(default_factory=list)
    following: dict[int, CharClass] = field(default_factory=dict)
    pending: dict[int, int] = field(default_factory=dict)
    is_line_break: bool = False

    def add_state(self, place: tuple[int, int]) -> int:
        """Add the state of a place; return its number."""
        number = self.numbers[place] = len(self.places)
        self.places.append(place)
        self.entries.append(0)
        return number

    def add_move(self, source: int, symbol: Symbol | Call | LineMove | None, target: int) -> None:
        """Add a move."""
        self.outgoing.setdefault(source, []).append((symbol, target))

    def moves(self) -> Iterator[tuple[int, Symbol | Call | LineMove | None, int]]:
        """Iterate over the moves: a source, what it reads, and a target."""
        for source, moves in self.outgoing.items():
            for symbol, target in moves:
                yield source, symbol, target


class Exploration:
    """The automata of rules, explored from the states in which the rules are entered.

    Attributes:
        rules: The automata.
    """

    def __init__(self) -> None:
        self.rules: dict[str, Explored] = {}
        self._pending: list[Entry] = []

    def enter(self, entry: Entry) -> None:
        """Enter a rule in a state."""
        rule, state = entry
        exits = self.rules[rule].exits
        if state not in exits:
            exits[state] = {}
            self._reach(rule, state, 1 << (len(exits) - 1))

    def visits(self) -> Iterator[tuple[str, int, bool]]:
        """Yield each state that is reached, again whenever another entry reaches it, until no move adds one.

        Yields:
            The rule, the state, and whether this is its first visit, which adds its moves.
        """
        while self._pending:
            rule, state = self._pending.pop()
            explored = self.rules[rule]
            is_new = state not in explored.outgoing
            for _, target in explored.outgoing.setdefault(state, []):
                self._reach(rule, target, explored.entries[state])
            yield rule, state, is_new

    def add_move(self, rule: str, source: int, symbol: Symbol | Call | LineMove | None, target: int) -> None:
        """Add a move of a rule; what reaches its source reaches its target."""
        explored = self.rules[rule]
        explored.add_move(source, symbol, target)
        self._reach(rule, target, explored.entries[source])

    def _reach(self, rule: str, state: int, entries: int) -> None:
        known = self.rules[rule].entries
        if entries & ~known[state]:
            known[state] |= entries
            self._pending.append((rule, state))


def indented(explored: Mapping[str, Explored]) -> set[Entry]:
    """Return the rules in which there may be line breaks, indents or dedents: they depend on the columns.

    So do the states of rules from which these are reached.
    """
    before: dict[Entry, list[Entry]] = {}
    starts = []
    for rule, each in explored.items():
        if each.is_line_break:
            starts.append((rule, 0))
        for source, symbol, target in each.moves():
            before.setdefault((rule, target), []).append((rule, source))
            if isinstance(symbol, LineMove):
                starts.append((rule, source))
            elif isinstance(symbol, Call):
                before.setdefault(symbol.entry, []).append((rule, source))
    return reached(starts, before)
