"""Guides kept between calls, so that the second `extract` of a target does not compile it again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable
from dataclasses import dataclass, replace

from structkit.compile import compile
from structkit.generate.input.options import CompileSettings
from structkit.guide.guide import Guide
from structkit.lru_cache import LruCache
from structkit.targets.fingerprint import cache_key
from structkit.targets.targets import AnyTarget, Target, read_target
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["GUIDE_CACHE", "CompiledTarget", "GuideCache"]


@dataclass(frozen=True, slots=True)
class CompiledTarget:
    """A target that was read, its guide, and the seconds that making them took this time.

    Attributes:
        source: What its quotes are taken from; `None` if it has none, so that the guide is for every prompt.
    """

    target: Target[object]
    guide: Guide
    seconds: float
    source: str | None = None


class GuideCache:
    """The guides that were used last, by target, vocabulary and way of writing. For any number of threads.

    >>> from structkit.generate.input.options import CompileSettings
    >>> from structkit.testing import byte_vocabulary
    >>> guides = GuideCache(max_entries=2)
    >>> first = guides.get(int, byte_vocabulary(), CompileSettings())
    >>> guides.get(int, byte_vocabulary(), CompileSettings()).guide is first.guide
    True
    """

    def __init__(self, max_entries: int) -> None:
        """Keep up to `max_entries` guides."""
        self._compiled: LruCache[Hashable, CompiledTarget] = LruCache(max_entries)
        self._targets: LruCache[Hashable, Target[object]] = LruCache(max_entries)

    def read(self, target: AnyTarget, settings: CompileSettings) -> Target[object]:
        """A target, read.

        Raises:
            StructkitError: See `structkit.targets.targets.read_target`.
        """
        name = cache_key(target)
        key = (name, settings, _today())
        read = None if name is None else self._targets.get(key)
        if read is None:
            read = read_target(target, policy=settings.json_style, limits=settings.limits)
            if name is not None:
                self._targets.put(key, read)
        return read

    def get(
        self, target: AnyTarget, vocabulary: Vocabulary, settings: CompileSettings, source: str | None = None
    ) -> CompiledTarget:
        """The guide of a target; compiled if it is not at hand.

        A guide of quotes is for one source, and of those of a target only the last is kept.

        Raises:
            StructkitError: See `structkit.compile`.
        """
        name = cache_key(target)
        key = (name, vocabulary, settings, _today())
        kept = None if name is None else self._compiled.get(key)
        if kept is not None and kept.source in (None, source):
            return kept
        made = _compile(self.read(target, settings), vocabulary, settings, source)
        if name is not None:
            self._compiled.put(key, replace(made, seconds=0.0))
        return made


def _today() -> dt.date:
    """The day for which a guide is good: what is past or future changes with it."""
    return dt.date.today()


def _compile(
    read: Target[object], vocabulary: Vocabulary, settings: CompileSettings, source: str | None
) -> CompiledTarget:
    source = source if read.has_quotes else None
    guide = compile(
        read,
        vocabulary,
        whitespace=settings.whitespace,
        order=settings.order,
        source=source,
        limits=settings.limits,
    )
    return CompiledTarget(read, guide, guide.compile_seconds, source)


GUIDE_CACHE = GuideCache(max_entries=32)
"""The guides of `structkit.extract` and its kin."""
