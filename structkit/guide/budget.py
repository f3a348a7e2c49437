"""Budgets: of the allowed tokens, those after which a complete value still fits.

Three measures say how many tokens a state needs, each closer and slower than the one before:

- `need`: a way to the end that surely exists, summed over the stack. Any sequence whose budget is at least the
  `need` of its start can be held within it by this measure alone.
- `spelled`: the fewest tokens that spell a shortest text to the end, across the borders of rules.
- `fewest`: exact, by a breadth-first search over states; for budgets below `spelled`, and for vocabularies that
  cannot spell every byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.automaton import Frame
from structkit.errors import LimitExceeded
from structkit.guide.state import State, Step, mask_of, rows
from structkit.index.index import FAR, Index

__all__ = ["Budgets"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True)
class Groups:
    """Allowed tokens by where they lead.

    Attributes:
        number: int32[32 * words], the group of each token, -1 where it is not allowed.
        first: int64[groups], one token of each group.
    """

    number: NDArray[np.int32]
    first: NDArray[np.int64]


_LONG = 200_000
"""Bytes of a shortest text that is spelled in tokens; the tokens of a longer one are only bounded."""


_EFFORT = 1_000
"""States looked at to find fewer tokens than a shortest text takes: about a second."""


class Budgets:
    """Answers about budgets for one index; remembers the searches it made.

    Args:
        index: The masks.
        step: The state after a token that is known to be allowed.
    """

    def __init__(self, index: Index, step: Step) -> None:
        self.index = index
        self.step = step
        self._fewest: dict[State, int] = {}
        self._groups: dict[State, Groups] = {}
        self._spelled: dict[State, int] = {}

    def need(self, state: State) -> int:
        """Tokens that surely lead to an end; `FAR` where this measure knows no way."""
        if state.can_end:
            return 0
        return min((self.index.need(frame) for frame in state.frames), default=FAR)

    def spelled(self, state: State) -> int:
        """The tokens of a shortest text to the end; `FAR` if none spell it."""
        if state.can_end:
            return 0
        known = self._spelled.get(state)
        if known is None:
            known = self._spell(state)
            _remember(self._spelled, state, known)
        return known

    def fits(self, state: State, budget: int) -> bool:
        """Whether a value can be completed within `budget` more tokens."""
        shortest = min(map(self.index.automaton.shortest_length, state.frames), default=0)
        if not state.can_end and shortest > budget * self.index.vocabulary.longest:
            return False
        return (
            self.need(state) <= budget
            or self.spelled(state) <= budget
            or self.fewest(state, budget) <= budget
        )

    def mask(self, state: State, left: int) -> NDArray[np.uint32]:
        """uint32[words]: the allowed tokens after which at most `left` more complete the value."""
        mask = mask_of(state, self.index, self.step)
        if state.growth <= left:
            return mask
        if left < FAR - 1 and self.need(state) <= left + 1:
            narrow = mask & self._narrowed(state, left)
            if narrow.any():
                return narrow
        return self._searched(state, left)

    def fewest(self, state: State, most: int = FAR) -> int:
        """The fewest tokens to an end; `FAR` if none are known, or more than `most`.

        Exact unless that takes too long a search, as in very long values, targets with unique texts and wide open
        ones: there it is `spelled`, which is enough, if not always the fewest.

        Raises:
            LimitExceeded: The vocabulary cannot spell a shortest text, and the search for another was given up.
        """
        known = self._fewest.get(state)
        if known is None:
            spelled = self.spelled(state)
            if self.index.automaton.remembers or self._is_long(state):
                return spelled
            known = self._search(state, min(most, spelled - 1))
            if known is None:
                return FAR if most < spelled - 1 else _remember(self._fewest, state, spelled)
            _remember(self._fewest, state, known)
        return known

    def _search(self, state: State, most: int) -> int | None:
        """The fewest tokens to an end, breadth first; `None` if there are more than `most`, or perhaps."""
        limits = self.index.automaton.limits
        effort = _EFFORT if most < FAR - 1 else limits.search_states
        seen = {state}
        level, frontier = 0, [state]
        while frontier:
            if any(s.can_end for s in frontier):
                return level
            if level >= most:
                return None
            reached = []
            for current in frontier:
                for token in self.groups(current).first.tolist():
                    after = self.step(current, token)
                    if after not in seen:
                        seen.add(after)
                        reached.append(after)
                if len(seen) > effort:
                    if effort == _EFFORT:
                        return None
                    raise LimitExceeded(
                        "search_states", effort, "the search for a text that the vocabulary can spell"
                    )
            frontier = reached
            level += 1
        return None

    def groups(self, state: State) -> Groups:
        """The allowed tokens by where they lead."""
        known = self._groups.get(state)
        if known is not None:
            return known
        size = self.index.vocabulary.words * 32
        signs = np.zeros(size, np.int64)
        for exits, frame in _walks(state, self.index):
            self.index.within(exits, frame, 1 << 40, _salt(frame.below), signs)
        number, first = self.index.group(signs, mask_of(state, self.index, self.step))
        return _remember(self._groups, state, Groups(number, first), most=32)  # each is 4 bytes a token

    def _spell(self, state: State) -> int:
        automaton = self.index.automaton
        if self._is_long(state):
            return self.need(state)
        texts = [automaton.shortest_text(frame) for frame in state.frames]
        if automaton.remembers:
            # The shortest text knows nothing of what was seen, and may repeat it.
            texts = [
                text for text in texts if automaton.can_end(automaton.read(state.frames, state.kept, text)[0])
            ]
        return min(map(self.index.split, texts), default=FAR) if texts else self._walked(state)

    def _is_long(self, state: State) -> bool:
        return min(map(self.index.automaton.shortest_length, state.frames), default=0) > _LONG

    def _walked(self, state: State) -> int:
        """The tokens of one way to an end, found by taking the token that needs least after it, again and again."""
        for tokens in range(min(2 * self.need(state), self.index.automaton.limits.search_states)):
            if state.can_end:
                return tokens
            reached = [self.step(state, token) for token in self.groups(state).first.tolist()]
            if not reached:
                break
            state = min(reached, key=self.need)
        return FAR

    def _narrowed(self, state: State, left: int) -> NDArray[np.uint32]:
        union = np.zeros(self.index.vocabulary.words, np.uint32)
        for exits, frame in _walks(state, self.index):
            below = self.index.need(frame.below)
            if below <= left:
                union |= self.index.within(exits, frame, left - below, 0, None).mask
        return union

    def _searched(self, state: State, left: int) -> NDArray[np.uint32]:
        groups = self.groups(state)
        after = [self.step(state, token) for token in groups.first.tolist()]
        fits = np.array([min(self.need(s), self.spelled(s)) <= left for s in after] + [False])
        if left >= FAR - 1 or not fits.any():
            fits = np.array(
                [fit or self.fewest(s, left) <= left for fit, s in zip(fits, after, strict=False)] + [False]
            )
        return np.packbits(fits[groups.number], bitorder="little").view(np.uint32)


def _walks(state: State, index: Index) -> list[tuple[NDArray[np.int32] | None, Frame]]:
    """The walks whose union is the state's mask: the exits to read on from (`None`: from the start) and the frame."""
    walks: list[tuple[NDArray[np.int32] | None, Frame]] = []
    exits: NDArray[np.int32] | None = None
    for row, frame in rows(state, index):
        walks.append((exits, frame))
        exits = row.exits if frame.below is not None and len(row.exits) else None
    return walks


def _salt(frame: Frame | None) -> int:
    return 0 if frame is None else id(frame)


def _remember(memory: dict[State, T], state: State, answer: T, most: int = 2048) -> T:
    """Keep an answer; when there are too many, begin anew."""
    if len(memory) >= most:
        memory.clear()
    memory[state] = answer
    return answer
