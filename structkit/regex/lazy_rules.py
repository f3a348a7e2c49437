"""Rules that are lowered on their first lookup."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from structkit.regex.nodes import Node

__all__ = ["LazyRules"]


class LazyRules(Mapping[str, Node]):
    """A mapping of rules that lowers deferred rules on their first lookup. Not thread-safe.

    Args:
        lowered: The lowered rules; `lower` adds to them.
        deferred: The names of the other rules; `lower` removes from them.
        lower: Lowers one deferred rule.
    """

    def __init__(self, lowered: dict[str, Node], deferred: set[str], lower: Callable[[str], None]) -> None:
        self.lowered = lowered
        self._deferred = deferred
        self._lower = lower

    def __getitem__(self, name: str) -> Node:
        if name in self._deferred:
            self._lower(name)
        return self.lowered[name]

    def __iter__(self) -> Iterator[str]:
        for name in sorted(self._deferred):
            self._lower(name)
        return iter(self.lowered)

    def __len__(self) -> int:
        return sum(1 for _ in self)
