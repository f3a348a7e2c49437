"""All rules of a target: automata that call each other on a stack, each built when it is first called.

A text being read is at one or more `Frame`s. A frame is a state with the rule's counter, on top of the frames to
return to. `Automaton` holds the arrays that the kernels walk; its methods are their meaning, byte by byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from threading import RLock

import numpy as np

from structkit.automaton.core.dfa import DEAD, KEEP, LEAVE, Dfa
from structkit.automaton.core.kernels import BITS, OPERATION
from structkit.automaton.core.tables import Tables, cut
from structkit.automaton.runtime.lazy_builder import Builder
from structkit.automaton.runtime.stack import Below, Fork, Frame, Memory, under
from structkit.errors import LimitExceeded
from structkit.limits import Limits

__all__ = ["Automaton"]

_FRAMES = 50_000
"""Frames that are kept to be found again; each is about 250 bytes."""

_LONGEST_KEY = 1_000
"""Bytes of a text that is looked at to see whether it is the only one of its rule."""


class Automaton:
    """The language of rules. Rule 0 is the start; others are numbered as they are found, states as they are built.

    What it holds grows, what it accepts does not: a rule that was not called yet is as good as built.

    Args:
        tables: The arrays of the rules that are built.
        limits: What may be built.
        builder: What built these and builds the others, or gives it once one of them is called.

    Attributes:
        limits: What may be built.
        built: The numbers of the rules that were built, in their order.
        tables: The arrays of these rules, those of one moment; see `Tables`.
        rule_of: The rule of each state.
        counters: The rounds that each rule's counter needs, and those that it allows, -1 for any number.
        strides: The most rounds that one byte begins in each rule whose counter has an end; at least 1.
        lock: Held while a rule is built.
        frames: The frames made, but for those forgotten.
    """

    def __init__(self, tables: Tables, limits: Limits, builder: Builder | Callable[[], Builder]) -> None:
        self.limits = limits
        self.built: list[int] = []
        self.frames: dict[tuple[int, int, int, Memory | None], Frame] = {}
        self.lock = RLock()
        self._forks: dict[tuple[int, ...], Fork] = {}
        self._builder = builder
        self._dfas: dict[int, Dfa] = {}
        self._states: dict[int, tuple[int, int]] = {}
        self._calling: set[int] = set()
        self._only_texts: dict[int, bytes | None] = {}
        self._bytes: dict[int, tuple[tuple[int, tuple[int, ...]], ...]] = {}
        # One number of these is read several times faster than one of an array.
        self.rule_of: list[int] = []
        self.counters: list[tuple[int, int]] = []
        self.strides: dict[int, int] = {}
        self._final = bytearray()
        self._live = bytearray()
        self._calls: dict[int, tuple[tuple[int, int, int, bool], ...]] = {}
        self._publish(tables)

    @property
    def builder(self) -> Builder:
        """What builds the rules. If these come from the disk cache, the target is read for it.

        Raises:
            StructkitError: As reading and building it does.
        """
        if not isinstance(self._builder, Builder):
            self._builder = self._builder()
        return self._builder

    def enter(self, rule: int) -> int:
        """The first state of a rule, which is built if it was not yet.

        Raises:
            LimitExceeded: Its automaton would be too large; `link` sees to it that this is known before.
        """
        states = self._states.get(rule)
        if states is None:
            with self.lock:
                if rule not in self._states:
                    self._publish(self.builder.build(rule))
                states = self._states[rule]
        return states[0]

    def complete(self) -> Automaton:
        """Build all rules that a text can come to; the automaton itself, for chaining."""
        rule = 0
        while rule < len(self.start):
            self.enter(rule)
            rule += 1
        return self

    def _publish(self, tables: Tables) -> None:
        """Take the arrays with what was added, and tell all threads.

        What `enter` looks at comes last, for who knows a state looks it up in the other arrays.
        """
        first = len(self.rule_of)
        added = tables.rule[first:].tolist()
        lone = added[0] == added[-1]  # as when one rule was built
        sizes = {added[0]: len(added)} if lone else Counter(added)
        self.counters += [(0, -1)] * (len(tables.start) - len(self.counters))
        places: dict[int, tuple[int, int]] = {}
        for rule, size in sizes.items():
            start = tables.start.item(rule)
            states = places[rule] = start, start + size
            if tables.call_first.item(start) < tables.call_first.item(start + size):
                self._calling.add(rule)
            self.counters[rule] = tables.least.item(rule), tables.most.item(rule)
            if self.counters[rule][1] >= 0:
                self.strides[rule] = _stride(tables, *states)
        self._final += tables.final[first:].tobytes()
        self._live += tables.live[first:].tobytes()
        self.rule_of += added
        self.built += sizes
        self.row, self.targets, self.classes, self.rule = tables[:4]
        self.final, self.live, self.quiet, self.call_first = tables[4:8]
        self.call_rule, self.call_next = tables.call_rule, tables.call_next
        self.call_operation, self.call_unique = tables.call_operation, tables.call_unique
        self.least, self.most = tables.least, tables.most
        self.remembers = True in tables.call_unique.tolist()
        self.tables = tables
        self.start = tables.start
        self._states |= places

    def dfa(self, rule: int) -> Dfa:
        """The automaton of a rule that was built and calls no other."""
        dfa = self._dfas.get(rule)
        if dfa is None:
            builder = self._builder
            known = builder.built.get(rule) if isinstance(builder, Builder) else None
            dfa = known.dfa if known else cut(self.tables, rule, *self.states_of(rule))
            self._dfas[rule] = dfa
        return dfa

    def calls_others(self, rule: int) -> bool:
        """Whether a rule that was built calls others."""
        return rule in self._calling

    def frame(self, state: int, count: int = 0, below: Below = None, memory: Memory | None = None) -> Frame:
        """The frame of these values."""
        # What is below lives as long as the one above it, so its id is not used for another meanwhile.
        key = (state, count, id(below), memory)
        frame = self.frames.get(key)
        if frame is None:
            if len(self.frames) >= _FRAMES:
                self.forget()
            frame = self.frames[key] = Frame(state, count, below, memory)
        return frame

    def forget(self) -> None:
        """Forget the frames. Those in use are made a second time then, and differ from the new: slower, not wrong."""
        self.frames = {}
        self._forks = {}

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return sum(array.nbytes for array in self.tables)

    def first(self) -> frozenset[Frame]:
        """Where every text begins."""
        return self.settle([self.frame(self.enter(0))])

    def step(self, frames: Iterable[Frame], byte: int, kept: bytes = b"") -> frozenset[Frame]:
        """Where a text is after one more byte; empty if the byte is not allowed.

        `kept` is the text since the first open unique text began, up to and with the byte; see `Reader.read`.
        """
        moved = []
        for frame in frames:
            rule = self.rule_of[frame.state]
            target = self.targets.item(self.row.item(frame.state) + self.classes.item(rule, byte))
            if target == DEAD:
                continue
            count = self.counted(rule, frame.count, target & OPERATION)
            if count is not None:
                moved.append(self.frame(target >> BITS, count, frame.below, frame.memory))
        return self.settle(moved, kept)

    def can_end(self, frames: Iterable[Frame]) -> bool:
        """Whether the text may end here."""
        for frame in frames:  # noqa: SIM110  # asked at every new state: `any` takes three times as long
            if frame.below is None and self._is_final(frame):
                return True
        return False

    def settle(self, frames: Iterable[Frame], kept: bytes = b"") -> frozenset[Frame]:
        """Enter the rules that may be called and leave those that may have ended, without a byte."""
        settled: set[Frame] = set()
        pending, most = list(frames), self.limits.configurations
        while pending:
            frame = pending.pop()
            if frame in settled:
                continue
            settled.add(frame)
            if len(settled) > most:
                raise LimitExceeded("configurations", most, "the ways to read one text")
            if frame.below is not None and self._is_final(frame):
                backs = [self._back(below, kept) for below in under(frame)]
                pending += [back for back in backs if back is not None]
            calls = self._calls.get(frame.state)
            for callee, after, operation, is_unique in (
                self._calls_of(frame.state) if calls is None else calls
            ):
                count = self.counted(self.rule_of[frame.state], frame.count, operation)
                if count is not None:
                    memory = frame.memory
                    if is_unique:
                        if memory and memory.seen and memory.has(self.only_text(callee)):
                            continue  # a key that was written
                        memory = Memory(memory.seen if memory else (), len(kept))
                    back = self.frame(after, count, frame.below, memory)
                    pending.append(self.frame(self.enter(callee), 0, back))
        live = self._live
        return self.merged([f for f in settled if live[f.state] or (f.below is None and self._is_final(f))])

    def merged(self, frames: Collection[Frame]) -> frozenset[Frame]:
        """The frames, those as one that differ only in what is below them; but none that is inside a unique text."""
        if len({frame.state for frame in frames}) == len(frames):
            return frozenset(frames)
        alike: dict[object, list[Frame]] = {}
        for frame in frames:
            stands_alone = frame.below is None or frame.opened
            key = frame if stands_alone else (frame.state, frame.count, frame.memory)
            alike.setdefault(key, []).append(frame)
        return frozenset(same[0] if len(same) == 1 else self._joined(same) for same in alike.values())

    def _joined(self, same: list[Frame]) -> Frame:
        """The frame that returns to wherever one of these does."""
        below = {id(frame): frame for each in same for frame in under(each)}
        if len(below) > self.limits.configurations:
            raise LimitExceeded("configurations", self.limits.configurations, "the ways to read one text")
        key = tuple(sorted(below))
        fork = self._forks.get(key)
        if fork is None:
            fork = self._forks[key] = Fork(tuple(sorted(below.values(), key=lambda f: (f.state, f.count))))
        return self.frame(same[0].state, same[0].count, fork, same[0].memory)

    def _calls_of(self, state: int) -> tuple[tuple[int, int, int, bool], ...]:
        """The calls of a state: the rule, the state after it, the operation, and whether its text is unique."""
        rules, after, operations, unique = (
            self.call_rule, self.call_next, self.call_operation, self.call_unique,
        )  # fmt: skip
        calls = self._calls[state] = tuple(
            (rules.item(call), after.item(call), operations.item(call), unique.item(call))
            for call in range(self.call_first.item(state), self.call_first.item(state + 1))
        )
        return calls

    def _back(self, frame: Frame, kept: bytes) -> Frame | None:
        """The frame to return to, with the unique text that ends here remembered; `None` if it is not the first."""
        if frame.memory is None or frame.memory.begin is None:
            return frame
        text = kept[frame.memory.begin :]
        if frame.memory.has(text):
            return None
        return self.frame(frame.state, frame.count, frame.below, frame.memory.closed(text))

    def ways_on(self, state: int) -> int:
        """How many bytes lead on from a state, the counter left as it is."""
        return sum(len(leaving) for operation, leaving in self._leaving(state) if operation == KEEP)

    def states_of(self, rule: int) -> tuple[int, int]:
        """The first state of a rule that was built, and the first one after it."""
        return self._states[rule]

    def only_text(self, rule: int) -> bytes | None:
        """The text of a rule that has only one, `None` for others."""
        if rule not in self._only_texts:
            state, text = self.enter(rule), bytearray()
            while not self.final[state] and len(text) < _LONGEST_KEY:
                byte = self.only_byte([self.frame(state)])
                if byte is None or self.call_first[state] < self.call_first[state + 1]:
                    break
                text.append(byte)
                state = int(self.targets[self.row[state] + self.classes[rule, byte]]) >> BITS
            alone = bool(self.final[state]) and not self.live[state]
            self._only_texts[rule] = bytes(text) if alone else None
        return self._only_texts[rule]

    def next_bytes(self, frames: Iterable[Frame]) -> Iterator[int]:
        """The bytes that may come next, some perhaps more than once; unique texts are not looked at."""
        for frame in frames:
            rule = self.rule_of[frame.state]
            for operation, leaving in self._leaving(frame.state):
                if self.counted(rule, frame.count, operation) is not None:
                    yield from leaving

    def _leaving(self, state: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The bytes that leave a state, by what they do to the counter."""
        if state not in self._bytes:
            targets = self.targets[int(self.row[state]) + self.classes[self.rule[state]].astype(np.int32)]
            self._bytes[state] = tuple(
                (
                    operation,
                    tuple(np.flatnonzero((targets != DEAD) & (targets & OPERATION == operation)).tolist()),
                )
                for operation in np.unique(targets[targets != DEAD] & OPERATION).tolist()
            )
        return self._bytes[state]

    def only_byte(self, frames: Iterable[Frame]) -> int | None:
        """The byte that must come next, or `None` if there are several or none."""
        only: int | None = None
        for byte in self.next_bytes(frames):
            if only not in (None, byte):
                return None
            only = byte
        return only

    def bytes_used(self) -> set[int]:
        """The bytes that occur in the rules that were built."""
        used: set[int] = set()
        ends = np.append(self.row[1:], len(self.targets))
        for state, (low, high) in enumerate(zip(self.row.tolist(), ends.tolist(), strict=True)):
            alive = self.targets[low:high] != DEAD
            used.update(np.flatnonzero(alive[self.classes[self.rule[state]]]).tolist())
        return used

    def counted(self, rule: int, count: int, operation: int) -> int | None:
        """The counter after an operation, or `None` if it is forbidden."""
        if operation == KEEP:
            return count
        least, most = self.counters[rule]
        if operation == LEAVE:
            return count if count >= least else None
        if most >= 0:
            return count + operation if count + operation <= most else None
        return min(count + operation, least)

    def _is_final(self, frame: Frame) -> bool:
        state = frame.state
        return self._final[state] == 1 and frame.count >= self.counters[self.rule_of[state]][0]


def _stride(tables: Tables, first: int, stop: int) -> int:
    """The most rounds that one byte begins in the states from `first` to before `stop`, or 1."""
    end = tables.row[stop] if stop < len(tables.row) else len(tables.targets)
    operations = tables.targets[tables.row[first] : end] & OPERATION  # of `DEAD` this is `LEAVE`
    return max(1, int(operations[operations != LEAVE].max(initial=0)))
