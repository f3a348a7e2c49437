"""The sets of terminals of LALR parsers, as the bits of numbers (DeRemer and Pennello 1982).

Lark's own recursion ends at Python's limit, and a set of terminals for each way to a reduction takes the cube of the
number of levels of operators.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from structkit.regex.walk import components

__all__ = ["Bits", "cycles", "unions"]

T = TypeVar("T", bound=Hashable)


class Bits:
    """The numbers of values, and sets of values as the bits of a number."""

    def __init__(self) -> None:
        self._values: list[Hashable] = []
        self._numbers: dict[Hashable, int] = {}

    def of(self, values: Iterable[Hashable]) -> int:
        """Return the set of some values."""
        found = 0
        for value in values:
            number = self._numbers.setdefault(value, len(self._values))
            if number == len(self._values):
                self._values.append(value)
            found |= 1 << number
        return found

    def values(self, bits: int) -> list[Hashable]:
        """Return the values of a set."""
        digits = bin(bits)[:1:-1]
        return [value for value, digit in zip(self._values, digits, strict=False) if digit == "1"]


def unions(nodes: Sequence[T], edges: Mapping[T, Collection[T]], own: Mapping[T, int]) -> dict[T, int]:
    """Return for each node the union of its own set and those of all nodes that it reaches.

    >>> unions("abc", {"a": "b", "b": "ac", "c": ""}, {"a": 1, "b": 2, "c": 4})
    {'c': 4, 'b': 7, 'a': 7}
    """
    numbers = {node: number for number, node in enumerate(nodes)}
    after = [[numbers[other] for other in edges.get(node, ())] for node in nodes]
    sets = [own.get(node, 0) for node in nodes]
    found: dict[T, int] = {}
    order = [0] * len(nodes)  # the place on the stack when a node was first seen, counted from 1
    lowest = [0] * len(nodes)
    is_done = [False] * len(nodes)
    stack: list[int] = []
    for first in range(len(nodes)):
        pending = [(first, 0)] if not order[first] else []
        while pending:
            node, place = pending.pop()
            if not place:
                stack.append(node)
                order[node] = lowest[node] = len(stack)
            else:
                _join(sets, lowest, is_done, node, after[node][place - 1])
            for number in range(place, len(after[node])):
                other = after[node][number]
                if not order[other]:
                    pending += [(node, number + 1), (other, 0)]
                    break
                _join(sets, lowest, is_done, node, other)
            else:
                if lowest[node] == order[node]:  # the nodes above it on the stack reach each other
                    members = stack[order[node] - 1 :]
                    del stack[order[node] - 1 :]
                    for member in reversed(members):
                        sets[member], is_done[member] = sets[node], True
                        found[nodes[member]] = sets[node]
    return found


def cycles(edges: Mapping[T, Collection[T]]) -> list[list[T]]:
    """Return the groups of several nodes that reach each other.

    >>> cycles({"a": "b", "b": "ac", "c": "c"})
    [['b', 'a']]
    """
    nodes = list(edges)
    numbers = {node: str(number) for number, node in enumerate(nodes)}
    groups = components(
        {
            numbers[node]: [numbers[other] for other in after if other in numbers]
            for node, after in edges.items()
        }
    )
    return [[nodes[int(number)] for number in group] for group in groups if len(group) > 1]


def _join(sets: list[int], lowest: list[int], is_done: list[bool], node: int, other: int) -> None:
    """Add the set of a node that is reached."""
    sets[node] |= sets[other]
    if not is_done[other]:
        lowest[node] = min(lowest[node], lowest[other])
