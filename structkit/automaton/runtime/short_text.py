"""Short texts that repeat no distinct text: a shortest text, changed where it would repeat one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from structkit.automaton.core.dfa import DEAD
from structkit.automaton.core.kernels import OPERATION_BITS
from structkit.automaton.runtime.distinct import Fuel, forbidden_suffixes
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.shortest import (
    ShortestPaths,
    shortest_length,
    shortest_pieces,
)
from structkit.automaton.runtime.stack import Frame, SeenTexts, stack_frames

__all__ = ["count_conflicts", "seen_texts", "short_text"]

_MAX_STEPS_BACK = 8
"""Bytes before a repeated text that may be replaced, if one at its end makes the text much longer."""

_TEXTS_PER_READ = 64
"""Texts seen that double the time of a read."""

_SMALL_EXCESS = 1
"""Bytes by which a replacement may lengthen the text without a search for a better one."""

_COMPARED_BYTES = 32
"""Bytes of equally short texts that are compared, so that every process chooses the same one."""


def short_text(
    shortest: ShortestPaths, reader: Reader, frames: frozenset[Frame], buffer: bytes, fuel: Fuel
) -> bytes | None:
    """Return a short text from frames to the end of the language that repeats no distinct text; `None` if not found.

    A shortest text is followed to the byte at which it would repeat a distinct text. The byte there, or one of the
    bytes before it, is replaced by another one, and a shortest text is followed again. So the text after a part of the
    result is the rest of it.

    Args:
        shortest: The shortest paths of the automaton.
        reader: Reads texts.
        frames: The frames.
        buffer: The text from the start of the outermost open distinct text.
        fuel: The reads that may be made; those made are taken from it. With many texts seen, a read counts more.
    """
    text = bytearray()
    while fuel.reads > 0:
        length = min((shortest_length(shortest, frame) for frame in frames), default=0)
        read, at, marks = bytearray(), (frames, buffer), [(0, (frames, buffer))]
        cost = 1 + sum(len(seen.texts) for seen in seen_texts(frames)) // _TEXTS_PER_READ
        piece = b""
        for piece in _pieces(shortest, frames, length):
            fuel.reads -= cost
            after = reader.read(*at, piece, fuel)
            if not after[0] or fuel.reads < 0:
                break
            read += piece
            at, piece = after, b""
            marks.append((len(read), at))
        else:
            if reader.automaton.is_accepting(at[0]):
                return bytes(text + read)
        base, path = _bytewise(reader, marks, bytes(read), piece, fuel)
        fuel.reads -= cost * len(path)
        read += piece
        best: tuple[int, int, int, int] | None = None
        last = base + len(path) - 1
        for position in range(last, max(last - _MAX_STEPS_BACK, base) - 1, -1):
            is_open = any(frame.inside_distinct for frame in path[position - base][0])
            # Another byte before the repeated text leads to the same text again.
            if best is not None and (best[0] <= length + _SMALL_EXCESS or not is_open):
                break
            for byte in _different_bytes(shortest, reader, *path[position - base]):
                if position < last and byte == read[position]:
                    continue
                fuel.reads -= cost
                after = reader.read(*path[position - base], bytes((byte,)), fuel)
                if after[0]:
                    changed = position + 1 + min(shortest_length(shortest, frame) for frame in after[0])
                    found = (changed, count_conflicts(*after), position, byte)
                    best = found if best is None else min(best, found)
                    if best[0] <= length + _SMALL_EXCESS and not best[1]:
                        break
        if best is None:
            return None
        text += read[: best[2]] + bytes((best[3],))
        frames, buffer = reader.read(*path[best[2] - base], bytes((best[3],)), fuel)
    return None


def _pieces(shortest: ShortestPaths, frames: frozenset[Frame], length: int) -> Iterator[bytes]:
    """Yield the pieces of a shortest text, the same one in each process."""
    nearest = [frame for frame in frames if shortest_length(shortest, frame) == length]
    if len(nearest) > 1:
        nearest.sort(key=lambda frame: (_beginning(shortest, frame), frame.state, frame.count))
    return shortest_pieces(shortest, nearest[0]) if nearest else iter(())


def _beginning(shortest: ShortestPaths, frame: Frame) -> bytes:
    """Return the beginning of a shortest text."""
    text = b""
    for piece in shortest_pieces(shortest, frame):
        text += piece
        if len(text) >= _COMPARED_BYTES:
            break
    return text


def _bytewise(
    reader: Reader,
    marks: list[tuple[int, tuple[frozenset[Frame], bytes]]],
    read: bytes,
    piece: bytes,
    fuel: Fuel,
) -> tuple[int, list[tuple[frozenset[Frame], bytes]]]:
    """Return the frames after each byte from some place before the end of what was read, and the place.

    Args:
        reader: Reads texts.
        marks: Places, and the frames there.
        read: The text that was read.
        piece: What followed, which the last frames do not read to its end.
        fuel: Loses the reads that searches make.
    """
    base, at = next(mark for mark in reversed(marks) if mark[0] <= max(len(read) - _MAX_STEPS_BACK, 0))
    path = [at]
    for byte in read[base:] + piece:
        after = reader.read(*path[-1], bytes((byte,)), fuel)
        if not after[0]:
            break
        path.append(after)
    return base, path


def seen_texts(frames: frozenset[Frame]) -> Iterator[SeenTexts]:
    """Yield the distinct texts seen before, for each rule of the stacks that has some."""
    for frame in frames:
        for at in stack_frames(frame):
            if at.seen_texts is not None:
                yield at.seen_texts


def count_conflicts(frames: frozenset[Frame], buffer: bytes) -> int:
    """Return how many texts seen before extend the open distinct texts; the fewer, the fewer bytes make a new text."""
    stack = [frame for frame in frames if frame.must_differ]
    conflicts = 0
    while stack:
        frame = stack.pop()
        conflicts += len(forbidden_suffixes(frame, buffer))
        if isinstance(frame.below, Frame) and frame.below.must_differ:
            stack.append(frame.below)
    return conflicts


def _different_bytes(
    shortest: ShortestPaths, reader: Reader, frames: frozenset[Frame], buffer: bytes
) -> list[int]:
    """Return bytes that can follow: of each class one that no text seen before has there; if all have, all of them.

    Those after which the rule is the shortest come first, and of these the ones that no text has.
    """
    automaton = reader.automaton
    found: dict[int, tuple[int, bool, int]] = {}
    for frame in frames:
        taken: set[int] = set()
        at: object = frame
        while isinstance(at, Frame) and at.inside_distinct:
            taken.update(text[0] for text in forbidden_suffixes(at, buffer) if text)
            at = at.below
        rule, row = automaton.rule_of[frame.state], automaton.row.item(frame.state)
        classes = automaton.classes[rule]
        free = dict(enumerate(shortest.first_byte[rule, : shortest.width.item(rule)].tolist()))
        for klass in {classes.item(byte) for byte in taken}:
            others = (byte for byte in np.flatnonzero(classes == klass).tolist() if byte not in taken)
            if (other := next(others, None)) is None:
                del free[klass]
            else:
                free[klass] = other
        for byte in [*free.values(), *taken]:
            klass = classes.item(byte)
            target = automaton.targets.item(row + klass)
            if target != DEAD and free.get(klass, byte) == byte:
                entry = (shortest.distance.item(target >> OPERATION_BITS), byte in taken, byte)
                found[byte] = min(entry, found.get(byte, entry))
    return [byte for _, _, byte in sorted(found.values())]
