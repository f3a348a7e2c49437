"""All rules of a target, linked: automata that call each other on a stack.

A text being read is at one or more `Frame`s. A frame is a state with the rule's counter, on top of the frames to
return to. `Automaton` holds the arrays that the kernels walk; its methods are their meaning, byte by byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from structkit.automaton import kernels, unique
from structkit.automaton.dfa import DEAD, KEEP, LEAVE, TICK, Dfa
from structkit.automaton.frames import Frame, Memory
from structkit.automaton.shortest import Shortest
from structkit.errors import LimitExceeded
from structkit.limits import Limits

__all__ = ["Automaton"]

_LONGEST_KEY = 1_000
"""Bytes of a text that is looked at to see whether it is the only one of its rule."""


@dataclass(frozen=True, eq=False)
class Automaton:
    """The rules' automata side by side. Rule 0 is the start. States are numbered through all rules.

    Attributes:
        row: int32[states], where the state's transitions begin in `targets`.
        targets: int32[...], `next_state << 2 | operation` by byte class, or `DEAD`; see `structkit.automaton.dfa`.
        classes: uint8[rules, 256], the class of each byte in each rule.
        rule: int32[states], the rule that the state belongs to.
        final: bool[states], whether the rule may end here.
        live: bool[states], whether any byte leaves the state.
        call_first: int32[states + 1], where the state's calls begin in the three arrays below.
        call_rule: int32[calls], the rule called.
        call_next: int32[calls], the state after it.
        call_operation: int32[calls].
        call_unique: bool[calls], whether what is called is a unique text.
        start: int32[rules], the first state of each rule.
        least: int32[rules], the rounds that the rule's counter needs.
        most: int32[rules], the rounds that it allows, -1 for any number.
    """

    row: NDArray[np.int32]
    targets: NDArray[np.int32]
    classes: NDArray[np.uint8]
    rule: NDArray[np.int32]
    final: NDArray[np.bool_]
    live: NDArray[np.bool_]
    call_first: NDArray[np.int32]
    call_rule: NDArray[np.int32]
    call_next: NDArray[np.int32]
    call_operation: NDArray[np.int32]
    call_unique: NDArray[np.bool_]
    start: NDArray[np.int32]
    least: NDArray[np.int32]
    most: NDArray[np.int32]
    dfas: tuple[Dfa, ...]
    limits: Limits
    frames: WeakValueDictionary[tuple[int, int, int, Memory | None], Frame] = field(
        default_factory=WeakValueDictionary
    )
    _only_texts: dict[int, bytes | None] = field(default_factory=dict)
    _unique_ahead: dict[int, frozenset[int]] = field(default_factory=dict)
    _bytes: dict[int, tuple[tuple[int, tuple[int, ...]], ...]] = field(default_factory=dict)

    def frame(
        self, state: int, count: int = 0, below: Frame | None = None, memory: Memory | None = None
    ) -> Frame:
        """The frame of these values."""
        # The frame below lives as long as the one above it, so its id is not used for another meanwhile.
        key = (state, count, id(below), memory)
        frame = self.frames.get(key)
        if frame is None:
            frame = self.frames[key] = Frame(state, count, below, memory)
        return frame

    @property
    def arrays(self) -> tuple[NDArray[np.generic], ...]:
        """Everything that decides what the automaton accepts."""
        tables = (self.row, self.targets, self.classes, self.rule, self.final, self.live)
        calls = (self.call_first, self.call_rule, self.call_next, self.call_operation, self.call_unique)
        return (*tables, *calls, self.start, self.least, self.most)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that decides what the automaton accepts."""
        digest = hashlib.blake2b(digest_size=16)
        for array in self.arrays:
            digest.update(array.tobytes())
        return digest.hexdigest()

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return sum(array.nbytes for array in self.arrays)

    @property
    def remembers(self) -> bool:
        """Whether any text must be unique."""
        return bool(self.call_unique.any())

    @cached_property
    def forgetful(self) -> Automaton:
        """The same automaton without the calls of unique texts, and without the ways to where only these can follow."""
        kept = ~self.call_unique
        first = np.concatenate([[0], np.cumsum(kept)])[self.call_first].astype(np.int32)
        return replace(
            self,
            targets=np.where(self.needs_unique[self.targets >> 2], DEAD, self.targets).astype(np.int32),
            call_first=first,
            call_rule=self.call_rule[kept],
            call_next=self.call_next[kept],
            call_operation=self.call_operation[kept],
            call_unique=self.call_unique[kept],
        )

    @cached_property
    def meets_unique(self) -> NDArray[np.bool_]:
        """bool[rules]: whether a unique text can begin inside a rule, or inside a rule that it calls."""
        caller = self.rule[self._callers()]
        meets = np.zeros(len(self.start), bool)
        meets[caller[self.call_unique]] = True
        while True:
            more = np.unique(caller[meets[self.call_rule]])
            if meets[more].all():
                return meets
            meets[more] = True

    @cached_property
    def shortest(self) -> Shortest:
        """The shortest way to each rule's end, in bytes."""
        return Shortest.of(self)

    def first(self) -> frozenset[Frame]:
        """Where every text begins."""
        return self.settle([self.frame(int(self.start[0]))])

    def step(self, frames: Iterable[Frame], byte: int, kept: bytes = b"") -> frozenset[Frame]:
        """Where a text is after one more byte; empty if the byte is not allowed.

        `kept` is the text since the first open unique text began, up to and with the byte; see `read`.
        """
        moved = []
        for frame in frames:
            rule = self.rule[frame.state]
            target = int(self.targets[self.row[frame.state] + self.classes[rule, byte]])
            if target == DEAD:
                continue
            count = self.counted(int(rule), frame.count, target & 3)
            if count is not None:
                moved.append(self.frame(target >> 2, count, frame.below, frame.memory))
        return self.settle(moved, kept)

    def read(self, frames: frozenset[Frame], kept: bytes, text: bytes) -> tuple[frozenset[Frame], bytes]:
        """Where a text is after more bytes, and the text kept for the unique texts that are open then."""
        if not self.remembers:
            return self._read(frames, text), b""
        for byte in text:
            kept += bytes((byte,))
            frames = frozenset(
                frame
                for frame in self.step(frames, byte, kept)
                if unique.leaves_room(self, frame, kept) and unique.has_another(self, frame)
            )
            if not any(frame.opened for frame in frames):
                kept = b""
        return frames, kept

    def _read(self, frames: frozenset[Frame], text: bytes) -> frozenset[Frame]:
        """Where a text is after more bytes, if nothing must be unique."""
        at = 0
        while at < len(text) and frames:
            if len(frames) == 1:
                (frame,) = frames
                read, state, count = kernels.glide(
                    self.row, self.targets, self.classes, self.rule, self.quiet, self.least, self.most,
                    frame.state, frame.count, np.frombuffer(text, np.uint8), at,
                )  # fmt: skip
                if read > at:
                    at, frames = read, frozenset((self.frame(state, count, frame.below),))
                    continue
            frames = self.step(frames, text[at])
            at += 1
        return frames

    @cached_property
    def quiet(self) -> NDArray[np.bool_]:
        """bool[states]: whether nothing but a byte leaves the state: no rule is called, and its own does not end."""
        quiet: NDArray[np.bool_] = (np.diff(self.call_first) == 0) & ~self.final & self.live
        return quiet

    def can_end(self, frames: Iterable[Frame]) -> bool:
        """Whether the text may end here."""
        return any(frame.below is None and self._is_final(frame) for frame in frames)

    def accepts(self, text: bytes) -> bool:
        """Whether the automaton holds the text.

        >>> from structkit.automaton.link import link
        >>> from structkit.regex.nodes import Alt, Call, Rules, Seq, Text
        >>> nested = Rules(Call("a"), {"a": Alt((Text("x"), Seq((Text("("), Call("a"), Text(")")))))})
        >>> link(nested).accepts(b"((x))")
        True
        """
        return self.can_end(self.read(self.first(), b"", text)[0])

    def settle(self, frames: Iterable[Frame], kept: bytes = b"") -> frozenset[Frame]:
        """Enter the rules that may be called and leave those that may have ended, without a byte."""
        settled: set[Frame] = set()
        pending = list(frames)
        while pending:
            frame = pending.pop()
            if frame in settled:
                continue
            settled.add(frame)
            if len(settled) > self.limits.configurations:
                raise LimitExceeded("configurations", self.limits.configurations, "the ways to read one text")
            if frame.below is not None and self._is_final(frame):
                back = self._back(frame.below, kept)
                if back is not None:
                    pending.append(back)
            for call in range(self.call_first[frame.state], self.call_first[frame.state + 1]):
                operation = int(self.call_operation[call])
                count = self.counted(int(self.rule[frame.state]), frame.count, operation)
                if count is not None:
                    memory = frame.memory
                    if self.call_unique[call]:
                        memory = Memory(memory.seen if memory else (), len(kept))
                    back = self.frame(int(self.call_next[call]), count, frame.below, memory)
                    pending.append(self.frame(int(self.start[self.call_rule[call]]), 0, back))
        return frozenset(f for f in settled if self.live[f.state] or (f.below is None and self._is_final(f)))

    def _back(self, frame: Frame, kept: bytes) -> Frame | None:
        """The frame to return to, with the unique text that ends here remembered; `None` if it is not the first."""
        if frame.memory is None or frame.memory.begin is None:
            return frame
        text = kept[frame.memory.begin :]
        if frame.memory.has(text):
            return None
        return self.frame(frame.state, frame.count, frame.below, frame.memory.closed(text))

    @cached_property
    def needs_unique(self) -> NDArray[np.bool_]:
        """bool[states]: whether the state's rule cannot end before another unique text; the counter is left out."""
        needs = np.zeros(len(self.row), bool)
        for rule in np.unique(self.rule[self._callers()[self.call_unique]]).tolist():
            first, stop = self.states_of(rule)
            into: dict[int, list[int]] = {}
            for state in range(first, stop):
                for after in self._after(state):
                    into.setdefault(after, []).append(state)
            needs[first:stop] = True
            pending = [state for state in range(first, stop) if self.final[state]]
            while pending:
                state = pending.pop()
                if needs[state]:
                    needs[state] = False
                    pending += into.get(state, ())
        return needs

    def unique_ahead(self, state: int) -> frozenset[int]:
        """The rules of the unique texts that may come next in the rule of a state."""
        if state not in self._unique_ahead:
            pending, reached = [state], {state}
            while pending:
                after = set(self._after(pending.pop())) - reached
                pending += after
                reached |= after
            self._unique_ahead[state] = frozenset(
                int(self.call_rule[call])
                for at in reached
                for call in range(self.call_first[at], self.call_first[at + 1])
                if self.call_unique[call]
            )
        return self._unique_ahead[state]

    def ways_on(self, state: int) -> int:
        """How many bytes lead on from a state, the counter left as it is."""
        return sum(len(leaving) for operation, leaving in self._leaving(state) if operation == KEEP)

    def _after(self, state: int) -> list[int]:
        """Where a byte, or a call of what is not unique, leads from a state in its rule."""
        row, width = int(self.row[state]), int(self.shortest.width[self.rule[state]])
        after = [target >> 2 for target in self.targets[row : row + width].tolist() if target != DEAD]
        calls = range(self.call_first[state], self.call_first[state + 1])
        return after + [int(self.call_next[call]) for call in calls if not self.call_unique[call]]

    def states_of(self, rule: int) -> tuple[int, int]:
        """The first state of a rule, and the first one after it."""
        return int(self.start[rule]), int(self.start[rule + 1]) if rule + 1 < len(self.start) else len(
            self.row
        )

    def _callers(self) -> NDArray[np.int64]:
        """int64[calls], the state of each call."""
        return np.repeat(np.arange(len(self.row)), np.diff(self.call_first))

    def only_text(self, rule: int) -> bytes | None:
        """The text of a rule that has only one, `None` for others."""
        if rule not in self._only_texts:
            state, text = int(self.start[rule]), bytearray()
            while not self.final[state] and len(text) < _LONGEST_KEY:
                byte = self.only_byte([self.frame(state)])
                if byte is None or self.call_first[state] < self.call_first[state + 1]:
                    break
                text.append(byte)
                state = int(self.targets[self.row[state] + self.classes[rule, byte]]) >> 2
            alone = bool(self.final[state]) and not self.live[state]
            self._only_texts[rule] = bytes(text) if alone else None
        return self._only_texts[rule]

    def next_bytes(self, frames: Iterable[Frame]) -> Iterator[int]:
        """The bytes that may come next, some perhaps more than once; unique texts are not looked at."""
        for frame in frames:
            rule = int(self.rule[frame.state])
            for operation, leaving in self._leaving(frame.state):
                if self.counted(rule, frame.count, operation) is not None:
                    yield from leaving

    def _leaving(self, state: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The bytes that leave a state, by what they do to the counter."""
        if state not in self._bytes:
            targets = self.targets[int(self.row[state]) + self.classes[self.rule[state]].astype(np.int32)]
            self._bytes[state] = tuple(
                (operation, tuple(np.flatnonzero((targets != DEAD) & (targets & 3 == operation)).tolist()))
                for operation in np.unique(targets[targets != DEAD] & 3).tolist()
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
        """The bytes that occur in any text of the language."""
        used: set[int] = set()
        ends = np.append(self.row[1:], len(self.targets))
        for state, (low, high) in enumerate(zip(self.row.tolist(), ends.tolist(), strict=True)):
            alive = self.targets[low:high] != DEAD
            used.update(np.flatnonzero(alive[self.classes[self.rule[state]]]).tolist())
        return used

    def counted(self, rule: int, count: int, operation: int) -> int | None:
        """The counter after an operation, or `None` if it is forbidden."""
        least, most = int(self.least[rule]), int(self.most[rule])
        if operation == TICK:
            if most >= 0:
                return count + 1 if count < most else None
            return min(count + 1, least)
        if operation == LEAVE and count < least:
            return None
        return count

    def _is_final(self, frame: Frame) -> bool:
        return bool(self.final[frame.state]) and frame.count >= self.least[self.rule[frame.state]]
