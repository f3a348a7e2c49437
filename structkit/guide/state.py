"""Parse states of a sequence, with cached masks and costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import partial

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.configurations import Configurations
from structkit.automaton.runtime.distinct import forbidden_suffixes
from structkit.automaton.runtime.short_text import seen_texts
from structkit.automaton.runtime.stack import Below, Frame, FrameSet
from structkit.index.index import Index
from structkit.index.rows.arena import LABEL_SHIFT
from structkit.index.rows.mask import Mask, sparse_mask, union, write_union
from structkit.index.rows.row import NO_EXIT_NODES, Row
from structkit.limits import Work
from structkit.vocabulary.trie import sorted_set

__all__ = [
    "State",
    "States",
    "distinct_depth",
    "distinct_texts",
    "mask_of",
    "masks_of",
    "max_cost_of",
    "open_texts",
    "possible_repeats",
    "reachable_rows",
    "rows_below",
]

_FIRST_LABEL = 1 << LABEL_SHIFT
"""The smallest exit node with a label."""


_STEPS_PER_FRAME = 100
"""The work of a frame that tokens reach; see `Limits.work`."""


class State:
    """The Python view of a configuration, with what budgets and distinct texts add to it.

    The first four attributes identify the state, the others are caches: `None` until first computed.

    Attributes:
        configuration: The configuration; negative if the language does not allow the text.
        frames: The frames after the text, one for each parse of it.
        buffer: The text from the start of the outermost open distinct text; empty if none is open.
        is_accepting: Whether the text may end here.
        masks: Masks whose union is the set of allowed tokens, without the end tokens.
        max_cost_after: Upper bound on the tokens needed to complete the value after any allowed token.
        is_exact: Whether `max_cost_after` was computed from exact distances.
        completion: Tokens that complete the value, inherited by the states along them; empty if none were found.
        completion_texts: The distinct texts that the completion adds, and others; `None` if they are unknown.
        searched: Whether a budget allowed a token here because another token to the same frames has a completion.
        is_asked: Whether a sequence is or was here under a budget, and may rely on the completion.
    """

    __slots__ = (
        "buffer",
        "completion",
        "completion_texts",
        "configuration",
        "frames",
        "is_accepting",
        "is_asked",
        "is_exact",
        "masks",
        "max_cost_after",
        "searched",
    )

    def __init__(self, configuration: int, frames: frozenset[Frame], buffer: bytes) -> None:
        self.configuration = configuration
        self.frames = frames
        self.buffer = buffer
        self.is_accepting = configuration > 0 and bool(configuration & 1)
        self.masks: tuple[Mask, ...] | None = None
        self.max_cost_after: int | None = None
        self.is_exact = False
        self.completion: tuple[int, ...] | None = None
        self.completion_texts: Set[bytes] | None = None
        self.searched = False
        self.is_asked = False


class States:
    """The states of configurations, each made once until the cache is full.

    Args:
        configurations: The configurations.
        max_states: Maximum number of states; a full cache keeps those of sequences, at most half of the states.
    """

    def __init__(self, configurations: Configurations, max_states: int) -> None:
        self._configurations = configurations
        self._max_states = max_states
        self._states: dict[int, State] = {}

    def get(self, configuration: int) -> State | None:
        """Return the state of a configuration if it was made before."""
        return self._states.get(configuration)

    def state(self, configuration: int) -> State:
        """Return the state of a configuration."""
        state = self._states.get(configuration)
        if state is None:
            if len(self._states) >= self._max_states:
                asked = [(number, known) for number, known in self._states.items() if known.is_asked]
                self._states = dict(asked[-(self._max_states // 2) :])
            frames, buffer = self._configurations.frames(configuration)
            state = self._states[configuration] = State(configuration, frames, buffer)
        return state

    def step(self, state: State, token_id: int) -> State:
        """Return the state after a token; a state without frames if the language does not allow the token."""
        after = self.state(self._configurations.advance(state.configuration, token_id))
        along = state.completion or ()
        is_longer = not after.completion or len(after.completion) >= len(along)
        if along and along[0] == token_id and after.frames and is_longer:
            after.completion, after.completion_texts = along[1:], state.completion_texts
        return after


def masks_of(state: State, index: Index) -> tuple[Mask, ...]:
    """Return the masks of the state; compute them on the first call."""
    masks = state.masks
    if masks is None:
        parts = [row.mask for _, _, row in reachable_rows(state, index)]
        if index.automaton.has_distinct:
            parts = _without_repeats(parts, state, index)
        masks = state.masks = union(parts)
    return masks


def max_cost_of(state: State, index: Index) -> int:
    """Return an upper bound on the tokens needed to complete the value after any allowed token."""
    max_cost = state.max_cost_after
    if max_cost is None:
        state.is_exact = index.is_exact
        known: dict[Frame | FrameSet, int] = {}
        max_cost = state.max_cost_after = max(
            (
                row.max_cost_after + index.pending_tokens(frame) + index.upper_bound(frame.below, known)
                for _, frame, row in reachable_rows(state, index)
            ),
            default=0,
        )
    return max_cost


def mask_of(state: State, index: Index) -> NDArray[np.uint32]:
    """Return the allowed tokens as a mask, uint32[words], without the end tokens."""
    mask = np.empty(index.vocabulary.mask_words, np.uint32)
    write_union(masks_of(state, index), mask)
    return mask


def reachable_rows(state: State, index: Index) -> list[tuple[NDArray[np.int32] | None, Frame, Row]]:
    """Return the rows whose union is the mask: of each frame, and of the frames below that a token can reach.

    Each entry has the trie nodes from which the row continues, or `None` for the root.
    """
    work = Work(index.automaton.limits.work)
    first = [(frame, index.row(frame, work)) for frame in state.frames]
    exits = [(row.exit_nodes, frame.below) for frame, row in first]
    below = rows_below(index.automaton, exits, partial(index.continuation_row, work=work), work)
    return [*((None, frame, row) for frame, row in first), *below]


def rows_below(
    automaton: Automaton,
    exits: Iterable[tuple[NDArray[np.int32], Below]],
    row_at: Callable[[NDArray[np.int32], Frame], Row],
    work: Work,
) -> list[tuple[NDArray[np.int32], Frame, Row]]:
    """Return the frames below others that tokens reach when they exit the rules of these.

    Args:
        automaton: The automaton.
        exits: The exit nodes of each frame, see `Row`, and what is below it.
        row_at: Returns the row of a frame for the tokens that enter it at trie nodes.
        work: What the work is taken from.

    Returns:
        For each frame that tokens reach the trie nodes at which they enter it, the frame, and its row.

    Raises:
        LimitExceeded: It takes too much work.
    """
    found: list[tuple[NDArray[np.int32], Frame, Row]] = []
    level = _frames_entered(automaton, exits)
    while level:
        work.pay(_STEPS_PER_FRAME * len(level), "the search for the tokens of a mask")
        after: list[tuple[NDArray[np.int32], Below]] = []
        for frame, reached in level.items():
            row = row_at(reached, frame)
            found.append((reached, frame, row))
            after.append((row.exit_nodes, frame.below))
        level = _frames_entered(automaton, after)
    return found


def _frames_entered(
    automaton: Automaton, exits: Iterable[tuple[NDArray[np.int32], Below]]
) -> dict[Frame, NDArray[np.int32]]:
    """Return the frames that tokens enter, each with the trie nodes.

    Args:
        automaton: The automaton.
        exits: Exit nodes, see `Row`, each with what is below the rule that ends at them.
    """
    nodes: dict[Frame | FrameSet, list[NDArray[np.int32]]] = {}
    for exit_nodes, below in exits:
        if below is not None and len(exit_nodes):
            nodes.setdefault(below, []).append(exit_nodes)
    # By identity: the lists of many frames are the same, and frames of one fork have the same lists.
    entered: dict[Frame, dict[int, NDArray[np.int32]]] = {}
    for below, lists in nodes.items():
        exit_nodes = _union(lists)
        frames = (below,) if isinstance(below, Frame) else below.frames
        if exit_nodes[-1] < _FIRST_LABEL:
            number = id(exit_nodes)
            for frame in frames:
                entered.setdefault(frame, {})[number] = exit_nodes
            continue
        labels = exit_nodes >> LABEL_SHIFT
        for label in np.unique(labels).tolist():
            reached = exit_nodes[labels == label] & (_FIRST_LABEL - 1)
            for frame in frames:
                at = automaton.labelled_return(frame, label - 1) if label else frame
                entered.setdefault(at, {})[id(reached)] = reached
    unions: dict[frozenset[int], NDArray[np.int32]] = {}
    found: dict[Frame, NDArray[np.int32]] = {}
    for frame, different in entered.items():
        key = frozenset(different)
        if key not in unions:
            unions[key] = _union([*different.values()])
        found[frame] = unions[key]
    return found


def _without_repeats(masks: list[Mask], state: State, index: Index) -> list[Mask]:
    """Remove the tokens that repeat a distinct text, or after which every completion repeats one."""
    tokens = possible_repeats(state, index, finished_only=True)
    if not tokens:
        return masks
    mask = np.empty(index.vocabulary.mask_words, np.uint32)
    write_union(masks, mask)
    allowed = [token for token in tokens if int(mask[token >> 5]) >> (token & 31) & 1]
    repeating = list(_repeating_tokens(allowed, state, index))
    if not repeating:
        return masks
    for token in repeating:
        mask[token >> 5] &= ~np.uint32(1 << (token & 31))
    words = np.flatnonzero(mask)
    return [sparse_mask(words, mask[words], len(mask))]


def _repeating_tokens(tokens: list[int], state: State, index: Index) -> Iterator[int]:
    """Yield the tokens that lead to no state; common prefixes are read once."""
    texts = index.vocabulary.tokens
    previous, path = b"", [(state.frames, state.buffer)]
    for token in sorted(tokens, key=texts.__getitem__):
        text = texts[token]
        shared = next((i for i, (a, b) in enumerate(zip(text, previous, strict=False)) if a != b), None)
        del path[min(len(previous), len(text)) + 1 if shared is None else shared + 1 :]
        while len(path) <= len(text) and path[-1][0]:
            path.append(index.reader.read(*path[-1], text[len(path) - 1 : len(path)]))
        previous = text[: len(path) - 1]
        if not path[-1][0]:
            yield token


def _distinct_start_tokens(frame: Frame, index: Index, *, finished_only: bool) -> Iterator[int]:
    """Yield the tokens that start a distinct text in a frame or the frames below it, or must be followed by one.

    For `finished_only` see `Index.distinct_start_row`.
    """
    row = index.row(frame)
    start_row = index.distinct_start_row(None, None, frame, row, finished_only=finished_only)
    yield from start_row.mask.tokens()
    exits, plain = [(row.exit_nodes, frame.below)], [(start_row.exit_nodes, frame.below)]
    while level := _frames_entered(index.automaton, exits):
        plain_level = _frames_entered(index.automaton, plain)
        exits, plain = [], []
        for at, nodes in level.items():
            row = index.continuation_row(nodes, at)
            plain_nodes = plain_level.get(at, NO_EXIT_NODES)
            start_row = index.distinct_start_row(nodes, plain_nodes, at, row, finished_only=finished_only)
            yield from start_row.mask.tokens()
            exits.append((row.exit_nodes, at.below))
            plain.append((start_row.exit_nodes, at.below))


def _union(lists: Sequence[NDArray[np.int32]]) -> NDArray[np.int32]:
    """Return the union of the lists of trie nodes."""
    return lists[0] if len(lists) == 1 else sorted_set(np.concatenate(lists))


def possible_repeats(state: State, index: Index, *, finished_only: bool = False) -> set[int]:
    """Return a superset of the tokens that repeat a distinct text seen before.

    Rows do not depend on the texts seen, so these tokens must be tried one by one: tokens that start a distinct text or
    must be followed by one, and tokens along the texts seen before where one of them may be repeated. With
    `finished_only`, the result contains only tokens that end a distinct text, or after which finitely many texts are
    possible; otherwise some continuation is new.
    """
    found: set[int] = set()
    automaton = index.automaton
    for frame in state.frames:
        found.update(_distinct_start_tokens(frame, index, finished_only=finished_only))
    for frame in state.frames:
        above, at = frame, frame.below
        while isinstance(at, Frame) and at.must_differ:
            rule = automaton.rule_of[above.state]
            if finished_only and index.reader.distinct.is_unrestricted(rule):
                found.update(index.texts.extension_tokens(forbidden_suffixes(at, state.buffer)))
            # The rule of a single key has one text, and is not entered if that text was written before.
            elif automaton.sole_text(rule) is None:
                for rest in forbidden_suffixes(at, state.buffer):
                    found.update(index.texts.prefix_and_extension_tokens(rest))
            above, at = at, at.below
    return found


def distinct_texts(frames: frozenset[Frame]) -> set[bytes]:
    """Return the distinct texts seen before the frames."""
    return {text for seen in seen_texts(frames) for text in seen.texts}


def open_texts(state: State) -> set[bytes]:
    """Return the prefixes of the open distinct texts that were written so far."""
    return {
        state.buffer[seen.open_start :] for seen in seen_texts(state.frames) if seen.open_start is not None
    }


def distinct_depth(state: State) -> int:
    """Return the nesting depth of the open distinct texts."""
    return sum(seen.open_start is not None for seen in seen_texts(state.frames))
