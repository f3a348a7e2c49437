"""Configurations: the parse states of an automaton as numbers, read by compiled kernels.

The arrays are those of `frame_kernels`. Texts with distinct items are read by `Reader`; their configurations have no
frames in the arrays. The Python view of a configuration, its frames and its text, serves everything that is not done at
every token.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.memory import Memory
from structkit.automaton.runtime import frame_kernels as kernels
from structkit.automaton.runtime import parse_kernels
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.stack import Below, Frame, FrameSet

__all__ = ["Configurations", "Outdated"]

_FRAMES, _LISTS, _LIST_ITEMS, _BUCKETS = 128, 128, 1024, 256
"""Initial capacities: enough for short texts."""

_COMPUTED_BYTES = 500
"""Size of a configuration that `Reader` read."""

_NO_PARSE: tuple[frozenset[Frame], bytes] = (frozenset(), b"")


class Outdated(Exception):
    """The configurations cannot be continued; new `Configurations` continue from their frames."""


class Configurations:
    """The configurations of an automaton, numbered by discovery.

    A configuration is an even number, or an odd one if the text may end in it.

    Args:
        reader: Reads texts with distinct items.
        distances: Returns int32[2, ...], upper bounds on the tokens to the end of a rule for all built rules; see
            `frame_kernels.DISTANCES`.
        memory: A context with the tokens and the scratch arrays of the kernels; the other slots are filled.
        max_bytes: Maximum size of the arrays that grow.

    Attributes:
        memory: The arrays.
        start: The configuration of the empty text.
    """

    def __init__(
        self, reader: Reader, distances: Callable[[], NDArray[np.int32]], memory: Memory, max_bytes: int
    ) -> None:
        self.memory = memory
        self._reader = reader
        self._automaton = reader.automaton
        self._distances = distances
        self._max_bytes = max_bytes
        self._computed: list[tuple[frozenset[Frame], bytes]] = []
        self._numbers: dict[tuple[frozenset[Frame], bytes], int] = {}
        memory.allocate(
            kernels.COUNTERS,
            [
                kernels.COUNTER_COUNT,
                _FRAMES * kernels.FRAME_COLUMNS,
                _BUCKETS,
                _LISTS,
                _LISTS,
                _LIST_ITEMS,
                _BUCKETS,
            ],
        )
        memory.hash(kernels.FRAMES, kernels.FRAME_COLUMNS, kernels.FRAME_BUCKETS, kernels.rehash_frames)
        memory.hash(kernels.LIST_ENDS, 1, kernels.LIST_BUCKETS, kernels.rehash_lists)
        self._context = memory.context
        self._lock = Lock()
        self._bind_tables()
        state = self._automaton.start_state(0)
        while (result := parse_kernels.start(self._context, state)) < 0:
            if result == kernels.COMPUTE:
                result = self.number(self._automaton.start_frames(), b"")
                break
            self.resolve(result)
        self.start = int(result)

    @property
    def size(self) -> int:
        """The number of frames and lists in the arrays."""
        counters = self.memory[kernels.COUNTERS]
        return int(counters[kernels.FRAME_COUNT] + counters[kernels.LIST_COUNT])

    def advance(self, configuration: int, token_id: int) -> int:
        """Return the configuration after a token of the vocabulary; negative if the language does not allow it.

        Raises:
            Outdated: The arrays would be too large.
            LimitExceeded: The text has too many parses, or a rule that it enters cannot be built.
        """
        result: int = parse_kernels.advance(self._context, configuration, token_id)
        while result < kernels.REJECTED:
            if result == kernels.COMPUTE:
                starts = self.memory[kernels.TOKEN_STARTS]
                text = self.memory[kernels.TOKEN_BYTES][starts[token_id] : starts[token_id + 1]].tobytes()
                return self._read(configuration, text)
            self.resolve(result)
            result = parse_kernels.advance(self._context, configuration, token_id)
        return result

    def advance_bytes(self, configuration: int, text: bytes) -> int:
        """Return the configuration after a text; negative if the language does not allow it. Raises as `advance`."""
        content = np.array(bytearray(text), np.uint8)
        while (
            result := parse_kernels.advance_bytes(self._context, configuration, content)
        ) < kernels.REJECTED:
            if result == kernels.COMPUTE:
                return self._read(configuration, text)
            self.resolve(result)
        return int(result)

    def forced_bytes(self, configuration: int, max_bytes: int) -> bytes:
        """Return the bytes that must come next, at most `max_bytes`. Raises as `advance`."""
        out = np.empty(max_bytes, np.uint8)
        while (count := parse_kernels.forced_bytes(self._context, configuration, out)) < 0:
            if count == kernels.COMPUTE:
                return self._forced_bytes(*self.frames(configuration), max_bytes)
            self.resolve(count)
        return out[:count].tobytes()

    def frames(self, configuration: int) -> tuple[frozenset[Frame], bytes]:
        """Return the frames of a configuration, and the text from the start of the outermost open distinct text."""
        if configuration < 0:
            return _NO_PARSE
        items: list[int] = self.items(configuration >> 1).tolist()
        if items and items[0] < 0:
            return self._computed[-1 - items[0]]
        made: dict[int, Frame] = {}
        return frozenset(self._frame(item, made) for item in items), b""

    def _frame(self, number: int, made: dict[int, Frame]) -> Frame:
        """Return a frame by its number, and add the frames below it to those that are made."""
        pending = [number]
        while pending:
            state, count, below = self.columns(pending[-1])
            lower = (
                []
                if below == kernels.NO_FRAME
                else [below]
                if below >= 0
                else self.items(-2 - below).tolist()
            )
            if missing := [each for each in lower if each not in made]:
                pending += missing
                continue
            under: Below = None
            if below >= 0:
                under = made[below]
            elif lower:
                under = self._automaton.frame_set({made[each] for each in lower})
            made[pending.pop()] = self._automaton.frame(state, count, under)
        return made[number]

    def columns(self, frame: int) -> tuple[int, int, int]:
        """Return the state of a frame, its counter, and what is below; see `frame_kernels`."""
        at = frame * kernels.FRAME_COLUMNS
        state, count, below = self.memory[kernels.FRAMES][at : at + 3].tolist()
        return state, count, below

    def columns_of(self, frames: NDArray[np.int32]) -> tuple[list[int], list[int], list[int]]:
        """Return the states of frames, their counters, and what is below them; see `columns`."""
        first = frames.astype(np.int64) * kernels.FRAME_COLUMNS
        memory = self.memory[kernels.FRAMES]
        states, counts, below = (memory[first + column].tolist() for column in range(3))
        return states, counts, below

    def below(self, number: int) -> NDArray[np.int32]:
        """Return the frames that are below a frame, given its last column; see `columns`."""
        return np.array([number], np.int32) if number >= 0 else self.items(-2 - number)

    def items(self, number: int) -> NDArray[np.int32]:
        """Return the numbers of an interned list, int32[...]."""
        ends = self.memory[kernels.LIST_ENDS]
        numbers: NDArray[np.int32] = self.memory[kernels.LIST_ITEMS][ends[number] : ends[number + 1]]
        return numbers

    def number(self, frames: frozenset[Frame], buffer: bytes) -> int:
        """Return the configuration of frames and a text as in `frames`; negative if there are no frames."""
        if not frames:
            return kernels.REJECTED
        self.bind_new_tables()
        made: dict[int, int] = {}
        if buffer or not all(self._add_frame(frame, made) for frame in frames):
            with self._lock:
                computed = self._numbers.setdefault((frames, buffer), len(self._computed))
                if computed == len(self._computed):
                    self._computed.append((frames, buffer))
                    self._check_size()
            items = [-1 - computed]
        else:
            items = sorted(made[id(frame)] for frame in frames)
        return 2 * self.add_list(items) + self._automaton.is_accepting(frames)

    def add_list(self, items: list[int]) -> int:
        """Return the number of a list. Raises as `advance`."""
        numbers = np.array(items, np.int32)
        while (result := kernels.add_list(self._context, numbers)) < 0:
            self.resolve(result)
        return int(result)

    def resolve(self, result: int) -> None:
        """Do what a kernel needs before it is called again.

        Args:
            result: `FULL`, `MISSING` or `TOO_MANY`.

        Raises:
            Outdated: The arrays would be too large.
            LimitExceeded: The text has too many parses, or a rule cannot be built.
        """
        counters = self.memory[kernels.COUNTERS]
        if result == kernels.FULL:
            self._check_size()
            self.memory.extend(int(counters[kernels.FULL_SLOT]))
        elif result == kernels.MISSING:
            missing = self.memory[kernels.MISSING_RULES]
            rules = np.flatnonzero(missing[:-2]).tolist()
            missing[:] = False
            self._automaton.build(rules)
            self.bind_new_tables()
        else:
            # The frames that were made last are those of the text.
            states = self.memory[kernels.FRAMES][kernels.STATE :: kernels.FRAME_COLUMNS]
            last = int(counters[kernels.FRAME_COUNT])
            first = max(0, last - self._automaton.limits.parse_states)
            rules = [self._automaton.rule_of[state] for state in states[first:last].tolist()]
            raise self._automaton.builder.too_many_parses(rules)

    def bind_new_tables(self) -> None:
        """Let the kernels enter the rules that were built since the last call."""
        if self._tables is not self._automaton.tables:
            with self._lock:  # otherwise a thread could bind older tables after another bound newer ones
                self._bind_tables()

    def _bind_tables(self) -> None:
        tables, size = self._automaton.tables, len(self._automaton.max_increments)
        missing = np.zeros(size + 2, np.bool_)
        arrays: list[NDArray[Any]] = [*tables, self._distances(), self._automaton.max_increments, missing]
        self.memory.bind(kernels.TABLES, arrays, kernels.put_tables)
        self.memory[kernels.COUNTERS][kernels.HAS_DISTINCT] = self._automaton.has_distinct
        self._tables = tables

    def _check_size(self) -> None:
        if self.memory.extended_bytes + _COMPUTED_BYTES * len(self._computed) > self._max_bytes:
            raise Outdated

    def _read(self, configuration: int, text: bytes) -> int:
        return self.number(*self._reader.read(*self.frames(configuration), text))

    def _forced_bytes(self, frames: frozenset[Frame], buffer: bytes, max_bytes: int) -> bytes:
        forced = bytearray()
        while not self._automaton.is_accepting(frames) and len(forced) < max_bytes:
            byte = self._automaton.sole_byte(frames)
            if byte is None:
                break
            forced.append(byte)
            frames, buffer = self._reader.read(frames, buffer, bytes((byte,)))
        return bytes(forced)

    def _add_frame(self, frame: Frame, made: dict[int, int]) -> bool:
        """Add a frame and what is below; `made` has the numbers by identity. Return false if one has distinct texts."""
        pending: list[Frame | FrameSet] = [frame]
        while pending:
            at = pending[-1]
            if id(at) in made:
                pending.pop()
                continue
            if isinstance(at, Frame) and at.seen_texts is not None:
                return False
            lower = at.frames if isinstance(at, FrameSet) else () if at.below is None else (at.below,)
            if missing := [each for each in lower if id(each) not in made]:
                pending += missing
                continue
            if isinstance(at, FrameSet):
                made[id(at)] = -2 - self.add_list(sorted(made[id(each)] for each in lower))
            else:
                below = made[id(at.below)] if at.below is not None else kernels.NO_FRAME
                while (number := kernels.add_frame(self._context, at.state, at.count, below)) < 0:
                    self.resolve(number)
                made[id(at)] = int(number)
        return True
