"""Token masks for the frames of an automaton (Willard and Louf 2023).

A `Row` covers one frame, independent of the frames below it: the tokens that stay inside the frame's rule, and the trie
nodes at which the rule can end inside a token. From these nodes tokens are read further in the frames below. Rows are
computed on first use.
"""

from __future__ import annotations

from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core import jit
from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.shortest import ShortestPaths
from structkit.automaton.runtime.stack import Below, Frame, FrameSet, min_stack_cost
from structkit.index.bounds import labelled_bound
from structkit.index.distance.token_distance import TokenDistance
from structkit.index.guide_file import DiskKey, GuideFile, GuideSaver
from structkit.index.rows.arena import group_by_signature
from structkit.index.rows.mask import Mask
from structkit.index.rows.regular import RegularRows
from structkit.index.rows.row import NO_EXIT_NODES, Row, RowCache, RowKey
from structkit.index.rows.row_files import row_files
from structkit.index.rows.subtrees import nodes_before
from structkit.index.similar_rows import SimilarRows
from structkit.index.stored_rows import StoredRows
from structkit.index.token_texts import TokenTexts
from structkit.index.walker import FINISHED, NO_SIGNATURES, ROOT, STARTED, Walker
from structkit.limits import Work
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["UNREACHABLE", "Index"]

_MANY_EXITS = 32
"""Exit nodes are many if they are more than a 32nd of the trie nodes: a walk from all of them takes longer than
finding those that matter."""
_NEVER = 1 << 60
"""Larger than any sum of tokens: no way to the end is known."""
_NO_WORDS = np.empty(0, np.int64), np.empty(0, np.uint32)


