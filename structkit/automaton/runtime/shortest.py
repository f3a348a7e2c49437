"""Shortest completions in bytes, which a guide uses when few tokens are left."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core import kernels
from structkit.automaton.core.dfa import DEAD, ENTER, NO_OP
from structkit.automaton.core.kernels import OPERATION_BITS, OPERATION_MASK
from structkit.automaton.distance.kernels import (
    BYTES_PER_ITERATION,
    CALL_FIRST,
    DISTANCE,
    FIRST_STEP,
    MOVE_COLUMNS,
    ROW,
    RULE,
    STATE_COLUMNS,
    distances,
)
from structkit.automaton.distance.trim import first_bytes
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.short_texts import ShortTexts
from structkit.automaton.runtime.stack import Below, Frame, FrameSet, SeenTexts, min_stack_cost

__all__ = [
    "ShortestPaths",
    "shortest_distinct",
    "shortest_length",
    "shortest_pieces",
    "shortest_texts",
]

Piece: TypeAlias = tuple[bytes, Frame | None, bytes | None, bool]
"""The bytes up to a call of a rule or a return from it, the frame after that (`None` at the end of the text), the
distinct text that this adds, if it is known, and whether that is no repetition."""

Step: TypeAlias = tuple[int, bytes | None]
"""A byte, or `-1 - call`, and the distinct text that a call writes, if it is the only one of its rule."""

Segment: TypeAlias = tuple[bytes, frozenset[bytes], Frame | None]
"""The bytes between two frames that have seen no distinct text, the distinct texts that these add, and the second frame
(`None` at the end of the text)."""

_MAX_PIECES, _MAX_PIECE_BYTES = 20_000, 200
"""Pieces of shortest texts that are kept, and the bytes of the longest one, which takes about 600 with its frame."""

_MAX_SEGMENTS, _MAX_SEGMENT_BYTES = 1_000, 4_000
"""Segments of shortest texts that are kept, and the bytes of the longest one. Its distinct texts take up to 100 bytes
for each of them."""

_MAX_SEEN = 128
"""Distinct texts seen beyond which none is chosen: with each, all are copied."""


@dataclass(frozen=True, eq=False, slots=True)
class ShortestPaths:
    """The shortest path from each state to the end of its rule.

    Attributes:
        automaton: The automaton, all of whose rules are built.
        distance: int32[states], the fewest bytes; `structkit.automaton.core.kernels.UNREACHABLE` where there is no end.
        first_step: int32[states], the first step of a shortest way: a byte, `-1 - call`, or `kernels.END`.
        bytes_per_iteration: int32[rules], the bytes of one iteration of the rule's counted repetition.
        first_byte: uint8[rules, 256], a byte of each class.
        width: int32[rules], the byte classes of each rule.
        stop: int32[rules], the state after the last of each rule.
        pieces: Pieces of shortest texts that are kept: the texts of one state after another have most in common.
        segments: Segments of shortest texts with distinct texts, by their first frame.
        calls: The steps from a state, in order of the bytes that they need, by the state and whether they begin a round
            of the counted repetition. A step that writes a distinct text is not taken if the text was seen.
        short_texts: The texts from states, to choose one that was not seen; `None` where they cannot be listed.
    """

    automaton: Automaton
    distance: NDArray[np.int32]
    first_step: NDArray[np.int32]
    bytes_per_iteration: NDArray[np.int32]
    first_byte: NDArray[np.uint8]
    width: NDArray[np.int32]
    stop: NDArray[np.int32]
    pieces: dict[Frame, Piece] = field(default_factory=dict)
    segments: dict[Frame, Segment] = field(default_factory=dict)
    calls: dict[tuple[int, bool], list[Step]] = field(default_factory=dict)
    short_texts: dict[int, ShortTexts | None] = field(default_factory=dict)
    _iteration_steps: dict[int, Mapping[int, int]] = field(default_factory=dict)
    _pending_steps: dict[int, int] = field(default_factory=dict)
    _runs: dict[int, tuple[bytes, int]] = field(default_factory=dict)

    @classmethod
    def build(cls, automaton: Automaton) -> ShortestPaths:
        """Compute the shortest paths of an automaton; builds all rules."""
        tables = automaton.build_all().tables
        states, rules = len(tables.row), range(len(tables.start))
        width = np.array([tables.width(*automaton.state_range(rule)) for rule in rules], np.int32)
        stop = np.array([automaton.state_range(rule)[1] for rule in rules], np.int32)
        first_byte = first_bytes(tables.classes)
        of_states = np.full((STATE_COLUMNS, states + 1), kernels.UNREACHABLE, np.int32)
        of_states[ROW, :states], of_states[RULE, :states] = tables.row, tables.rule
        of_states[CALL_FIRST] = tables.call_first
        of_calls = np.stack([tables.call_rule, tables.call_next, tables.call_operation])
        of_rules = np.stack([tables.start, stop, tables.min_count, width, np.empty_like(width)])
        distances(
            tables.targets, tables.final, of_states, of_calls, tables.call_distinct, of_rules, first_byte,
            np.empty(len(rules), np.bool_), np.empty((len(tables.targets), MOVE_COLUMNS), np.int32),
        )  # fmt: skip
        end, hop = of_states[DISTANCE, :states].copy(), of_states[FIRST_STEP, :states].copy()
        return cls(automaton, end, hop, of_rules[BYTES_PER_ITERATION], first_byte, width, stop)

    def steps_to_iteration(self, rule: int) -> Mapping[int, int]:
        """Return, for states from which no iteration starts directly, the first step of a shortest path to one."""
        known = self._iteration_steps.get(rule)
        if known is None:
            known = self._iteration_steps[rule] = _find_iteration_steps(self, rule)
        return known

    def texts_from(self, state: int) -> ShortTexts | None:
        """Return the texts from a state to the end of its rule; `None` if they cannot be listed."""
        if state not in self.short_texts:
            can_list = ShortTexts.can_list(self.automaton, state)
            self.short_texts[state] = ShortTexts(self.automaton, self.distance, state) if can_list else None
        return self.short_texts[state]

    def run(self, state: int) -> tuple[bytes, int]:
        """Return the bytes of a shortest path from a state of a rule without a counter to a call or the end."""
        known = self._runs.get(state)
        if known is None:
            automaton, text, at = self.automaton, bytearray(), state
            while (step := self.first_step.item(at)) >= 0:
                text.append(step)
                klass = automaton.classes.item(automaton.rule_of[at], step)
                at = automaton.targets.item(automaton.row.item(at) + klass) >> OPERATION_BITS
            known = bytes(text), at
            if len(text) <= _MAX_PIECE_BYTES:
                if len(self._runs) >= _MAX_PIECES:
                    self._runs.clear()
                self._runs[state] = known
        return known

    def pending_step(self, state: int, rule: int, memory: SeenTexts | None) -> int:
        """Return the first step from a state of a rule that needs more iterations, after these distinct texts."""
        if memory is not None:
            return _iteration_step(self, state, rule, memory)
        known = self._pending_steps.get(state)
        if known is None:
            known = self._pending_steps[state] = _iteration_step(self, state, rule, None)
        return known


def shortest_length(
    shortest: ShortestPaths, frame: Frame, known: dict[Frame | FrameSet, int] | None = None
) -> int:
    """Return the approximate minimum number of bytes from a frame to the end of the language."""
    automaton = shortest.automaton

    def length(at: Frame) -> int:
        rule = automaton.rule_of[at.state]
        iterations = max(automaton.counter_bounds[rule][0] - at.count, 0)
        return int(shortest.distance[at.state]) + iterations * int(shortest.bytes_per_iteration[rule])

    return min_stack_cost(frame, length, known)


def shortest_texts(shortest: ShortestPaths, frames: Iterable[Frame]) -> list[bytes]:
    """Return a text of (approximately) minimum length from each frame to the end of the language."""
    if len(shortest.pieces) > _MAX_PIECES:
        shortest.pieces.clear()
    return [b"".join(shortest_pieces(shortest, frame, shortest.pieces)) for frame in frames]


def shortest_pieces(
    shortest: ShortestPaths, frame: Frame, pieces: dict[Frame, Piece] | None = None
) -> Iterator[bytes]:
    """Yield the pieces of a text of `shortest_texts`: the bytes between calls of rules and returns from them.

    Args:
        shortest: The shortest paths.
        frame: The frame.
        pieces: The known pieces; receives those that are computed and short.
    """
    at: Frame | None = frame
    known: dict[Frame | FrameSet, int] = {}
    while at is not None:
        piece = None if pieces is None else pieces.get(at)
        if piece is None:
            piece = _piece(shortest, at, known)
            if pieces is not None and len(piece[0]) <= _MAX_PIECE_BYTES:
                pieces[at] = piece
        text, at = piece[:2]
        if text:
            yield text


def shortest_distinct(
    shortest: ShortestPaths, frame: Frame, buffer: bytes
) -> tuple[bytes, frozenset[bytes]] | None:
    """Return a short text from a frame and the distinct texts that it adds; `None` if it would repeat one.

    It is that of `shortest_texts`, with the next longer text in place of each distinct text that was seen, if the rule
    of the text has no calls.

    Args:
        shortest: The shortest paths.
        frame: The frame.
        buffer: The text from the start of the outermost open distinct text.
    """
    at: Frame | None = frame
    known: dict[Frame | FrameSet, int] = {}
    texts, added = list[bytes](), set[bytes]()
    while at is not None:
        is_fresh = not _may_have_seen(at)
        segment = shortest.segments.get(at) if is_fresh else None
        if segment is None:
            segment = _segment(shortest, at, known, buffer)
            if segment is None:
                return None
            if is_fresh and len(segment[0]) <= _MAX_SEGMENT_BYTES:
                if len(shortest.segments) >= _MAX_SEGMENTS:
                    shortest.segments.clear()
                shortest.segments[at] = segment
        text, found, at = segment
        texts.append(text)
        added |= found
        buffer = b""
    return b"".join(texts), frozenset(added)


def _segment(
    shortest: ShortestPaths, frame: Frame, known: dict[Frame | FrameSet, int], buffer: bytes
) -> Segment | None:
    """Return what `shortest_distinct` does, up to the next frame that has seen no distinct text.

    The text after that frame depends on nothing else, so that of later arrays is computed once.
    """
    at: Frame | None = frame
    path, added, places = buffer, set[bytes](), dict[tuple[int, int], int]()
    while at is not None:
        text, at, found, is_new = _piece(shortest, at, known, path, places)
        if not is_new:
            return None
        path += text
        if found is not None:
            added.add(found)
        if at is not None and added and not _may_have_seen(at):
            break
    return path[len(buffer) :], frozenset(added), at


def _may_have_seen(frame: Frame) -> bool:
    """Return whether distinct texts were seen or are open in a frame or below it; sets of frames may have some."""
    at: Below = frame
    while isinstance(at, Frame):
        if at.seen_texts is not None:
            return True
        at = at.below
    return at is not None


def _piece(
    shortest: ShortestPaths,
    frame: Frame,
    known: dict[Frame | FrameSet, int],
    path: bytes | None = None,
    places: dict[tuple[int, int], int] | None = None,
) -> Piece:
    """Return the piece from a frame.

    Args:
        shortest: The shortest paths.
        frame: The frame.
        known: The costs of sets of frames.
        path: The text before the frame, from the start of the outermost distinct text.
        places: The place of the last text that was chosen, by its rule and what is below the rule that calls it: the
            texts before it were seen.
    """
    automaton = shortest.automaton
    at, text, step = _bytes_to_step(shortest, frame)
    if step == kernels.AT_END:
        below, ended, is_new = at.below, None, True
        if isinstance(below, FrameSet):
            return text, _nearest_frame(shortest, below, known), None, True
        if below is not None and below.seen_texts is not None and below.seen_texts.open_start is not None:
            seen = below.seen_texts
            ended = automaton.sole_text(automaton.rule_of[at.state])
            if path is not None:
                ended = (path + text)[seen.open_start :]
            is_new = not seen.contains(ended)
            is_few = path is not None and len(seen.texts) <= _MAX_SEEN
            texts = shortest.texts_from(frame.state) if is_few and not is_new else None
            if path is not None and texts is not None:
                prefix = path[seen.open_start :]
                if (other := texts.first_new(lambda rest: seen.contains(prefix + rest))) is not None:
                    text, ended, is_new = other[0], prefix + other[0], True
            if ended is not None:
                below = automaton.frame(below.state, below.count, below.below, seen.with_text(ended))
        return text, below, ended, is_new
    call, memory, only, is_new = -1 - step, at.seen_texts, None, True
    count = automaton.apply_operation(
        automaton.rule_of[at.state], at.count, automaton.call_operation.item(call)
    )
    callee = automaton.call_rule.item(call)
    if automaton.call_distinct[call]:
        only, memory = automaton.sole_text(callee), memory or SeenTexts()
        is_new = not memory.contains(only)
        if only is not None:
            memory = memory.with_text(only)
        elif path is not None:
            new = None if places is None else _new_text(shortest, callee, at.below, memory, places)
            if new is not None:
                memory = memory.with_text(new)
                after = automaton.frame(automaton.call_next.item(call), count or 0, at.below, memory)
                return text + new, after, new, True
            memory = memory.with_open(len(path) + len(text))
    back = automaton.frame(automaton.call_next.item(call), count or 0, at.below, memory)
    return text, automaton.frame(automaton.start.item(callee), 0, back), only, is_new


def _new_text(
    shortest: ShortestPaths,
    callee: int,
    below: Below,
    memory: SeenTexts,
    places: dict[tuple[int, int], int],
) -> bytes | None:
    """Return the shortest text of a rule that was not seen; `None` if none or many were seen, or if it is not known."""
    is_few = 0 < len(memory.texts) <= _MAX_SEEN
    texts = shortest.texts_from(shortest.automaton.start.item(callee)) if is_few else None
    if texts is None:
        return None
    place = callee, id(below)
    found = texts.first_new(memory.contains, places.get(place, 0) if len(memory.texts) > 1 else 0)
    if found is None:
        return None
    places[place] = found[1]
    return found[0]


def _bytes_to_step(shortest: ShortestPaths, frame: Frame) -> tuple[Frame, bytes, int]:
    """Return the frame at the next call or the end of the rule, the bytes to it, and the step there.

    While iterations are pending, the step depends on the state only. So the bytes between two visits of a state repeat
    until the last iteration, and are appended at once.
    """
    automaton = shortest.automaton
    state, count, memory = frame.state, frame.count, frame.seen_texts
    rule = automaton.rule_of[state]
    least = automaton.counter_bounds[rule][0]
    if automaton.counter_bounds[rule] == (0, -1) and count == 0:
        run, state = shortest.run(state)
        return automaton.frame(state, 0, frame.below, memory), run, _unused_step(shortest, state, memory)
    text = bytearray()
    visits: dict[int, tuple[int, int]] = {}
    while True:
        if count < least:
            last_count, last_length = visits.get(state, (count, 0))
            if count > last_count:
                iterations = (least - 1 - count) // (count - last_count)
                text += text[last_length:] * iterations
                count += iterations * (count - last_count)
            visits[state] = count, len(text)
            step = shortest.pending_step(state, rule, memory)
        else:
            step = _unused_step(shortest, state, memory)
        if step < 0:
            return automaton.frame(state, count, frame.below, memory), bytes(text), step
        text.append(step)
        target = automaton.targets.item(automaton.row.item(state) + automaton.classes.item(rule, step))
        state = target >> OPERATION_BITS
        count = automaton.apply_operation(rule, count, target & OPERATION_MASK) or 0


def _nearest_frame(shortest: ShortestPaths, frame_set: FrameSet, known: dict[Frame | FrameSet, int]) -> Frame:
    return min(frame_set.frames, key=lambda frame: shortest_length(shortest, frame, known))


def _iteration_step(shortest: ShortestPaths, state: int, rule: int, memory: SeenTexts | None) -> int:
    """Return the shortest step that starts an iteration of the counted repetition, or leads to one that does."""
    candidates = shortest.calls.get((state, True))
    if candidates is None:
        candidates = shortest.calls[state, True] = _starting_steps(shortest, state, rule)
    for step, only in candidates:
        if memory is None or not memory.contains(only):
            return step
    return shortest.steps_to_iteration(rule).get(state, shortest.first_step.item(state))


def _starting_steps(shortest: ShortestPaths, state: int, rule: int) -> list[Step]:
    """Return the steps that start an iteration of the counted repetition, the shortest first."""
    automaton, end, row = shortest.automaton, shortest.distance, shortest.automaton.row.item(state)
    found: list[tuple[int, Step]] = []
    for klass, target in enumerate(automaton.targets[row : row + shortest.width.item(rule)].tolist()):
        if target != DEAD and target & OPERATION_MASK == ENTER:
            found.append((end.item(target >> OPERATION_BITS), (shortest.first_byte.item(rule, klass), None)))
    for call in range(automaton.call_first.item(state), automaton.call_first.item(state + 1)):
        if automaton.call_operation[call] == ENTER:
            found.append(_call_step(shortest, call))
    return [step for far, step in sorted(found, key=itemgetter(0)) if far < 2 * kernels.UNREACHABLE]


def _call_step(shortest: ShortestPaths, call: int) -> tuple[int, Step]:
    """Return the bytes to the end after a call, and the call with the only distinct text that it may write."""
    automaton, end = shortest.automaton, shortest.distance
    callee = automaton.call_rule.item(call)
    far = end.item(automaton.start.item(callee)) + end.item(automaton.call_next.item(call))
    return far, (-1 - call, automaton.sole_text(callee) if automaton.call_distinct[call] else None)


def _unused_step(shortest: ShortestPaths, state: int, memory: SeenTexts | None) -> int:
    """Return the first step of a shortest path; no call whose only text was seen, if there is another call."""
    automaton, step = shortest.automaton, shortest.first_step.item(state)
    if memory is None or step >= 0 or step == kernels.AT_END or not automaton.call_distinct[-1 - step]:
        return step
    candidates = shortest.calls.get((state, False))
    if candidates is None:
        calls = range(automaton.call_first.item(state), automaton.call_first.item(state + 1))
        ordered = sorted(
            (_call_step(shortest, call) for call in calls), key=lambda each: (each[0], each[1][0])
        )
        candidates = shortest.calls[state, False] = [each for _, each in ordered]
    return next((call for call, only in candidates if not memory.contains(only)), step)


def _find_iteration_steps(shortest: ShortestPaths, rule: int) -> Mapping[int, int]:
    automaton = shortest.automaton
    first, stop = automaton.state_range(rule)
    into: dict[int, list[tuple[int, int]]] = {}
    begins: list[int] = []
    for state in range(first, stop):
        row = int(automaton.row[state])
        for klass, target in enumerate(automaton.targets[row : row + int(shortest.width[rule])].tolist()):
            if target != DEAD and target & OPERATION_MASK == NO_OP:
                step = int(shortest.first_byte[rule, klass])
                into.setdefault(target >> OPERATION_BITS, []).append((state, step))
            elif target != DEAD and target & OPERATION_MASK == ENTER:
                begins.append(state)
        for call in range(automaton.call_first[state], automaton.call_first[state + 1]):
            if automaton.call_operation[call] == ENTER:
                begins.append(state)
            elif automaton.call_operation[call] == NO_OP:
                into.setdefault(int(automaton.call_next[call]), []).append((state, -1 - call))
    ways: dict[int, int] = {}
    reached = set(begins)
    queue = deque(begins)
    while queue:
        state = queue.popleft()
        for before, step in into.get(state, ()):
            if before not in reached:
                reached.add(before)
                ways[before] = step
                queue.append(before)
    return ways
