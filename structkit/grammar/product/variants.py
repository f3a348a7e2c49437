"""Rules behind contexts, as rules with labels.

A rule that is read behind a context ends with one of several contexts, on which its caller depends. So the rule ends
with a label for its context. A rule whose caller cannot continue behind some contexts is another variant, without the
paths to these ends: no text leads to a dead end.

Behind its first tokens, a rule often continues in the same way whatever came before it. What several entries of a rule
share is a rule of its own, which they call at their ends: its automaton and its rows are made once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from structkit.automaton.core.kernels import MAX_LABEL
from structkit.grammar.product.explored import Call, Entry, Explored, indented
from structkit.grammar.product.shortest import shortest_texts
from structkit.grammar.rules.cfg import Terminal
from structkit.grammar.rules.context import DEDENT, INDENT
from structkit.grammar.rules.graph import Graph, called_rules, minimal, trim
from structkit.grammar.rules.layout import MAX_INDENT, LineMove, add_columns
from structkit.limits import Work
from structkit.regex.charset import first_bytes
from structkit.regex.labels import labelled_name
from structkit.regex.nodes import CharClass, LiteralText, Network, ReturnLabel

__all__ = ["Layouts", "Variants"]

_STEPS_PER_MOVE = 30
"""The work of a move of a rule, for each variant of the rule; see `Limits.work`."""


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


_Column: TypeAlias = "int | None"
"""The column of the next line, if an indent or a dedent must follow.

