"""The values of a target as a hypothesis strategy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar, overload

from typing_extensions import TypeForm, Unpack

from structkit.targets.targets import AnyTarget, TextTarget
from structkit.testing.proof.language import CompileOptions, Language

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["strategy"]

T = TypeVar("T")


@overload
def strategy(target: TypeForm[T], **options: Unpack[CompileOptions]) -> SearchStrategy[T]: ...
@overload
def strategy(target: TextTarget[T], **options: Unpack[CompileOptions]) -> SearchStrategy[T]: ...
@overload
def strategy(target: Mapping[str, object], **options: Unpack[CompileOptions]) -> SearchStrategy[object]: ...
def strategy(target: AnyTarget, **options: Unpack[CompileOptions]) -> SearchStrategy[object]:
    """A hypothesis strategy for the values of a target: those that its guide lets a model write.

    Every choice on the way through a sentence is hypothesis's, and the simpler one comes first, so what fails shrinks
    to short texts, small numbers and few items. A value that the type's own validators refuse is rejected.

    Args:
        target: A type, a JSON Schema as a dict, `structkit.Regex` or `structkit.Choice`.
        **options: `defaults`, `order`, `null`, `whitespace`, `source` and `limits`, as for `structkit.compile`.

    Raises:
        StructkitError: The target cannot be compiled, as in `structkit.compile`.
        ImportError: hypothesis is not installed.

    >>> from hypothesis import given
    >>> @given(strategy(dict[str, int]))
    ... def test_sums_are_numbers(counts):
    ...     assert isinstance(sum(counts.values()), int)
    >>> test_sums_are_numbers()
    """
    from structkit.testing.proof.search import values

    return values(Language.compile(target, **options))
