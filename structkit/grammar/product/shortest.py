"""How long the shortest texts of the rules are, behind each context and before each."""

from __future__ import annotations

from collections.abc import Mapping, Set
from heapq import heappop, heappush

from structkit.grammar.product.explored import Call, Entry, Explored
from structkit.grammar.rules.cfg import Symbol, Terminal
from structkit.grammar.rules.layout import LineMove, shortest_length
from structkit.regex.nodes import CharClass, Network

__all__ = ["shortest_texts"]


def shortest_texts(explored: Mapping[str, Explored], blocks: Set[str]) -> dict[Call, tuple[int, int]]:
    """Return upper bounds on the bytes of a shortest text from each state of each rule to each context at its end.

    A bound is a number of bytes, and how often the column of the lines is added.

    Args:
        explored: The automata of the rules.
        blocks: The rules that an indent begins.
    """
    return _Search(explored, blocks).found


class _Search:
    """The search from the ends, which finds the bounds in their order, each once.

    See Knuth, "A generalization of Dijkstra's algorithm" (1977).

    Attributes:
        found: The bounds.
    """

    def __init__(self, explored: Mapping[str, Explored], blocks: Set[str]) -> None:
        self.found: dict[Call, tuple[int, int]] = {}
        self._explored = explored
        self._blocks = blocks
        self._before: dict[Entry, list[tuple[Symbol | Call | LineMove | None, int]]] = {}
        self._waiting: dict[Call, list[tuple[tuple[int, int], Call]]] = {}
        self._lengths: dict[Network, int] = {}
        self._pending: list[tuple[int, int, int, Call]] = []
        self._least: dict[Call, tuple[int, int, int]] = {}
        for rule, each in explored.items():
            for source, symbol, target in each.moves():
                self._before.setdefault((rule, target), []).append((symbol, source))
            for context, state in each.ends.items():
                self._reach((0, 0), (0, 0), Call((rule, state), context))
        while self._pending:
            *bound, call = heappop(self._pending)
            if self._least[call] == tuple(bound):
                self._visit((bound[1], bound[2]), call)

    def _visit(self, bound: tuple[int, int], call: Call) -> None:
        """Follow the moves to a state backwards, with the bound on the texts from there to the end."""
        self.found[call] = bound
        (rule, _), context = call
        for symbol, source in self._before.get(call.entry, ()):
            before = Call((rule, source), context)
            if isinstance(symbol, Call) and symbol not in self.found:
                self._waiting.setdefault(symbol, []).append((bound, before))
            else:
                self._reach(bound, self._cost(rule, symbol), before)
        for behind, before in self._waiting.pop(call, ()):
            self._reach(behind, self._cost(before.entry[0], call), before)

    def _reach(self, behind: tuple[int, int], cost: tuple[int, int], call: Call) -> None:
        fixed, lines = behind[0] + cost[0], behind[1] + cost[1]
        bound = fixed + lines, fixed, lines
        if call not in self._least or bound < self._least[call]:
            self._least[call] = bound
            heappush(self._pending, (*bound, call))

    def _cost(self, rule: str, symbol: Symbol | Call | LineMove | None) -> tuple[int, int]:
        """Return what a move of a rule adds."""
        if isinstance(symbol, Call):
            fixed, lines = self.found[symbol]
            return (fixed + lines, lines) if symbol.entry[0] in self._blocks else (fixed, lines)
        if not isinstance(symbol, Terminal):
            return 0, 0
        if isinstance(symbol.node, CharClass):
            return len(chr(symbol.node.ranges[0][0]).encode()), 0
        if not isinstance(symbol.node, Network):
            return 0, 0
        if symbol.node not in self._lengths:
            self._lengths[symbol.node] = shortest_length(symbol.node)
        length = self._lengths[symbol.node]
        return (length + 1, 1) if self._explored[rule].is_line_break else (length, 0)
