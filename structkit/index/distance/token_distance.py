"""Token distances: the number of tokens from each state to the end of its rule, first bounded, then exact.

While many tokens are left, an upper bound is enough. The distances of call-free rules are exact from the start. For
other rules the bound is the length of a short text in bytes, as every byte is a token, which does not require building
the rules that they call. When tokens become scarce, all rules are built, and the tokens of shortest texts are counted.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.distance.bounds import DISTINCT_MARGIN
from structkit.automaton.distance.trim import TrimmedRule, first_bytes
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.shortest import ShortestPaths
from structkit.automaton.runtime.stack import Frame
from structkit.index.distance import tokenize
from structkit.lru_cache import LruCache
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["TokenDistance"]


class TokenDistance:
    """Upper bounds on the tokens from the states of an automaton to the ends of their rules.

    Args:
        automaton: The automaton.
        vocabulary: The tokens.
        distances: int32[2, ...], those of the rules built so far, if they were counted before.
        is_exact: Whether these are exact.

    Attributes:
        is_exact: Whether all rules are built and their tokens counted; always so if some byte is no token.
    """

    def __init__(
        self,
        automaton: Automaton,
        vocabulary: Vocabulary,
        distances: NDArray[np.int32] | None = None,
        *,
        is_exact: bool = False,
    ) -> None:
        self._automaton = automaton
        self._vocabulary = vocabulary
        self._measured_rules = 0 if distances is None else len(automaton.built)
        self._distances = np.empty((2, 1024), np.int32) if distances is None else distances
        self.is_exact = is_exact
        if not vocabulary.has_all_bytes:
            self.make_exact()

    @property
    def distances(self) -> NDArray[np.int32]:
        """int32[2 + labels, ...], upper bounds on tokens.

        By state those to the end of its rule, by rule those of an iteration, and by state those to the end of its rule
        with each label.
        """
        if self._measured_rules < len(self._automaton.built) and not self.is_exact:
            with self._automaton.lock:
                self._measure_new_rules()
        return self._distances

    def pending(self, frame: Frame) -> int:
        """Return the tokens of the iterations that the frame still needs, plus the margin of an open distinct text."""
        rule = self._automaton.rule_of[frame.state]
        iterations = self._automaton.counter_bounds[rule][0] - frame.count
        memory = frame.seen_texts
        to_differ = 0 if memory is None or memory.open_start is None else DISTINCT_MARGIN
        return to_differ if iterations <= 0 else iterations * int(self.distances[1, rule]) + to_differ

    @cached_property
    def shortest(self) -> ShortestPaths:
        """The shortest paths to the end of each rule, in bytes; builds all rules."""
        return ShortestPaths.build(self._automaton)

    def make_exact(self) -> None:
        """Build all rules and compute their exact distances; those of rules with labels stay upper bounds."""
        with self._automaton.lock:
            if self.is_exact or self._automaton.has_labels or self._automaton.build_all().has_labels:
                return
            self._distances = _exact_distances(self.shortest, self._vocabulary)
            self.is_exact = True

    def _measure_new_rules(self) -> None:
        """Add what was built since."""
        automaton, tokens = self._automaton, self._distances
        built = automaton.built[:]
        size = max(len(automaton.row), len(automaton.start))
        labels = [automaton.builder.built[rule].label_distance for rule in built[self._measured_rules :]]
        rows = 2 + max(map(len, labels), default=0)
        if size > tokens.shape[1] or rows > len(tokens):
            columns = 2 * size if size > tokens.shape[1] else tokens.shape[1]
            tokens = np.full((max(rows, len(tokens)), columns), UNREACHABLE, np.int32)
            tokens[: len(self._distances), : self._distances.shape[1]] = self._distances
        for rule in built[self._measured_rules :]:
            found, first = automaton.builder.built[rule], int(automaton.start[rule])
            if len(found.label_distance):
                states = slice(first, first + len(found.distance))
                tokens[2 : 2 + len(found.label_distance), states] = found.label_distance
            if found.dfa.callees:
                tokens[0, first : first + len(found.distance)] = found.distance
                tokens[1, rule] = found.bytes_per_iteration
            else:
                alone = _regular_distances(found, self._vocabulary)
                tokens[0, first : first + len(found.distance)] = alone[0, : len(found.distance)]
                tokens[1, rule] = alone[1, 0]
        self._distances, self._measured_rules = tokens, len(built)


def _regular_distances(rule: TrimmedRule, vocabulary: Vocabulary) -> NDArray[np.int32]:
    """Return the tokens of a rule that calls no other."""
    known = _measured.get((rule, vocabulary))
    if known is None:
        known = rule, _count_tokens(rule, vocabulary)
        _measured.put((rule, vocabulary), known)
    return known[1]


_measured: LruCache[tuple[TrimmedRule, Vocabulary], tuple[TrimmedRule, NDArray[np.int32]]] = LruCache(
    1024, 1 << 26, lambda known: known[0].nbytes + known[1].nbytes
)
"""Rules that call no other, each with the tokens to its end."""


def _count_tokens(rule: TrimmedRule, vocabulary: Vocabulary) -> NDArray[np.int32]:
    """Return the tokens from each state of a rule that calls no other."""
    trie, dfa = vocabulary.trie, rule.dfa
    states, width = dfa.targets.shape
    tokens, none = _unreachable_table(states), np.empty(0, np.int32)
    zero = np.zeros(1, np.int32)
    tokenize.min_tokens(
        trie.child_first, trie.child_count, trie.child_byte, trie.child_node, trie.first,
        np.arange(states, dtype=np.int32) * width, dfa.targets.ravel(), dfa.classes[None], np.zeros(states, np.int32),
        np.zeros(states + 1, np.int32), none, none, none, np.empty(0, bool), zero, np.array([states], np.int32),
        np.array([dfa.min_count], np.int32), first_bytes(dfa.classes[None]), np.array([width], np.int32),
        rule.distance, rule.first_step, _by_distance(rule.distance), tokens, *_scratch(),
    )  # fmt: skip
    return tokens


def _exact_distances(shortest: ShortestPaths, vocabulary: Vocabulary) -> NDArray[np.int32]:
    """Return the tokens of all rules."""
    trie, automaton = vocabulary.trie, shortest.automaton
    tokens = _unreachable_table(max(len(automaton.row), len(automaton.start)))
    tokenize.min_tokens(
        trie.child_first, trie.child_count, trie.child_byte, trie.child_node, trie.first,
        automaton.row, automaton.targets, automaton.classes, automaton.rule, automaton.call_first,
        automaton.call_rule, automaton.call_next, automaton.call_operation, automaton.call_distinct, automaton.start,
        shortest.stop, automaton.min_count, shortest.first_byte, shortest.width, shortest.distance, shortest.first_step,
        _by_distance(shortest.distance), tokens, *_scratch(),
    )  # fmt: skip
    return tokens


def _by_distance(distance: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return int32[states]: the states by their distance, of equal ones the last first."""
    return np.lexsort((-np.arange(len(distance)), distance)).astype(np.int32)


def _unreachable_table(size: int) -> NDArray[np.int32]:
    """Return int32[2, size]: `UNREACHABLE` and 0."""
    tokens = np.zeros((2, size), np.int32)
    tokens[0] = UNREACHABLE
    return tokens


def _scratch() -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the scratch arrays of `tokenize.min_tokens`, which looks no deeper than 256 rules."""
    return np.empty(256, np.int32), np.empty(256, np.int64)
