"""Rules that are lowered on their first lookup."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from structkit.errors import SchemaError
from structkit.regex.nodes import Node

__all__ = ["LazyRules"]


class LazyRules(Mapping[str, Node]):
    """A mapping of rules that lowers deferred rules on their first lookup. Not thread-safe.

    Args:
        lowered: The lowered rules; `lower` adds to them.
        deferred: The other rules by name; `lower` removes one and may add the parts that it defers.
        examples: For each rule that was ever deferred, a part of its language that is not empty.
        lower: Lowers one deferred rule.
        resolve: Returns the name of a rule from the name of its caller and the name in the node of the caller.
        unlisted: For rules that defer ever more rules, so that they cannot all be lowered: the error, with a remedy,
            where they are to be listed.
        formats: The rules that are formats whose automata may be stored, each with its name and lengths.
    """

    def __init__(
        self,
        lowered: dict[str, Node],
        deferred: Mapping[str, object],
        examples: Mapping[str, Node],
        lower: Callable[[str], None],
        resolve: Callable[[str, str], str] | None = None,
        *,
        unlisted: str | None = None,
        formats: Mapping[str, tuple[str, int, int | None]] = MappingProxyType({}),
    ) -> None:
        self.lowered = lowered
        self._deferred = deferred
        self._examples = examples
        self._lower = lower
        self.formats = formats
        self._resolve = resolve
        self.unlisted = unlisted

    @property
    def is_unbounded(self) -> bool:
        """Whether rules defer ever more rules, so that they cannot all be lowered."""
        return self.unlisted is not None

    @property
    def has_own_names(self) -> bool:
        """Whether a rule names its callees in its own way; see `callee`."""
        return self._resolve is not None

    def callee(self, caller: str, name: str) -> str:
        """Return the name of a rule from the name in the node of a rule that calls it."""
        return name if self._resolve is None else self._resolve(caller, name)

    def __getitem__(self, name: str) -> Node:
        if name in self._deferred:
            self._lower(name)
        return self.lowered[name]

    def __iter__(self) -> Iterator[str]:
        if self.unlisted is not None:
            raise SchemaError(self.unlisted)
        while self._deferred:
            for name in sorted(self._deferred):
                self._lower(name)
        return iter(self.lowered)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def example(self, name: str) -> Node | None:
        """Return a part of the language of a rule, without lowering it; `None` if the rule was never deferred."""
        return self._examples.get(name)
