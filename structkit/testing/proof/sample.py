"""Example values without a model: random sentences of the compiled language, validated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar, overload

from typing_extensions import TypeForm, Unpack

from structkit.arguments.checks import check_int, check_type
from structkit.arguments.names import check_names
from structkit.errors import OutputValidationError
from structkit.rejected import Rejected
from structkit.targets.specs import TextTarget
from structkit.targets.targets import AnyTarget
from structkit.testing.proof.language import CompileOptions, Language
from structkit.testing.proof.random_source import SeededSource

__all__ = ["sample", "texts_and_values"]

T = TypeVar("T")

_ATTEMPTS = 200
"""Maximum number of sentences for one value."""


@overload
def sample(target: TypeForm[T], *, seed: int = 0, n: None = None, **options: Unpack[CompileOptions]) -> T: ...
@overload
def sample(target: TypeForm[T], *, seed: int = 0, n: int, **options: Unpack[CompileOptions]) -> list[T]: ...
@overload
def sample(
    target: TextTarget[T], *, seed: int = 0, n: None = None, **options: Unpack[CompileOptions]
) -> T: ...
@overload
def sample(target: TextTarget[T], *, seed: int = 0, n: int, **options: Unpack[CompileOptions]) -> list[T]: ...
@overload
def sample(
    target: Mapping[str, object], *, seed: int = 0, n: None = None, **options: Unpack[CompileOptions]
) -> object: ...
@overload
def sample(
    target: Mapping[str, object], *, seed: int = 0, n: int, **options: Unpack[CompileOptions]
) -> list[object]: ...
def sample(
    target: AnyTarget, *, seed: int = 0, n: int | None = None, **options: Unpack[CompileOptions]
) -> object:
    """Generate example values of a target, without a model.

    The values are random sentences of the target's guide: readable and hostile strings of all lengths, numbers of all
    magnitudes, bounds, optional fields present and absent.

    Args:
        target: A type, a JSON Schema as a dict, `structkit.Regex` or `structkit.Choice`.
        seed: Seed of the values. The same seed gives the same values on every platform, with the same versions of
            structkit and pydantic.
        n: Number of values; without it, a single value is returned.
        **options: `defaults`, `order`, `null`, `whitespace`, `source` and `limits`, as for `structkit.compile`.

    Returns:
        A value, or with `n` a list of values, whose first is the value without `n`.

    Raises:
        StructkitError: The target cannot be compiled, as in `structkit.compile`.
        OutputValidationError: Custom validators reject each of 200 sentences.
        GenerationError: The shortest text has more than 200,000 bytes.
        ValueError: `n` is negative.

    >>> sample(dict[str, bool], seed=7)
    {'order teacher': True}
    >>> sample(tuple[int, float], seed=2, n=2)
    [(772527045957157282, 2.0), (-4, -6.19)]
    """
    check_int("n", n, 0)
    check_type("seed", seed, int, "an integer")
    check_names("sample", options, ("seed", "n", *CompileOptions.__annotations__))
    language = Language.compile(target, **options)
    values = [value for _, value in texts_and_values(language, seed, 1 if n is None else n)]
    return values[0] if n is None else values


def texts_and_values(language: Language, seed: int, n: int) -> Iterator[tuple[str, object]]:
    """Yield the values of `sample` with their sentences.

    Raises:
        OutputValidationError: As in `sample`.
        GenerationError: As in `sample`.
    """
    for number in range(n):
        yield _first_accepted(language, f"{seed} {number}")


def _first_accepted(language: Language, seed: str) -> tuple[str, object]:
    """Return the first sentence of a seed that validators accept, and its value."""
    texts: list[str] = []
    while True:
        text = language.sentence(SeededSource(f"{seed} {len(texts)}"))
        texts.append(text)
        value = language.target.parse(text)
        if not isinstance(value, Rejected):
            return text, value
        if len(texts) == _ATTEMPTS:
            raise OutputValidationError(
                f"the validators of {language.target.name} reject each of {_ATTEMPTS} random values; "
                f"`structkit.check` counts the reasons. The last error: {value.message}",
                text=text,
                attempts=tuple(texts),
                rejected=value,
            ) from value.cause
