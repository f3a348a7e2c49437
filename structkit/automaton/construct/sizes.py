"""Estimates of the number of states of nodes, to decide which repetitions are counted."""

from __future__ import annotations

from collections.abc import Iterable

from structkit.limits import Limits, check_iterations
from structkit.regex.nodes import (
    AnyOrder,
    CharClass,
    Choice,
    Distinct,
    Intersection,
    LiteralText,
    MultipleOf,
    Network,
    Node,
    Repeat,
    RuleRef,
    SeparatedList,
    Seq,
    Substring,
)

__all__ = ["Sizes", "is_large", "repeats_letters"]

_MAX_UNROLLED_STATES = 64
"""Maximum NFA states of an unrolled repetition; larger repetitions are counted."""

_MAX_UNROLLED_LETTERS, _LETTERS = 16, 24
"""Maximum repetitions that are unrolled of a class with this number of ASCII characters, where the counter is free.

Each state of such a class allows a large part of the vocabulary, and its row takes up to 1 ms; one row serves all
counts."""


def is_large(node: Node, limits: Limits) -> bool:
    """Return whether a node is a counted repetition (not an unrolled one), alone or followed by a literal."""
    if isinstance(node, Seq) and len(node.parts) == 2 and isinstance(node.parts[1], LiteralText):
        node = node.parts[0]
    return isinstance(node, Repeat) and Sizes(limits).is_large(node)


def repeats_letters(node: Node) -> bool:
    """Return whether a node repeats a class of many characters so often that a counter is faster, if one is free.

    >>> letters = CharClass(((97, 122),))
    >>> repeats_letters(Repeat(letters, 1, 32)), repeats_letters(Repeat(letters, 1, 8))
    (True, False)
    """
    if not isinstance(node, Repeat) or not isinstance(node.part, CharClass):
        return False
    iterations = node.min_count if node.max_count is None else node.max_count
    ascii_ranges = [(first, min(last, 0x7F)) for first, last in node.part.ranges if first < 0x80]
    return (
        iterations > _MAX_UNROLLED_LETTERS
        and sum(last - first + 1 for first, last in ascii_ranges) >= _LETTERS
    )


class Sizes:
    """Estimates of the number of states of nodes."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._known: dict[int, tuple[Node, int]] = {}  # the reference to the node keeps its id unique

    def is_large(self, node: Repeat) -> bool:
        """Return whether a repetition is counted instead of unrolled."""
        if node.min_count > self.limits.iterations:
            check_iterations(node.min_count, self.limits)
        iterations = node.min_count if node.max_count is None else node.max_count
        return iterations > 1 and iterations * self.of(node.part) > _MAX_UNROLLED_STATES

    def of(self, node: Node) -> int:
        """Return the estimated number of states of a node, or a smaller number above the maximum; calls take one."""
        cached = self._known.get(id(node))
        if cached is not None:
            return cached[1]
        match node:
            case LiteralText(value):
                size = len(value)
            case Seq(parts) | Choice(parts):
                size = _total(map(self.of, parts))
            case Repeat(part, min_count, max_count):
                size = self.of(part) * max(min_count, 1 if max_count is None else max_count)
            case SeparatedList(parts, separator):
                size = _total(
                    (self.of(p.node) + len(separator))
                    * min(max(p.min_count, p.max_count or 1), _MAX_UNROLLED_STATES)
                    for p in parts
                )
            case AnyOrder(entries):
                size = _total(self.of(entry.value) + 2 for entry in entries)
            case Intersection(left, right):
                size = self.of(left) + self.of(right)
            case MultipleOf(of, places):
                size = of * (1 + places)
            case Network(_, moves):
                size = _total(self.of(part) for _, part, _ in moves)
            case CharClass() | RuleRef() | Distinct() | Substring():
                size = 1
        self._known[id(node)] = (node, size)
        return size


def _total(sizes: Iterable[int]) -> int:
    """Return the sum of sizes, or a part of it above `_MAX_UNROLLED_STATES`."""
    total = 0
    for size in sizes:
        total += size
        if total > _MAX_UNROLLED_STATES:
            break
    return total
