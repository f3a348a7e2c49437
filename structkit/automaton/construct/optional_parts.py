"""Many parts of which each may be left out, such as the optional properties of an object.

After each of them another set of parts may follow: those behind it. If each began with states of its own, all of these
would be members of each of those sets. So parts that begin alike share a trie, and a state of it also says from which
part on; there is one for each part below a node of the trie, which makes as many as the texts have bytes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Protocol

from structkit.regex.nodes import ListPart, LiteralText, Node, Seq

__all__ = ["Emitter", "group_optional", "optional_run"]

_MIN_RUN_LENGTH = 128
"""Parts that are as soon written out one by one: up to so many a kernel is quicker than a trie of Python's."""


class Emitter(Protocol):
    """What adds states to an automaton."""

    def state(self) -> int:
        """A new state."""
        ...

    def link(self, source: int, target: int) -> None:
        """A way without a byte."""
        ...

    def edge(self, source: int, byte: int, target: int) -> None:
        """A way with a byte."""
        ...

    def text(self, value: str, start: int) -> int:
        """A way with a text; the state where it ends."""
        ...

    def emit(self, node: Node, start: int) -> int:
        """A way with the texts of a node; the state where it ends."""
        ...


def group_optional(parts: Sequence[ListPart]) -> Iterator[Sequence[ListPart]]:
    """The parts; those together that stand together, may be left out and begin with a text, if they are many."""
    if len(parts) <= _MIN_RUN_LENGTH:
        yield from ([part] for part in parts)
        return
    for optional, group in groupby(
        parts, lambda part: part.min_count == 0 and part.max_count == 1 and _literal_prefix(part.node) != b""
    ):
        run = list(group)
        if optional and len(run) > _MIN_RUN_LENGTH:
            yield run
        else:
            yield from ([part] for part in run)


def optional_run(
    emitter: Emitter,
    run: Sequence[ListPart],
    separator: str,
    none_written: int | None,
    some_written: int | None,
) -> int:
    """Emit parts that may be left out, with a separator between any two that are written.

    Args:
        emitter: Adds the states.
        run: The parts.
        separator: What stands between them.
        none_written: The state where no part before them was written, if there is one.
        some_written: The state where one was, if there is one.

    Returns:
        The state after one of them, or one before them, was written.
    """
    entries, ends = _any_of(emitter, run)
    after = emitter.state()
    if none_written is not None:
        emitter.link(none_written, entries[0])
    if some_written is not None:
        emitter.link(emitter.text(separator, some_written), entries[0])
        emitter.link(some_written, after)
    for number, end in enumerate(ends, 1):
        emitter.link(end, after)
        if number < len(run):
            emitter.link(emitter.text(separator, end), entries[number])
    return after


def _any_of(emitter: Emitter, run: Sequence[ListPart]) -> tuple[list[int], list[int]]:
    """For each part the state from which it or one behind it can be written, and the state after it."""
    texts = [_literal_prefix(part.node) for part in run]
    entries = [emitter.state() for _ in run]
    ends = [-1] * len(run)
    pending = [(0, list(range(len(run))), entries)]
    while pending:
        length, below, states = pending.pop()
        following: dict[int, list[int]] = {}
        for place, part in enumerate(below):
            if len(texts[part]) > length:
                following.setdefault(texts[part][length], []).append(part)
                continue
            named = emitter.state()
            for state in states[: place + 1]:
                emitter.link(state, named)
            ends[part] = emitter.emit(_without_prefix(run[part].node), named)
        for byte, parts in following.items():
            targets = [emitter.state() for _ in parts]
            for first, state in zip(below, states, strict=True):
                place = bisect_left(parts, first)
                if place < len(parts):
                    emitter.edge(state, byte, targets[place])
            pending.append((length + 1, parts, targets))
    return entries, ends


def _literal_prefix(node: Node) -> bytes:
    """The text that a node begins with."""
    first = node.parts[0] if isinstance(node, Seq) and node.parts else node
    return first.utf8 if isinstance(first, LiteralText) else b""


def _without_prefix(node: Node) -> Node:
    """The node without that text."""
    return Seq(node.parts[1:]) if isinstance(node, Seq) else Seq(())
