"""Rules that are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from structkit.regex.nodes import Node

__all__ = ["LazyRules"]


class LazyRules(Mapping[str, Node]):
    """Rules by name, of which some are made when they are first asked for; not by several threads at once.

    Args:
        lowered: Those that were made, to which the others are added.
        deferred: The names of the others.
        lower: Makes one of them, which is none of the others then.
    """

    def __init__(self, lowered: dict[str, Node], deferred: set[str], lower: Callable[[str], None]) -> None:
        self.lowered = lowered
        self._deferred = deferred
        self._make = lower

    def __getitem__(self, name: str) -> Node:
        if name in self._deferred:
            self._make(name)
        return self.lowered[name]

    def __iter__(self) -> Iterator[str]:
        for name in sorted(self._deferred):
            self._make(name)
        return iter(self.lowered)

    def __len__(self) -> int:
        return sum(1 for _ in self)
