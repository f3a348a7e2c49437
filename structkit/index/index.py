"""Masks: for a frame of an automaton, the tokens of a vocabulary that it allows (Willard and Louf 2023).

A `Row` is the answer for one frame alone: the tokens that stay inside its rule, whatever lies below on the stack,
and the trie nodes at which the rule can end inside a token. Those few are read on against the frame below when a
stack is at hand. Rows are made when first asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.tables import UNBUILT, Tables
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.shortest import Shortest
from structkit.automaton.runtime.stack import Below, Frame, fewest
from structkit.errors import LimitExceeded
from structkit.index.guide_file import Kept, keep
from structkit.index.rows import tokenize, walk_kernels
from structkit.index.rows.mask import Mask
from structkit.index.rows.regular import RegularRows
from structkit.index.rows.row import (
    NO_EXITS,
    Row,
    RowCache,
    RowKey,
    is_wide,
)
from structkit.index.rows.scratch import pool_of
from structkit.index.rows.token_distance import Needs
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["FAR", "Index"]

FAR = walk_kernels.FAR
_NEVER = 1 << 60
"""Larger than any sum of tokens: no way to the end is known."""
_NO_SIGNS: NDArray[np.int64] = np.empty(0, np.int64)
_ROOT: NDArray[np.int32] = np.zeros(1, np.int32)
_NO_WORDS = np.empty(0, np.int64), np.empty(0, np.uint32)
_BEGUN, _ENDED = "begun", "ended"
"""The owners of what `opening` answers: the tokens that begin unique texts, and those in which they end."""
_KINDS = 8
"""How many tables without unique texts are kept; each is as large as the automaton's own."""


