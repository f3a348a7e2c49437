"""Indentation: the columns of lines, as `lark.indenter.Indenter` turns them into terminals.

The indenter keeps a stack of columns. The token of a line break ends with the blanks of the next line. If these are
more than the top of the stack, an indent follows, which pushes their column; if they are fewer, a dedent follows for
each column that is popped. Inside brackets a line break is dropped.

The part of a production from an indent to its dedent becomes a rule, a block. So the stack of columns is the same
everywhere in a rule, except in the blocks that it calls, and a rule has a variant for each stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

from structkit.errors import LimitExceeded
from structkit.grammar.rules.cfg import Production, Terminal
from structkit.grammar.rules.context import NONE, Layout
from structkit.grammar.rules.graph import Graph
from structkit.grammar.rules.lexing import Indenting
from structkit.regex.charset import char_class, complement, intersection, single_char
from structkit.regex.nodes import CharClass, Network, Node

__all__ = [
    "MAX_INDENT",
    "LineMove",
    "UnbalancedIndent",
    "add_columns",
    "is_read",
    "line_columns",
    "open_brackets",
    "shortest_length",
    "with_blocks",
]

MAX_INDENT = 16
"""Maximum columns by which a block is indented more than the lines around it."""

_MAX_BRACKETS = 50
"""Maximum brackets that a rule opens without closing them."""

_NEWLINE, _BLANK, _TAB = single_char("\n"), single_char(" "), single_char("\t")
_OTHERS = complement(char_class([(9, 10), (32, 32)]))


@dataclass(frozen=True, slots=True)
class LineMove:
    """A move without a text: an indent, a dedent, or a dedent at the end of the text."""

    kind: str


class UnbalancedIndent(ValueError):
    """An indent without its dedent in the same alternative, or the other way round."""


def with_blocks(
    rules: Mapping[str, tuple[Production, ...]], indenting: Indenting
) -> tuple[dict[str, tuple[Production, ...]], frozenset[str]]:
    """Return the rules with one more for each part from an indent to its dedent, and the names of these.

    Raises:
        UnbalancedIndent: An alternative has an indent without its dedent.
    """
    names: dict[Production, str] = {}
    found: dict[str, tuple[Production, ...]] = {}
    for rule, productions in rules.items():
        changed = []
        for production in productions:
            open_parts: list[list[object]] = [[]]
            for symbol in production:
                name = symbol.name if isinstance(symbol, Terminal) else ""
                if name == indenting.indent:
                    open_parts.append([symbol])
                    continue
                open_parts[-1].append(symbol)
                if name == indenting.dedent:
                    if len(open_parts) == 1:
                        raise UnbalancedIndent(rule)
                    part: Production = tuple(open_parts.pop())  # type: ignore[arg-type]
                    block = names.setdefault(part, f"<{len(names)}>")
                    found[block] = (part,)
                    open_parts[-1].append(block)
            if len(open_parts) > 1:
                raise UnbalancedIndent(rule)
            changed.append(tuple(open_parts[0]))
        found[rule] = tuple(dict.fromkeys(changed))  # type: ignore[arg-type]
    return found, frozenset(names.values())


def is_read(terminal: Terminal, layout: Layout, indenting: Indenting) -> bool:
    """Return whether the indenter lets a terminal through: line breaks inside brackets are dropped."""
    if layout.pending != NONE:
        return False
    inside = layout.inside or layout.opened > 0
    if terminal.name == indenting.newline:
        return inside == terminal.is_ignored
    if terminal.name in indenting.closing and not layout.opened:
        if layout.inside:
            raise UnbalancedIndent(
                f"the rule closes a bracket, {terminal.name}, that another rule opens; "
                "write both into one rule"
            )
        return False
    return True


def open_brackets(terminal: Terminal, layout: Layout, indenting: Indenting | None) -> int:
    """Return the brackets that are open in the rule behind a terminal."""
    if indenting is None:
        return 0
    opened = layout.opened + (terminal.name in indenting.opening) - (terminal.name in indenting.closing)
    if opened > _MAX_BRACKETS:
        raise LimitExceeded("nfa_states", _MAX_BRACKETS, "the open brackets of a rule", is_fixed=True)
    return opened


def add_columns(
    graph: Graph, start: int, network: Network, tab_length: int, highest: int
) -> dict[int, list[int]]:
    """Add an automaton over characters to a graph, multiplied with the column behind the last line break.

    Args:
        graph: The graph.
        start: Where the automaton starts in it.
        network: The automaton.
        tab_length: The columns of a tab.
        highest: The largest column that matters.

    Returns:
        The states of the graph in which the automaton ends, for each column.
    """
    outgoing: dict[int, list[tuple[CharClass | None, int]]] = {}
    for source, node, target in network.moves:
        outgoing.setdefault(source, []).append((node if isinstance(node, CharClass) else None, target))
    numbers = {(0, -1): start}
    pending = [*numbers]
    ends: dict[int, list[int]] = {}
    while pending:
        state, column = pending.pop()
        source = numbers[state, column]
        for charset, target in outgoing.get(state, ()):
            for part, after in _steps(charset, column, tab_length):
                place = target, min(after, highest + 1)
                if place not in numbers:
                    numbers[place] = graph.state()
                    pending.append(place)
                    if target == 1 and place[1] >= 0:
                        ends.setdefault(place[1], []).append(numbers[place])
                symbol = None if part is None else Terminal("", part)
                graph.moves.append((source, symbol, numbers[place]))
    return ends


def _steps(charset: CharClass | None, column: int, tab_length: int) -> Iterator[tuple[CharClass | None, int]]:
    """Yield the parts of a class of characters, each with the column after it; -1 before the first line break."""
    if charset is None:
        yield None, column
        return
    blank = column + 1 if column >= 0 else column
    tab = column + tab_length if column >= 0 else column
    for part, after in ((_NEWLINE, 0), (_BLANK, blank), (_TAB, tab), (_OTHERS, column)):
        common = intersection(charset, part)
        if common.ranges:
            yield common, after


def line_columns(node: Node, tab_length: int) -> set[int]:
    """Return the columns, up to `MAX_INDENT`, in which a text of a line break can end."""
    if not isinstance(node, Network):
        return set()
    return set(add_columns(Graph(), 0, node, tab_length, MAX_INDENT))


def shortest_length(network: Network) -> int:
    """Return the bytes of a shortest text of an automaton over characters."""
    outgoing: dict[int, list[tuple[int, int]]] = {}
    for source, node, target in network.moves:
        size = len(chr(node.ranges[0][0]).encode()) if isinstance(node, CharClass) else 0
        outgoing.setdefault(source, []).append((size, target))
    known: set[int] = set()
    pending = [(0, 0)]
    while pending:
        length, state = heappop(pending)
        if state == 1:
            return length
        if state not in known:
            known.add(state)
            for size, target in outgoing.get(state, ()):
                heappush(pending, (length + size, target))
    raise ValueError("the automaton has no text")
