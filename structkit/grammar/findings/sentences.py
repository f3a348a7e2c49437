"""Short sentences of a grammar, as sequences of the names of terminals."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from structkit.grammar.findings.table import Reduction, Stack, Table

__all__ = ["Prefix", "Sentence", "Sentences", "Step"]

Sentence: TypeAlias = "tuple[str, ...]"

_STACKS_OF_STATE = 4
"""Maximum number of stacks that are kept for each state on top."""

_MAX_STACKS = 20_000
"""Maximum number of stacks of all states."""

_MAX_LENGTH = 100
"""Maximum number of terminals of a sentence."""

_MAX_ENDING_STEPS = 500
"""Maximum number of steps from a stack to the end of a sentence."""


class Prefix(NamedTuple):
    """A beginning of sentences, and the states of a parser behind it.

    Attributes:
        cost: The length of its text.
        stack: The states.
        read: The terminals.
    """

    cost: int
    stack: Stack
    read: Sentence


class Step(NamedTuple):
    """What can come next in a state: a terminal, or the shortest text of a rule.

    Attributes:
        bound: At least the length of a text from the state to the end that begins with this.
        cost: The length of its text.
        read: The terminals.
        target: The state behind it.
    """

    bound: float
    cost: int
    read: Sentence
    target: int


class _Ending(NamedTuple):
    """The shortest rest of an alternative: its length, its terminals, the end of its rule, and whether all ends."""

    cost: int
    read: Sentence
    end: Reduction
    is_whole: bool


class Sentences:
    """The sentences of a grammar.

    Args:
        table: The parser.
        rules: The rules of the grammar as Lark holds them.
        lengths: The length of the shortest text of each terminal that has one.

    Attributes:
        table: The parser.
        shortest: The shortest sequence of terminals of each rule that has one, with its length.
        bounds: At least the length of a text from each state to the end.
        steps: What can come next in each state; what may lead to the shortest text is first.
    """

    def __init__(self, table: Table, rules: Sequence[Any], lengths: Mapping[str, int]) -> None:
        self.table = table
        self._lengths = lengths
        self.shortest = _shortest(rules, lengths)
        self._endings = [[*self._endings_of(state)] for state in range(len(table.items))]
        self.bounds = self._least_costs()
        self.steps = [sorted(self._steps_of(state)) for state in range(len(table.items))]
        self._prefixes = self._shortest_prefixes()

    def prefixes(self, state: int) -> Sequence[Prefix]:
        """Return the shortest beginnings behind which a state is on top; at most a few."""
        return self._prefixes.get(state, ())

    def through(self, terminal: str, most: int) -> list[Sentence]:
        """Return sentences with a terminal, one for each state that reads it, the shortest first.

        Args:
            terminal: The name of the terminal.
            most: The maximum number of sentences.
        """
        found = []
        for state, shifts in enumerate(self.table.shifts):
            cost = self._lengths.get(terminal)
            if cost is None or terminal not in shifts:
                continue
            for prefix in self.prefixes(state)[:1]:
                target = shifts[terminal]
                longer = Prefix(prefix.cost + cost, (*prefix.stack, target), (*prefix.read, terminal))
                found.append((longer.cost + self.bounds[target], longer))
        ended = (self.ended(prefix) for _, prefix in sorted(found)[:most])
        return [read for _, read in sorted(each for each in ended if each is not None)]

    def shortest_first(self, most: int) -> Iterator[Sentence]:
        """Yield sentences, the shortest first.

        Args:
            most: The maximum number of steps.
        """
        numbers = count()
        pending = [(self.bounds[0], next(numbers), Prefix(0, (0,), ()))]
        seen: set[tuple[Stack, Sentence]] = set()
        for _ in range(most):
            if not pending:
                return
            _, _, prefix = heapq.heappop(pending)
            top = prefix.stack[-1]
            if (prefix.stack, prefix.read) in seen or len(prefix.read) > _MAX_LENGTH:
                continue
            seen.add((prefix.stack, prefix.read))
            after = [
                Prefix(prefix.cost + cost, (*prefix.stack, target), (*prefix.read, *read))
                for _, cost, read, target in self.steps[top]
                if len(read) <= 1
            ]
            for begun, rest, is_whole in self.table.items[top]:
                if not rest and is_whole:
                    yield prefix.read
                elif not rest and (stack := self.table.reduced(prefix.stack, begun)) is not None:
                    after.append(prefix._replace(stack=stack))
            for longer in after:
                bound = longer.cost + self.bounds[longer.stack[-1]]
                heapq.heappush(pending, (bound, next(numbers), longer))

    def ended(self, prefix: Prefix) -> tuple[int, Sentence] | None:
        """Return the shortest sentence with a beginning, after its length; `None` if none is found."""
        numbers = count()
        pending = [(float(prefix.cost), next(numbers), prefix, False)]
        seen: set[Stack] = set()
        for _ in range(_MAX_ENDING_STEPS):
            if not pending:
                return None
            _, _, prefix, is_whole = heapq.heappop(pending)
            if is_whole:
                return prefix.cost, prefix.read
            if prefix.stack in seen:
                continue
            seen.add(prefix.stack)
            for ending in self._endings[prefix.stack[-1]]:
                cost, read = prefix.cost + ending.cost, (*prefix.read, *ending.read)
                stack = prefix.stack if ending.is_whole else self.table.reduced(prefix.stack, ending.end)
                if stack is None or len(read) > _MAX_LENGTH:
                    continue
                bound = cost + (0 if ending.is_whole else self.bounds[stack[-1]])
                heapq.heappush(pending, (bound, next(numbers), Prefix(cost, stack, read), ending.is_whole))
        return None

    def _read(self, symbols: Iterable[str]) -> tuple[int, Sentence] | None:
        """Return the shortest text of symbols; `None` if one of them has none."""
        cost, read = 0, list[str]()
        for symbol in symbols:
            if symbol in self._lengths:
                cost += self._lengths[symbol]
                read.append(symbol)
            elif symbol in self.shortest:
                cost += self.shortest[symbol][0]
                read += self.shortest[symbol][1]
            else:
                return None
        return (cost, tuple(read)) if len(read) <= _MAX_LENGTH else None

    def _endings_of(self, state: int) -> Iterable[_Ending]:
        for begun, rest, is_whole in self.table.items[state]:
            if (read := self._read(rest)) is not None:
                yield _Ending(*read, begun, is_whole)

    def _least_costs(self) -> list[float]:
        """Return at least the length of a text from each state to the end, whatever is below it."""
        sources: list[list[int]] = [[] for _ in self._endings]
        for state, moves in enumerate(self.table.gotos):
            for after in (*self.table.shifts[state].values(), *moves.values()):
                sources[after].append(state)
        users: list[list[tuple[int, int]]] = [[] for _ in self._endings]
        pending: list[tuple[float, int]] = []
        for state, endings in enumerate(self._endings):
            for cost, _, end, is_whole in endings:
                if is_whole:
                    pending.append((cost, state))
                    continue
                below = {state}
                for _ in end.symbols:
                    below = {source for each in below for source in sources[each]}
                for each in below:
                    if end.rule in (moves := self.table.gotos[each]):
                        users[moves[end.rule]].append((cost, state))
        heapq.heapify(pending)
        found = [float("inf")] * len(self._endings)
        while pending:
            length, state = heapq.heappop(pending)
            if length < found[state]:
                found[state] = length
                for cost, user in users[state]:
                    heapq.heappush(pending, (length + cost, user))
        return found

    def _steps_of(self, state: int) -> Iterable[Step]:
        for moves in (self.table.shifts[state], self.table.gotos[state]):
            for symbol, target in moves.items():
                found = self._read((symbol,))
                if found is not None and self.bounds[target] < float("inf"):
                    yield Step(found[0] + self.bounds[target], *found, target)

    def _shortest_prefixes(self) -> dict[int, list[Prefix]]:
        """Return the shortest beginnings for each state on top."""
        found: dict[int, list[Prefix]] = {}
        numbers = count()
        pending = [(0, next(numbers), Prefix(0, (0,), ()))]
        total = 0
        while pending and total < _MAX_STACKS:
            _, _, prefix = heapq.heappop(pending)
            top = prefix.stack[-1]
            known = found.setdefault(top, [])
            if len(known) >= _STACKS_OF_STATE:
                continue
            known.append(prefix)
            total += 1
            for _, cost, read, target in self.steps[top]:
                if len(found.get(target, ())) >= _STACKS_OF_STATE or len(prefix.read) > _MAX_LENGTH:
                    continue
                longer = Prefix(prefix.cost + cost, (*prefix.stack, target), (*prefix.read, *read))
                heapq.heappush(pending, (longer.cost, next(numbers), longer))
        return found


def _shortest(rules: Sequence[Any], lengths: Mapping[str, int]) -> dict[str, tuple[int, Sentence]]:
    """Return the shortest sequence of terminals of each rule, with its length (Knuth's generalization of Dijkstra)."""
    users: dict[str, list[int]] = {}
    missing = []
    for number, rule in enumerate(rules):
        called = {symbol.name for symbol in rule.expansion if not symbol.is_term}
        missing.append(len(called))
        for name in called:
            users.setdefault(name, []).append(number)
    found: dict[str, tuple[int, Sentence]] = {}
    pending: list[tuple[int, int]] = []

    def add(number: int) -> None:
        cost = 0
        for symbol in rules[number].expansion:
            if symbol.is_term and symbol.name not in lengths:
                return
            cost += lengths[symbol.name] if symbol.is_term else found[symbol.name][0]
        heapq.heappush(pending, (cost, number))

    for number, left in enumerate(missing):
        if not left:
            add(number)
    while pending:
        cost, number = heapq.heappop(pending)
        name = rules[number].origin.name
        if name in found:
            continue
        read: list[str] = []
        for symbol in rules[number].expansion:
            read += [str(symbol.name)] if symbol.is_term else found[symbol.name][1]
        # A text so long is no example; its beginning only shows that there is one.
        found[name] = cost, tuple(read[: _MAX_LENGTH + 1])
        for user in users.get(name, ()):
            missing[user] -= 1
            if not missing[user]:
                add(user)
    return found
