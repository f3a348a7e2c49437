"""The texts of a rule without calls, the shortest first, to choose one that was not seen."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.dfa import DEAD
from structkit.automaton.core.kernels import OPERATION_BITS
from structkit.automaton.runtime.automaton import Automaton

__all__ = ["ShortTexts"]

_MAX_QUEUE = 50_000
"""Maximum beginnings of texts that are known, at about 1 µs each."""


class ShortTexts:
    """The texts from a state to the end of its rule, as far as any thread asked for them.

    Args:
        automaton: The automaton.
        distance: int32[states], the fewest bytes to the end of the rule.
        state: A state of a rule for which `can_list` is true.
    """

    def __init__(self, automaton: Automaton, distance: NDArray[np.int32], state: int) -> None:
        self._automaton = automaton
        self._distance = distance
        self._classes: list[int] = automaton.classes[automaton.rule_of[state]].tolist()
        self._queue: list[tuple[int, bytes, int]] = [(distance.item(state), b"", state)]
        self._texts: list[bytes] = []
        self._lock = Lock()

    @staticmethod
    def can_list(automaton: Automaton, state: int) -> bool:
        """Return whether the rule of a state has neither calls nor a counter."""
        rule = automaton.rule_of[state]
        return not automaton.has_calls(rule) and automaton.counter_bounds[rule] == (0, -1)

    def first_new(self, is_seen: Callable[[bytes], bool], start: int = 0) -> tuple[bytes, int] | None:
        """Return the first text that was not seen, and its place; `None` if there is none, or it takes long to find.

        Args:
            is_seen: Whether a text was seen.
            start: The place from which to look.
        """
        with self._lock:
            while (text := self._at(start)) is not None:
                if not is_seen(text):
                    return text, start
                start += 1
        return None

    def _at(self, place: int) -> bytes | None:
        automaton, queue = self._automaton, self._queue
        while len(self._texts) <= place:
            if not queue or len(queue) > _MAX_QUEUE:
                return None
            _, text, state = heappop(queue)
            if automaton.final.item(state):
                self._texts.append(text)
            row = automaton.row.item(state)
            targets: list[int] = automaton.targets[row : row + 1 + max(self._classes)].tolist()
            for byte, klass in enumerate(self._classes):
                if targets[klass] != DEAD:
                    after = targets[klass] >> OPERATION_BITS
                    longer = text + bytes((byte,))
                    heappush(queue, (len(longer) + self._distance.item(after), longer, after))
        return self._texts[place]
