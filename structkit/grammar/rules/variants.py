"""Rules behind contexts, as rules with labels.

A rule that is read behind a context ends with one of several contexts, on which its caller depends. So the rule ends
with a label for its context. A rule whose caller cannot continue behind some contexts is another variant, without the
paths to these ends: no text leads to a dead end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias

from structkit.automaton.core.kernels import MAX_LABEL
from structkit.grammar.rules.cfg import Symbol, Terminal
from structkit.grammar.rules.context import DEDENT, INDENT
from structkit.grammar.rules.graph import Graph, called_rules, minimal, reached, trim
from structkit.grammar.rules.layout import MAX_INDENT, LineMove, add_columns, shortest_length
from structkit.limits import Work
from structkit.regex.charset import first_bytes
from structkit.regex.labels import labelled_name
from structkit.regex.nodes import CharClass, LiteralText, Network, ReturnLabel

__all__ = ["Call", "Entry", "Explored", "Layouts", "Variants"]

_STEPS_PER_MOVE = 30
"""The work of a move of a rule, for each variant of the rule; see `Limits.work`."""

Entry: TypeAlias = "tuple[str, int]"
"""A rule and the number of the context before it."""


class Call(NamedTuple):
    """A move over a rule.

    Attributes:
        entry: The rule, and the context before it.
        after: The context with which it ends.
    """

    entry: Entry
    after: int


@dataclass
class Explored:
    """The automaton of a rule behind a context.

    Attributes:
        size: The number of states; the start is state 0, and state 1 is none of them.
        moves: The moves.
        ends: The state in which the rule ends with each context.
        following: The characters that can follow the rule, for each context; empty if these are not known.
        pending: The states in which an indent or a dedent must follow; see `structkit.grammar.rules.context.Layout`.
        is_line_break: Whether the rule is the token of a line break, whose blanks decide how it ends.
    """

    size: int = 0
    moves: list[tuple[int, Symbol | Call | LineMove | None, int]] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)
    following: dict[int, CharClass] = field(default_factory=dict)
    pending: dict[int, int] = field(default_factory=dict)
    is_line_break: bool = False


@dataclass(frozen=True)
class Layouts:
    """What the columns of an indenter decide.

    Attributes:
        pending: What must follow behind each context: an indent, a dedent, or something else.
        blocks: The rules that an indent begins.
        tab_length: The columns of a tab.
    """

    pending: Sequence[int]
    blocks: Set[str]
    tab_length: int


_Place: TypeAlias = "tuple[Entry, int]"
"""A rule behind a context, and a state of its automaton."""

_Column: TypeAlias = "int | None"
"""The column of the next line, if an indent or a dedent must follow.

