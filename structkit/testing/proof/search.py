"""Searches with hypothesis: strategies for sentences, values and changed values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress
from random import Random
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

from structkit.errors import MissingExtra
from structkit.rejected import Rejected
from structkit.testing.proof.language import Language
from structkit.testing.proof.random_source import RandomSource

try:
    from hypothesis import Phase, Verbosity, find, reject, settings
    from hypothesis import strategies as st
    from hypothesis.errors import Flaky, NoSuchExample, Unsatisfiable
except ImportError as missing:
    raise MissingExtra(
        "check", "structkit.check and structkit.testing.strategy need", "hypothesis"
    ) from missing

__all__ = ["Bounds", "Change", "Found", "changes", "sentences", "smallest", "values"]

T = TypeVar("T")

_SIZES = (0, 16, 32, 64, 128, 256)
"""Minimum numbers of random bytes of a sentence. Without random bytes left, a sentence ends in the simplest way."""

_HINTS = 1_000
"""Maximum number of values taken from a schema."""

_LONGEST = 300
"""Maximum length of a string or array that is lengthened to a bound of the schema."""

_DRAWN = 4
"""Examples drawn per requested example, because some do not count."""

_PLAIN = 10**14
"""Bound of tried numbers, because `Limits` bounds the digits of a number."""


class Bounds(NamedTuple):
    """Bounds of a search: number of examples, their seed, and seconds."""

    n: int
    seed: int
    seconds: float


@dataclass(frozen=True)
class Found(Generic[T]):
    """The result of a search.

    Attributes:
        example: The smallest example that satisfies the condition, if any.
        tried: Number of examples up to the first such example.
        timed_out: Whether the time limit ended the search.
    """

    example: T | None
    tried: int
    timed_out: bool


class Change(NamedTuple):
    """A text, and the text of the same value with changed parts."""

    text: str
    changed: str


def sentences(language: Language) -> st.SearchStrategy[str]:
    """Return a strategy for the sentences of a language, which shrink to short sentences."""
    chance = st.one_of([st.binary(min_size=size) for size in _SIZES])
    return chance.map(lambda choices: language.sentence(_Drawn(choices)))


def values(language: Language) -> st.SearchStrategy[object]:
    """Return a strategy for the values of sentences; values that validators reject are discarded."""

    def value(text: str) -> object:
        parsed = language.target.parse(text)
        if isinstance(parsed, Rejected):
            reject()
        return parsed

    return sentences(language).map(value)


def changes(language: Language, text: str | None = None) -> st.SearchStrategy[Change]:
    """Return a strategy for a text, or any sentence, with changed parts, also to bounds and constants of the schema.

    A string is changed to another one only where the language allows quotation marks in its place, because a date, a
    URL or a pattern accepts several spellings but is written in one.
    """
    texts = sentences(language) if text is None else st.just(text)
    hints = _hints(language.target.json_schema())
    lengths = [hint for hint in hints if isinstance(hint, int) and 0 <= hint <= _LONGEST]
    length = st.sampled_from([0, *lengths])
    any_kind = st.sampled_from([None, False, True, 0, "", [], {}, *hints])
    numbers = st.integers(-_PLAIN, _PLAIN) | st.integers(-(10**9), 10**9).map(lambda number: number / 1000)

    def others(part: Any, free: bool) -> st.SearchStrategy[object]:
        if isinstance(part, (list, dict)) and part:
            mask = st.lists(st.booleans(), min_size=len(part), max_size=len(part))
            if isinstance(part, dict):
                fields = mask.map(lambda mask: {name: part[name] for name in compress(part, mask)})
                return (
                    fields
                    | st.builds(lambda name, item: {**part, name: item}, st.text(), any_kind)
                    | any_kind
                )
            items = mask.map(lambda mask: list(compress(part, mask)))
            more = st.sampled_from(part).map(lambda item: [*part, item])
            return items | more | length.map(lambda count: (part * _LONGEST)[:count]) | any_kind
        if isinstance(part, str):
            return st.text() | length.map(lambda count: "x" * count) | any_kind if free else any_kind
        if isinstance(part, (int, float)):
            most = int(min(abs(part), _PLAIN))
            return st.integers(-most, most) | numbers | any_kind
        return any_kind

    @st.composite
    def changed(draw: st.DrawFn) -> Change:
        before = draw(texts)
        value: Any = json.loads(before)
        for _ in range(draw(st.integers(1, 2))):
            path: list[Any] = []
            part = value
            while isinstance(part, (list, dict)):
                steps = range(len(part)) if isinstance(part, list) else part
                step = draw(st.sampled_from([None, *steps]))
                if step is None:
                    break
                path.append(step)
                part = part[step]
            quotes = isinstance(part, str) and _with(value, path, '"' * max(1, len(part)))
            free = quotes is not False and language.contains(language.dump(quotes))
            value = _with(value, path, draw(others(part, free)))
        return Change(before, language.dump(value))

    return changed()


def smallest(strategy: st.SearchStrategy[T], shows: Callable[[T], bool | None], bounds: Bounds) -> Found[T]:
    """Search for the smallest example that satisfies a condition.

    Args:
        strategy: The examples.
        shows: The condition; `None` for an example that does not count.
        bounds: Number of examples, seed and time limit.
    """
    found: list[T] = []
    drawn = tried = 0
    end = monotonic() + bounds.seconds

    def condition(example: T) -> bool:
        nonlocal drawn, tried
        drawn += 1
        if monotonic() > end or (drawn > _DRAWN * bounds.n and not found):
            raise _Enough
        shown = shows(example)
        if shown is None:
            reject()
        tried += not found
        if shown:
            found[:] = [example]
        return shown

    options = settings(
        max_examples=bounds.n,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        verbosity=Verbosity.quiet,
    )
    with suppress(NoSuchExample, Unsatisfiable, Flaky, _Enough):
        find(strategy, condition, settings=options, random=Random(bounds.seed))
    return Found(found[0] if found else None, tried, monotonic() > end)


class _Enough(BaseException):
    """Ends a search; an `Exception` would be one of the failures that hypothesis searches for."""


class _Drawn(RandomSource):
    """Choices from bytes drawn by hypothesis, which shrink to fewer and smaller bytes."""

    def __init__(self, choices: bytes) -> None:
        self._rest = iter(choices)

    def below(self, count: int) -> int:
        """Return a number from 0 to `count - 1`, with `count` at most 256; 0 after the end of the bytes."""
        return next(self._rest, 0) * count // 256 if count > 1 else 0

    def coin(self, probability: float) -> bool:
        """Return true for large bytes, so that shrinking gives false."""
        return next(self._rest, 0) >= 256 * (1 - probability)


def _hints(schema: Mapping[str, object]) -> list[object]:
    """Return the numbers in a schema, the adjacent numbers, and the constants of the schema.

    >>> _hints({"items": {"minimum": 3}, "default": "x"})
    ['x', 2, 3, 4]
    """
    found: list[object] = []
    pending: list[object] = [schema]
    while pending and len(found) < _HINTS:
        part = pending.pop(0)
        if isinstance(part, Mapping):
            found += [part[word] for word in ("const", "default") if word in part]
            for word in ("enum", "examples"):
                listed = part.get(word)
                found += listed if isinstance(listed, list) else []
            pending += part.values()
        elif isinstance(part, list):
            pending += part
        elif isinstance(part, (int, float)) and not isinstance(part, bool) and abs(part) < _PLAIN:
            found += [part - 1, part, part + 1]
    return found


def _with(value: Any, path: Sequence[Any], part: object) -> object:
    """Return the value with the part at a path replaced."""
    if not path:
        return part
    copy = value.copy()
    copy[path[0]] = _with(value[path[0]], path[1:], part)
    return copy