From 0 on, it is one of the columns of the lines around, the outermost first; -n is n more than the innermost.
"""


class _Key(NamedTuple):
    """A rule behind a context.

    Attributes:
        entry: The rule, and the state in which it is entered.
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
        tails: Whether what several entries of a rule share may be a rule of its own.

    Attributes:
        start: The name of the first rule, which is without labels.
        size: The number of states of the rules behind contexts.
        steps: The moves that were followed so far to make automata.
        is_empty: Whether there is no text.
    """

    def __init__(
        self,
        explored: Mapping[str, Explored],
        start: Entry,
        allowed: Collection[int],
        layouts: Layouts | None = None,
        *,
        labelled: bool = True,
        tails: bool = True,
    ) -> None:
        self._max_ends = MAX_LABEL + 1 if labelled else 1
        self._labelled = labelled
        self.start = "$start"
        self.size = sum(len(each.outgoing) for each in explored.values())
        self.steps = 0
        self._explored = explored
        self._first = start
        self._layouts = layouts
        self._shortest = shortest_texts(explored, layouts.blocks if layouts else frozenset())
        self._indented = indented(explored)
        self._tails: dict[str, Set[int]] = {} if tails else dict.fromkeys(explored, frozenset())
        self._labels: dict[tuple[str, int], dict[int, int]] = {}
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
        first = Graph(3, [(0, self._called(self._key(start, len(columns))), 2)])
        ends = [context for context in allowed if Call(start, context) in self._shortest]
        first.moves += [(2, _label(self._end_number((context, None))), 1) for context in ends]
        self.is_empty = not ends
        self._graphs[self.start] = self._with_variants(trim(first), self._key(start), ())

    def graph(self, name: str) -> Graph:
        """Return the automaton of a rule; the rules that it calls get names, see `callee`."""
        variant, columns = self._instances[name]
        found = self._graphs.get(variant)
        if found is None:
            key, ends = self._variants[variant]
            if self._explored[key.entry[0]].is_line_break:
                return self._with_variants(self._line_break(key, ends, columns), key, ends)
            found = self._graphs[variant] = self._with_variants(self._graph(key, ends), key, ends)
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
        for end, label in self._labels_of(key, ends).items():
            fixed, lines = self._shortest[Call(key.entry, self._ends[end][0])]
            column = columns[-1] if columns else 0
            found[labelled_name(name, label)] = LiteralText("x" * (fixed + column * lines))
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
                rule, _ = self._variants[self._instances[name][0]].key.entry
                before = self.steps
                found[name] = self.graph(name)
                steps = _STEPS_PER_MOVE * (self.steps - before)
                work.pay(steps, "the ways in which the rules of a grammar end", rule.partition("#")[0])
                pending += called_rules(found[name])
        return found

    def _key(self, entry: Entry, depth: int = 0, column: _Column = None) -> _Key:
        return _Key(entry, depth, column) if entry in self._indented else _Key(entry)

    def _called(self, key: _Key, indent: int = 0) -> str:
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
        rule, start = key.entry
        explored, tails = self._explored[rule], self._tails_of(rule)
        graph = Graph()
        first = start, key.column
        numbers: dict[tuple[int, _Column], int] = {first: 0}
        pending = [first]
        behind: dict[tuple[int, str], int] = {}

        def number(state: int, column: _Column) -> int:
            place = state, column if state in explored.pending else None
            if place not in numbers:
                numbers[place] = graph.state()
                pending.append(place)
            return numbers[place]

        while pending:
            place = state, column = pending.pop()
            source = numbers[place]
            if state in tails and place != first:
                after = graph.state()
                graph.moves.append((source, self._called(_Key((rule, state))), after))
                for end in ends:
                    context, after_column = self._ends[end]
                    if Call((rule, state), context) in self._shortest:
                        target = number(explored.ends[context], after_column)
                        graph.moves.append((after, _label(end), target))
                continue
            moves = explored.outgoing.get(state, ())
            self.steps += len(moves)
            for symbol, target in moves:
                if isinstance(symbol, LineMove):
                    if self._fits(symbol, key.depth, column, explored.pending.get(target)):
                        graph.moves.append((source, None, number(target, column)))
                elif not isinstance(symbol, Call):
                    graph.moves.append((source, symbol, number(target, column)))
                elif symbol in self._shortest:
                    callee = self._callee(symbol.entry, key.depth, column)
                    after = behind.get((source, callee), -1)
                    if after < 0:
                        after = behind[source, callee] = graph.state()
                        graph.moves.append((source, callee, after))
                    for after_column in self._columns_of(symbol.after, key.depth):
                        label = _label(self._end_number((symbol.after, after_column)))
                        graph.moves.append((after, label, number(target, after_column)))
        for end in ends:
            context, column = self._ends[end]
            at_end = numbers.get((explored.ends[context], column))
            if at_end is not None:
                graph.moves.append((at_end, _label(end), 1))
        return minimal(trim(graph))

    def _tails_of(self, rule: str) -> Set[int]:
        """Return the states of a rule that more entries reach than a state before them: rules that others end with.

        All moves to such a state read something, so that no rule calls itself before a byte is read. States that depend
        on columns are excluded, and those of the first rule, whose labels are not those of its other entries.
        """
        if rule not in self._tails:
            explored = self._explored[rule]
            entries = explored.entries
            shared = {b for a, _, b in explored.moves() if entries and entries[a] != entries[b]}
            silent = {
                b for _, symbol, b in explored.moves() if symbol is None or isinstance(symbol, LineMove)
            }
            found = shared - silent - explored.pending.keys() - {*explored.ends.values()}
            found = {state for state in found if (rule, state) not in self._indented}
            self._tails[rule] = found if rule != self._first[0] else set()
        return self._tails[rule]

    def _labels_of(self, key: _Key, ends: Iterable[int]) -> dict[int, int]:
        """Return the labels of the ends of a variant, the same ones in all variants of a rule if these are enough.

        A rule that ends with another one then has the labels of that one, and nothing needs to be on the stack.
        """
        place = key.entry[0], key.depth
        if place not in self._labels:
            contexts = self._explored[place[0]].ends
            known = [(each, column) for each in contexts for column in self._columns_of(each, key.depth)]
            numbers = [self._end_number(end) for end in known[: self._max_ends + 1]]
            self._labels[place] = {end: label for label, end in enumerate(numbers)}
        labels = self._labels[place]
        if len(labels) > self._max_ends or not labels.keys() >= {*ends}:
            labels = {end: label for label, end in enumerate(ends)}
        return {end: labels[end] for end in ends}

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
        explored = self._explored[key.entry[0]]
        wanted: dict[tuple[int, int], list[int]] = {}  # the ends at each state of the rule and each column
        for end in ends:
            context, column = self._ends[end]
            if column is None:
                column = len(columns) - 1
            place = explored.ends[context], columns[column] if column >= 0 else columns[-1] - column
            wanted.setdefault(place, []).append(end)
        highest = max((column for _, column in wanted), default=0)
        graph = Graph()
        for _, symbol, target in explored.moves():
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

    def _following(self, entry: Entry) -> Mapping[int, CharClass]:
        """Return the characters that can follow a rule for each context at its end, if its labels have these."""
        # Nothing follows the first rule, so that with one end it needs no label; without labels, budgets are exact.
        return self._explored[entry[0]].following if self._labelled and entry != self._first else {}

    def _with_variants(self, graph: Graph, key: _Key, ends: Sequence[int]) -> Graph:
        """Return an automaton with the variants of the rules that it calls, and with labels.

        A rule with one end needs no label, except for the characters that can follow it.
        """
        own = self._labels_of(key, ends)
        following = self._following(key.entry)
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
        returned: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
        for source, symbol, target in graph.moves:
            if isinstance(symbol, str):
                found = sorted(behind[target])
                for part in range(0, len(found), self._max_ends):
                    chosen = tuple(found[part : part + self._max_ends])
                    name = self._variant(symbol, chosen)
                    callee = self._keys[self._callees[symbol][0]]
                    if len(chosen) == 1 and not self._following(callee.entry):
                        result.moves += [(source, name, after) for after in behind[target][chosen[0]]]
                        continue
                    labels = tuple(self._labels_of(callee, chosen).items())
                    behind_call = returned.get((target, labels))
                    if behind_call is None:
                        behind_call = returned[target, labels] = result.state()
                        result.moves += [
                            (behind_call, _label(label, is_return=True), after)
                            for end, label in labels
                            for after in behind[target][end]
                        ]
                    result.moves.append((source, name, behind_call))
        return result


def _label(number: int, *, is_return: bool = False) -> Terminal:
    return Terminal("", ReturnLabel(number, is_return))
