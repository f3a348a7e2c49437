"""The automaton of the parts of a source.

A text that was read stands at some places of the source, and all that matters is at which: they are a state. The sets
of places that occur are nested or disjoint, for whether a quote may begin somewhere is told by the characters beside,
so a set is known by its first place and its size, and there are at most two states for each character (Blumer et al.
1985). Within a character, of which only some bytes are known, the state before it is part of what a state is known by.
The places of a text are neighbours in a suffix array (Manber and Myers 1990) of the places at which quotes begin.
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
    """The automaton of the parts of a source, as they are spelled.

    Raises:
        LimitExceeded: The source is too long.

    >>> from structkit.limits import Limits
    >>> dfa = suffix_dfa(Substring("Ana Souza"), Limits())
    >>> [dfa.accepts(text) for text in (b"Ana", b"Ana Souza", b"Souza", b"", b"na", b"Ana ")]
    [True, True, True, False, False, False]
    """
    codes, starts, ends, within = encode_source(node)
    used = np.unique(codes[codes >= 0])
    classes = np.zeros(256, np.uint8)
    classes[used] = np.arange(1, len(used) + 1)
    width = len(used) + 1
    if node.with_end_quote:
        classes[ord(QUOTE.value)] = width
        width += 1
    numbered = np.where(codes < 0, np.int16(-1), classes[codes].astype(np.int16))
    targets, final = _states(numbered, starts, ends, within, width, limits)
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
    """The transitions of each state, and whether a quote may end there."""
    starts = starts[np.argsort(_ranks(codes)[starts], kind="stable")]
    least, most = _minima(starts), min(limits.states, limits.transitions // width)
    room = min(most + 1, len(codes) + len(codes) // 4 + 64)
    while True:
        targets, final = np.full((room, width), DEAD, np.int32), np.zeros(room, bool)
        slots = np.full(2 << room.bit_length(), -1, np.int32)
        states = suffix_states(
            codes,
            starts,
            least,
            ends,
            continuation,
            most,
            np.zeros((room, 6), np.int32),
            slots,
            targets,
            final,
        )
        if states == kernels.TOO_MANY:
            limit = "states" if most == limits.states else "transitions"
            what = f"the automaton of quotes from a source of {len(codes):,} bytes; quote from a part of it"
            raise LimitExceeded(limit, getattr(limits, limit), what)
        if states != kernels.FULL:
            return targets[:states].copy(), final[:states]
        room = min(most + 1, 2 * room)


def _ranks(codes: NDArray[np.int16]) -> NDArray[np.int64]:
    """int64[bytes + 1]: the place of each suffix in their order; those that are equal up to a break share one."""
    ranks: NDArray[np.int64] = codes.astype(np.int64) + 1
    length = 1
    while length < len(codes):
        later = np.zeros_like(ranks)
        later[:-length] = ranks[length:]
        keys = ranks * (len(codes) + 257) + later
        distinct, ranks = np.unique(keys, return_inverse=True)
        ranks = ranks.reshape(-1)
        if len(distinct) == len(codes):
            break
        length *= 2
    return ranks


def _minima(starts: NDArray[np.int32]) -> NDArray[np.int32]:
    """int32[levels, starts]: the least of the `1 << level` starts from each on."""
    levels = [starts]
    while 2 << (len(levels) - 1) <= len(starts):
        half = 1 << (len(levels) - 1)
        level = levels[-1].copy()
        level[:-half] = np.minimum(level[:-half], levels[-1][half:])
        levels.append(level)
    return np.array(levels, np.int32).reshape(len(levels), len(starts))
