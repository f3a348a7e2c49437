"""Rows of rules that call no other: the same for all targets, and told from each other where that is quicker."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from structkit.automaton.dfa import Dfa
from structkit.automaton.frames import Frame
from structkit.index import alone_kernels as kernels
from structkit.index.mask import Mask
from structkit.index.rows import Rounds, Row, RowKey, SharedKey

if TYPE_CHECKING:
    from structkit.index.index import Index

__all__ = ["row"]

_MOSTLY = 64
"""Bytes that lead from a state to one and the same, so that the rows of the two are nearly alike: free text, say."""

_SMALL = 64
"""States of a part of a rule whose row is shared by all rules that have such a part."""

_LAST = 16
"""States of a larger rule, those walked last, of which it is known where their tokens lead."""


def row(index: Index, frame: Frame, key: RowKey) -> Row:
    """The row of a frame whose rule calls no other, without the frames below it. `key` is the index's own."""
    rule = index.automaton.rule_of[frame.state]
    dfa = index.automaton.dfa(rule)
    index.share(dfa.fingerprint)
    state = frame.state - index.automaton.states_of(rule)[0]
    if dfa.least == 0 and dfa.most is None:
        return _uncounted(index, rule, dfa, state)
    return _counted(index, rule, dfa, state, frame, (dfa.fingerprint, (-1, state, *key[2:])))


def _uncounted(index: Index, rule: int, dfa: Dfa, state: int) -> Row:
    key = dfa.fingerprint, (-1, state, 0, -1)
    found = index.shared.get(key)
    if found is None:
        other = _usual(dfa, state)
        if other == state:
            found = _of_part(index, rule, dfa, state)
        elif other >= 0:
            found = _told_from(index, rule, state, other, _uncounted(index, rule, dfa, other))
        else:
            found = _alike(index, rule, dfa, state) or _walked(index, rule, state)
        index.shared.put(key, found)
        index.made += 1
    return found


def _usual(dfa: Dfa, state: int) -> int:
    """The state to which most bytes lead, from there too; -1 if there is none."""
    sizes = np.zeros(dfa.targets.shape[1], np.int32)
    found: int = kernels.usual(dfa.targets, dfa.classes, state, _MOSTLY, sizes)
    return found


def _counted(index: Index, rule: int, dfa: Dfa, state: int, frame: Frame, key: SharedKey) -> Row:
    """One walk serves all counts."""
    found = index.shared.get(key)
    if found is None:
        rounds_key = dfa.fingerprint, (-1, state, int(dfa.least > 0), -1)
        rounds = index.rounds.get(rounds_key)
        if rounds is None:
            rounds = _counted_alike(index, rule, dfa, state) or _rounds(index, rule, state, counted=True)[1]
            index.rounds.put(rounds_key, rounds)
        needed = max(dfa.least - frame.count, 0)
        room = math.inf if dfa.most is None else dfa.most - frame.count
        found = rounds.row(needed, room, int(index.tokens[1, rule]), index.vocabulary.words)
        found = found._replace(growth=found.growth - index.pending(frame))
        index.shared.put(key, found)
        index.made += 1
    return found


def _of_part(index: Index, rule: int, dfa: Dfa, state: int) -> Row:
    """The row of a state from which few others are reached; other rules have such a part too."""
    fingerprint = _part(dfa, state)
    if fingerprint is None:
        return _alike(index, rule, dfa, state) or _walked(index, rule, state)
    key = fingerprint, (-1, 0, 0, -1)
    index.share(fingerprint)
    found = index.shared.get(key)
    if found is None:
        found = _walked(index, rule, state)
        index.shared.put(key, found)
        index.made += 1
    return found


def _part(dfa: Dfa, state: int) -> bytes | None:
    """A hash of the automaton from a state on; `None` if it has many states."""
    numbers, order = np.full(len(dfa.targets), -1, np.int32), np.empty(_SMALL, np.int32)
    table = np.empty((_SMALL, 257), np.int16)
    states: int = kernels.part(dfa.targets, dfa.classes, dfa.final, state, numbers, order, table)
    return hashlib.blake2b(table[:states].data, digest_size=16).digest() if states else None


