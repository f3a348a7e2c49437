"""The sentences that a grammar loses, because its LALR parser resolves a conflict."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from structkit.grammar.findings.sentences import Prefix, Sentence, Sentences
from structkit.grammar.findings.table import Conflict, Stack

__all__ = ["LostSentence", "LostSentences"]


class LostSentence(NamedTuple):
    """A sentence that the rules contain and the parser refuses.

    Attributes:
        cost: The length of its text.
        read: The terminals.
        kept: The number of terminals that the parser reads; it refuses the next one, or the end.
    """

    cost: int
    read: Sentence
    kept: int


class _Pair(NamedTuple):
    """A derivation, and the parser on the same terminals.

    Attributes:
        prefix: The states of the derivation, which may end any rule at any place.
        parser: The states of the parser; `None` behind what it refuses.
        kept: The number of terminals that the parser has read.
        is_waiting: Whether the terminal of the conflict comes next.
    """

    prefix: Prefix
    parser: Stack | None
    kept: int
    is_waiting: bool


class LostSentences:
    """The search for lost sentences.

    It follows a derivation that ends the rule of the conflict beside the parser, which does not. Where the parser
    refuses what the derivation reads, the sentence is lost. The search takes the derivations in the order of a lower
    bound for their whole texts (A*), so that the first lost sentence is a shortest one of those with the beginnings
    that it starts from.

    Args:
        sentences: The sentences of the grammar.
        steps: The maximum number of steps for one conflict.
    """

    def __init__(self, sentences: Sentences, steps: int) -> None:
        self._sentences = sentences
        self._table = sentences.table
        self.steps = steps
        self.is_cut_off = False
        """Whether the last search has ended at its bound."""

    def of(self, conflict: Conflict) -> Iterator[LostSentence]:
        """Yield sentences that a conflict loses, shorter ones first."""
        self.is_cut_off = False
        numbers = count()
        pending: list[tuple[float, int, _Pair | LostSentence, int]] = []

        def add(pair: _Pair) -> None:
            state = pair.prefix.stack[-1]
            bound = pair.prefix.cost + self._sentences.bounds[state]
            if bound < float("inf"):
                heapq.heappush(pending, (bound, next(numbers), pair, -1))

        for pair in self._starts(conflict):
            add(pair)
        seen: set[tuple[Stack, Stack | None, bool]] = set()
        found: set[Sentence] = set()
        for _ in range(self.steps):
            if not pending:
                return
            _, _, entry, number = heapq.heappop(pending)
            if isinstance(entry, LostSentence):
                if entry.read not in found:
                    found.add(entry.read)
                    yield entry
                continue
            pair = entry
            if number >= 0:
                # The steps of a state are added one after another, since most are never needed.
                self._add_step(pending, numbers, pair, number + 1)
                pair = self._moved(pair, number)
            key = pair.prefix.stack, pair.parser, pair.is_waiting
            if key in seen:
                continue
            seen.add(key)
            if pair.is_waiting:
                for after in self._towards(conflict.terminal, pair):
                    add(after)
            elif pair.parser is None:
                self._add_lost(pending, numbers, pair)
            elif pair.parser != pair.prefix.stack:
                for after in self._reductions(pair):
                    add(after)
                if self._table.is_end(pair.prefix.stack[-1]) and not self._table.accepts(pair.parser):
                    self._add_lost(pending, numbers, pair)
                self._add_step(pending, numbers, pair, 0)
        self.is_cut_off = True

    def _starts(self, conflict: Conflict) -> Iterator[_Pair]:
        """Yield the derivations that end the rule of a conflict, with the parser that meets the conflict."""
        for prefix in self._sentences.prefixes(conflict.state):
            ended = self._table.reduced(prefix.stack, conflict.lost)
            parser: Stack | None = (0,)
            for terminal in prefix.read:
                parser = None if parser is None else self._table.read(parser, terminal)
            if ended is None or parser is None:
                continue
            if any(stack[-1] == conflict.state for stack in self._table.before(parser, conflict.terminal)):
                yield _Pair(prefix._replace(stack=ended), parser, len(prefix.read), is_waiting=True)

    def _towards(self, terminal: str, pair: _Pair) -> Iterator[_Pair]:
        """Yield what can follow where a terminal comes next."""
        prefix, table = pair.prefix, self._table
        for end in table.ends[prefix.stack[-1]].get(terminal, ()):
            if (stack := table.reduced(prefix.stack, end)) is not None:
                yield pair._replace(prefix=prefix._replace(stack=stack))
        steps = self._sentences.steps[prefix.stack[-1]]
        target = table.shifts[prefix.stack[-1]].get(terminal)
        for number, step in enumerate(steps):
            if step.target == target and step.read == (terminal,):
                yield self._moved(pair, number)

    def _reductions(self, pair: _Pair) -> Iterator[_Pair]:
        """Yield the pairs behind the rules that may end."""
        for begun, rest, is_whole in self._table.items[pair.prefix.stack[-1]]:
            if not rest and not is_whole:
                stack = self._table.reduced(pair.prefix.stack, begun)
                if stack is not None:
                    yield pair._replace(prefix=pair.prefix._replace(stack=stack))

    def _moved(self, pair: _Pair, number: int) -> _Pair:
        """Return the pair behind a step of the state on top."""
        prefix, parser, kept = pair.prefix, pair.parser, pair.kept
        step = self._sentences.steps[prefix.stack[-1]][number]
        for terminal in step.read:
            parser = None if parser is None else self._table.read(parser, terminal)
            kept += parser is not None
        longer = Prefix(prefix.cost + step.cost, (*prefix.stack, step.target), (*prefix.read, *step.read))
        return _Pair(longer, parser, kept, is_waiting=False)

    def _add_step(
        self,
        pending: list[tuple[float, int, _Pair | LostSentence, int]],
        numbers: Iterator[int],
        pair: _Pair,
        number: int,
    ) -> None:
        steps = self._sentences.steps[pair.prefix.stack[-1]]
        if number < len(steps):
            bound = pair.prefix.cost + steps[number].bound
            heapq.heappush(pending, (bound, next(numbers), pair, number))

    def _add_lost(
        self,
        pending: list[tuple[float, int, _Pair | LostSentence, int]],
        numbers: Iterator[int],
        pair: _Pair,
    ) -> None:
        if (ended := self._sentences.ended(pair.prefix)) is not None:
            heapq.heappush(pending, (ended[0], next(numbers), LostSentence(*ended, pair.kept), -1))
