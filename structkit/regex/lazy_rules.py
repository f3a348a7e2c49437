"""Rules that are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from structkit.regex.nodes import Node

__all__ = ["GrowingRules"]


class GrowingRules(Mapping[str, Node]):
    """Rules by name, of which some are made when they are first asked for; not by several threads at once.

    Args:
        made: Those that were made, to which the others are added.
        unmade: The names of the others.
        make: Makes one of them, which is none of the others then.
    """

    def __init__(self, made: dict[str, Node], unmade: set[str], make: Callable[[str], None]) -> None:
        self.made = made
        self._unmade = unmade
        self._make = make

    def __getitem__(self, name: str) -> Node:
        if name in self._unmade:
            self._make(name)
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        for name in sorted(self._unmade):
            self._make(name)
        return iter(self.made)

    def __len__(self) -> int:
        return sum(1 for _ in self)
