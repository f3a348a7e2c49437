"""The automaton of a target: the automata of its rules, which call each other on a stack and are built lazily.

A partial text corresponds to one or more `Frame`s. A frame is a state with the rule's counter, on top of the frames to
return to. `Automaton` contains the arrays that the kernels walk; its methods define their semantics byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from threading import RLock

import numpy as np

from structkit.automaton.core.dfa import DEAD, EXIT, NO_OP, Dfa
from structkit.automaton.core.kernels import OPERATION_BITS, OPERATION_MASK
from structkit.automaton.core.tables import Tables, extract_dfa
from structkit.automaton.runtime.lazy_builder import LazyBuilder
from structkit.automaton.runtime.stack import Below, Frame, FrameSet, SeenTexts, return_frames
from structkit.errors import LimitExceeded
from structkit.limits import Limits

__all__ = ["Automaton"]

_FRAMES = 50_000
"""Frames that are kept to be found again; each is about 250 bytes."""

_MAX_SOLE_TEXT_LENGTH = 1_000
"""Bytes of a text that is examined to see whether it is the only one of its rule."""


class Automaton:
    """The language of a set of rules. Rule 0 is the start; rules are numbered by discovery, states by construction.

    What it holds grows, what it accepts does not: a rule that was not called yet is as good as built.

    Args:
        tables: The arrays of the rules that are built.
        limits: What may be built.
        builder: What built these and builds the others, or gives it once one of them is called.
        is_unbounded: See the attribute; the builder knows it, if it is not given later.

    Attributes:
        limits: What may be built.
        is_unbounded: Whether there are ever more rules to build.
        is_broken: Whether further rules cannot be built.
        built: The numbers of the rules that were built, in their order.
        tables: The arrays of these rules, those of one moment; see `Tables`.
        rule_of: The rule of each state.
        counter_bounds: The iterations that each rule's counter needs, and those that it allows, -1 for any number.
        max_increments: int32[rules or more], the most iterations that one byte starts in each rule whose counter has an
            end; at least 1.
        lock: Held while a rule is built.
        frames: The frames made, but for those forgotten.
    """

    def __init__(
        self,
        tables: Tables,
        limits: Limits,
        builder: LazyBuilder | Callable[[], LazyBuilder],
        *,
        is_unbounded: bool = False,
    ) -> None:
        self.limits, self.is_broken = limits, False
        self.is_unbounded = builder.is_unbounded if isinstance(builder, LazyBuilder) else is_unbounded
        self.built: list[int] = []
        self.frames: dict[tuple[int, int, int, SeenTexts | None], Frame] = {}
        self.lock = RLock()
        self._frame_sets: dict[tuple[int, ...], FrameSet] = {}
        self._builder = builder
        self._dfas: dict[int, Dfa] = {}
        self._states: dict[int, tuple[int, int]] = {}
        self._calling: set[int] = set()
        self._only_texts: dict[int, bytes | None] = {}
        self._bytes: dict[int, tuple[tuple[int, tuple[int, ...]], ...]] = {}
        # One number of these is read several times faster than one of an array.
        self.rule_of: list[int] = []
        self.counter_bounds: list[tuple[int, int]] = []
        self.max_increments = np.array([1] * 8, np.int32)
        self._calls: dict[int, tuple[tuple[int, int, int, bool, bool], ...]] = {}
        self.has_distinct = False
        self._has_labels = self.is_unbounded
        self.call_distinct = tables.call_distinct[:0]
        self._publish(tables)

    @property
    def builder(self) -> LazyBuilder:
        """The builder of the rules. For rules from the disk cache, the first access parses the target.

        Raises:
            StructkitError: As reading and building it does.
        """
        if not isinstance(self._builder, LazyBuilder):
            self.is_broken = True  # as long as the builder raises
            self._builder = self._builder()
            self.is_broken = False
        return self._builder

    def start_state(self, rule: int) -> int:
        """Return the first state of a rule; build the rule if necessary.

        Raises:
            LimitExceeded: Its automaton would be too large; `link` finds that out before.
        """
        states = self._states.get(rule)
        if states is None:
            self.build([rule])
            states = self._states[rule]
        return states[0]

    def build(self, rules: Iterable[int]) -> None:
        """Build rules if necessary. Raises as `start_state`."""
        with self.lock:
            missing = [rule for rule in rules if rule not in self._states]
            for rule in missing:
                self.builder.build(rule)
                self.builder.build_ahead(rule)
            if missing:
                self._publish(self.builder.tables)

    @property
    def has_labels(self) -> bool:
        """Whether rules end with labels; then token distances are upper bounds, and shortest paths are not known."""
        builder = self._builder
        return self._has_labels or (isinstance(builder, LazyBuilder) and builder.has_labels)

    def build_all(self) -> Automaton:
        """Build all reachable rules; return the automaton, for chaining.

        Raises:
            LimitExceeded: There is no end of them.
        """
        if self.is_unbounded:
            what = "the rules of this target, which are made as texts need them"
            raise LimitExceeded("states", self.limits.states, what, is_fixed=True)
        rule = 0
        while rule < len(self.start):
            self.start_state(rule)
            rule += 1
        return self

    def _publish(self, tables: Tables) -> None:
        """Publish the arrays with what was added to all threads.

        What `enter` reads is published last: readers index the other arrays with it.
        """
        first = len(self.rule_of)
        added = tables.rule[first:].tolist()
        sizes = {added[0]: len(added)}
        if added[0] != added[-1]:  # a guide from the disk cache; the states of a rule are adjacent
            starts = sorted(start for start in tables.start.tolist() if start >= first)
            bounds = pairwise([*starts, first + len(added)])
            sizes = {added[start - first]: stop - start for start, stop in bounds}
        self.counter_bounds += [(0, -1)] * (len(tables.start) - len(self.counter_bounds))
        if len(self.max_increments) < len(tables.start):
            more = np.ones(2 * len(tables.start) - len(self.max_increments), np.int32)
            self.max_increments = np.concatenate([self.max_increments, more])
        places: dict[int, tuple[int, int]] = {}
        for rule, size in sizes.items():
            start = tables.start.item(rule)
            states = places[rule] = start, start + size
            if tables.call_first.item(start) < tables.call_first.item(start + size):
                self._calling.add(rule)
            self.counter_bounds[rule] = tables.min_count.item(rule), tables.max_count.item(rule)
            if self.counter_bounds[rule][1] >= 0:
                self.max_increments[rule] = tables.max_increment(*states)
        self._has_labels |= min(tables.call_rule[len(self.call_distinct) :].tolist(), default=0) < 0
        self.has_distinct |= True in tables.call_distinct[len(self.call_distinct) :].tolist()
        self.rule_of += added
        self.built += sizes
        self.row, self.targets, self.classes, self.rule = tables[:4]
        self.final, self.has_moves, self.byte_only, self.call_first = tables[4:8]
        self.call_rule, self.call_next = tables.call_rule, tables.call_next
        self.call_operation, self.call_distinct = tables.call_operation, tables.call_distinct
        self.min_count, self.max_count = tables.min_count, tables.max_count
        self.tables = tables
        self.start = tables.start
        self._states |= places

    def dfa(self, rule: int) -> Dfa:
        """Return the automaton of a built rule without calls."""
        dfa = self._dfas.get(rule)
        if dfa is None:
            builder = self._builder
            known = builder.built.get(rule) if isinstance(builder, LazyBuilder) else None
            dfa = known.dfa if known else extract_dfa(self.tables, rule, *self.state_range(rule))
            self._dfas[rule] = dfa
        return dfa

    def has_calls(self, rule: int) -> bool:
        """Return whether a built rule has calls."""
        return rule in self._calling

    def frame(
        self, state: int, count: int = 0, below: Below = None, seen_texts: SeenTexts | None = None
    ) -> Frame:
        """Return the unique frame with these values."""
        # What is below lives as long as the one above it, so its id is not used for another meanwhile.
        key = (state, count, id(below), seen_texts)
        frame = self.frames.get(key)
        if frame is None:
            if len(self.frames) >= _FRAMES:
                self.clear_frames()
            frame = self.frames[key] = Frame(state, count, below, seen_texts)
        return frame

    def clear_frames(self) -> None:
        """Clear the frame cache. Frames in use stay valid but differ from equal new frames, which is slower."""
        self.frames = {}
        self._frame_sets = {}

    def start_frames(self) -> frozenset[Frame]:
        """Return the frames of the empty text."""
        return self.epsilon_closure([self.frame(self.start_state(0))])

    def step(self, frames: Iterable[Frame], byte: int, buffer: bytes = b"") -> frozenset[Frame]:
        """Return the frames after one more byte; empty if the byte is not allowed.

        `buffer` is the text since the first open distinct text started, up to and with the byte; see `Reader.read`.
        """
        moved = []
        for frame in frames:
            rule = self.rule_of[frame.state]
            target = self.targets.item(self.row.item(frame.state) + self.classes.item(rule, byte))
            if target == DEAD:
                continue
            count = self.apply_operation(rule, frame.count, target & OPERATION_MASK)
            if count is not None:
                moved.append(self.frame(target >> OPERATION_BITS, count, frame.below, frame.seen_texts))
        if len(moved) == 1 and self.byte_only.item(moved[0].state):
            return frozenset(moved)
        return self.epsilon_closure(moved, buffer)

    def is_accepting(self, frames: Iterable[Frame]) -> bool:
        """Return whether the text may end here."""
        for frame in frames:  # noqa: SIM110  # asked at every new state: `any` takes three times as long
            if frame.below is None and self._is_final(frame):
                return True
        return False

    def epsilon_closure(self, frames: Iterable[Frame], buffer: bytes = b"") -> frozenset[Frame]:
        """Add the frames reachable without a byte, by calling rules and returning from rules.

        A call after which the rule can only end is a tail call: it returns to the frames below.
        """
        found: list[Frame] = []
        calls: dict[int, dict[Frame, None]] = {}  # the frames to return to, by the start state of the callee
        pending: Collection[Frame] = list(frames)
        while pending:
            changed: dict[int, None] = {}
            returned = self._with_returns(pending, found, buffer)
            pending = self._drop_superfluous(self.merge_frames(returned), found)
            found += pending
            if len(found) > self.limits.parse_states:
                raise self.builder.too_many_parses(self.rule_of[frame.state] for frame in found)
            entered: list[Frame] = []
            for frame in pending:
                for start, back in self._calls_from(frame, buffer):
                    if back is None or back.inside_distinct:
                        entered.append(self.frame(start, 0, back))
                        continue
                    callers = calls.setdefault(start, {})
                    added = (back,) if isinstance(back, Frame) else back.frames
                    if not callers.keys() >= set(added):
                        callers.update(dict.fromkeys(added))
                        changed[start] = None
            # All calls of one callee are below one frame, so that the ways to come to a place do not multiply.
            entered += [self.frame(start, 0, self._below(calls[start])) for start in changed]
            known = set(found)
            pending = [frame for frame in entered if frame not in known]
        ends = [f for f in found if f.below is None and (self._is_final(f) or self.return_labels(f.state))]
        kept = {*(frame for frame in found if self.has_moves[frame.state]), *ends}
        return self._drop_superfluous(self.merge_frames(kept))

    def _drop_superfluous(self, frames: frozenset[Frame], found: Sequence[Frame] = ()) -> frozenset[Frame]:
        """Leave out parses beside which another one, perhaps one of `found`, reads the same and more.

        Beyond the minimum of a counted repetition, a parse with fewer iterations can do all that one with more can.
        """
        if len({frame.state for frame in (*found, *frames)}) == len(found) + len(frames):
            return frames
        kept: list[Frame] = []
        seen: dict[int, set[Frame | None]] = {}  # by state, what those with fewer iterations return to
        for frame in sorted([*found, *frames], key=lambda frame: frame.count):
            min_count, max_count = self.counter_bounds[self.rule_of[frame.state]]
            below: Sequence[Frame | None] = return_frames(frame) or (None,)
            known = seen.setdefault(frame.state, set())
            if max_count <= min_count or frame.count < min_count or frame.seen_texts or frame.inside_distinct:
                known = set()
            left = [back for back in below if back not in known]
            known.update(left)
            if left and frame in frames:
                if len(left) < len(below):
                    frame = self.frame(frame.state, frame.count, self._below([back for back in left if back]))
                kept.append(frame)
        return frozenset(kept)

    def _with_returns(self, frames: Iterable[Frame], found: Collection[Frame], buffer: bytes) -> set[Frame]:
        """Add the frames after returns from rules that may have ended."""
        settled, known = set[Frame](), set(found)
        pending = list(frames)
        while pending:
            frame = pending.pop()
            if frame in settled or frame in known:
                continue
            settled.add(frame)
            if len(settled) > self.limits.parse_states:
                raise self.builder.too_many_parses(self.rule_of[frame.state] for frame in settled)
            if frame.below is not None and self._is_final(frame):
                backs = [self._return_frame(below, buffer) for below in return_frames(frame)]
                pending += [back for back in backs if back is not None]
            for label in self.return_labels(frame.state):
                pending += [self.labelled_return(below, label) for below in return_frames(frame)]
        return settled

    def return_labels(self, state: int) -> tuple[int, ...]:
        """Return the labels with which a labelled rule may end in a state."""
        calls = self._calls.get(state)
        return tuple(
            -1 - call[0] for call in (self._calls_of(state) if calls is None else calls) if call[0] < 0
        )

    def labelled_return(self, below: Frame, label: int) -> Frame:
        """Return the frame to continue with when the rule above `below` ends with a label."""
        calls = self._calls.get(below.state)
        for callee, after, _, _, _ in self._calls_of(below.state) if calls is None else calls:
            if callee == -1 - label:
                return self.frame(after, below.count, below.below, below.seen_texts)
        raise KeyError(label)

    def _calls_from(self, frame: Frame, buffer: bytes) -> Iterator[tuple[int, Below]]:
        """Iterate over the calls of a frame: the start state of the callee, and the frames to return to."""
        calls = self._calls.get(frame.state)
        for callee, after, operation, is_unique, only_ends in (
            self._calls_of(frame.state) if calls is None else calls
        ):
            count = self.apply_operation(self.rule_of[frame.state], frame.count, operation)
            if callee < 0 or count is None:
                continue
            memory = frame.seen_texts
            if is_unique:
                if memory and memory.texts and memory.contains(self.sole_text(callee)):
                    continue  # a key that was written
                memory = (memory or SeenTexts()).with_open(len(buffer))
            is_tail = only_ends and not is_unique
            back = frame.below if is_tail else self.frame(after, count, frame.below, memory)
            yield self.start_state(callee), back

    def merge_frames(self, frames: Collection[Frame]) -> frozenset[Frame]:
        """Merge the frames that differ only in the frames below them, except frames inside a distinct text."""
        if len({frame.state for frame in frames}) == len(frames):
            return frozenset(frames)
        by_key: dict[object, list[Frame]] = {}
        for frame in frames:
            stands_alone = frame.below is None or frame.inside_distinct
            key = frame if stands_alone else (frame.state, frame.count, frame.seen_texts)
            by_key.setdefault(key, []).append(frame)
        return frozenset(same[0] if len(same) == 1 else self._merge_group(same) for same in by_key.values())

    def _merge_group(self, group: list[Frame]) -> Frame:
        """Return the frame that returns to wherever one of these does."""
        below = {frame for each in group for frame in return_frames(each)}
        if len(below) > self.limits.parse_states:
            raise self.builder.too_many_parses(self.rule_of[frame.state] for frame in below)
        return self.frame(group[0].state, group[0].count, self.frame_set(below), group[0].seen_texts)

    def _below(self, frames: Collection[Frame]) -> Below:
        """Return what returns to each of the frames."""
        return next(iter(frames)) if len(frames) == 1 else self.frame_set(frames)

    def frame_set(self, frames: Collection[Frame]) -> FrameSet:
        """Return the unique set of these frames."""
        key = tuple(sorted(map(id, frames)))
        found = self._frame_sets.get(key)
        if found is None:
            ordered = sorted(frames, key=lambda frame: (frame.state, frame.count))
            found = self._frame_sets[key] = FrameSet(tuple(ordered))
        return found

    def _calls_of(self, state: int) -> tuple[tuple[int, int, int, bool, bool], ...]:
        """Return the calls of a state, labels included.

        Each is the callee, the state after it, the operation, whether the text must be distinct, and whether the rule
        can only end after it.
        """
        rules, after, operations, is_distinct = (
            self.call_rule, self.call_next, self.call_operation, self.call_distinct,
        )  # fmt: skip
        calls = self._calls[state] = tuple(
            (
                rules.item(call),
                after.item(call),
                operations.item(call),
                is_distinct.item(call),
                self._only_ends(after.item(call)),
            )
            for call in range(self.call_first.item(state), self.call_first.item(state + 1))
        )
        return calls

    def _only_ends(self, state: int) -> bool:
        """Return whether a rule can only end in a state behind a call, with the label of the callee if it has one."""
        first, last = self.call_first.item(state), self.call_first.item(state + 1)
        if first < last:
            return all(self._passes_label(call) for call in range(first, last))
        return (
            bool(self.final[state])
            and not self.has_moves[state]
            and self.counter_bounds[self.rule_of[state]][0] == 0
        )

    def _passes_label(self, call: int) -> bool:
        """Return whether a call is a label behind which the rule can only end, with the same label."""
        label, state = self.call_rule.item(call), self.call_next.item(call)
        first, last = self.call_first.item(state), self.call_first.item(state + 1)
        return (
            label < 0
            and last - first == 1
            and self.call_rule.item(first) == label
            and not self.has_moves[state]
            and not self.final[state]
        )

    def _return_frame(self, frame: Frame, buffer: bytes) -> Frame | None:
        """Return the frame to return to, which remembers the distinct text that ends here; `None` if it repeats one."""
        if frame.seen_texts is None or frame.seen_texts.open_start is None:
            return frame
        text = buffer[frame.seen_texts.open_start :]
        if frame.seen_texts.contains(text):
            return None
        return self.frame(frame.state, frame.count, frame.below, frame.seen_texts.with_text(text))

    def byte_out_degree(self, state: int) -> int:
        """Return the number of bytes with a transition that leaves the counter unchanged."""
        return len(dict(self._bytes_by_operation(state)).get(NO_OP, ()))

    def state_range(self, rule: int) -> tuple[int, int]:
        """Return the first state of a built rule, and its last state plus one."""
        return self._states[rule]

    def sole_text(self, rule: int) -> bytes | None:
        """Return the text of a rule with exactly one text, `None` for other rules."""
        if rule not in self._only_texts:
            state, text = self.start_state(rule), bytearray()
            width, classes = self.tables.width(*self._states[rule]), self.classes[rule].tobytes()
            while not self.final[state] and len(text) < _MAX_SOLE_TEXT_LENGTH:
                row: list[int] = self.targets[self.row[state] : self.row[state] + width].tolist()
                target, has_calls = max(row), self.call_first[state] < self.call_first[state + 1]
                is_choice = row.count(DEAD) < width - 1 or classes.count(row.index(target)) > 1
                if is_choice or has_calls or target & OPERATION_MASK:
                    break
                text.append(classes.index(row.index(target)))
                state = target >> OPERATION_BITS
            alone = bool(self.final[state]) and not self.has_moves[state]
            self._only_texts[rule] = bytes(text) if alone else None
        return self._only_texts[rule]

    def next_bytes(self, frames: Iterable[Frame]) -> Iterator[int]:
        """Yield the bytes that may come next, possibly with duplicates and ignoring distinct texts."""
        for frame in frames:
            rule = self.rule_of[frame.state]
            for operation, leaving in self._bytes_by_operation(frame.state):
                if self.apply_operation(rule, frame.count, operation) is not None:
                    yield from leaving

    def _bytes_by_operation(self, state: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Return the bytes that leave a state, by what they do to the counter."""
        if state not in self._bytes:
            targets = self.targets[int(self.row[state]) + self.classes[self.rule[state]].astype(np.int32)]
            alive, operations = targets != DEAD, targets & OPERATION_MASK
            self._bytes[state] = tuple(
                (operation, tuple(np.flatnonzero(alive & (operations == operation)).tolist()))
                for operation in np.unique(operations[alive]).tolist()
            )
        return self._bytes[state]

    def sole_byte(self, frames: Iterable[Frame]) -> int | None:
        """Return the byte that must come next, or `None` if there are multiple or none."""
        only: int | None = None
        for byte in self.next_bytes(frames):
            if only not in (None, byte):
                return None
            only = byte
        return only

    def apply_operation(self, rule: int, count: int, operation: int) -> int | None:
        """Return the counter after an operation, or `None` if the operation is forbidden."""
        if operation == NO_OP:
            return count
        least, most = self.counter_bounds[rule]
        if operation == EXIT:
            return count if count >= least else None
        if most >= 0:
            return count + operation if count + operation <= most else None
        return min(count + operation, least)

    def _is_final(self, frame: Frame) -> bool:
        state = frame.state
        return bool(self.final[state]) and frame.count >= self.counter_bounds[self.rule_of[state]][0]
