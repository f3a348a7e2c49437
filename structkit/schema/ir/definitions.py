"""Named definitions of a document, built on demand so that references can be cyclic.

A reference gets its name immediately and its schema later, so long chains of references do not recurse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable

from structkit.errors import SchemaError
from structkit.schema.ir.nodes import Ref, Schema
from structkit.schema.ir.path import SchemaPath

__all__ = ["Definitions"]

_INVALID_NAME_CHARACTERS = re.compile(r"[^\w.\[\], -]")
"""Characters that are replaced in names."""


class Definitions:
    """The definitions of a document during parsing.

    >>> from structkit.schema.ir.nodes import Null
    >>> definitions = Definitions()
    >>> definitions.reference("key", "Nothing", Null)
    Ref(note=None, name='Nothing')
    >>> definitions.find("Nothing")
    Null(note=None)
    """

    def __init__(self) -> None:
        self._names: dict[Hashable, str] = {}
        self._pending: dict[str, Callable[[], Schema]] = {}
        self._done: dict[str, Schema] = {}
        self._uses: dict[str, int] = {}

    def reference(self, key: Hashable, stem: str, build: Callable[[], Schema]) -> Ref:
        """Return a reference to the definition of `key`; `build` is called once, later."""
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = self._fresh(stem)
            self._pending[name] = build
        return Ref(name)

    def resolve(self, name: str, path: SchemaPath) -> Schema:
        """Return the schema of a definition; build it if necessary.

        Raises:
            SchemaError: The definition refers to itself without a value in between.
        """
        if name not in self._done:
            build = self._pending.pop(name, None)
            if build is None:
                raise SchemaError(
                    f"the definition {name!r} refers only to itself; give it a type",
                    place=path.text,
                )
            self._done[name] = build()
        return self._done[name]

    def find(self, name: str) -> Schema | None:
        """Return the schema of a definition; build it if necessary. `None` while it is being built."""
        known = name in self._done or name in self._pending
        return self.resolve(name, SchemaPath()) if known else None

    def close(self) -> None:
        """Discard what is pending: functions that build definitions, and refer to what builds them."""
        self._pending.clear()

    def resolve_reached(
        self,
        root: str,
        references: Callable[[Schema], Iterable[str]],
        change: Callable[[Schema], Schema] = lambda node: node,
    ) -> dict[str, Schema]:
        """Return the definitions that one reaches; others, such as intermediate results, are not built.

        Args:
            root: The name of the first definition.
            references: Returns the names to which a node refers.
            change: Is applied to each definition before its references are followed.
        """
        first = change(self.resolve(root, SchemaPath()))
        if len(self._names) == 1:
            return {root: first}
        found: dict[str, Schema] = {}
        reached = [root]
        known = {root}
        for name in reached:  # which grows
            found[name] = first if name == root else change(self.resolve(name, SchemaPath()))
            for other in references(found[name]):
                if other not in known:
                    known.add(other)
                    reached.append(other)
        return found

    def _fresh(self, stem: str) -> str:
        stem = _INVALID_NAME_CHARACTERS.sub("_", stem)[:100].strip() or "Definition"
        name = stem
        while name in self._uses:
            self._uses[stem] += 1
            name = f"{stem}_{self._uses[stem]}"
        self._uses[name] = 1
        return name
