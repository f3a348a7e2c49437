"""A parser that reports, while a text grows, which rules have certainly started and ended.

The algorithm is Earley's (1970), over automata of rules. An item carries the boundaries of the named rules since its
own rule began. Where two derivations lead to the same item, they have the same future, so only what they have in common
is kept. What all derivations of the text so far have in common is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple, TypeAlias, TypeVar

from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.stack import Frame
from structkit.errors import LimitExceeded
from structkit.grammar.product.constrain import constrain
from structkit.grammar.rules.cfg import Cfg, Guard, Terminal
from structkit.grammar.rules.graph import Graph
from structkit.grammar.rules.left_corner import production_graphs
from structkit.regex.nodes import ReturnLabel, Rules

__all__ = ["Boundary", "Derivations", "History", "IncrementalParser"]

_K = TypeVar("_K")

Item: TypeAlias = "tuple[str, int, int]"
"""A rule, a state of its automaton, and the position at which the rule began."""

Move: TypeAlias = "tuple[int | str | ReturnLabel | None, int]"
"""A terminal by number, a rule, a label or nothing, and the state after it."""

Origin: TypeAlias = "tuple[str, int]"
"""A rule and the position at which it began."""

Reading: TypeAlias = "tuple[frozenset[Frame], bytes]"
"""The place in a terminal: the frames of its automaton, and the buffered text of distinct items."""

Thread: TypeAlias = "tuple[Item, int, Reading]"
"""The item after a terminal, the number of the terminal, and the place in it."""


class Boundary(NamedTuple):
    """The start or the end of a rule.

    Attributes:
        rule: The rule.
        at: The position in the text, in bytes.
        is_start: Whether the rule begins there.
    """

    rule: str
    at: int
    is_start: bool


class History(NamedTuple):
    """The boundaries in a text, as far as they are known.

    Attributes:
        boundaries: The known ones, in the order of the text.
        unknown_from: The position from which others may follow; `None` if these are all.

    >>> one, two = Boundary("a", 0, True), Boundary("b", 3, True)
    >>> History((one, two)).common(History((one,)))
    History(boundaries=(Boundary(rule='a', at=0, is_start=True),), unknown_from=3)
    """

    boundaries: tuple[Boundary, ...] = ()
    unknown_from: int | None = None

    def then(self, other: History) -> History:
        """Return the history with another one behind it."""
        if self.unknown_from is not None or other == _EMPTY:
            return self
        return History(self.boundaries + other.boundaries, other.unknown_from)

    def common(self, other: History) -> History:
        """Return what is known if either history may be the true one."""
        if self == other:
            return self
        count = 0
        for one, two in zip(self.boundaries, other.boundaries, strict=False):
            if one != two:
                break
            count += 1
        unknown = [each.boundaries[count].at for each in (self, other) if len(each.boundaries) > count]
        unknown += [each.unknown_from for each in (self, other) if each.unknown_from is not None]
        return History(self.boundaries[:count], min(unknown))


_EMPTY = History()


@dataclass(frozen=True)
class Derivations:
    """A grammar prepared for `IncrementalParser`.

    Attributes:
        moves: The moves of each rule and state. A label ends its rule; behind a call it is the move for the end with
            this label.
        start: The rule of complete texts.
        terminals: The terminals.
        definitions: The rules that terminals call: those of holes.
    """

    moves: Mapping[str, Mapping[int, list[Move]]]
    start: str
    terminals: tuple[Terminal, ...]
    definitions: Rules
    _readers: dict[int, Reader] = field(default_factory=dict)

    @classmethod
    def of(cls, cfg: Cfg, definitions: Rules) -> Derivations:
        """Prepare a grammar.

        Raises:
            LimitExceeded: The grammar is too large.
        """
        graphs = production_graphs(cfg)
        for rule, graph in graphs.items():
            _ignore_between(graph, cfg, at_start=rule == cfg.start)
        start = cfg.start
        if cfg.ending != "any":
            graphs, start = constrain(graphs, start, complete=cfg.ending == "dynamic_complete", tails=False)
        numbers: dict[Terminal, int] = {}
        moves: dict[str, dict[int, list[Move]]] = {}
        for rule, graph in graphs.items():
            found = moves[rule] = {}
            for source, symbol, target in graph.moves:
                if isinstance(symbol, Guard):
                    raise AssertionError(symbol)  # only grammars with a lexer have guards
                known: int | str | ReturnLabel | None
                match symbol:
                    case Terminal(node=ReturnLabel() as label):
                        known = label
                    case Terminal():
                        known = numbers.setdefault(symbol, len(numbers))
                    case _:
                        known = symbol
                found.setdefault(source, []).append((known, target))
        return cls(moves, start, tuple(numbers), definitions)

    def reader(self, terminal: int) -> Reader:
        """Return the automaton of a terminal."""
        if terminal not in self._readers:
            rules, node = self.definitions, self.terminals[terminal].node
            automaton = link(Rules(node, rules.rules, rules.unenforced, rules.lazy))
            self._readers[terminal] = Reader(automaton)
        return self._readers[terminal]


def _ignore_between(graph: Graph, cfg: Cfg, *, at_start: bool) -> None:
    """Allow the ignored terminals before each symbol that does not begin the rule, so that no rule begins with them."""
    places: dict[int, int] = {}
    moves = graph.moves
    graph.moves = []
    for source, symbol, target in moves:
        place = source
        if symbol is not None and cfg.ignored and (source or at_start):
            if source not in places:
                place = places[source] = graph.state()
                graph.moves.append((source, None, place))
                graph.moves += [(place, terminal, place) for terminal in cfg.ignored]
            place = places[source]
        graph.moves.append((place, symbol, target))


class IncrementalParser:
    """The derivations of a text that grows.

    Args:
        derivations: The grammar.
        named: Returns the name under which the boundaries of a rule are kept; `None` if they are not.
        max_threads: The maximum number of places in which the derivations of a text may be.

    Attributes:
        position: The number of bytes that are read.
    """

    def __init__(
        self, derivations: Derivations, named: Callable[[str], str | None], *, max_threads: int
    ) -> None:
        self._derivations = derivations
        self._names = {rule: named(str(rule).partition("/")[0]) for rule in derivations.moves}
        self._max_threads = max_threads
        self._threads: dict[Thread, History] = {}
        self._callers: dict[Origin, dict[Item, History]] = {}
        self._complete: History | None = None
        self.position = 0
        self._close({(derivations.start, 0, 0): _EMPTY})

    def read(self, text: bytes) -> None:
        """Read more of the text, which must be a text of the grammar up to here.

        Raises:
            LimitExceeded: The derivations of the text are in too many places.
        """
        for byte in text:
            self._step(bytes((byte,)))
            if len(self._threads) > self._max_threads:
                raise LimitExceeded("parse_states", self._max_threads, "the derivations of a text")
        self._forget()

    def known(self, *, is_whole: bool) -> History:
        """Return what all derivations have in common.

        Args:
            is_whole: Whether the text ends here.
        """
        found = [] if self._complete is None else [self._complete]
        if not is_whole:
            before = self._before()
            found += [before[item[0], item[2]].then(more) for (item, _, _), more in self._threads.items()]
        return reduce(History.common, found) if found else History((), 0)

    def _step(self, byte: bytes) -> None:
        threads, self._threads = self._threads, {}
        self.position += 1
        items: dict[Item, History] = {}
        for (after, terminal, (frames, kept)), history in threads.items():
            reader = self._derivations.reader(terminal)
            reading = reader.read(frames, kept, byte)
            if reading[0]:
                _meet(self._threads, (after, terminal, reading), history)
                if reader.automaton.is_accepting(reading[0]):
                    _meet(items, after, history)
        self._close(items)

    def _close(self, items: dict[Item, History]) -> None:
        """Follow what can be followed without reading."""
        derivations = self._derivations
        self._complete = None
        pending = list(items)
        while pending:
            item = pending.pop()
            rule, state, origin = item
            history = items[item]
            for symbol, target in derivations.moves.get(rule, {}).get(state, ()):
                after = rule, target, origin
                if isinstance(symbol, int):
                    start = derivations.reader(symbol).automaton.start_frames()
                    _meet(self._threads, (after, symbol, (start, b"")), history)
                elif symbol is None:
                    if _meet(items, after, history):
                        pending.append(after)
                elif isinstance(symbol, ReturnLabel):
                    if not symbol.is_return:
                        pending += self._end(item, history, items, symbol.number)
                else:
                    _meet(self._callers.setdefault((symbol, self.position), {}), after, history)
                    if _meet(items, (symbol, 0, self.position), _EMPTY):
                        pending.append((symbol, 0, self.position))
            if state == 1:
                if rule == derivations.start:
                    self._complete = history
                pending += self._end(item, history, items, None)

    def _end(
        self, item: Item, history: History, items: dict[Item, History], label: int | None
    ) -> Iterator[Item]:
        """End a rule, with a label or without; yield the items behind its calls of which less is known than before."""
        rule, _, origin = item
        inside = self._begun(rule, origin).then(history).then(self._ended(rule))
        for after, before in list(self._callers.get((rule, origin), {}).items()):
            caller, state, start = after
            places = [state]
            if label is not None:
                returns = self._derivations.moves[caller].get(state, ())
                places = [to for by, to in returns if by == ReturnLabel(label, is_return=True)]
            for place in places:
                if _meet(items, (caller, place, start), before.then(inside)):
                    yield caller, place, start

    def _begun(self, rule: str, at: int) -> History:
        name = self._names[rule]
        return _EMPTY if name is None else History((Boundary(name, at, True),))

    def _ended(self, rule: str) -> History:
        name = self._names[rule]
        return _EMPTY if name is None else History((Boundary(name, self.position, False),))

    def _before(self) -> dict[Origin, History]:
        """Return what is known before each open rule, its own start included."""
        inside: dict[Origin, list[tuple[Origin, History]]] = {}
        for origin, (rule, _, at), history in self._calls():
            inside.setdefault((rule, at), []).append((origin, history))
        root = self._derivations.start, 0
        found = {root: _EMPTY}
        pending = [root]
        while pending:
            owner = pending.pop()
            for origin, history in inside.get(owner, ()):
                if _meet(found, origin, found[owner].then(history).then(self._begun(*origin))):
                    pending.append(origin)
        return found

    def _calls(self) -> Iterator[tuple[Origin, Item, History]]:
        """Iterate over the open rules, with the items that wait for their ends."""
        open_rules = {(item[0], item[2]) for item, _, _ in self._threads}
        pending = list(open_rules)
        while pending:
            origin = pending.pop()
            for item, history in self._callers.get(origin, {}).items():
                yield origin, item, history
                owner = item[0], item[2]
                if owner not in open_rules:
                    open_rules.add(owner)
                    pending.append(owner)

    def _forget(self) -> None:
        """Remove the callers of rules that are not open."""
        found: dict[Origin, dict[Item, History]] = {}
        for origin, item, history in self._calls():
            found.setdefault(origin, {})[item] = history
        self._callers = found


def _meet(histories: dict[_K, History], key: _K, history: History) -> bool:
    """Note that a history may be the true one of a key; return whether less is known than before."""
    known = histories.get(key)
    common = history if known is None else known.common(history)
    histories[key] = common
    return common != known
