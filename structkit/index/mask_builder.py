"""Masks of configurations, written by a compiled kernel; Python computes the rows that need many trie nodes."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.memory import Memory
from structkit.automaton.runtime import frame_kernels
from structkit.automaton.runtime.configurations import Configurations, Outdated
from structkit.index.index import UNREACHABLE, Index
from structkit.index.rows import row_kernels as kernels
from structkit.index.rows.arena import ARENA_SIZE, COLUMNS
from structkit.index.rows.mask import MAX_SPARSE_WORDS
from structkit.index.rows.mask_kernels import find_masks, write_found, write_mask
from structkit.index.rows.scratch import exit_capacity
from structkit.limits import Work
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["MaskBuilder", "vocabulary_memory"]

_ROWS, _WORDS, _BASES, _BUCKETS = 64, 512, 16, 256
"""Initial capacities."""

_MAX_WALKS = 4096
"""Maximum number of rows of one mask that the kernel finds; Python computes a mask of more rows."""

_ROWS_PER_MASK = 16
"""Rows for each mask of a batch, on average; `write` writes the masks of the last rows if there are more."""

_NO_WORDS = np.empty(0, np.int64), np.empty(0, np.uint32)


class MaskBuilder:
    """Writes the masks of configurations, with a cache of rows.

    Args:
        configurations: The configurations; their context is `Memory(SLOTS, vocabulary_memory(...))`.
        index: Computes rows that need many trie nodes.
        max_bytes: Maximum size of the dense masks.
    """

    def __init__(self, configurations: Configurations, index: Index, max_bytes: int) -> None:
        self._configurations = configurations
        self._index = index
        self._memory = configurations.memory
        self._context = self._memory.context
        self._words = index.vocabulary.mask_words
        self._max_bases = max(1, max_bytes // (4 * self._words))
        self._lock = Lock()
        self._bases: dict[int, tuple[int, NDArray[np.uint32]]] = {}
        words = [_ROWS * kernels.ROW_COLUMNS, _BUCKETS, _WORDS, _WORDS]
        self._memory.allocate(kernels.REQUESTS, [kernels.REQUEST_COUNT, *words])
        self._memory.hash(kernels.ROWS, kernels.ROW_COLUMNS, kernels.ROW_BUCKETS, kernels.rehash_rows)
        self._memory.bind(kernels.BASES, [np.empty(_BASES, np.int64)])
        self._memory[kernels.REQUESTS][kernels.LONGEST_TOKEN] = index.vocabulary.max_token_length

    @property
    def size(self) -> int:
        """The number of rows in the arrays."""
        return int(self._memory[kernels.REQUESTS][kernels.ROW_COUNT])

    def write(
        self, configuration: int, remaining: int, out: NDArray[np.uint32], result: int | None = None
    ) -> int:
        """Write the mask of a configuration, with the end tokens if it is accepting.

        Args:
            configuration: The configuration.
            remaining: The tokens that may follow the next one.
            out: uint32[words], C-contiguous, receives the mask.
            result: What `write_mask` returned, if it was called with these arguments.

        Returns:
            `DONE`; `TIGHT` if the budget forbids some tokens, or `COMPUTE` if distinct texts decide, and then `out` is
            unchanged.

        Raises:
            Outdated: The rows would be too large.
            LimitExceeded: A token has too many parses, the search takes too much work, or a rule that a token enters
                cannot be built.
        """
        work: Work | None = None
        while True:
            if result is None:
                result = write_mask(self._context, configuration, remaining, out)
            if result == kernels.ROW_NEEDED:
                work = work or Work(self._index.automaton.limits.work)
                self._add_row(work)
            elif result in (frame_kernels.FULL, frame_kernels.MISSING, frame_kernels.TOO_MANY):
                self._configurations.resolve(result)
            else:
                return result
            result = None

    def write_many(self, plan: NDArray[np.int64], out: NDArray[np.uint32]) -> None:
        """Write the masks of a batch whose rows are known; `write` writes the others.

        The interpreter lock is held while the rows are found, and released while they are written.

        Args:
            plan: int64[masks, PLAN_COLUMNS], see `structkit.index.rows.mask_kernels`; receives the results.
            out: uint32[rows, words], C-contiguous, receives the masks.
        """
        found = np.empty(_ROWS_PER_MASK * len(plan), np.int64)
        memory = self._memory
        with memory.lock:  # otherwise the arrays could be those before the ones in which the rows were found
            find_masks(self._context, plan, found)
            rows, words, values = memory[kernels.ROWS], memory[kernels.WORDS], memory[kernels.VALUES]
            ends, end_values = memory[kernels.EOS_WORDS], memory[kernels.EOS_VALUES]
            # Arrays only grow: these contain all rows that were found, and live until the masks are written.
            arrays = rows, words, values.view(np.uint32), memory[kernels.BASES], ends, end_values
        saved = np.empty(MAX_SPARSE_WORDS, np.uint32)
        write_found(plan, found, *arrays, saved, out)

    def _add_row(self, work: Work) -> None:
        requests = self._memory[kernels.REQUESTS].tolist()
        number, exits = requests[kernels.REQUEST_FRAME], requests[kernels.REQUEST_EXITS]
        state, count, _ = self._configurations.columns(number)
        automaton = self._index.automaton
        frame = automaton.frame(state, count)  # a row does not depend on what is below
        if exits == kernels.NO_EXITS:
            row = self._index.row(frame, work)
        else:
            row = self._index.continuation_row(self._configurations.items(exits).copy(), frame, work)
        self._configurations.bind_new_tables()
        bits, words, values = row.mask.bits, row.mask.words, row.mask.values
        if len(words) > MAX_SPARSE_WORDS:
            bits, (words, values) = row.mask.dense(self._words), _NO_WORDS
        base = kernels.NO_BASE if bits is None else self._base(bits)
        distinct = self._index.reader.distinct
        enters_distinct = automaton.has_distinct and distinct.may_contain_distinct(automaton.rule_of[state])
        cost = UNREACHABLE if enters_distinct else row.max_cost_after
        # Copies, because the type of an array from the disk cache is another one for numba: it is read-only.
        arguments = words.copy(), values.copy(), row.exit_nodes.copy(), cost
        while (result := kernels.add_row(self._context, exits, number, base, *arguments)) < 0:
            self._configurations.resolve(result)

    def _base(self, bits: NDArray[np.uint32]) -> int:
        """Return the number of a dense mask."""
        with self._lock:
            known = self._bases.get(id(bits))
            if known is not None:
                return known[0]
            number = len(self._bases)
            if number >= self._max_bases:
                raise Outdated
            addresses = self._memory[kernels.BASES]
            if number == len(addresses):
                addresses = np.concatenate([addresses, np.empty_like(addresses)])
                self._memory.bind(kernels.BASES, [addresses])
            addresses[number] = bits.__array_interface__["data"][0]
            self._bases[id(bits)] = number, bits
            return number


@lru_cache(maxsize=4)
def vocabulary_memory(vocabulary: Vocabulary, max_parses: int) -> Memory:
    """Return the part of a context that all automata over a vocabulary share: its tokens, its trie, and scratch.

    Args:
        vocabulary: The tokens.
        max_parses: The maximum number of parses of a text.
    """
    memory = Memory(kernels.SLOTS)
    tokens, trie = vocabulary.tokens, vocabulary.trie
    starts = np.zeros(len(tokens) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, tokens), np.int32, len(tokens)), out=starts[1:])
    memory.bind(
        frame_kernels.TOKEN_BYTES,
        [
            np.frombuffer(b"".join(tokens), np.uint8),
            starts,
            np.empty((2 * max_parses + 2, 3), np.int32),
            np.empty(max_parses + 1, np.int32),
        ],
    )
    nodes, words = len(trie.byte), vocabulary.mask_words
    end_words, end_values = _end_words(vocabulary)
    memory.bind(
        kernels.TRIE_DEPTH,
        [
            trie.depth,
            trie.first,
            trie.token_ids,
            trie.child_first,
            trie.child_count,
            trie.child_byte,
            trie.child_node,
            np.zeros(1, np.int32),
            end_words,
            end_values,
            np.empty((ARENA_SIZE, COLUMNS), np.int64),
            np.zeros(words, np.uint32),
            np.empty(MAX_SPARSE_WORDS, np.int64),
            np.empty(MAX_SPARSE_WORDS, np.uint32),
            np.empty(exit_capacity(nodes), np.int32),
            np.empty(0, np.int64),
            np.empty((_MAX_WALKS, 3), np.int32),
            trie.byte,
            trie.end,
        ],
    )
    return memory


def _end_words(vocabulary: Vocabulary) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Return the words of the mask of the end tokens, and their values."""
    values: dict[int, int] = {}
    for token in vocabulary.eos_token_ids:
        values[token >> 5] = values.get(token >> 5, 0) | 1 << (token & 31)
    return np.array(list(values), np.int32), np.array(list(values.values()), np.uint32)
