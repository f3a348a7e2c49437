"""Named schemas, each made when it is first needed, so that references may go in circles.

A reference is given its name at once and its schema later: nothing here recurses, however long the chain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable

from structkit.errors import SchemaError
from structkit.schema.ir.nodes import Ref, Schema
from structkit.schema.ir.path import SchemaPath

__all__ = ["Definitions"]

_INVALID_NAME_CHARACTERS = re.compile(r"[^\w.\[\], -]")
"""What a name may not have."""


class Definitions:
    """The definitions of one document while it is read.

    >>> from structkit.schema.ir.nodes import Null
    >>> definitions = Definitions()
    >>> definitions.reference("key", "Nothing", Null)
    Ref(note=None, name='Nothing')
    >>> definitions.resolve_all()
    {'Nothing': Null(note=None)}
    """

    def __init__(self) -> None:
        self._names: dict[Hashable, str] = {}
        self._pending: dict[str, Callable[[], Schema]] = {}
        self._done: dict[str, Schema] = {}
        self._uses: dict[str, int] = {}

    def reference(self, key: Hashable, stem: str, build: Callable[[], Schema]) -> Ref:
        """A reference to the definition known under `key`; `build` is called once, and not now."""
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = self._fresh(stem)
            self._pending[name] = build
        return Ref(name)

    def resolve(self, name: str, path: SchemaPath) -> Schema:
        """The schema of a definition, made now if it is not made yet.

        Raises:
            SchemaError: Making it asks for itself.
        """
        if name not in self._done:
            make = self._pending.pop(name, None)
            if make is None:
                raise SchemaError(
                    f"the definition {name!r} is defined by itself; give it a value of its own",
                    place=path.text,
                )
            self._done[name] = make()
        return self._done[name]

    def resolve_all(self) -> dict[str, Schema]:
        """All definitions, the pending ones made, in the order in which they were first named."""
        while self._pending:
            self.resolve(next(iter(self._pending)), SchemaPath())
        return {name: self._done[name] for name in self._names.values()}

    def _fresh(self, stem: str) -> str:
        stem = _INVALID_NAME_CHARACTERS.sub("_", stem)[:100].strip() or "Definition"
        name = stem
        while name in self._uses:
            self._uses[stem] += 1
            name = f"{stem}_{self._uses[stem]}"
        self._uses[name] = 1
        return name
