"""How many tokens lead from each state to the end of its rule: for rules as they are built, then for all, exactly.

While few tokens are needed and many are left it is enough to know a number that suffices. For a rule that calls no
other it is exact from the beginning. For others it is the bytes of a short text, since every byte is a token; that
does not ask for the rules they call. Once tokens run out all rules are built, and the tokens of the shortest texts
counted.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.kernels import FAR
from structkit.automaton.distance.bounds import TO_DIFFER
from structkit.automaton.distance.trim import LARGE, Alive, first_bytes
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.shortest import Shortest
from structkit.automaton.runtime.stack import Frame
from structkit.index.rows import tokenize
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Needs"]


class Needs:
    """The tokens that surely lead from the states of an automaton to the ends of their rules.

    Args:
        automaton: The automaton.
        vocabulary: The tokens.
        known: int32[2, ...], those of the rules built so far, if they were counted before.
        tight: Whether these are exact.

    Attributes:
        tight: Whether all rules are built and their tokens counted; always so if some byte is no token.
    """

    def __init__(
        self,
        automaton: Automaton,
        vocabulary: Vocabulary,
        known: NDArray[np.int32] | None = None,
        *,
        tight: bool = False,
    ) -> None:
        self._automaton = automaton
        self._vocabulary = vocabulary
        self._measured = 0 if known is None else len(automaton.built)
        self._tokens = np.empty((2, 1024), np.int32) if known is None else known
        self.tight = tight
        if not vocabulary.spells_bytes:
            self.tighten()

    @property
    def tokens(self) -> NDArray[np.int32]:
        """int32[2, at least as many as states and as rules]: from each state to its rule's end, and per round."""
        if self._measured < len(self._automaton.built) and not self.tight:
            with self._automaton.lock:
                self._measure()
        return self._tokens

    def pending(self, frame: Frame) -> int:
        """The tokens that the rounds take which the frame's counter still needs, and that an open unique text may."""
        rule = self._automaton.rule_of[frame.state]
        rounds = self._automaton.counters[rule][0] - frame.count
        memory = frame.memory
        to_differ = 0 if memory is None or memory.begin is None else TO_DIFFER
        return to_differ if rounds <= 0 else rounds * int(self.tokens[1, rule]) + to_differ

    @cached_property
    def shortest(self) -> Shortest:
        """The shortest way to each rule's end, in bytes; all rules are built for it."""
        return Shortest.of(self._automaton)

    def tighten(self) -> None:
        """Build all rules and count their tokens."""
        with self._automaton.lock:
            if not self.tight:
                self._tokens = _fewest(self.shortest, self._vocabulary)
                self.tight = True

    def _measure(self) -> None:
        """Add what was built since."""
        automaton, tokens = self._automaton, self._tokens
        built = automaton.built[:]
        size = max(len(automaton.row), len(automaton.start))
        if size > tokens.shape[1]:
            tokens = np.empty((2, 2 * size), np.int32)
            tokens[:, : self._tokens.shape[1]] = self._tokens
        for rule in built[self._measured :]:
            found, first = automaton.builder.built[rule], int(automaton.start[rule])
            if found.dfa.callees:
                tokens[0, first : first + len(found.end)] = found.end
                tokens[1, rule] = found.rounds
            else:
                large = found.dfa.targets.size > LARGE
                alone = (_alone.__wrapped__ if large else _alone)(found, self._vocabulary)
                tokens[0, first : first + len(found.end)] = alone[0, : len(found.end)]
                tokens[1, rule] = alone[1, 0]
        self._tokens, self._measured = tokens, len(built)


@lru_cache(maxsize=1024)
def _alone(found: Alive, vocabulary: Vocabulary) -> NDArray[np.int32]:
    """The tokens of a rule that calls no other."""
    trie, dfa = vocabulary.trie, found.dfa
    states, width = dfa.targets.shape
    tokens, none = _unknown(states), np.empty(0, np.int32)
    zero = np.zeros(1, np.int32)
    tokenize.fewest_tokens(
        trie.byte, trie.end, trie.first,
        np.arange(states, dtype=np.int32) * width, dfa.targets.ravel(), dfa.classes[None], np.zeros(states, np.int32),
        np.zeros(states + 1, np.int32), none, none, none, np.empty(0, bool), zero, np.array([states], np.int32),
        np.array([dfa.least], np.int32), first_bytes(dfa.classes[None]), np.array([width], np.int32),
        found.end, found.hop, _nearest_first(found.end), tokens, *_scratch(),
    )  # fmt: skip
    return tokens


def _fewest(shortest: Shortest, vocabulary: Vocabulary) -> NDArray[np.int32]:
    """The tokens of all rules."""
    trie, automaton = vocabulary.trie, shortest.automaton
    tokens = _unknown(max(len(automaton.row), len(automaton.start)))
    tokenize.fewest_tokens(
        trie.byte, trie.end, trie.first,
        automaton.row, automaton.targets, automaton.classes, automaton.rule, automaton.call_first,
        automaton.call_rule, automaton.call_next, automaton.call_operation, automaton.call_unique, automaton.start,
        shortest.stop, automaton.least, shortest.first_byte, shortest.width, shortest.end, shortest.hop,
        _nearest_first(shortest.end), tokens, *_scratch(),
    )  # fmt: skip
    return tokens


def _nearest_first(end: NDArray[np.int32]) -> NDArray[np.int32]:
    """int32[states]: the states by their distance, of equal ones the last first."""
    return np.lexsort((-np.arange(len(end)), end)).astype(np.int32)


def _unknown(size: int) -> NDArray[np.int32]:
    """int32[2, size]: `FAR` and 0."""
    tokens = np.zeros((2, size), np.int32)
    tokens[0] = FAR
    return tokens


def _scratch() -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """What `tokenize.fewest_tokens` works with: it looks no deeper than 256 rules."""
    return np.full(256, -1, np.int32), np.empty(256, np.int32), np.empty(256, np.int64)