From 0 on, it is one of the columns of the lines around, the outermost first; -n is n more than the innermost.
"""


class _Key(NamedTuple):
    """A rule behind a context.

    Attributes:
        entry: The rule.
        depth: The number of columns of the lines around it; 0 if it does not depend on them.
        column: The column of its first line.
    """

    entry: Entry
    depth: int = 0
    column: _Column = None


class _Variant(NamedTuple):
    """A rule with the numbers of some ends: those that its callers allow."""

    key: _Key
    ends: tuple[int, ...]


_Callee: TypeAlias = "tuple[str, int]"
"""A name of a rule that is called, and by how much more the lines in it are indented."""

_End: TypeAlias = "tuple[int, _Column]"
"""The context at the end of a rule, and the column of the next line."""


class Variants:
    """The rules with labels, each made when it is first needed.

    A rule with line breaks has an instance for each stack of columns around it. Instances of one variant have one
    automaton, in which callees have names that are relative to the stack; see `callee`.

    Args:
        explored: The rules behind contexts.
        start: The first rule.
        allowed: The contexts with which it may end.
        layouts: What the columns of the indenter decide; `None` without an indenter.
        labelled: Whether rules end with labels. Otherwise a rule has a variant for each of its ends.

    Attributes:
        start: The name of the first rule, which is without labels.
        size: The number of states of the rules behind contexts.
        is_empty: Whether there is no text.
    """

    def __init__(
        self,
        explored: Mapping[Entry, Explored],
        start: Entry,
        allowed: Collection[int],
        layouts: Layouts | None = None,
        *,
        labelled: bool = True,
    ) -> None:
        # Nothing follows the first rule, so that with one end it needs no label; without labels, budgets are exact.
        explored = {**explored, start: replace(explored[start], following={})}
        self._max_ends = MAX_LABEL + 1 if labelled else 1
        self._labelled = labelled
        self.start = "$start"
        self.size = sum(each.size for each in explored.values())
        self._explored = explored
        self._layouts = layouts
        self._shortest = _Shortest(explored, layouts.blocks if layouts else frozenset()).found
        self._indented = _indented(explored)
        self._ends: list[_End] = []
        self._end_numbers: dict[_End, int] = {}
        self._keys: dict[str, _Key] = {}
        self._callees: dict[str, _Callee] = {}
        self._names: dict[_Variant, str] = {}
        self._variants: dict[str, _Variant] = {}
        self._counts: dict[str, int] = {}
        self._instances: dict[str, tuple[str, tuple[int, ...]]] = {}
        self._graphs: dict[str, Graph] = {}
        columns = (0,) if layouts is not None else ()
        self._instances[self.start] = self.start, columns
        first = Graph(3, [(0, self._called(self._key(start, len(columns), None), 0), 2)])
        ends = [context for context in allowed if Call(start, context) in self._shortest]
        first.moves += [(2, _label(self._end_number((context, None))), 1) for context in ends]
        self.is_empty = not ends
        self._graphs[self.start] = self._with_variants(trim(first), (), {})

    def graph(self, name: str) -> Graph:
        """Return the automaton of a rule; the rules that it calls get names, see `callee`."""
        variant, columns = self._instances[name]
        found = self._graphs.get(variant)
        if found is None:
            key, ends = self._variants[variant]
            explored = self._explored[key.entry]
            if explored.is_line_break:
                return self._with_variants(self._line_break(key, ends, columns), ends, explored.following)
            graph = self._graph(key, ends)
            found = self._graphs[variant] = self._with_variants(graph, ends, explored.following)
        return found

    def callee(self, caller: str, name: str) -> str:
        """Return the name of a rule that another one calls, from the name in the automaton of the caller."""
        variant, indent = self._callees[name]
        if not self._variants[variant].key.depth:
            return variant
        _, columns = self._instances[caller]
        if indent:
            columns = (*columns, columns[-1] + indent)
        instance = f"{variant}@{','.join(map(str, columns))}"
        self._instances[instance] = variant, columns
        return instance

    def examples(self, name: str) -> dict[str, LiteralText]:
        """Return texts that are at least as long as a shortest text of a rule, and of the rule with each label."""
        variant, columns = self._instances[name]
        key, ends = self._variants[variant]
        found: dict[str, LiteralText] = {}
        for number, end in enumerate(ends):
            fixed, lines = self._shortest[Call(key.entry, self._ends[end][0])]
            column = columns[-1] if columns else 0
            found[labelled_name(name, number)] = LiteralText("x" * (fixed + column * lines))
        return found | {name: min(found.values(), key=lambda text: len(text.value))}

    def run(self, work: Work) -> dict[str, Graph]:
        """Return the automata of all rules.

        Raises:
            LimitExceeded: They take too much work.
        """
        found = {self.start: self.graph(self.start)}
        pending = called_rules(found[self.start])
        for name in pending:
            if name not in found:
                entry = self._variants[self._instances[name][0]].key.entry
                steps = _STEPS_PER_MOVE * len(self._explored[entry].moves)
                work.pay(steps, "the ways in which the rules of a grammar end", entry[0].partition("#")[0])
                found[name] = self.graph(name)
                pending += called_rules(found[name])
        return found

    def _key(self, entry: Entry, depth: int, column: _Column) -> _Key:
        return _Key(entry, depth, column) if entry in self._indented else _Key(entry)

    def _called(self, key: _Key, indent: int) -> str:
        """Return a name for a rule that is called, without the ends that are allowed."""
        name = f"{key.entry[0]}/{key.entry[1]}" + (f"~{key.depth},{key.column}" if key.depth else "")
        self._keys[name] = key
        return self._reference(name, indent)

    def _reference(self, name: str, indent: int) -> str:
        called = f"{name}+{indent}" if indent else name
        self._callees[called] = name, indent
        return called

    def _end_number(self, end: _End) -> int:
        number = self._end_numbers.setdefault(end, len(self._ends))
        if number == len(self._ends):
            self._ends.append(end)
        return number

    def _variant(self, symbol: str, ends: tuple[int, ...]) -> str:
        """Return the name of a variant of a rule that is called: with the ends that its callers allow."""
        name, indent = self._callees[symbol]
        variant = _Variant(self._keys[name], ends)
        if variant not in self._names:
            number = self._counts[name] = self._counts.get(name, 0) + 1
            self._names[variant] = f"{name}/{number}"
            self._variants[self._names[variant]] = variant
            if not variant.key.depth:
                self._instances[self._names[variant]] = self._names[variant], ()
        found = self._names[variant]
        return self._reference(found, indent)

    def _columns_of(self, context: int, depth: int) -> Iterable[_Column]:
        """Return the columns of the next line behind a context."""
        pending = self._layouts.pending[context] if self._layouts is not None else 0
        if pending == INDENT:
            return range(-1, -1 - MAX_INDENT, -1)
        return range(depth - 1) if pending == DEDENT else (None,)

    def _graph(self, key: _Key, ends: Sequence[int]) -> Graph:
        """Return the automaton of a rule with some ends. The labels are numbers of ends."""
        explored = self._explored[key.entry]
        graph = Graph()
        numbers: dict[tuple[int, _Column], int] = {(0, key.column): 0}
        pending = [*numbers]
        behind: dict[tuple[int, str], int] = {}
        outgoing: dict[int, list[tuple[Symbol | Call | LineMove | None, int]]] = {}
        for source, symbol, target in explored.moves:
            outgoing.setdefault(source, []).append((symbol, target))

        def number(state: int, column: _Column) -> int:
            place = state, column if state in explored.pending else None
            if place not in numbers:
                numbers[place] = graph.state()
                pending.append(place)
            return numbers[place]

        while pending:
            state, column = pending.pop()
            source = numbers[state, column]
            for symbol, target in outgoing.get(state, ()):
                if isinstance(symbol, LineMove):
                    if self._fits(symbol, key.depth, column, explored.pending.get(target)):
                        graph.moves.append((source, None, number(target, column)))
                elif not isinstance(symbol, Call):
                    graph.moves.append((source, symbol, number(target, column)))
                elif symbol in self._shortest:
                    callee = self._callee(symbol.entry, key.depth, column)
                    place = behind.get((source, callee))
                    if place is None:
                        place = behind[source, callee] = graph.state()
                        graph.moves.append((source, callee, place))
                    for after in self._columns_of(symbol.after, key.depth):
                        label = _label(self._end_number((symbol.after, after)))
                        graph.moves.append((place, label, number(target, after)))
        for end in ends:
            context, column = self._ends[end]
            place = numbers.get((explored.ends[context], column))
            if place is not None:
                graph.moves.append((place, _label(end), 1))
        return minimal(trim(graph))

    def _callee(self, entry: Entry, depth: int, column: _Column) -> str:
        """Return the name of a rule that is called at a column."""
        if self._layouts is None or entry[0] not in self._layouts.blocks or column is None:
            return self._called(self._key(entry, depth, column), 0)
        return self._called(self._key(entry, depth + 1, depth), -column)

    def _fits(self, move: LineMove, depth: int, column: _Column, after: int | None) -> bool:
        """Return whether an indent or a dedent is possible."""
        if move.kind != "dedent" or column is None:
            return True
        return column == depth - 2 if after != DEDENT else column < depth - 2

    def _line_break(self, key: _Key, ends: Sequence[int], columns: Sequence[int]) -> Graph:
        """Return the automaton of a line break with some ends, in lines with some columns."""
        explored = self._explored[key.entry]
        wanted: dict[tuple[int, int], list[int]] = {}  # the ends at each state of the rule and each column
        for end in ends:
            context, column = self._ends[end]
            if column is None:
                column = len(columns) - 1
            place = explored.ends[context], columns[column] if column >= 0 else columns[-1] - column
            wanted.setdefault(place, []).append(end)
        highest = max((column for _, column in wanted), default=0)
        graph = Graph()
        for _, symbol, target in explored.moves:
            if (
                self._layouts is None
                or not isinstance(symbol, Terminal)
                or not isinstance(symbol.node, Network)
            ):
                continue
            begin = graph.state()
            graph.moves.append((0, None, begin))
            found = add_columns(graph, begin, symbol.node, self._layouts.tab_length, highest)
            for column, states in found.items():
                for end in wanted.get((target, column), ()):
                    graph.moves += [(state, _label(end), 1) for state in states]
        return trim(graph)

    def _with_variants(self, graph: Graph, ends: Sequence[int], following: Mapping[int, CharClass]) -> Graph:
        """Return an automaton with the variants of the rules that it calls, and with labels from 0 on.

        A rule with one end needs no label, except for the characters that can follow it.
        """
        own = {end: number for number, end in enumerate(ends)}
        if not self._labelled:
            following = {}
        behind: dict[int, dict[int, list[int]]] = {
            target: {} for _, symbol, target in graph.moves if isinstance(symbol, str)
        }
        result = Graph(graph.size)
        for source, symbol, target in graph.moves:
            if isinstance(symbol, str):
                continue
            node = symbol.node if isinstance(symbol, Terminal) else None
            end = node.number if isinstance(node, ReturnLabel) else -1
            if end < 0:
                result.moves.append((source, symbol, target))
            elif source in behind:
                behind[source].setdefault(end, []).append(target)
            elif (context := self._ends[end][0]) in following:
                state = result.state()
                first = Terminal("", first_bytes(following[context]))
                result.moves += [(source, _label(own[end]), state), (state, None, 1), (state, first, 1)]
            else:
                result.moves.append((source, _label(own[end]) if len(own) > 1 else None, target))
        returned: dict[tuple[int, tuple[int, ...]], int] = {}
        for source, symbol, target in graph.moves:
            if isinstance(symbol, str):
                found = sorted(behind[target])
                for part in range(0, len(found), self._max_ends):
                    chosen = tuple(found[part : part + self._max_ends])
                    name = self._variant(symbol, chosen)
                    entry = self._keys[self._callees[symbol][0]].entry
                    if len(chosen) == 1 and not (self._labelled and self._explored[entry].following):
                        result.moves += [(source, name, after) for after in behind[target][chosen[0]]]
                        continue
                    behind_call = returned.get((target, chosen))
                    if behind_call is None:
                        behind_call = returned[target, chosen] = result.state()
                        result.moves += [
                            (behind_call, _label(number, is_return=True), after)
                            for number, end in enumerate(chosen)
                            for after in behind[target][end]
                        ]
                    result.moves.append((source, name, behind_call))
        return result


def _label(number: int, *, is_return: bool = False) -> Terminal:
    return Terminal("", ReturnLabel(number, is_return))


def _indented(explored: Mapping[Entry, Explored]) -> set[Entry]:
    """Return the rules in which there may be line breaks, indents or dedents: they depend on the columns."""
    callers: dict[Entry, list[Entry]] = {}
    starts = []
    for entry, each in explored.items():
        if each.is_line_break or any(isinstance(symbol, LineMove) for _, symbol, _ in each.moves):
            starts.append(entry)
        for _, symbol, _ in each.moves:
            if isinstance(symbol, Call):
                callers.setdefault(symbol.entry, []).append(entry)
    return reached(starts, callers)


class _Shortest:
    """Upper bounds on the bytes of a shortest text of each rule that has one, for each context at its end.

    A bound is a number of bytes, and how often the column of the lines is added. The states of all rules are visited in
    the order of their bounds, each once: Knuth, "A generalization of Dijkstra's algorithm" (1977).

    Attributes:
        found: The bounds.
    """

    def __init__(self, explored: Mapping[Entry, Explored], blocks: Set[str]) -> None:
        self.found: dict[Call, tuple[int, int]] = {}
        self._explored = explored
        self._blocks = blocks
        self._outgoing: dict[_Place, list[tuple[Symbol | Call | LineMove | None, int]]] = {}
        self._ends: dict[_Place, list[int]] = {}
        self._waiting: dict[Call, list[tuple[tuple[int, int], _Place]]] = {}
        self._lengths: dict[Network, int] = {}
        self._pending: list[tuple[int, int, int, _Place]] = []
        for entry, each in explored.items():
            for source, symbol, target in each.moves:
                self._outgoing.setdefault((entry, source), []).append((symbol, target))
            for context, state in each.ends.items():
                self._ends.setdefault((entry, state), []).append(context)
            self._pending.append((0, 0, 0, (entry, 0)))
        self._least = {place: (0, 0, 0) for _, _, _, place in self._pending}
        while self._pending:
            *bound, place = heappop(self._pending)
            if self._least[place] == tuple(bound):
                self._visit((bound[1], bound[2]), place)

    def _visit(self, before: tuple[int, int], place: _Place) -> None:
        """Follow the moves of a state, with the bound on the texts that lead there."""
        entry, _ = place
        for symbol, target in self._outgoing.get(place, ()):
            if isinstance(symbol, Call) and symbol not in self.found:
                self._waiting.setdefault(symbol, []).append((before, (entry, target)))
            else:
                self._reach(before, self._cost(entry, symbol), (entry, target))
        for context in self._ends.get(place, ()):
            call = Call(entry, context)
            if call not in self.found:
                self.found[call] = before
                for earlier, after in self._waiting.pop(call, ()):
                    self._reach(earlier, self._cost(after[0], call), after)

    def _reach(self, before: tuple[int, int], cost: tuple[int, int], place: _Place) -> None:
        fixed, lines = before[0] + cost[0], before[1] + cost[1]
        bound = fixed + lines, fixed, lines
        if place not in self._least or bound < self._least[place]:
            self._least[place] = bound
            heappush(self._pending, (*bound, place))

    def _cost(self, entry: Entry, symbol: Symbol | Call | LineMove | None) -> tuple[int, int]:
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
        return (length + 1, 1) if self._explored[entry].is_line_break else (length, 0)
