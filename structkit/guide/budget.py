"""Budgets: of the allowed tokens, those after which a complete value still fits.

Three measures say how many tokens a state needs, each closer and slower than the one before:

- `need`: a way to the end that surely exists, summed over the stack. Any sequence whose budget is at least the
  `need` of its start can be held within it by this measure alone. With unique texts it is an estimate only.
- `way`: tokens that were seen to lead to the end; those of a shortest text, if it repeats no unique text.
  A state on the way inherits the rest of it, so a budget that once held a way holds one to the end.
- `fewest`: exact, by a breadth-first search over states; for budgets below the `way`, and for vocabularies that
  cannot spell every byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.runtime.distinct import ahead
from structkit.automaton.runtime.shortest import shortest_length, shortest_text
from structkit.automaton.runtime.stack import Below, Frame, Memory, through
from structkit.errors import LimitExceeded
from structkit.guide.state import State, growth_of, mask_of, suspects, walks
from structkit.index.index import FAR, Index

__all__ = ["Budgets"]

T = TypeVar("T")

Step: TypeAlias = Callable[[State, int], State]
"""The state after a token that is known to be allowed; one without frames if it repeats a unique text."""


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

    def need(self, state: State) -> int:
        """Tokens that surely lead to an end; `FAR` where this measure knows no way."""
        if state.can_end:
            return 0
        return min((self.index.need(frame) for frame in state.frames), default=FAR)

    def length(self, state: State) -> int:
        """How many tokens a way to the end takes; `FAR` if none was found."""
        if state.can_end:
            return 0
        if state.way is None and not self._is_long(state):
            state.way = ()
            self._promise(state, self._shortest(state) or self._walked(state))
        return len(state.way) if state.way else FAR

    def fits(self, state: State, budget: int) -> bool:
        """Whether a value can be completed within `budget` more tokens."""
        if self._roughly(state) <= budget:
            return True
        self.index.tighten()
        automaton = self.index.automaton
        shortest = min((shortest_length(self.index.shortest, frame) for frame in state.frames), default=0)
        # With unique texts the length is an upper bound.
        if not (state.can_end or automaton.remembers) and shortest > budget * self.index.vocabulary.longest:
            return False
        return self._surely(state) <= budget or self.fewest(state, budget) <= budget

    def has_room(self, state: State, left: int) -> bool:
        """Whether, whatever allowed token comes next, at most `left` more surely complete the value."""
        return self._with_room(state, growth_of(state, self.index)) <= left

    def mask(self, state: State, left: int) -> NDArray[np.uint32]:
        """uint32[words]: the allowed tokens after which at most `left` more complete the value."""
        if self.has_room(state, left):
            return mask_of(state, self.index)
        if not state.tight:
            self.index.tighten()
            state.growth = None
            return self.mask(state, left)
        remembers = self.index.automaton.remembers
        if not remembers and left < FAR - 1 and self.need(state) <= left + 1:
            narrow = mask_of(state, self.index) & self._narrowed(state, left)
            if narrow.any():
                return narrow
        return self._searched(state, left)

    def fewest(self, state: State, most: int = FAR) -> int:
        """The fewest tokens to an end; `FAR` if none are known, or more than `most`.

        Exact unless that takes too long a search, as in very long values and wide open ones: there it is the length
        of a way, which is enough, if not always the fewest.

        Raises:
            LimitExceeded: The vocabulary cannot spell a shortest text, and the search for another was given up.
        """
        known = self._fewest.get(state)
        if known is None:
            self.index.tighten()
            if self._is_long(state):
                return self.need(state)
            length = self.length(state)
            way = self._search(state, min(most, length - 1))
            if way is None and most < length - 1:
                return FAR
            if way is not None:
                self._promise(state, way)
            known = _remember(self._fewest, state, length if way is None else len(way))
        return known

    def inherit(self, state: State, token: int, after: State) -> None:
        """Let the state after a token have the way for which a budget allowed the token, if it is shorter."""
        groups = self.groups(state)
        way = self.step(state, int(groups.first[groups.number[token]])).way
        at, rest = after, way or ()
        while rest and at.frames and self._allows(at, rest[0]):
            at, rest = self.step(at, rest[0]), rest[1:]
        if way and not rest and at.can_end:
            self._promise(after, way)

    def groups(self, state: State) -> Groups:
        """The allowed tokens by where they lead, as far as that matters to what may follow."""
        known = self._groups.get(state)
        if known is not None:
            return known
        size = self.index.vocabulary.words * 32
        signs = np.zeros(size, np.int64)
        for exits, frame, _ in walks(state, self.index):
            self.index.within(exits, frame, 1 << 40, _salt(frame.below), signs)
        if self.index.automaton.remembers:
            alone = np.fromiter(suspects(state, self.index), np.int64)
            signs[alone] = alone
        number, first = self.index.group(signs, mask_of(state, self.index))
        return _remember(self._groups, state, Groups(number, first), most=32)  # each is 4 bytes a token

    def _roughly(self, state: State) -> int:
        """Tokens that are enough, and perhaps far too many."""
        return self._with_room(state, self.need(state))

    def _surely(self, state: State) -> int:
        """The quickest answer to how many tokens are enough."""
        if self.index.automaton.remembers and not self._is_long(state):
            return self.length(state)
        need = self.need(state)
        return need if need < FAR else self.length(state)

    def _with_room(self, state: State, tokens: int) -> int:
        """The tokens, and more where there are unique texts, or may be: they may be long to differ."""
        if self.index.tight and not self.index.automaton.remembers:
            return tokens
        return 2 * tokens + max(map(len, _seen(state)), default=0)

    def _search(self, state: State, most: int) -> tuple[int, ...] | None:
        """The fewest tokens to an end, breadth first; `None` if there are more than `most`, or perhaps."""
        automaton = self.index.automaton
        hopeful = most < FAR - 1 or automaton.remembers  # with unique texts there may be no end of new states
        effort = _EFFORT if hopeful else automaton.limits.search_states
        ways: dict[State, tuple[int, ...]] = {state: ()}
        frontier = [state]
        for _ in range(most + 1):
            ended = next((s for s in frontier if s.can_end), None)
            if ended is not None or not frontier:
                return ways.get(ended) if ended is not None else None
            reached = []
            for current in frontier:
                for token in self.groups(current).first.tolist():
                    after = self.step(current, token)
                    if after not in ways:
                        ways[after] = (*ways[current], token)
                        reached.append(after)
                if len(ways) > effort:
                    if hopeful:
                        return None
                    raise LimitExceeded(
                        "search_states", effort, "the search for a text that the vocabulary can spell"
                    )
            frontier = reached
        return None

    def _shortest(self, state: State) -> tuple[int, ...]:
        """The tokens of a shortest text to the end; empty if none spell it, or it repeats a unique text."""
        automaton, shortest = self.index.automaton, self.index.shortest
        frames = [frame for frame in state.frames if shortest_length(shortest, frame) <= _LONG]
        texts = [shortest_text(shortest, frame) for frame in frames]
        if automaton.remembers:
            texts = [
                text
                for text in texts
                if automaton.can_end(self.index.reader.read(state.frames, state.kept, text)[0])
            ]
        return min(filter(None, map(self.index.split, texts)), key=len, default=())

    def _is_long(self, state: State) -> bool:
        return min((shortest_length(self.index.shortest, frame) for frame in state.frames), default=0) > _LONG

    def _walked(self, state: State) -> tuple[int, ...]:
        """A way to an end past unique texts, found by taking the token that needs least after it; empty if none is."""
        way: list[int] = []
        need = self.need(state)
        if need >= FAR or not self.index.automaton.remembers:
            return ()
        while not state.can_end:
            tokens = self.groups(state).first.tolist()
            if not tokens or len(way) > min(4 * need, self.index.automaton.limits.search_states):
                return ()
            reached = {token: self.step(state, token) for token in tokens}
            way.append(min(tokens, key=lambda token: (self.need(reached[token]), _crowd(reached[token]))))
            state = reached[way[-1]]
        return tuple(way)

    def _promise(self, state: State, way: tuple[int, ...]) -> None:
        """Remember a way in all states along it."""
        while way and (not state.way or len(way) < len(state.way)):
            state.way = way
            state, way = self.step(state, way[0]), way[1:]

    def _allows(self, state: State, token: int) -> bool:
        return bool(mask_of(state, self.index)[token >> 5] >> np.uint32(token & 31) & 1)

    def _narrowed(self, state: State, left: int) -> NDArray[np.uint32]:
        union = np.zeros(self.index.vocabulary.words, np.uint32)
        for exits, frame, _ in walks(state, self.index):
            below = self.index.need(frame.below)
            if below <= left:
                self.index.within(exits, frame, left - below, 0, None).mask.add(union)
        return union

    def _searched(self, state: State, left: int) -> NDArray[np.uint32]:
        groups = self.groups(state)
        tokens = groups.first.tolist()
        after = [self.step(state, token) for token in tokens]
        fits = np.array([self._surely(s) <= left or self.length(s) <= left for s in after] + [False])
        if left >= FAR - 1 or not fits.any():
            fits = np.array(
                [fit or self.fewest(s, left) <= left for fit, s in zip(fits, after, strict=False)] + [False]
            )
        mask = np.packbits(fits[groups.number], bitorder="little").view(np.uint32)
        if self.index.automaton.remembers:
            state.searched = True
            for token in self._rivals(state, after, groups):
                if self._allows(state, token) and self.length(self.step(state, token)) > left:
                    mask[token >> 5] &= ~np.uint32(1 << (token & 31))
        return mask

    def _rivals(self, state: State, after: list[State], groups: Groups) -> set[int]:
        """The tokens after which the way found for their group may repeat what they write: these are tried alone.

        All tokens of a group lead to the same frames, but write different texts; where the way of the group's first
        goes on with more unique texts, one of them may be the text that another token of the group begins.
        """
        rivals: set[int] = set()
        for group, reached in enumerate(after):
            written = self._written(reached)
            if _depth(state) < _depth(reached) and len(written) > 1:
                rivals.update(np.flatnonzero(groups.number == group).tolist())
            for begun in _begun(state):
                for text in written:
                    if text.startswith(begun):
                        rivals.update(self.index.along(text[len(begun) :]))
        return rivals

    def _written(self, state: State) -> set[bytes]:
        """The unique texts that a state's way writes, those before it apart."""
        before = _seen(state)
        written: set[bytes] = set()
        for token in state.way or ():
            state = self.step(state, token)
            written |= _seen(state)
        return written - before


