"""Values that threads share: a copy is the value itself, and errors of pickling and attributes have a remedy."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, NoReturn

from typing_extensions import Self

from structkit.arguments.names import missing_attribute

__all__ = ["Shared", "Uncopied"]


class Uncopied:
    """A base class of values that are shared and not copied.

    >>> from copy import deepcopy
    >>> shared = Uncopied()
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


class Shared(Uncopied):
    """A base class of shared values that users know: an attribute that does not exist is an error with a remedy."""

    other_attributes: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """What other libraries call an attribute, and what to write here."""

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> object:
            """Name the attribute that is meant."""
            raise missing_attribute(self, name, self.other_attributes)
