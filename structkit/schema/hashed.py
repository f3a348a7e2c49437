"""Values that are hashed often and hold others: each remembers its hash, so that none is a walk through all inside."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["Hashed", "hashed_once"]

T = TypeVar("T", bound="Hashed")


class Hashed:
    """A frozen dataclass with room for its hash."""

    __slots__ = ("_hash",)

    _hash: int


def hashed_once(cls: type[T]) -> type[T]:
    """Let the objects of a class remember what its own `__hash__` says.

    >>> from structkit.schema.nodes import Const
    >>> hash(Const("1")) == hash(Const("1"))
    True
    """
    find = cls.__hash__

    def remembered(self: T) -> int:
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", find(self))
            return self._hash

    setattr(cls, "__hash__", remembered)  # noqa: B010 (a plain assignment to a method is no type)
    return cls
