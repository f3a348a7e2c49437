"""Values that are made and hashed often: schema nodes and the nodes of regexes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from typing_extensions import dataclass_transform

__all__ = ["CachedHash", "cached_hash", "frozen"]

C = TypeVar("C")
T = TypeVar("T", bound="CachedHash")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[C]) -> type[C]:
    """Make a class a dataclass with slots whose objects are not changed.

    That they are not is for the type checkers to see: an object that sees to it itself takes two to four times as long
    to make, and a schema becomes thousands of these.

    >>> @frozen
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1) == Point(1, 0), hash(Point(1)) == hash(Point(1, 0))
    (True, True)
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)


class CachedHash:
    """A value with room for its hash."""

    __slots__ = ("_hash",)

    _hash: int

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        # Without the hash: that of a string is another in each process.
        names = (name for cls in type(self).__mro__ for name in getattr(cls, "__slots__", ()))
        return None, {name: getattr(self, name) for name in names if name != "_hash"}


def cached_hash(cls: type[T]) -> type[T]:
    """Let the objects of a class remember what its own `__hash__` says, so that none is a walk through all inside.

    >>> from structkit.schema.ir.nodes import Const
    >>> hash(Const("1")) == hash(Const("1"))
    True
    """
    find = cls.__hash__

    def remembered(self: T) -> int:
        try:
            return self._hash
        except AttributeError:
            found = self._hash = find(self)
            return found

    setattr(cls, "__hash__", remembered)  # noqa: B010 (a plain assignment to a method is no type)
    return cls
