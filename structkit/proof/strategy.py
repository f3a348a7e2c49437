"""The only door to hypothesis: sentences and values of a target as a strategy that shrinks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar, overload

from typing_extensions import TypeForm, Unpack

from structkit.proof.chance import Chance
from structkit.proof.language import Compiling, Language
from structkit.targets import AnyTarget, TextTarget

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["strategy"]

T = TypeVar("T")

_STEPS = 16


@overload
def strategy(target: TypeForm[T], **options: Unpack[Compiling]) -> SearchStrategy[T]: ...
@overload
def strategy(target: TextTarget[T], **options: Unpack[Compiling]) -> SearchStrategy[T]: ...
@overload
def strategy(target: Mapping[str, object], **options: Unpack[Compiling]) -> SearchStrategy[object]: ...
def strategy(target: AnyTarget, **options: Unpack[Compiling]) -> SearchStrategy[object]:
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
    try:
        from hypothesis import reject, strategies
    except ImportError as error:
        raise ImportError("structkit.testing.strategy needs hypothesis; pip install hypothesis") from error
    language = Language.of(target, **options)

    @strategies.composite
    def values(draw: DrawFn) -> object:
        def below(count: int) -> int:
            return 0 if count == 1 else draw(strategies.integers(0, count - 1))

        text = language.sentence(_Drawn(below))
        try:
            return language.target.value(text)
        except ValueError:
            reject()

    return values()


class _Drawn(Chance):
    """Choices that hypothesis draws, and makes smaller when something fails."""

    def __init__(self, draw: Callable[[int], int]) -> None:
        self._draw = draw

    def below(self, count: int) -> int:
        """One of the numbers from 0 to `count - 1`."""
        return self._draw(count)

    def happens(self, likely: float) -> bool:
        """Whether it does: the larger of the numbers say so, so that less happens when they shrink."""
        return self._draw(_STEPS) >= round(_STEPS * (1 - likely))
