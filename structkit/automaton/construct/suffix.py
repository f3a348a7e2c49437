"""Suffix automata: the substrings of a source text.

A state is the set of positions in the source where the text read so far ends. These sets are nested or disjoint,
because the characters next to a position determine whether a quote may start there. Therefore the first position and
the size identify a set, and there are at most two states per character (Blumer et al. 1985). Inside a multi-byte
character the previous state is part of the identity. The positions of a text are contiguous in a suffix array (Manber
and Myers 1990) of the positions at which quotes start.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.construct.suffix_kernels import suffix_states
from structkit.automaton.core import kernels
from structkit.automaton.core.dfa import DEAD, Dfa, trim
from structkit.automaton.core.kernels import OPERATION_BITS
from structkit.errors import LimitExceeded
from structkit.limits import Limits
from structkit.regex.json_string import QUOTE
from structkit.regex.nodes import Substring
from structkit.regex.substring import encode_source

__all__ = ["suffix_dfa"]


@lru_cache(maxsize=2)
def suffix_dfa(node: Substring, limits: Limits) -> Dfa:
    """Return the automaton of the substrings of a source, in the encoding of `node`.

    Raises:
        LimitExceeded: The source is too long.

    >>> from structkit.limits import Limits
    >>> dfa = suffix_dfa(Substring("Ana Souza"), Limits())
    >>> [dfa.accepts(text) for text in (b"Ana", b"Ana Souza", b"Souza", b"", b"na", b"Ana ")]
    [True, True, True, False, False, False]
    """
    codes, starts, ends, continuation = encode_source(node)
    used = np.unique(codes[codes >= 0])
    classes = np.zeros(256, np.uint8)
    classes[used] = np.arange(1, len(used) + 1)
    width = len(used) + 1
    if node.with_end_quote:
        classes[ord(QUOTE.value)] = width
        width += 1
    class_codes = np.where(codes < 0, np.int16(-1), classes[codes].astype(np.int16))
    targets, final = _states(class_codes, starts, ends, continuation, width, limits)
    if node.with_end_quote:
        last = len(targets)
        targets = np.concatenate([targets, np.full((1, width), DEAD, np.int32)])
        targets[:-1][final, width - 1] = last << OPERATION_BITS
        final = np.zeros(last + 1, bool)
        final[last] = True
    return trim(Dfa(classes, targets, final))


def _states(
    codes: NDArray[np.int16],
    starts: NDArray[np.int32],
    ends: NDArray[np.uint8],
    continuation: NDArray[np.bool_],
    width: int,
    limits: Limits,
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the transitions of each state, and whether a quote may end there."""
    starts = starts[np.argsort(_ranks(codes)[starts], kind="stable")]
    range_minima, max_states = _minima(starts), min(limits.states, limits.transitions // width)
    capacity = min(max_states + 1, len(codes) + len(codes) // 4 + 64)
    while True:
        targets, final = np.full((capacity, width), DEAD, np.int32), np.zeros(capacity, bool)
        slots = np.full(2 << capacity.bit_length(), -1, np.int32)
        states = suffix_states(
            codes,
            starts,
            range_minima,
            ends,
            continuation,
            max_states,
            np.zeros((capacity, 6), np.int32),
            slots,
            targets,
            final,
        )
        if states == kernels.TOO_MANY:
            limit = "states" if max_states == limits.states else "transitions"
            building = (
                f"the automaton of quotes from a source of {len(codes):,} bytes (quote from a part of it)"
            )
            raise LimitExceeded(limit, getattr(limits, limit), building)
        if states != kernels.FULL:
            return targets[:states].copy(), final[:states]
        capacity = min(max_states + 1, 2 * capacity)


def _ranks(codes: NDArray[np.int16]) -> NDArray[np.int64]:
    """Return the rank of each suffix, as int64[bytes + 1]; suffixes that are equal up to a break share a rank."""
    ranks: NDArray[np.int64] = codes.astype(np.int64) + 1
    length = 1
    while length < len(codes):
        following = np.zeros_like(ranks)
        following[:-length] = ranks[length:]
        keys = ranks * (len(codes) + 257) + following
        distinct, ranks = np.unique(keys, return_inverse=True)
        ranks = ranks.reshape(-1)
        if len(distinct) == len(codes):
            break
        length *= 2
    return ranks


def _minima(starts: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a sparse table, int32[levels, starts]: the minimum of the `1 << level` starts from each start on."""
    levels = [starts]
    while 2 << (len(levels) - 1) <= len(starts):
        half = 1 << (len(levels) - 1)
        level = levels[-1].copy()
        level[:-half] = np.minimum(level[:-half], levels[-1][half:])
        levels.append(level)
    return np.array(levels, np.int32).reshape(len(levels), len(starts))
