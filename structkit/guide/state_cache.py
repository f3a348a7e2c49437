"""The parse states of a guide, each made once."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import finalize

from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.stack import Frame
from structkit.guide.state import State

__all__ = ["StateCache"]


class StateCache:
    """Makes states and the states after them; equal states are one object until the cache is full.

    States refer to their successors in cycles, as in a loop of the automaton. When the cache is dropped it clears these
    references, so that reference counts free the states: otherwise Python's garbage collector traverses them in the
    middle of a later mask.

    Args:
        reader: Reads texts against the automaton.
        texts: The bytes of each token.
        max_states: Maximum number of states; a full cache is cleared.
    """

    def __init__(self, reader: Reader, texts: Sequence[bytes], max_states: int) -> None:
        self._reader = reader
        self._automaton = reader.automaton
        self._texts = texts
        self._max_states = max_states
        self._states: dict[tuple[frozenset[Frame], bytes], State] = {}
        finalize(self, _unlink, self._states).atexit = False

    def __len__(self) -> int:
        return len(self._states)

    def state(self, frames: frozenset[Frame], buffer: bytes) -> State:
        """Return the state of these frames and this buffer."""
        state = self._states.get((frames, buffer))
        if state is None:
            if len(self._states) >= self._max_states:
                self._clear()
            state = self._states[frames, buffer] = State(frames, buffer, self._automaton.is_accepting(frames))
        return state

    def step(self, state: State, token_id: int) -> State:
        """Return the state after a token; a state without frames if the language does not allow the token."""
        return state.successors.get(token_id) or self.compute_successor(state, token_id)

    def compute_successor(self, state: State, token_id: int) -> State:
        """Compute the state after a token and record it in `successors`."""
        after = self.state(*self._reader.read(state.frames, state.buffer, self._texts[token_id]))
        if after.frames:
            state.successors[token_id] = after
            if state.completion and state.completion[0] == token_id and not after.completion:
                after.completion = state.completion[1:]
        return after

    def _clear(self) -> None:
        """Clear the caches of all states; states in use recompute what they need."""
        _unlink(self._states)
        for state in self._states.values():
            state.masks = None
        self._states.clear()
        self._automaton.clear_frames()


def _unlink(states: dict[tuple[frozenset[Frame], bytes], State]) -> None:
    """Clear the references of states to each other."""
    for state in list(states.values()):
        state.successors.clear()
