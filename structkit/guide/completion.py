"""Completions of few tokens: the fewest tokens of all texts that are not much longer than a shortest one."""

from __future__ import annotations

from threading import Lock

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.memory import Memory
from structkit.automaton.runtime.configurations import Configurations, Outdated
from structkit.automaton.runtime.frame_kernels import FRAMES, LIST_ENDS, LIST_ITEMS, LIST_NEXT
from structkit.automaton.runtime.shortest import shortest_length, shortest_texts
from structkit.errors import LimitExceeded
from structkit.guide import completion_kernels as kernels
from structkit.guide.state import State
from structkit.index.index import UNREACHABLE, Index
from structkit.index.mask_builder import vocabulary_memory
from structkit.index.rows.row_kernels import SLOTS
from structkit.lru_cache import LruCache

__all__ = ["CompletionSearch"]

_EXCESS_BYTES = (0, 1, 2, 3, UNREACHABLE)
"""The bytes by which a completion may be longer than a shortest one. More find fewer tokens, such as `" "}` in place of
`""}`, but visit more texts: the largest number is used whose search fits `_FUEL`."""

_FUEL = 20_000
"""Maximum bytes that one search reads, at about 0.1 µs each. For 4 of 389 states of schemas and grammars, 200,000 bytes
find fewer tokens; 5,000 bytes do not find the fewest for 48."""

_ENTRIES, _EDGES, _BUCKETS, _PARSES = 4096, 1 << 15, 1 << 14, 1 << 14
"""Maximum configurations, tokens between them, and parses of one search. There are more buckets than configurations."""

_MAX_TOKENIZED_BYTES = 20_000
"""Maximum length of a shortest text to tokenize if the search for others is too large; takes about 20 ms."""

_NO_TOKENS: NDArray[np.int64] = np.empty(0, np.int64)

_MAX_KNOWN = 512
"""Number of cached answers: the rows of a batch reach the same states, and a search from one takes up to 10 ms."""

_CAPACITY = 1 << 14
"""Initial capacity for interned frames, so that few searches have to start again."""

_MAX_BYTES = 1 << 22
"""Size of the interned frames beyond which they are rebuilt."""


class CompletionSearch:
    """Searches the completions of parse states, in languages without distinct texts.

    The result depends on the state only. It is the fewest tokens of a completion unless the search for longer texts is
    too large, and then an upper bound. If the result for a state is n tokens, the result for the state after the first
    of them is n - 1 or less: what the search from there visits, the search from the first state visits too.

    Args:
        index: The masks of the language, whose distances are exact.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        shortest = index.shortest
        self._distances = np.zeros(
            (2, max(len(shortest.distance), len(shortest.bytes_per_iteration))), np.int32
        )
        self._distances[0, : len(shortest.distance)] = shortest.distance
        self._distances[1, : len(shortest.bytes_per_iteration)] = shortest.bytes_per_iteration
        self._entries = np.empty((_ENTRIES, kernels.ENTRY_COLUMNS), np.int64)
        self._edges = np.empty((_EDGES, kernels.EDGE_COLUMNS), np.int64)
        self._buckets = np.empty(_BUCKETS, np.int32)
        self._places = np.empty((index.vocabulary.max_token_length + 2, kernels.PLACE_COLUMNS), np.int64)
        self._saved = np.empty((_PARSES, 3), np.int32)
        self._configurations = self._new_configurations()
        self._first_tokens: LruCache[tuple[State, int], frozenset[int]] = LruCache(max_size=_MAX_KNOWN)
        self._lock = Lock()

    def fewest(self, state: State, max_tokens: int) -> tuple[int, ...]:
        """Return a completion of at most `max_tokens` tokens, as short as possible; empty if none was found."""
        best: tuple[int, ...] = ()
        with self._lock:
            for excess in _EXCESS_BYTES:
                result = self._search(state, excess, len(best) - 1 if best else max_tokens, _NO_TOKENS)
                if result is None:
                    break
                if result[0] >= 0:
                    best = self._path(result[0])
            else:
                return best
        return best or self._shortest(state, max_tokens)

    def first_tokens(self, state: State, max_tokens: int) -> frozenset[int]:
        """Return first tokens of completions of at most `max_tokens` tokens."""
        known = self._first_tokens.get((state, max_tokens))
        if known is None:
            known = frozenset(self._find_first_tokens(state, max_tokens))
            self._first_tokens.put((state, max_tokens), known)
        return known

    def _find_first_tokens(self, state: State, max_tokens: int) -> set[int]:
        found: set[int] = set()
        tokens = np.empty(_EDGES, np.int64)
        with self._lock:
            for excess in _EXCESS_BYTES:
                result = self._search(state, excess, max_tokens, tokens)
                if result is None:
                    break
                found = set(tokens[: result[1]].tolist())
        return found or set(self.fewest(state, max_tokens)[:1])

    def _shortest(self, state: State, max_tokens: int) -> tuple[int, ...]:
        """Return the tokens of a shortest text; empty if it is long or has more tokens."""
        shortest = self._index.shortest
        frames = [frame for frame in state.frames if shortest_length(shortest, frame) <= _MAX_TOKENIZED_BYTES]
        tokens = self._index.texts.fewest_tokens(shortest_texts(shortest, frames))
        return tokens if len(tokens) <= max_tokens else ()

    def _search(
        self, state: State, excess: int, max_tokens: int, first_tokens: NDArray[np.int64]
    ) -> list[int] | None:
        """Search once; return the first complete entry and the number of first tokens, `None` if there are too many."""
        sizes = np.empty(2, np.int64)
        attempts = 2
        while attempts:
            try:
                configuration = self._configurations.number(state.frames, state.buffer)
                while True:
                    result = kernels.search_completions(
                        self._configurations.memory.context, configuration, excess, max_tokens, _FUEL, self._entries,
                        self._buckets, self._edges, self._places, self._saved, sizes, first_tokens,
                    )  # fmt: skip
                    if result == kernels.EXHAUSTED:
                        return None
                    if result >= kernels.NOT_FOUND and not kernels.NOT_FOUND < result < 0:
                        return sizes.tolist()  # type: ignore[no-any-return]  # a list of two integers
                    self._configurations.resolve(result)
            except Outdated:
                attempts -= 1
                self._configurations = self._new_configurations()
            except LimitExceeded:
                return None
        return None

    def _path(self, entry: int) -> tuple[int, ...]:
        tokens: list[int] = []
        while entry > 0:
            tokens.append(int(self._entries[entry, kernels.TOKEN]))
            entry = int(self._entries[entry, kernels.PARENT])
        return tuple(reversed(tokens))

    def _new_configurations(self) -> Configurations:
        index = self._index
        memory = Memory(SLOTS, vocabulary_memory(index.vocabulary, index.automaton.limits.parse_states))
        # A function that refers to the search would make a cycle, which only the garbage collector frees.
        distances = self._distances
        configurations = Configurations(index.reader, lambda: distances, memory, _MAX_BYTES)
        for slot in (FRAMES, LIST_ENDS, LIST_NEXT, LIST_ITEMS):
            while len(memory[slot]) < _CAPACITY:
                memory.extend(slot)
        return configurations
