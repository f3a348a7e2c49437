"""Rows of frames in which a token has very many parses.

`walk` follows each stack of calls alone, which is fastest where there are few. In a grammar of expressions a token such
as `((((((((` can have a number of stacks that is exponential in its length. Configurations merge them: parses of a
prefix that differ only in what is below them are one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.core.memory import Memory
from structkit.automaton.runtime import frame_kernels
from structkit.automaton.runtime.configurations import Configurations
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.stack import Frame
from structkit.index.distance.token_distance import TokenDistance
from structkit.index.rows.arena import LABEL_SHIFT
from structkit.index.rows.mask import sparse_mask
from structkit.index.rows.row import Row
from structkit.limits import Work
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["MergedRows"]

_STEPS_PER_BYTE = 4
"""The work of a byte; see `Limits.work`."""

_STEPS_PER_LIST, _STEPS_PER_FRAME = 100, 10
"""The work of the bound of a list of frames, and of each frame in it."""


class MergedRows:
    """Rows of an automaton without distinct texts, computed with configurations.

    Args:
        reader: Reads texts against the automaton.
        token_distance: The distances to the ends of rules.
        vocabulary: The tokens.
    """

    def __init__(self, reader: Reader, token_distance: TokenDistance, vocabulary: Vocabulary) -> None:
        self._automaton = reader.automaton
        self._token_distance = token_distance
        self._distances = token_distance.distances
        self._vocabulary = vocabulary
        limits = self._automaton.limits
        memory = Memory(frame_kernels.SLOTS)
        memory.bind(
            frame_kernels.TOKEN_BYTES,
            [
                np.zeros(1, np.uint8),
                np.zeros(1, np.int32),
                np.empty((2 * limits.parse_states + 2, 3), np.int32),
                np.empty(limits.parse_states + 1, np.int32),
            ],
        )
        self._configurations = Configurations(
            reader, lambda: token_distance.distances, memory, limits.row_bytes
        )
        self._bytes = [bytes((byte,)) for byte in range(256)]
        self._steps: dict[tuple[int, int], int] = {}
        self._ends: dict[int, tuple[int, ...]] = {}
        self._costs: dict[int, int] = {}  # by the number of what is below a frame
        self._bounds: dict[int, int] = {}  # by configuration
        trie = vocabulary.trie
        self._children = [each.tolist() for each in (trie.child_first, trie.child_count)]
        self._child_bytes, self._child_nodes = trie.child_byte.tolist(), trie.child_node.tolist()
        self._first = trie.first.tolist()

    def row(
        self,
        nodes: NDArray[np.int32],
        frame: Frame,
        remaining: int,
        salt: int,
        signatures: NDArray[np.int64],
        states: NDArray[np.int32],
        work: Work,
    ) -> Row:
        """Return the row of a frame as `Walker.row` does; see its arguments.

        Raises:
            LimitExceeded: The search takes too much work.
            Outdated: A token has too many parses even if they are merged.
        """
        automaton, firsts = self._automaton, self._first
        ids = self._vocabulary.trie.token_ids
        mask = np.zeros(32 * self._vocabulary.mask_words, np.bool_)
        exits: list[int] = []
        seen: set[tuple[int, int, bool]] = set()
        worst = 0
        for number, begin in enumerate(nodes.tolist()):
            alone = automaton.frame(states.item(number) if len(states) else frame.state, frame.count)
            is_settled = begin == 0 and not len(
                states
            )  # the frames of rules that it calls have their own rows
            frames = frozenset((alone,)) if is_settled else automaton.epsilon_closure([alone])
            if not frames:
                continue
            pending = [(begin, self._configurations.number(frames, b""), len(states) > 0)]
            while pending:
                node, configuration, is_read = place = pending.pop()
                if len(nodes) > 1:  # behind a node another one may lie, and the same parses come from both
                    if place in seen:
                        continue
                    seen.add(place)
                if is_read and firsts[node] < firsts[node + 1]:
                    need = self._upper_bound(configuration, work)
                    if need <= remaining:
                        worst = max(worst, need)
                        tokens = ids[firsts[node] : firsts[node + 1]]
                        mask[tokens] = True
                        if len(signatures):
                            signatures[tokens] += np.int64(hash((salt, configuration)))
                first, count = self._children[0][node], self._children[1][node]
                if count and (node != begin or not is_settled):
                    exits += [node + (label << LABEL_SHIFT) for label in self._labels(configuration)]
                work.pay(_STEPS_PER_BYTE * (1 + count), "the search for the tokens of a mask")
                for child in range(first, first + count):
                    after = self._step(configuration, self._child_bytes[child])
                    if after >= 0:
                        pending.append((self._child_nodes[child], after, True))
        words = np.packbits(mask, bitorder="little").view(np.uint32)
        places = np.flatnonzero(words)
        return Row(
            sparse_mask(places, words[places], len(words)),
            np.unique(np.array(exits, np.int32)),
            worst - self._token_distance.pending(frame),
        )

    def _step(self, configuration: int, byte: int) -> int:
        known = self._steps.get((configuration, byte))
        if known is None:
            known = self._configurations.advance_bytes(configuration, self._bytes[byte])
            self._steps[configuration, byte] = known
        return known

    def _upper_bound(self, configuration: int, work: Work) -> int:
        """Return an upper bound on the tokens to the end of the rule."""
        if self._distances is not self._token_distance.distances:  # a step can build rules, which have states
            self._distances = self._token_distance.distances
            self._costs, self._bounds = {}, {}
        known = self._bounds.get(configuration)
        if known is None:
            frames = self._configurations.items(configuration >> 1)
            known = self._bounds[configuration] = (
                0 if self._labels(configuration) else self._cost(frames, work)
            )
        return known

    def _cost(self, frames: NDArray[np.int32], work: Work) -> int:
        """Return an upper bound on the tokens from the nearest of some frames to the end of the rule.

        Many frames are above the same ones, whose bound is looked up by the number of their list.
        """
        known = self._costs
        pending = [(frame_kernels.NO_FRAME, frames)]
        while True:
            number, frames = pending[-1]
            states, counts, lower = self._configurations.columns_of(frames)
            missing = {each for each in lower if each not in known and each != frame_kernels.NO_FRAME}
            if missing:
                pending += [(each, self._configurations.below(each)) for each in missing]
                continue
            work.pay(_STEPS_PER_LIST + _STEPS_PER_FRAME * len(states), "the search for the tokens of a mask")
            cost = min(map(self._cost_of, states, counts, (known.get(each, 0) for each in lower)))
            if len(pending) == 1:
                return cost
            known[number] = cost
            pending.pop()

    def _cost_of(self, state: int, count: int, below: int) -> int:
        """Return an upper bound on the tokens from a state, and `below` tokens after the end of its rule."""
        rule = self._automaton.rule_of[state]
        iterations = max(self._automaton.counter_bounds[rule][0] - count, 0)
        cost = self._distances.item(0, state) + iterations * self._distances.item(1, rule)
        return min(cost + below, UNREACHABLE)

    def _labels(self, configuration: int) -> tuple[int, ...]:
        """Return the labels plus 1 with which the rule may end, 0 for an end without one."""
        found = self._ends.get(configuration)
        if found is None:
            labels = {0} if configuration & 1 else set[int]()
            for item in self._configurations.items(configuration >> 1).tolist():
                state, _, below = self._configurations.columns(item)
                if below == frame_kernels.NO_FRAME:
                    labels |= {1 + label for label in self._automaton.return_labels(state)}
            found = self._ends[configuration] = tuple(sorted(labels))
        return found
