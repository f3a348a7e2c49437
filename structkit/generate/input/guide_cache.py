"""Guides kept between calls, so that the second `extract` of a target does not compile it again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable
from dataclasses import dataclass, replace

from structkit.compile import compile
from structkit.generate.input.options import Writing
from structkit.guide.guide import Guide
from structkit.lru_cache import LruCache
from structkit.targets.fingerprint import key_of
from structkit.targets.targets import AnyTarget, Target, read_target
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["GUIDES", "Compiled", "Guides"]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A target that was read, its guide, and the seconds that making them took this time.

    Attributes:
        source: What its quotes are taken from; `None` if it has none, so that the guide is for every prompt.
    """

    target: Target[object]
    guide: Guide
    seconds: float
    source: str | None = None


class Guides:
    """The guides that were used last, by target, vocabulary and way of writing. For any number of threads.

    >>> from structkit.generate.input.options import Writing
    >>> from structkit.testing import byte_vocabulary
    >>> guides = Guides(most=2)
    >>> first = guides.get(int, byte_vocabulary(), Writing())
    >>> guides.get(int, byte_vocabulary(), Writing()).guide is first.guide
    True
    """

    def __init__(self, most: int) -> None:
        """Keep up to `most` guides."""
        self._kept: LruCache[Hashable, Compiled] = LruCache(most)
        self._read: LruCache[Hashable, Target[object]] = LruCache(most)

    def read(self, target: AnyTarget, writing: Writing) -> Target[object]:
        """A target, read.

        Raises:
            StructkitError: See `structkit.targets.targets.read_target`.
        """
        name = key_of(target)
        key = (name, writing, _today())
        read = None if name is None else self._read.get(key)
        if read is None:
            read = read_target(target, policy=writing.policy, limits=writing.limits)
            if name is not None:
                self._read.put(key, read)
        return read

    def get(
        self, target: AnyTarget, vocabulary: Vocabulary, writing: Writing, source: str | None = None
    ) -> Compiled:
        """The guide of a target; compiled if it is not at hand.

        A guide of quotes is for one source, and of those of a target only the last is kept.

        Raises:
            StructkitError: See `structkit.compile`.
        """
        name = key_of(target)
        key = (name, vocabulary, writing, _today())
        kept = None if name is None else self._kept.get(key)
        if kept is not None and kept.source in (None, source):
            return kept
        made = _make(self.read(target, writing), vocabulary, writing, source)
        if name is not None:
            self._kept.put(key, replace(made, seconds=0.0))
        return made


def _today() -> dt.date:
    """The day for which a guide is good: what is past or future changes with it."""
    return dt.date.today()


def _make(read: Target[object], vocabulary: Vocabulary, writing: Writing, source: str | None) -> Compiled:
    source = source if read.has_quotes else None
    guide = compile(
        read,
        vocabulary,
        whitespace=writing.whitespace,
        order=writing.order,
        source=source,
        limits=writing.limits,
    )
    return Compiled(read, guide, guide.compile_seconds, source)


GUIDES = Guides(most=32)
"""The guides of `structkit.extract` and its kin."""
