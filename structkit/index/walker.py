"""Rows computed by a walk over the trie: what each token does from a frame."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.tables import Tables
from structkit.automaton.link import build_called
from structkit.automaton.runtime.configurations import Outdated
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.stack import Frame
from structkit.errors import LimitExceeded
from structkit.index.distance.token_distance import TokenDistance
from structkit.index.merged_rows import MergedRows
from structkit.index.rows import walk_kernels
from structkit.index.rows.arena import ARENA_SIZE, COLUMNS, LABEL_SHIFT
from structkit.index.rows.row import NO_EXIT_NODES, Row
from structkit.index.rows.scratch import Scratch, ScratchPool, scratch_pool
from structkit.index.rows.simple_kernels import walk_simple
from structkit.index.trie_arrays import trie_arrays
from structkit.limits import Work
from structkit.vocabulary.trie import sorted_set
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["FINISHED", "NO_SIGNATURES", "ROOT", "STARTED", "Walker"]

_NO_BUDGET = 1 << 40
"""More tokens than any text needs, and more trie nodes than any walk visits."""
_MAX_GROWTH = 64
"""How much larger the arena may become before parses are merged in any case: a thousand frames for each byte of a long
token."""
_QUICK_GROWTH, _MERGING_STEPS = 8, 200_000
"""How much larger the arena may become before merging is tried, which is much faster where each byte has many parses,
and the steps of it, about 0.1 s: where many tokens are allowed, a walk with more room is faster."""
NO_SIGNATURES: NDArray[np.int64] = np.empty(0, np.int64)
_NO_STATES: NDArray[np.int32] = np.empty(0, np.int32)
_NO_STARTS: NDArray[np.bool_] = np.empty(0, np.bool_)
ROOT: NDArray[np.int32] = np.zeros(1, np.int32)
"""The start of every token."""
STARTED, FINISHED = "started", "finished"
"""What a walk leaves out: the tokens that start distinct texts, and those in which they also end."""
_MAX_DISTINCT_TABLES = 8
"""Maximum number of tables without distinct texts that are kept; each is as large as the automaton's own."""


