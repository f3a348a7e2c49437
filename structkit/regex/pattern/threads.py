"""Ordered threads: which texts `re.match` matches as a whole, and what must not follow them.

A text is in the leftmost-first language of a pattern if `re.match` ends at its end: `a|ab` does not contain `ab`. The
subset construction over ordered lists of threads, cut after the first thread that has matched, accepts this language.
Threads carry the lookaheads that are still open; a thread that has matched with open lookaheads stays in the list,
because the threads behind it count if a lookahead fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from structkit.errors import LimitExceeded
from structkit.regex.charset import contains, partition, union
from structkit.regex.nodes import EMPTY, CharClass, Network, Node
from structkit.regex.pattern.instructions import Char, End, Instruction, Look, Match, Program, Split

__all__ = [
    "ENDED",
    "MATCH",
    "MAX_STEPS",
    "Condition",
    "State",
    "TerminalAutomaton",
    "Thread",
    "Threads",
    "build_terminal",
    "network_of",
]

MATCH = 0
"""The instruction of a thread that matches here."""

ENDED = -1
"""The instruction of a thread that matched an earlier part of the text and has open lookaheads."""

_MAX_STATES = 20_000
"""Maximum states of the automaton of a pattern."""

_MAX_THREADS = 20_000
"""Maximum threads that are examined in one step."""

_MAX_COMPARED = 100_000
"""Maximum steps to find out whether a pattern depends on the text before it."""

MAX_STEPS = 700_000
"""Maximum steps to build the automaton of a pattern, at about 1 µs each; practical patterns take up to 40,000."""


class Condition(NamedTuple):
    """An open lookahead.

    Attributes:
        negate: Whether it succeeds if the text ahead does not match.
        threads: The threads with which it may continue, each with the lookaheads inside it that are open.
        at_end: Whether the text ahead matches if the text ends here.
        size: The number of threads at which a step looks, in the lookaheads inside, too. They may share such.
        instructions: The instructions of all of these threads.
    """

    negate: bool
    threads: frozenset[Thread]
    at_end: bool
    size: int
    instructions: frozenset[int]

    @property
    def holds_at_end(self) -> bool:
        """Whether the lookahead succeeds if the text ends here."""
        return self.at_end != self.negate


Pending: TypeAlias = "frozenset[Condition]"


class Thread(NamedTuple):
    """An instruction, `Char`, `Match` or `ENDED`, with the lookaheads that are open."""

    instruction: int
    pending: Pending


class State(NamedTuple):
    """The threads in the order of preference, and the progress of each lookbehind."""

    threads: tuple[Thread, ...]
    behind: tuple[frozenset[int], ...] = ()

    @property
    def size(self) -> int:
        """The number of threads and of instructions of lookarounds at which a step looks."""
        looks = sum(look.size for thread in self.threads for look in thread.pending)
        return len(self.threads) + looks + sum(map(len, self.behind))

    @property
    def end(self) -> int | None:
        """The thread that decides if the text ends here; `None` if no thread has matched."""
        for position, thread in enumerate(self.threads):
            has_matched = thread.instruction in (MATCH, ENDED)
            if has_matched and all(condition.holds_at_end for condition in thread.pending):
                return position
        return None

    @property
    def can_match_at_end(self) -> bool:
        """Whether a thread has matched, if the text ends here."""
        return self.end is not None

    @property
    def is_accepting(self) -> bool:
        """Whether `re.match` ends here, if the text ends here."""
        end = self.end
        return end is not None and self.threads[end].instruction == MATCH


_NONE: Pending = frozenset()


class Threads:
    """The steps of a program.

    Args:
        program: The program.
        ordered: Whether the order of the threads decides where a match ends. Otherwise all ways to match count, as for
            `re.fullmatch`.

    Attributes:
        steps: The number of instructions that were examined.
    """

    def __init__(self, program: Program, *, ordered: bool = True) -> None:
        self.program = program
        self.ordered = ordered
        self.code: list[Instruction] = program.instructions
        self.steps = 0
        self._entries = {start: self._plain_closure([start]) for start in program.lookbehinds}
        self._opened: dict[tuple[int, bool], Condition | bool] = {}
        self._stepped: dict[tuple[Condition, int], Condition | bool] = {}

    def start(self, behind: tuple[frozenset[int], ...] | None = None) -> State:
        """Return the state of the empty text.

        Args:
            behind: The progress of the lookbehinds in the text before; by default there is no text before.
        """
        if behind is None:
            behind = tuple(self._entries[start] for start in self.program.lookbehinds)
        return State(self._settled([Thread(self.program.start, _NONE)], behind), behind)

    def step(self, state: State, code_point: int) -> State:
        """Return the state after a code point."""
        behind = tuple(
            self._entries[start] | self._plain_step(progress, code_point)
            for start, progress in zip(self.program.lookbehinds, state.behind, strict=True)
        )
        moved, _ = self._moved(state, code_point)
        return State(self._settled(moved, behind), behind)

    def step_or_match(self, state: State, code_point: int) -> State | None:
        """Return the state after a code point; `None` if one of its threads has certainly matched."""
        _, has_matched = self._moved(state, code_point)
        after = self.step(state, code_point)
        if has_matched or Thread(MATCH, _NONE) in after.threads:
            return None
        return after

    def _moved(self, state: State, code_point: int) -> tuple[list[Thread], bool]:
        """Return the threads after a code point up to a match whose lookaheads succeed, and whether there is one."""
        moved: list[Thread] = []
        self.steps += len(state.threads)
        for thread in state.threads:
            pending = self.look_step(thread.pending, code_point)
            if pending is None:
                continue
            if thread.instruction in (MATCH, ENDED):
                if not self.ordered:
                    continue
                if not pending:  # the lookaheads succeeded: this is where the match ends
                    return moved, True
                moved.append(Thread(ENDED, pending))
                continue
            instruction = self.code[thread.instruction]
            if isinstance(instruction, Char) and contains(instruction.charset, code_point):
                moved.append(Thread(instruction.after, pending))
        return moved, False

    def _settled(self, threads: Iterable[Thread], behind: tuple[frozenset[int], ...]) -> tuple[Thread, ...]:
        """Return the threads at characters and ends; without an order those that no other one makes superfluous."""
        found = tuple(self._closure(threads, behind))
        if self.ordered:
            return found
        least: dict[int, list[Pending]] = {}
        for instruction, pending in sorted(set(found), key=lambda thread: len(thread.pending)):
            known = least.setdefault(instruction, [])
            if not any(fewer <= pending for fewer in known):
                known.append(pending)
        return tuple(
            Thread(instruction, pending)
            for instruction, known in sorted(least.items())
            for pending in (known if len(known) == 1 else sorted(known, key=_order))
        )

    def _closure(self, threads: Iterable[Thread], behind: tuple[frozenset[int], ...]) -> Iterator[Thread]:
        """Yield the threads at characters and ends, in order; none that needs all that an end before it needs."""
        seen: set[tuple[Thread, frozenset[int | None]]] = set()
        ends: list[Pending] = []
        # Beside each thread are the loops around it that it entered without having read a character since: such a
        # round ends the loop.
        nothing: frozenset[int | None] = frozenset()
        pending = [(thread, nothing) for thread in threads][::-1]
        last = self.steps + _MAX_THREADS
        while pending:
            self.steps += 1
            if self.steps > last:
                raise LimitExceeded(
                    "nfa_states", _MAX_THREADS, "a pattern with lookarounds in alternatives", is_fixed=True
                )
            thread, entered = pending.pop()
            number, looks = thread
            if any(end <= looks for end in ends):
                continue
            if number == ENDED:
                yield thread
                ends.append(looks)
                continue
            instruction = self.code[number]
            if isinstance(instruction, Split) and instruction.end is not None:
                if instruction.loop in entered:
                    pending.append((Thread(instruction.end, looks), entered - {instruction.loop}))
                    continue
                entered |= {instruction.loop}
            if (thread, entered) in seen:
                continue
            seen.add((thread, entered))
            match instruction:
                case Char():
                    yield thread
                case Match():
                    yield thread
                    if self.ordered:
                        ends.append(looks)
                case Split(after, end, loop):
                    for each in reversed(after):
                        pending.append((Thread(each, looks), entered - {loop} if each == end else entered))
                case Look(start, after, True, negate):
                    opened = self._looking(looks, start, negate)
                    if opened is not None:
                        pending.append((Thread(after, opened), entered))
                case Look(start, after, False, negate):
                    progress = behind[self.program.lookbehinds.index(start)]
                    if (MATCH in progress) != negate:
                        pending.append((Thread(after, looks), entered))

    def look_step(self, pending: Pending, code_point: int) -> Pending | None:
        """Return the lookaheads that stay open after a code point; `None` if one fails."""
        if not pending:
            return pending
        kept = set()
        for condition in pending:
            self.steps += 1
            key = condition, code_point
            if key not in self._stepped:
                self.steps += len(condition.threads)
                moves = self._look_moves(condition.threads, code_point)
                self._stepped[key] = self._open(condition.negate, moves)
            left = self._stepped[key]
            if left is False:
                return None
            if left is not True:
                kept.add(left)
        return frozenset(kept)

    def _look_moves(self, threads: Iterable[Thread], code_point: int) -> Iterator[Thread]:
        """Yield the threads of a lookahead after a code point."""
        for instruction, looks in threads:
            pending = self.look_step(looks, code_point)
            if pending is None:
                continue
            code = self.code[instruction]
            if isinstance(code, Match):
                yield Thread(instruction, pending)
            elif isinstance(code, Char) and contains(code.charset, code_point):
                yield Thread(code.after, pending)

    def _looking(self, looks: Pending, start: int, negate: bool) -> Pending | None:
        """Return open lookaheads and another one; `None` if it fails."""
        if (start, negate) not in self._opened:
            self._opened[start, negate] = self._open(negate, [Thread(start, _NONE)])
        condition = self._opened[start, negate]
        if isinstance(condition, bool):
            return looks if condition else None
        return looks | {condition}

    def _open(self, negate: bool, threads: Iterable[Thread]) -> Condition | bool:
        """Return the lookahead of some threads; if it is decided, whether it succeeds."""
        reached = dict.fromkeys(threads)
        pending = list(reached)
        while pending:
            thread = pending.pop()
            instruction = self.code[thread.instruction]
            following: list[Thread] = []
            if isinstance(instruction, Split):
                following = [Thread(each, thread.pending) for each in instruction.after]
            elif isinstance(instruction, Look):
                looks = self._looking(thread.pending, instruction.start, instruction.negate)
                following = [] if looks is None else [Thread(instruction.after, looks)]
            pending += [each for each in following if each not in reached]
            reached.update(dict.fromkeys(following))
            if len(reached) > _MAX_THREADS:
                raise LimitExceeded(
                    "nfa_states", _MAX_THREADS, "a pattern with lookarounds inside lookarounds", is_fixed=True
                )
        self.steps += len(reached)
        if Thread(MATCH, _NONE) in reached:
            return not negate
        left = frozenset(
            each for each in reached if not isinstance(self.code[each.instruction], Split | Look)
        )
        if not left:
            return negate
        at_end = any(
            isinstance(self.code[number], Match | End) and all(look.holds_at_end for look in looks)
            for number, looks in left
        )
        inner = {look for _, looks in left for look in looks}
        instructions = {number for number, _ in left}.union(*(look.instructions for look in inner))
        size = len(left) + sum(look.size for _, looks in left for look in looks)
        return Condition(negate, left, at_end, size, frozenset(instructions))

    def _plain_step(self, instructions: Iterable[int], code_point: int) -> frozenset[int]:
        """Return the instructions of a lookaround after a code point."""
        moved = []
        for number in instructions:
            self.steps += 1
            instruction = self.code[number]
            if isinstance(instruction, Char) and contains(instruction.charset, code_point):
                moved.append(instruction.after)
        return self._plain_closure(moved)

    def _plain_closure(self, numbers: list[int]) -> frozenset[int]:
        reached, pending = set(numbers), list(numbers)
        while pending:
            instruction = self.code[pending.pop()]
            if isinstance(instruction, Split):
                pending += [each for each in instruction.after if each not in reached]
                reached.update(instruction.after)
        self.steps += len(reached)
        return frozenset(number for number in reached if not isinstance(self.code[number], Split))

    def reachable(self, start: int) -> frozenset[int]:
        """Return the instructions of a lookaround."""
        reached, pending = {start}, [start]
        while pending:
            instruction = self.code[pending.pop()]
            following: tuple[int, ...] = ()
            if isinstance(instruction, Split):
                following = instruction.after
            elif isinstance(instruction, Char):
                following = (instruction.after,)
            pending += [each for each in following if each not in reached]
            reached.update(following)
        return frozenset(number for number in reached if not isinstance(self.code[number], Split))

    def classes_at(self, state: State) -> Iterator[CharClass]:
        """Yield the classes that decide on the next step."""
        numbers = {thread.instruction for thread in state.threads}
        numbers.update(n for thread in state.threads for look in thread.pending for n in look.instructions)
        for start, progress in zip(self.program.lookbehinds, state.behind, strict=False):
            numbers |= progress | self._entries[start]
        for number in numbers:
            if number != ENDED and isinstance(instruction := self.code[number], Char):
                yield instruction.charset


def _order(pending: Pending) -> list[tuple[bool, list[tuple[int, object]]]]:
    return sorted(
        (condition.negate, sorted((number, _order(looks)) for number, looks in condition.threads))
        for condition in pending
    )


@dataclass(frozen=True)
class TerminalAutomaton:
    """The automaton of the leftmost-first language of a pattern, over code points.

    Attributes:
        threads: The steps of the pattern.
        states: The threads of each state; the start is state 0.
        moves: The moves `(source, class, target)`.
        accepting: The accepting states.
    """

    threads: Threads
    states: tuple[State, ...]
    moves: tuple[tuple[int, CharClass, int], ...]
    accepting: tuple[int, ...]

    @cached_property
    def node(self) -> Network:
        """The language."""
        return network_of(len(self.states), self.moves, self.accepting)

    @cached_property
    def outgoing(self) -> Mapping[int, list[tuple[CharClass, int]]]:
        """The moves of each state: the class and the target."""
        found: dict[int, list[tuple[CharClass, int]]] = {}
        for source, charset, target in self.moves:
            found.setdefault(source, []).append((charset, target))
        return found

    @property
    def can_match(self) -> bool:
        """Whether a text matches, whatever its lookaheads find behind it, if nothing came before it."""
        return any(thread.instruction == MATCH for state in self.states for thread in state.threads)

    @cached_property
    def looks_behind(self) -> bool:
        """Whether a lookbehind may depend on the text before the terminal."""
        return bool(self.threads.program.lookbehinds) and self._start_depends_on_the_past()

    def _start_depends_on_the_past(self) -> bool:
        """Return whether some progress of the lookbehinds before the start changes which texts match.

        A comparison that takes long is answered with true.
        """
        starts = self.threads.program.lookbehinds
        nothing = self.threads.start().behind
        everything = tuple(self.threads.reachable(start) for start in starts)
        pasts = [everything]
        pasts += [(*nothing[:n], everything[n], *nothing[n + 1 :]) for n in range(len(starts))]
        seen: set[tuple[State, State]] = set()
        pending = [(self.threads.start(), self.threads.start(past)) for past in pasts]
        last = self.threads.steps + _MAX_COMPARED
        while pending and self.threads.steps <= last:
            alone, after_text = pair = pending.pop()
            if pair in seen:
                continue
            seen.add(pair)
            if alone.threads != after_text.threads:
                return True
            if alone.behind == after_text.behind:
                continue
            for charset in partition((*self.threads.classes_at(alone), *self.threads.classes_at(after_text))):
                code_point = charset.ranges[0][0]
                pending.append(
                    (self.threads.step(alone, code_point), self.threads.step(after_text, code_point))
                )
        return bool(pending)


def build_terminal(program: Program, max_steps: int = MAX_STEPS) -> TerminalAutomaton:
    """Return the automaton of a program, as if nothing came before or after the text.

    Args:
        program: The program.
        max_steps: The maximum number of instructions that are examined.

    Raises:
        LimitExceeded: It has too many states.

    >>> from structkit.regex.pattern.program import read_pattern
    >>> len(build_terminal(read_pattern("a|ab")).states)
    2
    """
    threads = Threads(program)
    start = threads.start()
    numbers, states, moves = {start: 0}, [start], []
    for source, state in enumerate(states):
        targets: dict[int, list[CharClass]] = {}
        threads.steps += state.size
        for charset in partition(threads.classes_at(state)):
            after = threads.step(state, charset.ranges[0][0])
            threads.steps += len(charset.ranges) // 4
            if threads.steps > max_steps:
                raise LimitExceeded("nfa_states", max_steps, "the automaton of a pattern")
            if not after.threads:
                continue
            target = numbers.setdefault(after, len(states))
            if target == len(states):
                if target >= _MAX_STATES:
                    raise LimitExceeded("states", _MAX_STATES, "the automaton of a terminal")
                states.append(after)
            targets.setdefault(target, []).append(charset)
        moves += [(source, union(parts), target) for target, parts in targets.items()]
    accepting = tuple(number for number, state in enumerate(states) if state.is_accepting)
    return TerminalAutomaton(threads, tuple(states), tuple(moves), accepting)


def network_of(size: int, moves: Iterable[tuple[int, CharClass, int]], accepting: Iterable[int]) -> Network:
    """Return an automaton over code points, of `size` states with the start 0, as a node."""
    # State 1 of a network is its end, which is a new state.
    numbers = [state + (state > 0) for state in range(size)]
    found: list[tuple[int, Node, int]] = [(numbers[a], charset, numbers[b]) for a, charset, b in moves]
    found += [(numbers[state], EMPTY, 1) for state in dict.fromkeys(accepting)]
    return Network(size + 1, tuple(found))
