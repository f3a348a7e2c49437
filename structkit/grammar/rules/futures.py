"""What threads that continue behind a terminal require of the texts behind it, as one automaton for all of them.

The automaton is built as far as it is needed. Threads that match in the same texts are one (Hopcroft and Karp 1971),
and threads are superfluous beside others that match wherever they do: so few requirements differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from structkit.limits import Work
from structkit.regex.charset import ANY, complement, contains, intersection, partition, union
from structkit.regex.nodes import CharClass
from structkit.regex.pattern.threads import State, Threads

__all__ = ["Future", "Futures", "Running"]

Running: TypeAlias = "tuple[int, State]"
"""A terminal, by its number, and threads of it that continue behind its end."""

_MAX_COMPARED = 400
"""Maximum pairs of threads that are compared to find out whether two match in the same texts."""

_MAX_FOLLOWED = 2_000
"""Maximum states that are followed to the ends of their texts before any two of them are compared."""

_STEPS_PER_CLASS, _STEPS_PER_THREAD = 100, 50
"""The work of a class of characters with which threads are tried, and of each thread there; see `Limits.work`."""

_STEPS_PER_PAIR, _STEPS_PER_LOOK = 15, 5
"""The work of a comparison of the moves of two threads, and of a look whether two threads were compared."""


class Future(NamedTuple):
    """What threads require of the next character.

    Attributes:
        matched: The characters after which one of them has matched.
        open: The characters after which one may still match.
        at_end: Whether one has matched if the text ends here.
        moves: The characters after which one may still match, each class with the number of the threads after it.
    """

    matched: CharClass
    open: CharClass
    at_end: bool
    moves: tuple[tuple[CharClass, int], ...]


@dataclass
class Futures:
    """The automaton of the texts in which threads match.

    Attributes:
        threads: The steps of a terminal, by its number.
        work: What the work is taken from.
    """

    threads: Callable[[int], Threads]
    work: Work
    _running: list[Running] = field(default_factory=list)
    _numbers: dict[Running, int] = field(default_factory=dict)
    _futures: dict[int, Future] = field(default_factory=dict)
    _first: dict[int, int] = field(default_factory=dict)
    _by_content: dict[object, int] = field(default_factory=dict)
    _endless: set[int] = field(default_factory=set)
    _alike: dict[tuple[CharClass, CharClass, bool], list[int]] = field(default_factory=dict)
    _covered: dict[tuple[int, int], bool] = field(default_factory=dict)
    _known: dict[object, list[frozenset[Running]]] = field(default_factory=dict)
    _reduced: dict[tuple[frozenset[Running], CharClass], frozenset[Running]] = field(default_factory=dict)

    def number(self, running: Running) -> int:
        """Return the number of threads."""
        found = self._numbers.setdefault(running, len(self._running))
        if found == len(self._running):
            self._running.append(running)
        return found

    def of(self, running: Running) -> Future:
        """Return what threads require of the next character."""
        return self.at(self.number(running))

    def at(self, number: int) -> Future:
        """Return what the threads with a number require of the next character."""
        if number not in self._futures:
            self._futures[number] = self._future(*self._running[number])
        return self._futures[number]

    def _future(self, terminal: int, state: State) -> Future:
        threads = self.threads(terminal)
        classes = partition([*threads.classes_at(state), ANY])
        steps = len(classes) * (_STEPS_PER_CLASS + _STEPS_PER_THREAD * state.size)
        self.work.pay(steps, "what the terminals of a grammar require of the text behind them")
        matched: list[CharClass] = []
        targets: dict[int, list[CharClass]] = {}
        for charset in classes:
            after = threads.step_or_match(state, charset.ranges[0][0])
            if after is None:
                matched.append(charset)
            elif after.threads:
                targets.setdefault(self.number((terminal, after)), []).append(charset)
        moves = tuple((union(charsets), target) for target, charsets in targets.items())
        return Future(union(matched), union(c for c, _ in moves), state.can_match_at_end, moves)

    def step(self, running: Running, code_point: int) -> Running | None:
        """Return the threads after a code point; `None` if one has matched. There are none if no one can match."""
        future = self.of(running)
        if contains(future.matched, code_point):
            return None
        for charset, target in future.moves:
            if contains(charset, code_point):
                return self._running[target]
        return running[0], State(())

    def reduced(self, never: frozenset[Running], allowed: CharClass) -> frozenset[Running]:
        """Return the first known threads that match wherever these do, if one of some characters comes next.

        None of the threads has matched after one of the characters.
        """
        key = never, allowed
        if key not in self._reduced:
            signature = self._signature(never, allowed)
            known = self._known.setdefault(signature, [])
            found = next((each for each in known if self._is_known(each, allowed, signature)), None)
            if found is None:
                found = never
                for each in sorted(never, key=self.number) if len(never) > 1 else ():
                    if self._signature(found - {each}, allowed) == signature:
                        found -= {each}
                known.append(found)
            self._reduced[key] = found
        return self._reduced[key]

    def _is_known(self, never: frozenset[Running], allowed: CharClass, signature: object) -> bool:
        """Return whether threads have a signature also where other characters may come next."""
        has_matched = any(intersection(self.of(each).matched, allowed).ranges for each in never)
        return not has_matched and self._signature(never, allowed) == signature

    def _signature(self, never: frozenset[Running], allowed: CharClass) -> object:
        """Return a value that is equal for threads that match in the same texts."""
        futures = [self.of(each) for each in never]
        moves = [
            (common, self._first_equal(target))
            for future in futures
            for charset, target in future.moves
            if (common := intersection(charset, allowed)).ranges
        ]
        found: dict[frozenset[int], list[CharClass]] = {}
        for part in partition(charset for charset, _ in moves) if len(futures) > 1 else ():
            code_point = part.ranges[0][0]
            targets = {target for charset, target in moves if contains(charset, code_point)}
            found.setdefault(self._without_covered(targets), []).append(part)
        if len(futures) == 1:
            for charset, target in moves:
                found.setdefault(frozenset([target]), []).append(charset)
        parts = frozenset((targets, union(charsets)) for targets, charsets in found.items())
        return parts, any(future.at_end for future in futures)

    def _without_covered(self, numbers: set[int]) -> frozenset[int]:
        """Return threads without those beside which others match wherever they do."""
        kept, looks = set(numbers), 0
        for number in sorted(numbers) if len(numbers) > 1 else ():
            for other in kept:
                looks += 1
                if other != number and self._covers(other, number):
                    kept.remove(number)
                    break
        self.work.pay(_STEPS_PER_LOOK * looks, "what the terminals of a grammar require of each other")
        return frozenset(kept)

    def _first_equal(self, number: int) -> int:
        """Return the first known threads that match in the same texts as some threads."""
        if number not in self._first:
            self._follow(number)
        if number not in self._first:
            future = self.at(number)
            alike = self._alike.setdefault((future.matched, future.open, future.at_end), [])
            self._first[number] = next((other for other in alike if self._are_equal(number, other)), number)
            if self._first[number] == number:
                alike.append(number)
        return self._first[number]

    def _follow(self, number: int) -> None:
        """Find the first equal threads of those whose texts have an end, and of all after them, from the ends on.

        Threads are equal then if they have the same moves to equal threads. Without this, each count of a repetition
        would be compared with all others, up to the end.
        """
        path = {} if number in self._endless else {number: self._targets(number)}
        followed = 0
        while path:
            current, following = next(reversed(path.items()))
            target = next((each for each in following if each not in self._first), None)
            if target is None:
                path.popitem()
                self._first[current] = self._by_content.setdefault(self._content(current), current)
            elif target in path or target in self._endless or followed == _MAX_FOLLOWED:
                self._endless.update(path)
                return
            else:
                followed += 1
                path[target] = self._targets(target)

    def _targets(self, number: int) -> Iterator[int]:
        return iter([target for _, target in self.at(number).moves])

    def _content(self, number: int) -> object:
        """Return a value that is equal for threads with the same moves to equal threads."""
        future = self.at(number)
        targets: dict[int, list[CharClass]] = {}
        for charset, target in future.moves:
            targets.setdefault(self._first[target], []).append(charset)
        moves = frozenset((target, union(charsets)) for target, charsets in targets.items())
        return future.matched, future.at_end, moves

    def _are_equal(self, one: int, other: int) -> bool:
        """Return whether threads match in the same texts; a comparison that takes long is answered with false."""
        parents: dict[int, int] = {}

        def root(number: int) -> int:
            while number in parents:
                number = parents[number]
            return number

        pending = [(one, other)]
        while pending:
            a, b = (root(self._first.get(each, each)) for each in pending.pop())
            if a == b:
                continue
            left, right = self.at(a), self.at(b)
            if left[:3] != right[:3] or len(parents) > _MAX_COMPARED:
                return False
            parents[a] = b
            pending += ((x, y) for _, x, y in self._common(left.moves, right.moves))
        return True

    def _covers(self, wide: int, narrow: int) -> bool:
        """Return whether threads match wherever others do; a comparison that takes long is answered with false."""
        key = wide, narrow
        if key not in self._covered:
            self._covered[key] = self._is_covered(wide, narrow)
        return self._covered[key]

    def _is_covered(self, wide: int, narrow: int) -> bool:
        seen = {(wide, narrow)}
        pending = [(wide, narrow)]
        while pending:
            if len(seen) > _MAX_COMPARED:
                return False
            left, right = (self.at(each) for each in pending.pop())
            if (right.at_end and not left.at_end) or not _is_within(right.matched, left.matched):
                return False
            if not _is_within(right.open, union([left.matched, left.open])):
                return False
            for _, x, y in self._common(left.moves, right.moves):
                if x != y and (x, y) not in seen:
                    seen.add((x, y))
                    pending.append((x, y))
        return True

    def _common(
        self, left: Iterable[tuple[CharClass, int]], right: Iterable[tuple[CharClass, int]]
    ) -> Iterator[tuple[CharClass, int, int]]:
        """Yield the characters that two moves have in common, with the targets of both."""
        right = tuple(right)
        for charset, target in left:
            self.work.pay(
                _STEPS_PER_PAIR * len(right), "what the terminals of a grammar require of each other"
            )
            for other, other_target in right:
                if (common := intersection(charset, other)).ranges:
                    yield common, target, other_target


def _is_within(inner: CharClass, outer: CharClass) -> bool:
    return not inner.ranges or not intersection(inner, complement(outer)).ranges
