"""Cache of compiled guides: a second call with the same target does not compile it again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable
from dataclasses import dataclass, replace

from structkit.compile import compile
from structkit.generate.input.settings import CompileSettings
from structkit.guide.guide import Guide
from structkit.lru_cache import LruCache
from structkit.targets.fingerprint import cache_key
from structkit.targets.targets import AnyTarget, Target, read_target
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["GUIDE_CACHE", "CompiledTarget", "GuideCache"]


@dataclass(frozen=True, slots=True)
class CompiledTarget:
    """A target and its guide.

    Attributes:
        target: The target.
        guide: Its guide.
        seconds: Compile time of this call; 0 for a cached guide.
        source: Source of its quotes; `None` if it has none, so that the guide serves every prompt.
    """

    target: Target[object]
    guide: Guide
    seconds: float
    source: str | None = None


class GuideCache:
    """LRU cache of guides by target, vocabulary and compile settings. Thread-safe.

    >>> from structkit.generate.input.settings import CompileSettings
    >>> from structkit.testing import byte_vocabulary
    >>> guides = GuideCache(max_entries=2)
    >>> first = guides.get(int, byte_vocabulary(), CompileSettings())
    >>> guides.get(int, byte_vocabulary(), CompileSettings()).guide is first.guide
    True
    """

    def __init__(self, max_entries: int) -> None:
        """Create a cache of up to `max_entries` guides."""
        self._compiled: LruCache[Hashable, CompiledTarget] = LruCache(max_entries)
        self._targets: LruCache[Hashable, Target[object]] = LruCache(max_entries)

    def read(self, target: AnyTarget, settings: CompileSettings) -> Target[object]:
        """Return the `Target` of a target given by a user.

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
        """Return the guide of a target; compile it if it is not cached.

        A guide with quotes serves one source; for each target, only the guide of the last source is cached.

        Raises:
            StructkitError: See `structkit.compile`.
        """
        name = cache_key(target)
        key = (name, vocabulary, settings, _today())
        cached = None if name is None else self._compiled.get(key)
        if cached is not None and cached.source in (None, source) and not cached.guide.needs_recompiling:
            return cached
        compiled = _compile(self.read(target, settings), vocabulary, settings, source)
        if name is not None:
            self._compiled.put(key, replace(compiled, seconds=0.0))
        return compiled


def _today() -> dt.date:
    """Return the current day, a part of the key because the languages of past and future dates depend on it."""
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
"""The guides of the public functions."""