class Index:
    """The masks of one automaton over one vocabulary.

    Args:
        automaton: The language.
        vocabulary: The tokens.
        disk_key: Where the index is stored; `None` if the disk cache is not used.
        guide_file: The contents of that file, from which the automaton is made; `None` if there is no file.

    Attributes:
        reader: Reads texts against the automaton.
        texts: Finds the tokens of texts.
    """

    def __init__(
        self,
        automaton: Automaton,
        vocabulary: Vocabulary,
        *,
        disk_key: DiskKey | None = None,
        guide_file: GuideFile | None = None,
    ) -> None:
        self.automaton = automaton
        self.reader = Reader(automaton)
        self.vocabulary = vocabulary
        self.texts = TokenTexts(vocabulary.trie)
        self.rows: RowCache[RowKey, Row] = RowCache(automaton.limits.row_bytes)
        if guide_file is None:
            self._token_distance = TokenDistance(automaton, vocabulary)
        else:
            self._token_distance = TokenDistance(
                automaton, vocabulary, guide_file.token_distances, is_exact=guide_file.is_exact
            )
        self._disk = disk_key, guide_file, len(automaton.built)
        jit.load_kernels()
        self._walker = Walker(self.reader, vocabulary, self._token_distance)
        self._numbering = Lock()
        # Of the frames of a mask that differ in the count alone, the last one's few exit nodes are those of the next.
        self._last_many = NO_EXIT_NODES, -1, NO_EXIT_NODES

    @cached_property
    def saver(self) -> GuideSaver | None:
        """What stores the index on disk; `None` if the disk cache is not used."""
        key, guide_file, initial_rules = self._disk
        if key is None:
            return None
        limits = self.automaton.limits
        files = row_files(self.vocabulary, limits.row_bytes, limits.disk_bytes)
        parts = self.automaton, self._token_distance, files, self._stored_rows
        return GuideSaver(key, *parts, initial_rules, guide_file)

    # What the first mask of most targets does not need is made on first use.
    @cached_property
    def _regular(self) -> RegularRows:
        on_disk = self._disk[0] is not None
        return RegularRows(self.automaton, self.vocabulary, self._token_distance, on_disk=on_disk)

    @cached_property
    def _similar(self) -> SimilarRows:
        return SimilarRows(self.automaton, self.vocabulary)

    @cached_property
    def _stored_rows(self) -> StoredRows:
        guide_file = self._disk[1]
        return StoredRows(None if guide_file is None else guide_file.rows, self.vocabulary.mask_words)

    @cached_property
    def _exit_numbers(self) -> dict[bytes, int]:
        return self._stored_rows.numbers

    @cached_property
    def _openings(self) -> RowCache[tuple[str, int, RowKey], Row]:
        return RowCache(self.automaton.limits.row_bytes)

    @property
    def token_distances(self) -> NDArray[np.int32]:
        """int32[2 + labels, ...], upper bounds on tokens; see `TokenDistance.distances`."""
        return self._token_distance.distances

    @property
    def is_exact(self) -> bool:
        """Whether `token_distances` is exact, see `make_exact`, or can only be upper bounds."""
        return self._token_distance.is_exact or self.automaton.has_labels

    @property
    def shortest(self) -> ShortestPaths:
        """The shortest paths to the end of each rule, in bytes; builds all rules."""
        return self._token_distance.shortest

    def make_exact(self) -> None:
        """Make `token_distances` exact: builds all rules, and clears the rows."""
        if not self.is_exact:
            self._token_distance.make_exact()
            self.rows = RowCache(self.automaton.limits.row_bytes)
            self._stored_rows.clear()
            self.__dict__.pop("_openings", None)

    def row(self, frame: Frame, work: Work | None = None) -> Row:
        """Return the row of a frame, independent of the frames below it; `work` is by default that of the limits."""
        key = self._key(-1, frame)
        row = self.rows.get(key)
        if row is None:
            if self.automaton.has_calls(self.automaton.rule_of[frame.state]):
                row = self._stored_rows.get(key)
                if row is None:
                    row = self._similar_row(frame, work) or self._walker.row(ROOT, frame, work=work)
                    self._stored_rows.add(key, row)
            else:
                row = self._regular.row(frame, key)
            self.rows.put(key, row)
        return row

    def _similar_row(self, frame: Frame, work: Work | None) -> Row | None:
        """Return the row of a frame, made from that of a similar state; `None` if there is none."""
        difference = self._similar.find(frame.state)
        other = None if difference is None else self.rows.get((-1, difference.state, 0, -1))
        if difference is None or other is None:
            return None
        allowed = difference.targets >= 0
        part = None
        if allowed.any():
            nodes, states = difference.nodes[allowed], difference.targets[allowed]
            work = work or Work(self.automaton.limits.work)
            part = self._walker.row(nodes, frame, work=work, states=states)
        return self._similar.row(other, difference, part)

    def continuation_row(self, exit_nodes: NDArray[np.int32], frame: Frame, work: Work | None = None) -> Row:
        """Return the row of a frame for the tokens that enter it at trie nodes from the rule above; see `row`."""
        is_many = len(exit_nodes) * _MANY_EXITS > len(self.vocabulary.trie)
        if is_many and self.automaton.byte_only.item(frame.state):
            entered, state, few = self._last_many
            if entered is not exit_nodes or state != frame.state:  # else only the count is another
                # The other nodes have no effect, and differ for each count of the rule above.
                leaving = self.automaton.tables.bytes_from(frame.state)
                few = exit_nodes[nodes_before(self.vocabulary, leaving.tobytes())[exit_nodes]]
                self._last_many = exit_nodes, frame.state, few
            exit_nodes = few
        key = self._key(self._number(exit_nodes), frame)
        row = self.rows.get(key)
        if row is None:
            row = self._stored_rows.get(key)
            if row is None:
                row = self._walker.row(exit_nodes, frame, work=work)
                self._stored_rows.add(key, row, exit_nodes)
            self.rows.put(key, row)
        return row

    def distinct_start_row(
        self,
        exit_nodes: NDArray[np.int32] | None,
        plain_exit_nodes: NDArray[np.int32] | None,
        frame: Frame,
        row: Row,
        *,
        finished_only: bool = False,
    ) -> Row:
        """Return the part of a row with the tokens that start a distinct text or must be followed by one.

        Args:
            exit_nodes: Those that the row reads on from; `None`: from the start of every token.
            plain_exit_nodes: As many of them as tokens reach without that.
            frame: The row's.
            row: The row.
            finished_only: Whether texts count only if they end inside the token too, or come to where there is an
                end of what they may continue with.
        """
        begin, few = -1, -1
        if exit_nodes is not None and plain_exit_nodes is not None:
            begin, few = self._number(exit_nodes), self._number(plain_exit_nodes)
        owner = FINISHED if finished_only else STARTED
        key = owner, few, self._key(begin, frame)
        opening = self._openings.get(key)
        if opening is None:
            other = row
            if self.reader.distinct.may_contain_distinct(self.automaton.rule_of[frame.state]):
                other = self._walker.row(
                    ROOT if plain_exit_nodes is None else plain_exit_nodes, frame, distinct_mode=owner
                )
            words, values = _NO_WORDS
            if other is not row:
                size = self.vocabulary.mask_words
                words, values = Mask(row.mask.dense(size) & ~other.mask.dense(size)).sparse_words()
            opening = Row(Mask(None, words, values), other.exit_nodes, 0)
            self._openings.put(key, opening)
        return opening

    def row_within_budget(
        self,
        exit_nodes: NDArray[np.int32] | None,
        frame: Frame,
        remaining: int,
        salt: int,
        signatures: NDArray[np.int64] | None,
        work: Work | None = None,
    ) -> Row:
        """Like `row` and `continuation_row`, for tokens after which `remaining` tokens can end the rule; not cached.

        `signatures` (int64[size]) receives for each such token a hash of where it leads, `salt` standing for what is
        below.
        """
        nodes = ROOT if exit_nodes is None else exit_nodes
        signatures = NO_SIGNATURES if signatures is None else signatures
        return self._walker.row(nodes, frame, remaining, salt, signatures, work=work)

    def upper_bound(self, frame: Below, known: dict[Frame | FrameSet, int] | None = None) -> int:
        """Return an upper bound on the tokens from a frame, through the frames below it, to the end of the text.

        The bounds of frames are added to `known`, to be used again: those of many frames have most of them in common.
        """
        if self.automaton.has_labels:
            bound = labelled_bound(self.automaton, self.token_distances, frame, self._rule_upper_bound)
            return min(bound, UNREACHABLE)
        known = {} if known is None else known
        frames: list[Frame] = []
        while isinstance(frame, Frame) and frame not in known:  # most stacks can do without `min_stack_cost`
            frames.append(frame)
            frame = frame.below
        total = min_stack_cost(frame, self._rule_upper_bound, known)
        for each in reversed(frames):
            total = known[each] = total + self._rule_upper_bound(each)
        return UNREACHABLE if total >= _NEVER else min(total, UNREACHABLE - 1)

    def _rule_upper_bound(self, frame: Frame) -> int:
        """Return an upper bound on the tokens from the frame to the end of its rule."""
        tokens: int = self.token_distances.item(0, frame.state)
        return _NEVER if tokens >= UNREACHABLE else tokens + self._token_distance.pending(frame)

    def pending_tokens(self, frame: Frame) -> int:
        """Return the tokens of the iterations that the frame still needs, plus the margin of an open distinct text."""
        return self._token_distance.pending(frame)

    def group_tokens(
        self, signatures: NDArray[np.int64], mask: NDArray[np.uint32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Group the tokens of a mask by signature: int32[tokens], the group of each; int64[groups], a token of each."""
        number, first = np.full(len(signatures), -1, np.int32), np.empty(len(signatures), np.int64)
        slots = np.full(2 << max(len(signatures), 1).bit_length(), -1, np.int32)
        found = group_by_signature(signatures, mask, number, first, slots)
        return number, first[:found]

    def _number(self, exit_nodes: NDArray[np.int32]) -> int:
        """Return the number of a list of exit nodes, by which the keys of rows name it."""
        content = exit_nodes.tobytes()
        number = self._exit_numbers.get(content)
        if number is None:
            with self._numbering:
                number = self._exit_numbers.setdefault(content, len(self._exit_numbers))
        return number

    def _key(self, exit_list: int, frame: Frame) -> RowKey:
        """Return the key of a row.

        Frames with equal keys have equal rows: no token is long enough to distinguish larger counts.
        """
        rule = self.automaton.rule_of[frame.state]
        least, most = self.automaton.counter_bounds[rule]
        if least == 0 and most < 0:
            return exit_list, frame.state, 0, -1
        longest = self.vocabulary.max_token_length + 1
        needed = min(max(least - frame.count, 0), longest)
        if most < 0:
            return exit_list, frame.state, needed, -1
        return (
            exit_list,
            frame.state,
            needed,
            min(most - frame.count, longest * int(self.automaton.max_increments[rule])),
        )