def _alike(index: Index, rule: int, dfa: Dfa, state: int) -> Row | None:
    """The row of a state whose tokens take the same ways as those of one that was walked before."""
    other, needed = _same(index, rule, dfa, state)
    row = index.shared.get((dfa.fingerprint, (-1, other, 0, -1)))
    return None if row is None else row._replace(growth=needed)


def _counted_alike(index: Index, rule: int, dfa: Dfa, state: int) -> Rounds | None:
    """The same of what all counts allow."""
    other, needed = _same(index, rule, dfa, state)
    rounds = index.rounds.get((dfa.fingerprint, (-1, other, int(dfa.least > 0), -1)))
    if rounds is None:
        return None
    return replace(rounds, worst=np.where(rounds.worst >= 0, np.int32(needed), rounds.worst))


def _same(index: Index, rule: int, dfa: Dfa, state: int) -> tuple[int, int]:
    """A state that was walked before whose tokens take the same ways, and the most tokens needed after one of them.

    Where words are counted without a counter, say, there is a state after each word. -1 if there is none.
    """
    for other, seen in index.walked.get(rule, ()):
        number, order = np.full(len(seen), -1, np.int32), np.empty(len(seen), np.int32)
        if kernels.same(dfa.targets, dfa.final, seen, other, state, number, order):
            reached = number[number >= 0] + int(index.automaton.start[rule])
            return other, int(index.tokens[0, reached].max())
    return -1, 0


def _walked(index: Index, rule: int, state: int) -> Row:
    mask, rounds = _rounds(index, rule, state, counted=False)
    return Row(mask, rounds.exits, int(rounds.worst.max(initial=0)))


def _rounds(index: Index, rule: int, state: int, *, counted: bool) -> tuple[Mask, Rounds]:
    automaton, trie = index.automaton, index.vocabulary.trie
    scratch = index.scratches.take()
    longest = index.vocabulary.longest + 1
    worst = np.full(2 * longest * automaton.strides.get(rule, 1), -1, np.int32)
    small = np.int16 if len(worst) < 1 << 15 else np.int32
    taken = np.full(index.vocabulary.size if counted else 0, -1, small)
    exit_taken = scratch.exit_taken.view(small)
    marks = np.empty(longest, small)
    first, stop = automaton.states_of(rule)
    seen = np.zeros(stop - first if stop - first > _SMALL else 0, bool)
    found, filled = kernels.rounds(
        trie.byte, trie.depth, trie.end, trie.first, trie.ids,
        automaton.row, automaton.targets, automaton.classes, automaton.final, index.tokens,
        first + state, rule, scratch.mask, scratch.words, scratch.values, taken,
        scratch.exits, exit_taken, worst, scratch.way, marks, first, seen,
    )  # fmt: skip
    found_rounds = Rounds(taken, scratch.exits[:found].copy(), exit_taken[:found].copy(), worst)
    mask = scratch.taken(filled)
    index.scratches.give(scratch)
    if len(seen):
        index.walked[rule] = [(state, seen), *index.walked.get(rule, ())][:_LAST]
    return mask, found_rounds


def _told_from(index: Index, rule: int, state: int, other: int, alike: Row) -> Row:
    """The row of a state from that of another: only what they do not have in common is walked."""
    automaton, trie = index.automaton, index.vocabulary.trie
    scratch = index.scratches.take()
    bits, changed = alike.mask.dense(index.vocabulary.words), scratch.exits
    words, values = scratch.words, scratch.values
    first = automaton.states_of(rule)[0]
    while True:
        found, worst, filled = kernels.differ(
            trie.byte, trie.depth, trie.end, trie.first, trie.ids,
            automaton.row, automaton.targets, automaton.classes, automaton.final, index.tokens,
            first + state, first + other, rule, bits, scratch.mask, words, values, changed,
            scratch.way, scratch.other_way,
        )  # fmt: skip
        if filled <= len(words):
            break
        scratch.mask[:] = 0
        words, values = np.empty(filled, np.int64), np.empty(filled, np.uint32)
    mask = Mask(bits, words[:filled].copy(), values[:filled].copy())
    exits = alike.exits
    if found:
        exits = np.setxor1d(exits, changed[:found], assume_unique=True).astype(np.int32)
    index.scratches.give(scratch)
    return Row(mask, exits, max(alike.growth, worst))