class Index:
    """The masks of one automaton over one vocabulary.

    Args:
        automaton: The language.
        vocabulary: The tokens.
        address: Under which to keep what is made on disk; nothing is if it is empty.
        source: The target in bytes, to be kept beside it; without them, a hash of the rules is.
        kept: What was found there; the automaton is made of it.

    Attributes:
        reader: Reads texts against the automaton.
        scratches: What kernels write on.
    """

    def __init__(
        self,
        automaton: Automaton,
        vocabulary: Vocabulary,
        *,
        address: str = "",
        source: bytes = b"",
        kept: Kept | None = None,
    ) -> None:
        self.automaton = automaton
        self.reader = Reader(automaton)
        self.vocabulary = vocabulary
        self.address = address
        self.source = source
        self.rows: RowCache[RowKey, Row] = RowCache(automaton.limits.row_bytes)
        self._openings: RowCache[tuple[str, int, RowKey], Row] = RowCache(automaton.limits.row_bytes)
        if kept is None:
            self._needs = Needs(automaton, vocabulary)
        else:
            self._needs = Needs(automaton, vocabulary, kept.tokens, tight=kept.tight)
        self._regular = RegularRows(automaton, vocabulary, self._needs, on_disk=bool(address))
        self.scratches = pool_of(vocabulary)
        trie = vocabulary.trie
        children = (trie.child_first, trie.child_count, trie.child_byte, trie.child_node)
        self._trie = (trie.depth, trie.first, trie.ids, *children)
        self._without: dict[frozenset[int], tuple[Tables, Tables]] = {}
        self._exits: list[NDArray[np.int32]] = []
        self._exit_numbers: dict[bytes, int] = {}
        self._numbering = RLock()
        self._packed = None if kept is None else kept.rows
        # Of rows and rules: how many are on disk, and how many of these are rules.
        self._saved = 0 if kept is None else kept.parts
        self._saved_rules = 0 if kept is None else len(automaton.built)
        self._own_made = 0

    @property
    def made(self) -> int:
        """How many rows were made, and not read, since they were saved."""
        return self._own_made + self._regular.made

    @property
    def tokens(self) -> NDArray[np.int32]:
        """int32[2, ...]: tokens that surely lead from each state to its rule's end, and per round of each rule."""
        return self._needs.tokens

    @property
    def tight(self) -> bool:
        """Whether these are counted exactly; see `tighten`."""
        return self._needs.tight

    @property
    def shortest(self) -> Shortest:
        """The shortest way to each rule's end, in bytes; all rules are built for it."""
        return self._needs.shortest

    def tighten(self) -> None:
        """Count exactly how many tokens are needed: all rules are built, and rows are made again."""
        if not self._needs.tight:
            self._needs.tighten()
            self.rows = RowCache(self.automaton.limits.row_bytes)
            self._openings = RowCache(self.automaton.limits.row_bytes)
            self._packed = None

    def row(self, frame: Frame) -> Row:
        """What the frame allows, without the frames below it."""
        key = self._key(-1, frame)
        row = self.rows.get(key)
        if row is None:
            row = self._packed.get(key) if self._packed else None
            if row is None:
                if self.automaton.calls_others(self.automaton.rule_of[frame.state]):
                    row = self._made(_ROOT, frame)
                else:
                    row = self._regular.row(frame, key)
            self.rows.put(key, row)
        return row

    def after(self, exits: NDArray[np.int32], frame: Frame) -> Row:
        """What the frame allows of the tokens that reach it at the given trie nodes, from a rule above that ended."""
        key = self._key(self._number(exits), frame)
        row = self.rows.get(key)
        if row is None:
            row = (self._packed.get(key) if self._packed else None) or self._made(exits, frame)
            self.rows.put(key, row)
        return row

    def opening(
        self,
        exits: NDArray[np.int32] | None,
        plain: NDArray[np.int32] | None,
        frame: Frame,
        row: Row,
        *,
        ended: bool = False,
    ) -> Row:
        """Of a row, the tokens that begin a unique text, or after which only one can follow; with the other exits.

        Args:
            exits: Those that the row reads on from; `None`: from the start of every token.
            plain: As many of them as tokens reach without that.
            frame: The row's.
            row: The row.
            ended: Whether texts count only if they end inside the token too, or come to where there is an end of what
                they may go on with.
        """
        begin, few = (
            (-1, -1) if exits is None or plain is None else (self._number(exits), self._number(plain))
        )
        owner = _ENDED if ended else _BEGUN
        key = owner, few, self._key(begin, frame)
        opening = self._openings.get(key)
        if opening is None:
            other = row
            if self.reader.unique.may_follow(self.automaton.rule_of[frame.state]):
                other = self._walk(_ROOT if plain is None else plain, frame, without=owner)
            words, values = _NO_WORDS
            if other is not row:
                size = self.vocabulary.words
                words, values = Mask(row.mask.dense(size) & ~other.mask.dense(size)).packed()
            opening = Row(Mask(None, words, values), other.exits, 0)
            self._openings.put(key, opening)
        return opening

    def within(
        self,
        exits: NDArray[np.int32] | None,
        frame: Frame,
        left: int,
        salt: int,
        signs: NDArray[np.int64] | None,
    ) -> Row:
        """Like `row` and `after`, of tokens after which at most `left` more end the frame's rule; not kept.

        `signs` (int64[size]) receives for each such token a hash of where it leads, `salt` standing for what is below.
        """
        return self._walk(
            _ROOT if exits is None else exits, frame, left, salt, _NO_SIGNS if signs is None else signs
        )

    def need(self, frame: Below) -> int:
        """The tokens that surely lead from the frame, through those below it, to the end of the text."""
        total = 0
        while isinstance(frame, Frame):  # as in `fewest`, which most stacks can do without
            total += self._need_of(frame)
            frame = frame.below
        if frame is not None:
            total += fewest(frame, self._need_of)
        return FAR if total >= _NEVER else min(total, FAR - 1)

    def _need_of(self, frame: Frame) -> int:
        """The tokens that surely lead from the frame to the end of its rule."""
        tokens: int = self.tokens.item(0, frame.state)
        return _NEVER if tokens >= FAR else tokens + self._needs.pending(frame)

    def pending(self, frame: Frame) -> int:
        """The tokens that the rounds take which the frame's counter still needs, and that an open unique text may."""
        return self._needs.pending(frame)

    def split(self, text: bytes) -> tuple[int, ...] | None:
        """The fewest tokens that spell a text; `None` if none do."""
        trie = self.vocabulary.trie
        (costs, ends), tokens = np.empty((2, len(text) + 1), np.int64), np.empty(len(text), np.int32)
        found = tokenize.split(
            trie.byte, trie.end, trie.first, trie.ids, np.frombuffer(text, np.uint8), costs, ends, tokens
        )
        return tuple(tokens[:found].tolist()) if found >= 0 else None

    def node(self, text: bytes) -> int | None:
        """The trie node of a text; `None` if no token begins with it."""
        nodes = self._nodes(text)
        return int(nodes[-1]) if len(nodes) == len(text) else None

    def beginnings(self, text: bytes) -> list[int]:
        """The tokens that a text begins with."""
        trie = self.vocabulary.trie
        return [
            token
            for node in self._nodes(text).tolist()
            for token in trie.ids[trie.first[node] : trie.first[node + 1]].tolist()
        ]

    def along(self, text: bytes) -> list[int]:
        """The tokens that a text begins with, and those that begin with the text."""
        trie, node = self.vocabulary.trie, self.node(text) if text else None
        tokens = self.beginnings(text)
        if node is not None:
            tokens += trie.ids[trie.first[node + 1] : trie.first[trie.end[node]]].tolist()
        return tokens

    def beginning(self, texts: Sequence[bytes]) -> list[int]:
        """The tokens that begin with one of some texts, which are in order."""
        trie, tokens = self.vocabulary.trie, []
        strange: bytes | None = None
        for text in texts:
            if not text or (strange is not None and text.startswith(strange)):
                continue
            nodes = self._nodes(text)
            if len(nodes) < len(text):
                strange = text[: len(nodes) + 1]
            else:
                tokens += trie.ids[trie.first[nodes[-1]] : trie.first[trie.end[nodes[-1]]]].tolist()
        return tokens

    def _nodes(self, text: bytes) -> NDArray[np.int32]:
        """The trie nodes along a text, as far as the trie goes."""
        trie = self.vocabulary.trie
        nodes = np.empty(len(text), np.int32)
        return nodes[: tokenize.path(trie.byte, trie.end, np.frombuffer(text, np.uint8), nodes)]

    def group(
        self, signs: NDArray[np.int64], mask: NDArray[np.uint32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Number equal signs: int32[tokens], that of each token in the mask; int64[signs], a token of each."""
        number, first = np.full(len(signs), -1, np.int32), np.empty(len(signs), np.int64)
        slots = np.full(2 << max(len(signs), 1).bit_length(), -1, np.int32)
        found = walk_kernels.group(signs, mask, number, first, slots)
        return number, first[:found]

    def save(self) -> None:
        """Keep on disk what is built and made, if anything is kept there and a tenth of it is new."""
        new = self.made + len(self.automaton.built) - self._saved_rules
        if not self.address or not new or 10 * new < self._saved:
            return
        # Rows before what they name, which only grows.
        rows, tight = self._to_keep(), self.tight
        tables = self.automaton.tables
        limit = self.automaton.limits.disk_bytes
        source = self.source or self.automaton.builder.fingerprint.encode()
        exits = self._known_exits()
        keep(self.address, tables, self.tokens, rows, exits, source, tight=tight, limit=limit)
        self._saved_rules = int(np.count_nonzero(tables.start != UNBUILT))
        self._saved = len(rows) + self._saved_rules
        self._own_made = self._regular.made = 0
        self._regular.save()

    def _to_keep(self) -> dict[RowKey, Row]:
        """The rows for the guide's own file, no more than are held in memory: those of free text have their own."""
        automaton, packed, made = self.automaton, self._packed, self.rows.held()
        words = self.vocabulary.words
        rows = (
            {} if packed is None else {key: row for key, row in packed.unpacked().items() if key not in made}
        )
        rows |= {
            key: row
            for key, row in made.items()
            if key[0] >= 0 or automaton.calls_others(automaton.rule_of[key[1]]) or not is_wide(row, words)
        }
        most = automaton.limits.row_bytes // (4 * words)
        return dict(list(rows.items())[-most:])

    def _made(self, exits: NDArray[np.int32], frame: Frame) -> Row:
        """A row that is made, and is not on disk yet."""
        self._own_made += 1
        return self._walk(exits, frame)

    def _number(self, exits: NDArray[np.int32]) -> int:
        """The number of a list of exits, by which the keys of rows name it."""
        content = exits.tobytes()
        number = self._exit_numbers.get(content)
        if number is None:
            with self._numbering:
                self._known_exits()
                number = self._exit_numbers.setdefault(content, len(self._exits))
                if number == len(self._exits):
                    self._exits.append(exits)
        return number

    def _known_exits(self) -> list[NDArray[np.int32]]:
        """The lists of exits that are numbered; those of rows on disk are, too."""
        with self._numbering:
            if not self._exits and self._packed is not None:
                self._exits += self._packed.lists()
                self._exit_numbers |= {known.tobytes(): at for at, known in enumerate(self._exits)}
            return self._exits[:]

    def _key(self, exits: int, frame: Frame) -> RowKey:
        """Frames with equal keys have equal rows: no token is long enough to tell larger counts apart."""
        rule = self.automaton.rule_of[frame.state]
        least, most = self.automaton.counters[rule]
        if least == 0 and most < 0:
            return exits, frame.state, 0, -1
        longest = self.vocabulary.longest + 1
        needed = min(max(least - frame.count, 0), longest)
        if most < 0:
            return exits, frame.state, needed, -1
        return (
            exits,
            frame.state,
            needed,
            min(most - frame.count, longest * self.automaton.strides[rule]),
        )

    def _walk(
        self,
        nodes: NDArray[np.int32],
        frame: Frame,
        left: int = 1 << 40,
        salt: int = 0,
        signs: NDArray[np.int64] = _NO_SIGNS,
        *,
        without: str = "",
    ) -> Row:
        scratch = self.scratches.take()
        arena, room = scratch.arena, walk_kernels.ARENA
        while True:
            tables = self._tables(without, frame) if without else self.automaton.tables
            missing = scratch.marks(len(tables.start))
            found, worst, filled = walk_kernels.walk(
                *self._trie, *tables, self.tokens, nodes, frame.state, frame.count, left, arena, salt,
                scratch.mask, scratch.words, scratch.values, scratch.exits, signs, missing,
            )  # fmt: skip
            if found >= 0:
                exits = scratch.exits[:found].copy() if found else NO_EXITS
                row = Row(scratch.taken(filled), exits, worst - self._needs.pending(frame))
                self.scratches.give(scratch)
                return row
            if found == walk_kernels.MISSING:
                rules = np.flatnonzero(missing[:-1]).tolist()
                missing[:] = False
                for rule in rules:
                    self.automaton.enter(rule)
            else:
                room *= 8
                if room > walk_kernels.ARENA * 8**3:
                    raise LimitExceeded(
                        "configurations", self.automaton.limits.configurations, "the ways to read one token"
                    )
                arena = np.empty((room, walk_kernels.COLUMNS), np.int64)
            scratch.mask[:] = 0
            signs[:] = 0

    def _tables(self, without: str, frame: Frame) -> Tables:
        """The automaton's arrays without unique texts: those of an owner of openings."""
        tables, unique = self.automaton.tables, self.reader.unique
        rule = self.automaton.rule_of[frame.state]
        begun = unique.following(rule) if without == _ENDED else frozenset[int]()
        known = self._without.get(begun)
        if known is None or known[0] is not tables:
            if len(self._without) >= _KINDS:
                self._without.clear()
            known = self._without[begun] = tables, unique.unwritten(tables, begun)
        return known[1]
