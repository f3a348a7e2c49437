"""Rules that are lowered on their first lookup."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

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
        resolve: For rules that defer ever more rules, so that they cannot all be lowered: returns the name of a rule
            from the name of its caller and the name in the node of the caller.
        formats: The rules that are the formats of their names, whose automata may be stored.
    """

    def __init__(
        self,
        lowered: dict[str, Node],
        deferred: Mapping[str, object],
        examples: Mapping[str, Node],
        lower: Callable[[str], None],
        resolve: Callable[[str, str], str] | None = None,
        *,
        formats: Collection[str] = (),
    ) -> None:
        self.lowered = lowered
        self._deferred = deferred
        self._examples = examples
        self._lower = lower
        self.formats = formats
        self._resolve = resolve

    @property
    def is_unbounded(self) -> bool:
        """Whether rules defer ever more rules, so that they cannot all be lowered."""
        return self._resolve is not None

    def callee(self, caller: str, name: str) -> str:
        """Return the name of a rule from the name in the node of a rule that calls it."""
        return name if self._resolve is None else self._resolve(caller, name)

    def __getitem__(self, name: str) -> Node:
        if name in self._deferred:
            self._lower(name)
        return self.lowered[name]

    def __iter__(self) -> Iterator[str]:
        if self.is_unbounded:
            raise SchemaError(
                "the rules of a grammar with a postlex cannot be listed: there is one for each indentation; "
                "use the grammar without a postlex"
            )
        while self._deferred:
            for name in sorted(self._deferred):
                self._lower(name)
        return iter(self.lowered)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def example(self, name: str) -> Node | None:
        """Return a part of the language of a rule, without lowering it; `None` if the rule was never deferred."""
        return self._examples.get(name)
