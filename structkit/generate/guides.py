"""Guides kept between calls, so that the second `extract` of a target does not compile it again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

from structkit.compile import compile
from structkit.generate.settings import Writing
from structkit.guide.guide import Guide
from structkit.targets import AnyTarget, Target, key_of, read_target
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["GUIDES", "Compiled", "Guides"]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A target that was read, its guide, and the seconds that making them took this time."""

    target: Target[object]
    guide: Guide
    seconds: float


class Guides:
    """The guides that were used last, by target, vocabulary and way of writing. For any number of threads.

    >>> from structkit.generate.settings import Writing
    >>> from structkit.testing import byte_vocabulary
    >>> guides = Guides(most=2)
    >>> first = guides.get(int, byte_vocabulary(), Writing())
    >>> guides.get(int, byte_vocabulary(), Writing()).guide is first.guide
    True
    """

    def __init__(self, most: int) -> None:
        """Keep up to `most` guides."""
        self._most = most
        self._kept: OrderedDict[Hashable, Compiled] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, target: AnyTarget, vocabulary: Vocabulary, writing: Writing) -> Compiled:
        """The guide of a target; compiled if it is not at hand.

        Raises:
            StructkitError: See `structkit.compile`.
        """
        name = key_of(target)
        key = None if name is None else (name, vocabulary, writing)
        kept = self._find(key)
        if kept is not None:
            return kept
        made = _make(target, vocabulary, writing)
        self._keep(key, Compiled(made.target, made.guide, 0.0))
        return made

    def _find(self, key: Hashable | None) -> Compiled | None:
        with self._lock:
            found = None if key is None else self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def _keep(self, key: Hashable | None, made: Compiled) -> None:
        if key is None:
            return
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


def _make(target: AnyTarget, vocabulary: Vocabulary, writing: Writing) -> Compiled:
    read = read_target(target, policy=writing.policy, limits=writing.limits)
    guide = compile(
        read, vocabulary, whitespace=writing.whitespace, order=writing.order, limits=writing.limits
    )
    return Compiled(read, guide, guide.compile_seconds)


GUIDES = Guides(most=32)
"""The guides of `structkit.extract` and its kin."""