def _memories(state: State) -> Iterator[Memory]:
    for frame in state.frames:
        for at in through(frame):
            if at.memory is not None:
                yield at.memory


def _seen(state: State) -> set[bytes]:
    """The unique texts that the state remembers."""
    return {text for memory in _memories(state) for text in memory.seen}


def _begun(state: State) -> set[bytes]:
    """The unique texts that are open, as far as they were written."""
    return {state.kept[memory.begin :] for memory in _memories(state) if memory.begin is not None}


def _crowd(state: State) -> int:
    """How many unique texts seen before go on from the open ones: where there are few, little is needed to differ."""
    stack = [frame for frame in state.frames if frame.opened]
    crowd = 0
    while stack:
        frame = stack.pop()
        crowd += len(ahead(frame, state.kept))
        if isinstance(frame.below, Frame):  # what is below a fork is not open
            stack.append(frame.below)
    return crowd


def _depth(state: State) -> int:
    """How many unique texts are open, one in another."""
    return sum(memory.begin is not None for memory in _memories(state))


def _salt(frame: Below) -> int:
    return 0 if frame is None else id(frame)


def _remember(memory: dict[State, T], state: State, answer: T, most: int = 2048) -> T:
    """Keep an answer; when there are too many, begin anew."""
    if len(memory) >= most:
        memory.clear()
    memory[state] = answer
    return answer
