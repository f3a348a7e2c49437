"""Named definitions of a document, built on demand so that references can be cyclic.

A reference gets its name immediately and its schema later, so long chains of references do not recurse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable

from structkit.errors import SchemaError
from structkit.schema.ir.nodes import Anything, Ref, Schema
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
        self._narrowed: dict[str, tuple[Schema, Ref]] = {}
        self._derived: set[str] = set()
        self.narrowed_paths: dict[str, None] = {}

    def narrow(self, path: str, key: Hashable, stem: str, node: Schema, superset: Schema, exact: Ref) -> Ref:
        """Return a reference to a definition in place of one with more values.

        Args:
            path: The place in the schema, which is added to `narrowed_paths`.
            key: The key of the definition.
            stem: The beginning of its name.
            node: The definition.
            superset: What has all values of the definition that it replaces.
            exact: A reference to the definition that it replaces.
        """
        found = self.reference(key, stem, lambda: node)
        self._narrowed[found.name] = superset, exact
        self.narrowed_paths[path] = None
        return found

    def derive(self, name: str, nodes: Iterable[Schema]) -> None:
        """Note that a definition has fewer values than it could have, if one of the nodes that it is made of does."""
        if any(isinstance(node, Ref) and self.is_narrowed(node.name) for node in nodes):
            self._derived.add(name)

    def is_narrowed(self, name: str) -> bool:
        """Return whether a definition has fewer values than it could have."""
        return name in self._narrowed or name in self._derived

    def exact(self, name: str) -> Ref | None:
        """Return the definition to subtract in place of one with fewer values; `None` if it is not known."""
        return self._narrowed[name][1] if name in self._narrowed else None

    def superset(self, name: str) -> Schema | None:
        """Return what has all values of a definition that is narrowed; `None` for others."""
        if name in self._derived:
            return Anything()
        return self._narrowed[name][0] if name in self._narrowed else None

    def find_superset(self, name: str) -> Schema | None:
        """Return what has all values of a definition; `None` while it is being built."""
        return self.superset(name) or self.find(name)

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
