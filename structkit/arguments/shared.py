"""Values that threads share: a copy is the value itself, and the error of pickling has a remedy."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from typing_extensions import Self

__all__ = ["Shared"]


class Shared:
    """A base class of values that are shared and not copied.

    >>> from copy import deepcopy
    >>> shared = Shared()
    >>> deepcopy(shared) is shared
    True
    """

    pickle_remedy: ClassVar[str] = "make it in the other process"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        raise TypeError(f"{name} cannot be pickled, because threads share it; {self.pickle_remedy}")