class Walker:
    """Computes the rows of frames with the kernels.

    Args:
        reader: Reads texts against the automaton.
        vocabulary: The tokens.
        token_distance: Bounds on the tokens to the end of a rule.
    """

    def __init__(self, reader: Reader, vocabulary: Vocabulary, token_distance: TokenDistance) -> None:
        self._automaton = reader.automaton
        self._reader = reader
        self._vocabulary = vocabulary
        self._token_distance = token_distance
        self._trie, self._simple_trie = trie_arrays(vocabulary)
        self._tables_without_distinct: dict[frozenset[int], tuple[Tables, Tables]] = {}

    # What the first mask of most targets does not need is made on first use.
    @cached_property
    def _scratches(self) -> ScratchPool:
        return scratch_pool(self._vocabulary)

    @cached_property
    def _merged(self) -> MergedRows:
        return MergedRows(self._reader, self._token_distance, self._vocabulary)

    def row(
        self,
        nodes: NDArray[np.int32],
        frame: Frame,
        remaining: int = _NO_BUDGET,
        salt: int = 0,
        signatures: NDArray[np.int64] = NO_SIGNATURES,
        *,
        distinct_mode: str = "",
        work: Work | None = None,
        states: NDArray[np.int32] = _NO_STATES,
    ) -> Row:
        """Return the row of a frame for the tokens that continue behind trie nodes.

        Args:
            nodes: The trie nodes; `ROOT` for all tokens.
            frame: The frame.
            remaining: Tokens within which the rule must be able to end after each token.
            salt: A number for what is below the frame, part of the signatures.
            signatures: int64[size], receives for each token a hash of where it leads; empty if not needed.
            distinct_mode: `STARTED` or `FINISHED` for what the row leaves out; empty for nothing.
            work: The work that the walk may take; by default that of the limits.
            states: The state of the frame at each of the nodes; empty if it is that of the frame.

        Where the nodes lie behind one another, a node behind several of them would be reached once from each. If there
        could be more such places than there are nodes, the walk adds the frame to those that come to a node.
        """
        work = work or Work(self._automaton.limits.work)
        is_nested = self._is_nested(nodes, states)
        if is_nested:
            nodes = sorted_set(nodes)
        is_plain = remaining == _NO_BUDGET and not (
            is_nested or len(states) or len(signatures) or distinct_mode
        )
        scratch = self._scratches.acquire()
        arena, room = scratch.arena, ARENA_SIZE
        before = signatures.copy()  # a walk that starts again must not take back what other frames have added
        while True:
            tables = self._tables(distinct_mode, frame) if distinct_mode else self._automaton.tables
            found, worst, filled, left, reached = 0, 0, 0, nodes, states
            if is_plain and self._is_simple(nodes, frame):
                found, worst, filled, left, reached = self._walk_simple(tables, nodes, frame, scratch, arena)
            entered = {*reached.tolist()} if len(reached) or nodes is ROOT else {frame.state}
            if build_called(self._automaton, entered):
                scratch.mask[:] = 0
                continue
            missing = scratch.missing_flags(len(tables.start))
            starts = self._starts(nodes) if is_nested else _NO_STARTS
            work.pay(room, "the search for the tokens of a mask")
            if found >= 0:
                found, worst, filled = walk_kernels.walk(
                    *self._trie, *tables, self._token_distance.distances, left, starts, reached, frame.state,
                    frame.count, remaining, arena, salt, scratch.mask, scratch.words, scratch.values,
                    scratch.exit_nodes, signatures, missing, _NO_BUDGET, found, worst, filled,
                )  # fmt: skip
            if found >= 0:
                exits = _exit_nodes(scratch, found, is_sorted=len(nodes) <= 1 and not len(reached))
                row = Row(scratch.take_mask(filled), exits, worst - self._token_distance.pending(frame))
                self._scratches.release(scratch)
                return row
            scratch.mask[:] = 0
            signatures[:] = before
            if found == walk_kernels.MISSING:
                self._build_missing(missing)
                continue
            room *= 8
            if room > ARENA_SIZE * _QUICK_GROWTH and not (distinct_mode or self._automaton.has_distinct):
                merged = self._merged_row(nodes, frame, remaining, salt, signatures, states, work, room)
                if merged is not None:
                    self._scratches.release(scratch)
                    return merged
                signatures[:] = before
            if room > ARENA_SIZE * _MAX_GROWTH:
                raise self._automaton.builder.too_many_parses([self._automaton.rule_of[frame.state]])
            arena = np.empty((room, COLUMNS), np.int64)

    def _is_nested(self, nodes: NDArray[np.int32], states: NDArray[np.int32]) -> bool:
        """Return whether walks from each of the nodes could visit more than all nodes, as some lie behind others."""
        ends = self._vocabulary.trie.end
        return len(nodes) > 1 and not len(states) and int((ends[nodes] - nodes).sum()) > len(ends)

    def _starts(self, nodes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return bool[trie nodes], whether a walk starts at the node."""
        starts = np.zeros(len(self._vocabulary.trie), np.bool_)
        starts[nodes] = True
        return starts

    def _walk_simple(
        self,
        tables: Tables,
        nodes: NDArray[np.int32],
        frame: Frame,
        scratch: Scratch,
        arena: NDArray[np.int64],
    ) -> tuple[int, int, int, NDArray[np.int32], NDArray[np.int32]]:
        """Call `walk_simple`; return its first three results, and the nodes and states that it leaves to `walk`."""
        found, worst, filled, others = walk_simple(
            *self._simple_trie, tables.row, tables.targets, tables.classes, tables.rule, tables.final,
            tables.has_moves, tables.call_first, tables.call_rule, tables.call_next, self._token_distance.distances,
            nodes, frame.state, scratch.path_states, arena, scratch.mask, scratch.words, scratch.exit_nodes,
            scratch.other_nodes, scratch.other_states,
        )  # fmt: skip
        return found, worst, filled, scratch.other_nodes[:others], scratch.other_states[:others]

    def _build_missing(self, missing: NDArray[np.bool_]) -> None:
        """Build the rules that a walk met before they were built, and clear their flags."""
        rules = np.flatnonzero(missing[:-2]).tolist()
        missing[:] = False
        for rule in rules:
            self._automaton.start_state(rule)

    def _merged_row(
        self,
        nodes: NDArray[np.int32],
        frame: Frame,
        remaining: int,
        salt: int,
        signatures: NDArray[np.int64],
        states: NDArray[np.int32],
        work: Work,
        room: int,
    ) -> Row | None:
        """Return the row of a walk that merges parses; `None` if they are still too many, or more room is faster.

        Raises:
            LimitExceeded: Merging takes too much work, and no more room is allowed.
        """
        is_last = room > ARENA_SIZE * _MAX_GROWTH
        part = work if is_last else Work(_MERGING_STEPS)
        try:
            row = self._merged.row(nodes, frame, remaining, salt, signatures, states, part)
        except Outdated:
            row = None
        except LimitExceeded:
            if is_last:
                raise
            row = None
        if not is_last:
            work.pay(part.limit - part.left, "the search for the tokens of a mask")
        return row

    def _is_simple(self, nodes: NDArray[np.int32], frame: Frame) -> bool:
        """Return whether a walk can begin with `walk_simple`: the rule has no counter, and the state calls no rule.

        At the start of a token, the frames of the rules that the state calls have rows of their own.
        """
        automaton = self._automaton
        if automaton.counter_bounds[automaton.rule_of[frame.state]] != (0, -1):
            return False
        tables = automaton.tables
        calls = slice(tables.call_first.item(frame.state), tables.call_first.item(frame.state + 1))
        return nodes is ROOT or bool((tables.call_rule[calls] < 0).all())

    def _tables(self, distinct_mode: str, frame: Frame) -> Tables:
        """Return the automaton's arrays without the distinct texts that `distinct_mode` names."""
        tables, distinct = self._automaton.tables, self._reader.distinct
        rule = self._automaton.rule_of[frame.state]
        started = distinct.next_distinct_rules(rule) if distinct_mode == FINISHED else frozenset[int]()
        known = self._tables_without_distinct.get(started)
        if known is None or known[0] is not tables:
            if len(self._tables_without_distinct) >= _MAX_DISTINCT_TABLES:
                self._tables_without_distinct.clear()
            known = tables, distinct.tables_without_distinct(tables, started)
            self._tables_without_distinct[started] = known
        return known[1]


def _exit_nodes(scratch: Scratch, found: int, *, is_sorted: bool) -> NDArray[np.int32]:
    """Return the exit nodes that a walk wrote, sorted and each once.

    `is_sorted` says that they are so unless there are labels: those of the first walk precede the others, and labels
    those of later trie nodes. Behind trie nodes that lie behind one another they repeat, and would again in each row
    below.
    """
    if not found:
        return NO_EXIT_NODES
    exits = scratch.exit_nodes[:found].copy()
    return exits if is_sorted and not int(exits.max()) >> LABEL_SHIFT else sorted_set(exits)
