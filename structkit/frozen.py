"""Fast immutable dataclasses with a cached hash, for schema nodes and regex nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from typing_extensions import dataclass_transform

__all__ = ["CachedHash", "cached_hash", "frozen"]

C = TypeVar("C")
T = TypeVar("T", bound="CachedHash")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[C]) -> type[C]:
    """Turn a class into a slotted, hashable dataclass that type checkers treat as frozen.

    Immutability is not enforced at run time: a dataclass with `frozen=True` takes two to four times as long to create,
    and one schema creates thousands of objects.

    >>> @frozen
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1) == Point(1, 0), hash(Point(1)) == hash(Point(1, 0))
    (True, True)
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)


class CachedHash:
    """Base class with a slot for the cached hash."""

    __slots__ = ("_hash",)

    _hash: int

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        # The hash of a string differs between processes, so the cached hash is not pickled.
        names = (name for cls in type(self).__mro__ for name in getattr(cls, "__slots__", ()))
        return None, {name: getattr(self, name) for name in names if name != "_hash"}


def cached_hash(cls: type[T]) -> type[T]:
    """Cache the result of `__hash__` in each object, so that hashing a tree again is O(1).

    >>> from structkit.schema.ir.nodes import Const
    >>> hash(Const("1")) == hash(Const("1"))
    True
    """
    compute = cls.__hash__

    def cached(self: T) -> int:
        found: int | None = getattr(self, "_hash", None)  # three times as fast as to catch the AttributeError
        if found is None:
            found = self._hash = compute(self)
        return found

    setattr(cls, "__hash__", cached)  # noqa: B010 (mypy rejects assignment to a method)
    return cls
