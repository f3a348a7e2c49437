"""The cache file of a guide: the rules built so far, their token distances, and the rows that take long.

A guide read from its file needs no parsing, lowering or building of the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.tables import UNBUILT, Tables
from structkit.automaton.runtime.automaton import Automaton
from structkit.index.disk import store
from structkit.index.disk.background import WRITER
from structkit.index.distance.token_distance import TokenDistance
from structkit.index.rows.row_files import RowFiles
from structkit.index.stored_rows import ROW_LAYOUT, RowArrays, StoredRows

__all__ = ["DiskKey", "GuideFile", "GuideSaver", "load_guide"]

GUIDE_LAYOUT: store.ArrayLayout = dict(
    sorted(
        {
            **dict.fromkeys(Tables._fields, ("int32", 1)),
            "classes": ("uint8", 2),
            **dict.fromkeys(("final", "has_moves", "byte_only", "call_distinct"), ("bool", 1)),
            **dict.fromkeys(("is_exact", "is_unbounded"), ("bool", 1)),
            "token_distances": ("int32", 2),
            "source": ("uint8", 1),
            **ROW_LAYOUT,
        }.items(),
        key=lambda item: item[1][0],
    )
)
"""The arrays of a guide file: those of the automaton, and the other attributes of `GuideFile`."""

MIN_SECONDS = 2e-4
"""Seconds of compilation that a file saves at least: reading a guide takes 0.1 ms, and few targets compile faster."""

_MAX_UNBOUNDED = 48 * 2**20
"""Maximum bytes of the arrays of rules without end that are stored; a guide that is read from them makes more."""

_NEW_PART = 10
"""A file is written again if one in this many of its rules is new."""


class DiskKey(NamedTuple):
    """Where a guide is stored.

    Attributes:
        address: Returns the address of the guide's file; empty if the target has none, so that only rows are stored.
        serialize: Returns the target in bytes, which is empty if it cannot be stored; called when the guide is first
            stored.
    """

    address: Callable[[], str] = str
    serialize: Callable[[], bytes] = bytes


@dataclass(frozen=True, eq=False, slots=True)
class GuideFile:
    """The contents of a guide file.

    Attributes:
        tables: The automaton of the rules that were built when the file was written.
        token_distances: int32[2 + labels, ...], see `TokenDistance.distances`.
        is_exact: Whether the token distances are exact; then all rules are built.
        is_unbounded: Whether there are ever more rules to build.
        source: uint8[...], the serialized target, from which further rules are built.
        rows: The rows that take long to compute.
    """

    tables: Tables
    token_distances: NDArray[np.int32]
    is_exact: bool
    is_unbounded: bool
    source: NDArray[np.uint8]
    rows: RowArrays


def load_guide(address: str) -> GuideFile | None:
    """Return the guide stored under an address, or `None`."""
    arrays = store.load(address, GUIDE_LAYOUT)
    if arrays is None:
        return None
    return GuideFile(
        Tables._make([arrays[name] for name in Tables._fields]),
        cast("NDArray[np.int32]", arrays["token_distances"]),
        bool(arrays["is_exact"].item()),
        bool(arrays["is_unbounded"].item()),
        cast("NDArray[np.uint8]", arrays["source"]),
        RowArrays._make(arrays[name] for name in RowArrays._fields),
    )


class GuideSaver:
    """Stores the parts of a guide that are not on disk yet.

    Args:
        key: Where the guide is stored.
        automaton: The automaton.
        distance: The token distances.
        files: The files of rows that many guides share.
        rows: The guide's own rows that take long to compute.
        initial_rules: The number of rules of the compiled guide.
        guide_file: The file from which the guide was read, if any.
    """

    def __init__(
        self,
        key: DiskKey,
        automaton: Automaton,
        distance: TokenDistance,
        files: RowFiles,
        rows: StoredRows,
        initial_rules: int,
        guide_file: GuideFile | None,
    ) -> None:
        self._address = key.address()
        self._serialize = key.serialize
        self._automaton = automaton
        self._distance = distance
        self._files = files
        self._rows = rows
        self._initial_rules = initial_rules
        self._stored_rules = 0 if guide_file is None else initial_rules
        self._source = None if guide_file is None else guide_file.source
        self._is_queued = False

    @property
    def is_stored(self) -> bool:
        """Whether the guide has a file."""
        return self._stored_rules > 0

    @property
    def has_new_parts(self) -> bool:
        """Whether `save` would write a file."""
        return self._needs_file or self._files.has_unsaved

    def is_worth_it(self, compile_seconds: float) -> bool:
        """Return whether to store the guide: it took long to compile, or sequences had to build rules or rows."""
        if self._is_queued or not self.has_new_parts:
            return False
        has_grown = len(self._automaton.built) > self._initial_rules or self._rows.has_new
        return has_grown or compile_seconds >= MIN_SECONDS or self._files.has_unsaved

    def save_soon(self) -> None:
        """Let the background thread store what is new."""
        self._is_queued = WRITER.submit(self._save_queued)

    def _save_queued(self) -> Iterator[None]:
        try:
            yield from self.save()
        finally:
            self._is_queued = False

    def save(self) -> Iterator[None]:
        """Store what is new; yield after each file."""
        if self._needs_file:
            if self._source is None:
                self._source = np.frombuffer(self._serialize(), np.uint8)
            if len(self._source):
                self._save_rules(self._source)
                yield
            else:
                self._address = ""
        yield from self._files.save()

    @property
    def _needs_file(self) -> bool:
        """Whether enough rules or rows are new for a new file of the guide."""
        automaton = self._automaton
        if not self._address or (automaton.is_unbounded and automaton.tables.nbytes > _MAX_UNBOUNDED):
            return False
        new = len(automaton.built) - self._stored_rules
        return _NEW_PART * new > self._stored_rules or self._rows.has_new

    def _save_rules(self, source: NDArray[np.uint8]) -> None:
        # The rows are read first and the distances last, so that the tables have the rows' states, and distances.
        rows = self._rows.pack()
        is_exact, tables = self._distance.is_exact, self._automaton.tables
        token_distances = self._distance.distances
        states, rules = len(tables.row), len(tables.start)
        distances = np.zeros((len(token_distances), max(states, rules)), np.int32)
        distances[0, :states], distances[2:, :states] = (
            token_distances[0, :states],
            token_distances[2:, :states],
        )
        distances[1, :rules] = np.where(tables.start == UNBUILT, 0, token_distances[1, :rules])
        arrays = {
            **tables._asdict(),
            "token_distances": distances,
            "is_exact": np.array([is_exact]),
            "is_unbounded": np.array([self._automaton.is_unbounded]),
            "source": source,
            **rows._asdict(),
        }
        store.save(self._address, GUIDE_LAYOUT, arrays, self._automaton.limits.disk_bytes)
        self._stored_rules = int(np.count_nonzero(tables.start != UNBUILT))
