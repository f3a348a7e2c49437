"""The values of a target as a hypothesis strategy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar, overload

from typing_extensions import TypeForm, Unpack

from structkit.arguments.names import check_names
from structkit.targets.specs import TextTarget
from structkit.targets.targets import AnyTarget
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
    """Return a hypothesis strategy for the values of a target that its guide allows.

    hypothesis makes all choices within a sentence, and the simplest choice is first, so failing examples shrink to
    short strings, small numbers and few items. Values that custom validators reject are discarded.

    Args:
        target: A type, a JSON Schema as a dict, `structkit.Regex` or `structkit.Choice`.
        **options: `defaults`, `order`, `null`, `whitespace`, `source` and `limits`, as for `structkit.compile`.

    Raises:
        StructkitError: The target cannot be compiled, as in `structkit.compile`.
        MissingExtra: hypothesis is not installed.

    >>> from hypothesis import given
    >>> @given(strategy(dict[str, int]))
    ... def test_sums_are_numbers(counts):
    ...     assert isinstance(sum(counts.values()), int)
    >>> test_sums_are_numbers()
    """
    from structkit.testing.proof.search import values

    check_names("strategy", options, CompileOptions.__annotations__)
    return values(Language.compile(target, **options))
