"""The only door to hypothesis: sentences, values and changed values as strategies, and the search for an example."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress
from random import Random
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

from structkit.testing.proof.language import Language
from structkit.testing.proof.random_source import RandomSource

try:
    from hypothesis import Phase, Verbosity, find, reject, settings
    from hypothesis import strategies as st
    from hypothesis.errors import Flaky, NoSuchExample, Unsatisfiable
except ImportError as missing:
    raise ImportError(
        "structkit.check and structkit.testing.strategy search with hypothesis; pip install 'structkit[check]'"
    ) from missing

__all__ = ["Bounds", "Change", "Found", "changes", "sentences", "smallest", "values"]

T = TypeVar("T")

_SIZES = (0, 16, 32, 64, 128, 256)
"""Least bytes of chance for a sentence. A sentence without chance left takes the simplest way to its end."""

_HINTS = 1_000
"""Values that are taken from a schema."""

_LONGEST = 300
"""Characters and items that a value is made as long as, because a schema says so."""

_DRAWN = 4
"""Examples that are drawn for each that may count."""

_PLAIN = 10**14
"""Larger numbers are not tried: `Limits` bounds the digits of a number."""


class Bounds(NamedTuple):
    """How long is searched: for so many examples, which the seed chooses, or so many seconds."""

    n: int
    seed: int
    seconds: float


@dataclass(frozen=True)
class Found(Generic[T]):
    """The smallest example that shows something, if one does, and how many were tried until there was one.

    Attributes:
        example: The example.
        tried: How many counted.
        timed_out: Whether the time limit ended the search.
    """

    example: T | None
    tried: int
    timed_out: bool


class Change(NamedTuple):
    """A text, and that of the same value with other parts."""

    text: str
    changed: str


def sentences(language: Language) -> st.SearchStrategy[str]:
    """The sentences of a language; they shrink to short ones."""
    chance = st.one_of([st.binary(min_size=size) for size in _SIZES])
    return chance.map(lambda choices: language.sentence(_Drawn(choices)))


def values(language: Language) -> st.SearchStrategy[object]:
    """The values of a language's sentences, without those that validators refuse."""

    def value(text: str) -> object:
        try:
            return language.target.value(text)
        except ValueError:
            reject()

    return sentences(language).map(value)


def changes(language: Language, text: str | None = None) -> st.SearchStrategy[Change]:
    """A text, or any sentence, with other parts: some are bounds and constants that the schema of the language names.

    A string is changed to another only where the language allows quotation marks in its place: what is written of a
    date, a URL or a pattern is one spelling of several that are read.
    """
    texts = sentences(language) if text is None else st.just(text)
    hints = _hints(language.target.json_schema())
    lengths = [hint for hint in hints if isinstance(hint, int) and 0 <= hint <= _LONGEST]
    length = st.sampled_from([0, *lengths])
    any_kind = st.sampled_from([None, False, True, 0, "", [], {}, *hints])
    numbers = st.integers(-_PLAIN, _PLAIN) | st.integers(-(10**9), 10**9).map(lambda number: number / 1000)

    def others(part: Any, free: bool) -> st.SearchStrategy[object]:
        if isinstance(part, (list, dict)) and part:
            kept = st.lists(st.booleans(), min_size=len(part), max_size=len(part))
            if isinstance(part, dict):
                fields = kept.map(lambda kept: {name: part[name] for name in compress(part, kept)})
                return (
                    fields
                    | st.builds(lambda name, item: {**part, name: item}, st.text(), any_kind)
                    | any_kind
                )
            items = kept.map(lambda kept: list(compress(part, kept)))
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
    """Search for an example that shows something.

    Args:
        strategy: The examples.
        shows: Whether an example shows it; `None` for one that does not count.
        bounds: Which examples are tried, and how many.
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
    """Enough was tried; an `Exception` would be one of the failures that hypothesis looks for."""


class _Drawn(RandomSource):
    """Choices out of bytes that hypothesis draws, and makes fewer and smaller when something fails."""

    def __init__(self, choices: bytes) -> None:
        self._rest = iter(choices)

    def below(self, count: int) -> int:
        """One of the numbers from 0 to `count - 1`, of which there are at most 256; 0 when the bytes are used up."""
        return next(self._rest, 0) * count // 256 if count > 1 else 0

    def coin(self, probability: float) -> bool:
        """Whether it does: the larger bytes say so, so that less happens when they shrink."""
        return next(self._rest, 0) >= 256 * (1 - probability)


def _hints(schema: Mapping[str, object]) -> list[object]:
    """The numbers in a schema, those next to them, and its constants.

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
    """The value with another part at a path."""
    if not path:
        return part
    copy = value.copy()
    copy[path[0]] = _with(value[path[0]], path[1:], part)
    return copy
