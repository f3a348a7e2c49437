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
from structkit.index.rows.row import ROWS, PackedRows, Row, RowKey, pack
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Kept", "keep", "load"]

GUIDE: store.Form = dict(
    sorted(
        {
            **dict.fromkeys(Tables._fields, ("int32", 1)),
            "classes": ("uint8", 2),
            **dict.fromkeys(("final", "live", "quiet", "call_unique", "tight"), ("bool", 1)),
            "tokens": ("int32", 2),
            **ROWS,
            "source": ("uint8", 1),
        }.items(),
        key=lambda item: item[1][0],
    )
)
"""The arrays of a guide: its automaton, its rows, and what `Kept` has besides."""


@dataclass(frozen=True, eq=False, slots=True)
class Kept:
    """What was read of a guide.

    Attributes:
        tables: The automaton of the rules that were built when it was stored.
        tokens: int32[2, ...], those that lead from each state to its rule's end, and those of a round of each rule.
        tight: Whether these are counted exactly; then all rules are built.
        rows: The masks, and the lists of exits that their keys name.
        source: uint8[...], the target, or, if it has no such form, a hash of the rules.
    """

    tables: Tables
    tokens: NDArray[np.int32]
    tight: bool
    rows: PackedRows
    source: NDArray[np.uint8]

    @property
    def parts(self) -> int:
        """How many rules and rows there are."""
        return len(self.rows) + int(np.count_nonzero(self.tables.start != UNBUILT))


def load(address: str, vocabulary: Vocabulary) -> Kept | None:
    """The guide stored under an address, or `None` if there is none."""
    arrays = store.load(address, GUIDE)
    if arrays is None:
        return None
    return Kept(
        Tables._make([arrays[name] for name in Tables._fields]),
        cast("NDArray[np.int32]", arrays["tokens"]),
        bool(arrays["tight"].any()),
        PackedRows(arrays, vocabulary.words),
        cast("NDArray[np.uint8]", arrays["source"]),
    )


def keep(
    address: str,
    tables: Tables,
    tokens: NDArray[np.int32],
    rows: Mapping[RowKey, Row],
    exits: Sequence[NDArray[np.int32]],
    source: bytes,
    *,
    tight: bool,
    limit: int,
) -> bool:
    """Store a guide; whether that was possible. `limit` is the size of the cache in bytes; for the rest see `Kept`."""
    states, rules = len(tables.row), len(tables.start)
    counted = np.zeros((2, max(states, rules)), np.int32)
    counted[0, :states] = tokens[0, :states]
    counted[1, :rules] = np.where(tables.start == UNBUILT, 0, tokens[1, :rules])
    arrays = {
        **tables._asdict(),
        "tokens": counted,
        **pack(rows, exits),
        "tight": np.array([tight]),
        "source": np.frombuffer(source, np.uint8),
    }
    return store.save(address, GUIDE, arrays, limit)
