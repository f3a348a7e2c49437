"""Rows of call-free rules, shared by all targets; the masks of similar states are stored as differences."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.dfa import Dfa
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.stack import Frame
from structkit.index.distance.token_distance import TokenDistance
from structkit.index.rows import regular_kernels as kernels
from structkit.index.rows.mask import Mask
from structkit.index.rows.row import CountedRow, Row, RowKey, SharedKey, shared_counted_rows, shared_rows
from structkit.index.rows.row_files import row_files
from structkit.index.rows.scratch import scratch_pool
from structkit.index.rows.subtrees import MAX_QUEUED, MOVE_COLUMNS, MOVE_ROWS, STATE_ROWS, subtrees_of
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["RegularRows"]

_MIN_COMMON_BYTES = 65
"""Bytes that lead from a state to one and the same, so that the rows of the two are nearly equal, as in free text. More
than the 64 bytes that end a character beyond ASCII: inside the character few tokens are allowed."""

_MAX_SHARED_STATES = 64
"""States of a part of a rule whose row is shared by all rules that have such a part."""

_LAST = 16
"""Number of states of a larger rule, those walked last, whose tokens and states after them are cached."""

_NO_STATES = np.empty(0, bool)


class RegularRows:
    """Computes the rows of the call-free rules of an automaton.

    The rows are held in caches that all automata over a vocabulary share.

    Args:
        automaton: The automaton.
        vocabulary: The tokens.
        needs: How many of them lead to the ends of rules.
        on_disk: Whether rows that take long to compute are read from the disk cache, and saved there.
    """

    def __init__(
        self, automaton: Automaton, vocabulary: Vocabulary, needs: TokenDistance, *, on_disk: bool
    ) -> None:
        self._automaton = automaton
        self._vocabulary = vocabulary
        self._needs = needs
        self._on_disk = on_disk
        self._shared = shared_rows(vocabulary, automaton.limits.row_bytes)
        self._counted_rows = shared_counted_rows(vocabulary, automaton.limits.row_bytes)
        # By rule: the states that were walked, and for each the states to which tokens lead.
        self._walks: dict[int, list[tuple[int, NDArray[np.bool_]]]] = {}
        self._scratches = scratch_pool(vocabulary)

    def row(self, frame: Frame, key: RowKey) -> Row:
        """Return the row of a frame in a call-free rule; `key` is the key of the row in the index."""
        rule = self._automaton.rule_of[frame.state]
        dfa = self._automaton.dfa(rule)
        state = frame.state - self._automaton.state_range(rule)[0]
        if dfa.min_count == 0 and dfa.max_count is None:
            return self._uncounted(rule, dfa, state)
        return self._counted(rule, dfa, state, frame, (dfa.fingerprint, (-1, state, *key[2:])))

    def _uncounted(self, rule: int, dfa: Dfa, state: int) -> Row:
        key = dfa.fingerprint, (-1, state, 0, -1)
        found = self._shared.get(key)
        if found is None:
            other = _dominant_successor(dfa, state)
            if other == state:
                found = self._of_part(rule, dfa, state)
            elif other >= 0:
                found = self._difference(rule, state, other, self._uncounted(rule, dfa, other))
            else:
                found = self._similar(rule, dfa, state) or self._walked(rule, state)
            self._shared.put(key, found)
        return found

    def _counted(self, rule: int, dfa: Dfa, state: int, frame: Frame, key: SharedKey) -> Row:
        """Return the row of a state for a count; one walk serves all counts."""

        def compute() -> Row:
            counted_key = dfa.fingerprint, (-1, state, int(dfa.min_count > 0), -1)
            counted_row = self._counted_rows.get(counted_key)
            if counted_row is None:
                counted_row = (
                    self._similar_counted(rule, dfa, state) or self._walk(rule, state, counted=True)[1]
                )
                self._counted_rows.put(counted_key, counted_row)
            needed = max(dfa.min_count - frame.count, 0)
            room = math.inf if dfa.max_count is None else dfa.max_count - frame.count
            row = counted_row.row(
                needed, room, int(self._needs.distances[1, rule]), self._vocabulary.mask_words
            )
            return row._replace(max_cost_after=row.max_cost_after - self._needs.pending(frame))

        return self._stored(key, compute)

    def _of_part(self, rule: int, dfa: Dfa, state: int) -> Row:
        """Return the row of a state from which few others are reached; rules with an equal part share the row."""
        fingerprint = _part(dfa, state)
        if fingerprint is None:
            key = dfa.fingerprint, (-1, state, 0, -1)
            return self._stored(key, lambda: self._similar(rule, dfa, state) or self._walked(rule, state))
        return self._stored((fingerprint, (-1, 0, 0, -1)), lambda: self._walked(rule, state))

    def _stored(self, key: SharedKey, compute: Callable[[], Row]) -> Row:
        """Return a row that may take long to compute, from the cache or a file or computed."""
        found = self._shared.get(key)
        if found is None:
            if self._on_disk:
                limits = self._automaton.limits
                found = row_files(self._vocabulary, limits.row_bytes, limits.disk_bytes).row(key, compute)
            else:
                found = compute()
            self._shared.put(key, found)
        return found

    def _similar(self, rule: int, dfa: Dfa, state: int) -> Row | None:
        """Return the row of a state by that of a known state whose tokens take the same paths; `None` without one."""
        other, needed = self._similar_state(rule, dfa, state)
        row = self._shared.get((dfa.fingerprint, (-1, other, 0, -1)))
        return None if row is None else row._replace(max_cost_after=needed)

    def _similar_counted(self, rule: int, dfa: Dfa, state: int) -> CountedRow | None:
        """Do what `_similar` does, for all counts."""
        other, needed = self._similar_state(rule, dfa, state)
        counted_row = self._counted_rows.get((dfa.fingerprint, (-1, other, int(dfa.min_count > 0), -1)))
        if counted_row is None:
            return None
        return replace(
            counted_row,
            max_costs=np.where(counted_row.max_costs >= 0, np.int32(needed), counted_row.max_costs),
        )

    def _similar_state(self, rule: int, dfa: Dfa, state: int) -> tuple[int, int]:
        """Return a known state whose tokens take the same paths, else -1, and the most tokens needed after one of them.

        Where words are counted without a counter, for example, there is such a state after each word.
        """
        for other, seen in self._walks.get(rule, ()):
            number, order = np.full(len(seen), -1, np.int32), np.empty(len(seen), np.int32)
            if kernels.is_equivalent(dfa.targets, dfa.final, seen, other, state, number, order):
                reached = number[number >= 0] + int(self._automaton.start[rule])
                return other, int(self._needs.distances[0, reached].max())
        return -1, 0

    def _walked(self, rule: int, state: int) -> Row:
        mask, counted_row = self._walk(rule, state, counted=False)
        return Row(mask, counted_row.exit_nodes, int(counted_row.max_costs.max(initial=0)))

    def _walk(self, rule: int, state: int, *, counted: bool) -> tuple[Mask, CountedRow]:
        automaton, trie = self._automaton, self._vocabulary.trie
        scratch = self._scratches.acquire()
        longest = self._vocabulary.max_token_length + 1
        worst = np.full(2 * longest * int(automaton.max_increments[rule]), -1, np.int32)
        small = np.int16 if len(worst) < 1 << 15 else np.int32
        taken = np.full(self._vocabulary.size if counted else 0, -1, small)
        exit_taken = scratch.exit_iterations.view(small)
        marks = np.empty(longest, small)
        first, stop = automaton.state_range(rule)
        seen = np.zeros(stop - first if stop - first > _MAX_SHARED_STATES else 0, bool)
        subtrees = subtrees_of(self._vocabulary)
        found, filled = kernels.walk_counted(
            trie.byte, trie.depth, trie.end, trie.first, trie.token_ids,
            subtrees.number, subtrees.below, subtrees.characters, subtrees.token_characters,
            automaton.row, automaton.targets, automaton.classes, automaton.final, self._needs.distances,
            first + state, rule, scratch.mask, scratch.words, scratch.values, taken,
            scratch.exit_nodes, exit_taken, worst, scratch.path_states, marks, first, seen,
            *_move_arrays(stop - first),
        )  # fmt: skip
        counted_row = CountedRow(taken, scratch.exit_nodes[:found].copy(), exit_taken[:found].copy(), worst)
        mask = scratch.take_mask(filled)
        self._scratches.release(scratch)
        if len(seen):
            self._walks[rule] = [(state, seen), *self._walks.get(rule, ())][:_LAST]
        return mask, counted_row

    def _difference(self, rule: int, state: int, other: int, similar: Row) -> Row:
        """Return the row of a state from that of another; the walk leaves out what they have in common."""
        automaton, trie = self._automaton, self._vocabulary.trie
        scratch = self._scratches.acquire()
        bits, changed = similar.mask.dense(self._vocabulary.mask_words), scratch.exit_nodes
        words, values = scratch.words, scratch.values
        first, stop = automaton.state_range(rule)
        subtrees = subtrees_of(self._vocabulary)
        while True:
            found, worst, filled = kernels.diff_masks(
                trie.byte, trie.depth, trie.end, trie.first, trie.token_ids, subtrees.number, subtrees.below,
                automaton.row, automaton.targets, automaton.classes, automaton.final, self._needs.distances,
                first + state, first + other, rule, bits, scratch.mask, words, values, changed,
                scratch.path_states, scratch.other_path_states, first, _NO_STATES,
                *_move_arrays(stop - first),
            )  # fmt: skip
            if filled <= len(words):
                break
            scratch.mask[:] = 0
            words, values = np.empty(filled, np.int64), np.empty(filled, np.uint32)
        mask = Mask(bits, words[:filled].copy(), values[:filled].copy())
        exits = similar.exit_nodes
        if found:
            exits = np.setxor1d(exits, changed[:found], assume_unique=True).astype(np.int32)
        self._scratches.release(scratch)
        return Row(mask, exits, max(similar.max_cost_after, worst))


def _move_arrays(states: int) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return the scratch arrays of `covering` for a rule."""
    moves = np.zeros((MOVE_ROWS, MOVE_COLUMNS), np.int64)
    return np.zeros((STATE_ROWS, states), np.int32), moves, np.empty((2, MAX_QUEUED), np.int64)


def _dominant_successor(dfa: Dfa, state: int) -> int:
    """Return the state to which most bytes lead, also from that state; -1 if there is none."""
    sizes = np.zeros(dfa.targets.shape[1], np.int32)
    found: int = kernels.dominant_successor(dfa.targets, dfa.classes, state, _MIN_COMMON_BYTES, sizes)
    return found


def _part(dfa: Dfa, state: int) -> bytes | None:
    """Return a hash of the automaton from a state on; `None` if it has many states."""
    numbers, order = np.full(len(dfa.targets), -1, np.int32), np.empty(_MAX_SHARED_STATES, np.int32)
    table = np.empty((_MAX_SHARED_STATES, 257), np.int16)
    states: int = kernels.subautomaton(dfa.targets, dfa.classes, dfa.final, state, numbers, order, table)
    return hashlib.sha256(table[:states].data).digest()[:16] if states else None
