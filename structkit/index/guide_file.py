"""A guide on disk: its automaton as far as it is built, the tokens that it needs, and its rows, in one file.

Whoever reads it need not read, lower or build the target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.tables import UNBUILT, Tables
from structkit.index.disk import store
from structkit.index.rows.row import ROWS_LAYOUT, PackedRows, Row, RowKey, pack
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["GuideFile", "load_guide", "save_guide"]

GUIDE_LAYOUT: store.ArrayLayout = dict(
    sorted(
        {
            **dict.fromkeys(Tables._fields, ("int32", 1)),
            "classes": ("uint8", 2),
            **dict.fromkeys(("final", "has_moves", "byte_only", "call_distinct", "is_exact"), ("bool", 1)),
            "token_distances": ("int32", 2),
            **ROWS_LAYOUT,
            "source": ("uint8", 1),
        }.items(),
        key=lambda item: item[1][0],
    )
)
"""The arrays of a guide: its automaton, its rows, and what `Kept` has besides."""


@dataclass(frozen=True, eq=False, slots=True)
class GuideFile:
    """What was read of a guide.

    Attributes:
        tables: The automaton of the rules that were built when it was stored.
        token_distances: int32[2, ...], those that lead from each state to its rule's end, and those of a round of
            each rule.
        is_exact: Whether these are counted exactly; then all rules are built.
        rows: The masks, and the lists of exits that their keys name.
        source: uint8[...], the target, or, if it has no such form, a hash of the rules.
    """

    tables: Tables
    token_distances: NDArray[np.int32]
    is_exact: bool
    rows: PackedRows
    source: NDArray[np.uint8]

    @property
    def part_count(self) -> int:
        """How many rules and rows there are."""
        return len(self.rows) + int(np.count_nonzero(self.tables.start != UNBUILT))


def load_guide(address: str, vocabulary: Vocabulary) -> GuideFile | None:
    """The guide stored under an address, or `None` if there is none."""
    arrays = store.load(address, GUIDE_LAYOUT)
    if arrays is None:
        return None
    return GuideFile(
        Tables._make([arrays[name] for name in Tables._fields]),
        cast("NDArray[np.int32]", arrays["token_distances"]),
        bool(arrays["is_exact"].any()),
        PackedRows(arrays, vocabulary.mask_words),
        cast("NDArray[np.uint8]", arrays["source"]),
    )


def save_guide(
    address: str,
    tables: Tables,
    token_distances: NDArray[np.int32],
    rows: Mapping[RowKey, Row],
    exit_lists: Sequence[NDArray[np.int32]],
    source: bytes,
    *,
    is_exact: bool,
    max_bytes: int,
) -> bool:
    """Store a guide; whether that was possible. `max_bytes` is the size of the cache in bytes; for the rest see
    `Kept`.
    """
    states, rules = len(tables.row), len(tables.start)
    counted = np.zeros((2, max(states, rules)), np.int32)
    counted[0, :states] = token_distances[0, :states]
    counted[1, :rules] = np.where(tables.start == UNBUILT, 0, token_distances[1, :rules])
    arrays = {
        **tables._asdict(),
        "token_distances": counted,
        **pack(rows, exit_lists),
        "is_exact": np.array([is_exact]),
        "source": np.frombuffer(source, np.uint8),
    }
    return store.save(address, GUIDE_LAYOUT, arrays, max_bytes)
