"""The distinct texts that a completion adds, which decide whether it also is one after a token to the same frames."""

from __future__ import annotations

from collections.abc import Set

from structkit.automaton.runtime.short_text import seen_texts
from structkit.guide.state import State, distinct_depth, distinct_texts
from structkit.index.index import Index

__all__ = ["completion_texts", "texts_after"]


def completion_texts(state: State, index: Index) -> Set[bytes]:
    """Return the distinct texts that the state's completion adds, perhaps with more that were added before."""
    if state.completion_texts is not None:
        return state.completion_texts
    written: set[bytes] = set()
    frames, buffer = state.frames, state.buffer
    known = {id(seen): seen for seen in seen_texts(frames)}
    # Byte by byte: a token such as `]]` ends a text and the rule that has it among its texts.
    for byte in b"".join(map(index.vocabulary.tokens.__getitem__, state.completion or ())):
        frames, buffer = index.reader.read(frames, buffer, bytes((byte,)))
        for seen in seen_texts(frames):
            if id(seen) not in known:
                known[id(seen)] = seen
                written.update(seen.texts)
    added = written - distinct_texts(state.frames)
    if state.completion:
        state.completion_texts = added
    return added


def texts_after(alike: State, successor: State, index: Index) -> Set[bytes] | None:
    """Return the distinct texts that the completion of a state adds after another token to the same frames.

    Only the open text, and those that the tokens wrote, differ. So the completion is read to the end of the open text,
    and repeats none if those that differ are not among the texts that it adds.

    Args:
        alike: The state that has the completion.
        successor: The state after the other token.
        index: The masks.

    Returns:
        The texts, perhaps with more that were added before; `None` if a text may be repeated.
    """
    frames, buffer = successor.frames, successor.buffer
    if len(frames) > 1 or distinct_depth(successor) > 1:
        return None
    rest = b"".join(map(index.vocabulary.tokens.__getitem__, alike.completion or ()))
    for position in range(len(rest)):
        if all(seen.open_start is None for seen in seen_texts(frames)):
            break
        frames, buffer = index.reader.read(frames, buffer, rest[position : position + 1])
    different = distinct_texts(frames) - distinct_texts(alike.frames)
    written = completion_texts(alike, index)
    return written | different if frames and different.isdisjoint(written) else None
