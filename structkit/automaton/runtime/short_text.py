"""Short texts that repeat no distinct text: a shortest text, changed where it would repeat one."""

from __future__ import annotations

from collections.abc import Iterator

from structkit.automaton.core.dfa import DEAD
from structkit.automaton.runtime.distinct import forbidden_suffixes
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.shortest import ShortestPaths, shortest_length, shortest_text
from structkit.automaton.runtime.stack import Frame, SeenTexts, stack_frames

__all__ = ["count_conflicts", "seen_texts", "short_text"]

_MAX_STEPS_BACK = 8
"""Bytes before a repeated text that may be replaced, if one at its end makes the text much longer."""

_TEXTS_PER_READ = 16
"""Texts seen that double the time of a read."""

_BYTES_PER_READ = 10
"""Bytes of a shortest text that are found in the time of a read."""

_SMALL_EXCESS = 1
"""Bytes by which a replacement may lengthen the text without a search for a better one."""


def short_text(
    shortest: ShortestPaths, reader: Reader, frames: frozenset[Frame], buffer: bytes, max_reads: int
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
        max_reads: The number of bytes to read, each of which takes about 0.05 ms; with many texts seen, fewer are read.
    """
    text = bytearray()
    while max_reads > 0:
        rest = _shortest(shortest, frames)
        path = [(frames, buffer)]
        cost = 1 + sum(len(seen.texts) for seen in seen_texts(frames)) // _TEXTS_PER_READ
        for byte in rest[: max_reads // cost]:
            after = reader.read(*path[-1], bytes((byte,)))
            if not after[0]:
                break
            path.append(after)
        if reader.automaton.is_accepting(path[-1][0]):
            return bytes(text) + rest
        max_reads -= cost * len(path) + len(rest) // _BYTES_PER_READ
        best: tuple[int, int, int, int] | None = None
        last = len(path) - 1
        for position in range(last, max(last - _MAX_STEPS_BACK, 0) - 1, -1):
            if best is not None and best[0] <= len(rest) + _SMALL_EXCESS:
                break
            for byte in sorted(set(_different_bytes(reader, *path[position]))):
                if position < last and byte == rest[position]:
                    continue
                max_reads -= cost
                after = reader.read(*path[position], bytes((byte,)))
                if after[0]:
                    length = position + 1 + min(shortest_length(shortest, frame) for frame in after[0])
                    found = (length, count_conflicts(*after), position, byte)
                    best = found if best is None else min(best, found)
        if best is None:
            return None
        text += rest[: best[2]] + bytes((best[3],))
        frames, buffer = reader.read(*path[best[2]], bytes((best[3],)))
    return None


def _shortest(shortest: ShortestPaths, frames: frozenset[Frame]) -> bytes:
    """Return a shortest text, the same one in each process."""
    lengths = {frame: shortest_length(shortest, frame) for frame in frames}
    nearest = min(lengths.values(), default=0)
    return min((shortest_text(shortest, frame) for frame in frames if lengths[frame] == nearest), default=b"")


def seen_texts(frames: frozenset[Frame]) -> Iterator[SeenTexts]:
    """Yield the distinct texts seen before, for each rule of the stacks that has some."""
    for frame in frames:
        for at in stack_frames(frame):
            if at.seen_texts is not None:
                yield at.seen_texts


def count_conflicts(frames: frozenset[Frame], buffer: bytes) -> int:
    """Return how many texts seen before extend the open distinct texts; the fewer, the fewer bytes make a new text."""
    stack = [frame for frame in frames if frame.inside_distinct]
    conflicts = 0
    while stack:
        frame = stack.pop()
        conflicts += len(forbidden_suffixes(frame, buffer))
        if isinstance(frame.below, Frame):  # no text is open below a `FrameSet`
            stack.append(frame.below)
    return conflicts


def _different_bytes(reader: Reader, frames: frozenset[Frame], buffer: bytes) -> Iterator[int]:
    """Yield, of each class of bytes that can follow, the first and the first that no text seen before has there."""
    automaton = reader.automaton
    for frame in frames:
        taken: set[int] = set()
        at: object = frame
        while isinstance(at, Frame) and at.inside_distinct:
            taken.update(text[0] for text in forbidden_suffixes(at, buffer) if text)
            at = at.below
        row, classes = int(automaton.row[frame.state]), automaton.classes[automaton.rule_of[frame.state]]
        first: set[int] = set()
        free: set[int] = set()
        for byte, klass in enumerate(classes.tolist()):
            if automaton.targets[row + klass] != DEAD:
                if klass not in first:
                    first.add(klass)
                    yield byte
                if klass not in free and byte not in taken:
                    free.add(klass)
                    yield byte
