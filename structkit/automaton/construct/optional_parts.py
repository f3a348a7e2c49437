"""Runs of many optional parts, such as the optional properties of an object.

After each part, any of the later parts may follow. With separate start states per part, the subset construction would
put the start states of all later parts into each of these sets. Therefore parts share a trie of their literal prefixes.
A state is a trie node and the first part that may still follow; there is one for each part below a node, at most as
many as the prefixes have bytes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from structkit.regex.nodes import ListPart, LiteralText, Node, Seq

__all__ = ["Emitter", "group_optional", "optional_run"]

_MAX_SEPARATE_PARTS = 128
"""Maximum length of a run that is emitted part by part: for short runs the kernel is faster than a trie in Python."""


class Emitter(Protocol):
    """Adds states and moves to an automaton under construction."""

    def state(self) -> int:
        """Add a state and return it."""
        ...

    def link(self, source: int, target: int) -> None:
        """Add an epsilon move."""
        ...

    def edge(self, source: int, byte: int, target: int) -> None:
        """Add a move by one byte."""
        ...

    def edges(
        self, sources: NDArray[np.int32], symbols: NDArray[np.int32], targets: NDArray[np.int32]
    ) -> None:
        """Add moves, each by one byte."""
        ...

    def text(self, value: str, start: int) -> int:
        """Add a path that reads a text; return its end."""
        ...

    def emit(self, node: Node, start: int) -> int:
        """Add a fragment that reads the texts of a node; return its end."""
        ...


def group_optional(parts: Sequence[ListPart]) -> Iterable[Sequence[ListPart]]:
    """Return the parts in order, with each long run of optional parts that start with a literal in one group."""
    return [(part,) for part in parts] if len(parts) <= _MAX_SEPARATE_PARTS else _long_runs(parts)


def _long_runs(parts: Sequence[ListPart]) -> Iterator[Sequence[ListPart]]:
    for optional, group in groupby(
        parts, lambda part: part.min_count == 0 and part.max_count == 1 and _literal_prefix(part.node) != b""
    ):
        run = list(group)
        if optional and len(run) > _MAX_SEPARATE_PARTS:
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
    """Emit optional parts, with a separator between any two that are written.

    Args:
        emitter: Adds the states.
        run: The parts.
        separator: The text between two parts.
        none_written: The state in which no earlier part was written, if there is one.
        some_written: The state in which an earlier part was written, if there is one.

    Returns:
        The state after one of these or an earlier part was written.
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
    """Return, for each part, the state from which it or a later part can be written, and the state after it."""
    texts = [_literal_prefix(part.node) for part in run]
    entries = [emitter.state() for _ in run]
    ends = [-1] * len(run)
    pending = [(0, list(range(len(run))), entries)]
    while pending:
        length, parts_below, states = pending.pop()
        following: dict[int, list[int]] = {}
        for position, part in enumerate(parts_below):
            if len(texts[part]) > length:
                following.setdefault(texts[part][length], []).append(part)
                continue
            prefix_end = emitter.state()
            for state in states[: position + 1]:
                emitter.link(state, prefix_end)
            ends[part] = emitter.emit(_without_prefix(run[part].node), prefix_end)
        for byte, parts in following.items():
            targets = [emitter.state() for _ in parts]
            for first, state in zip(parts_below, states, strict=True):
                position = bisect_left(parts, first)
                if position < len(parts):
                    emitter.edge(state, byte, targets[position])
            pending.append((length + 1, parts, targets))
    return entries, ends


def _literal_prefix(node: Node) -> bytes:
    """Return the literal that a node starts with; empty if there is none."""
    first = node.parts[0] if isinstance(node, Seq) and node.parts else node
    return first.utf8 if isinstance(first, LiteralText) else b""


def _without_prefix(node: Node) -> Node:
    """Return the node without its literal prefix."""
    return Seq(node.parts[1:]) if isinstance(node, Seq) else Seq(())
