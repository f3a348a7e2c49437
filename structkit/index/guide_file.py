"""The cache file of a guide: the rules built so far, their token distances, and the rows.

A guide read from its file needs no parsing, lowering or building of the target.
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
"""The arrays of a guide file: those of the automaton, of the rows, and the other attributes of `GuideFile`."""


@dataclass(frozen=True, eq=False, slots=True)
class GuideFile:
    """The contents of a guide file.

    Attributes:
        tables: The automaton of the rules that were built when the file was written.
        token_distances: int32[2, ...], the tokens from each state to the end of its rule, and the tokens of an
            iteration of each rule.
        is_exact: Whether the token distances are exact; then all rules are built.
        rows: The rows, and the lists of exit nodes that their keys refer to.
        source: uint8[...], the serialized target, or a hash of the rules if the target cannot be serialized.
    """

    tables: Tables
    token_distances: NDArray[np.int32]
    is_exact: bool
    rows: PackedRows
    source: NDArray[np.uint8]

    @property
    def part_count(self) -> int:
        """The number of built rules and rows."""
        return len(self.rows) + int(np.count_nonzero(self.tables.start != UNBUILT))


def load_guide(address: str, vocabulary: Vocabulary) -> GuideFile | None:
    """Return the guide stored under an address, or `None`."""
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
    """Store a guide under an address; return whether it was stored.

    `max_bytes` is the size limit of the cache in bytes; for the other arguments see `GuideFile`.
    """
    states, rules = len(tables.row), len(tables.start)
    distances = np.zeros((2, max(states, rules)), np.int32)
    distances[0, :states] = token_distances[0, :states]
    distances[1, :rules] = np.where(tables.start == UNBUILT, 0, token_distances[1, :rules])
    arrays = {
        **tables._asdict(),
        "token_distances": distances,
        **pack(rows, exit_lists),
        "is_exact": np.array([is_exact]),
        "source": np.frombuffer(source, np.uint8),
    }
    return store.save(address, GUIDE_LAYOUT, arrays, max_bytes)
