"""An automaton from arrays that were stored: whatever they hold, what comes of them can be walked."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from structkit.automaton import stored_kernels
from structkit.automaton.kernels import FAR
from structkit.automaton.tables import Tables

__all__ = ["FORM", "tables_of"]

FORM: Mapping[str, tuple[str, int]] = {
    **dict.fromkeys(Tables._fields, ("int32", 1)),
    "classes": ("uint8", 2),
    **dict.fromkeys(("final", "live", "quiet", "call_unique"), ("bool", 1)),
    "tokens": ("int32", 2),
}
"""The dtypes and dimensions of the arrays of `Tables`, and of the tokens that lead to the ends of rules."""


def tables_of(arrays: Mapping[str, NDArray[np.generic]], most_rounds: int) -> Tables | None:
    """The tables, or `None` if they do not fit together: no position may lie outside an array.

    Args:
        arrays: Those of `FORM`, but they may hold anything.
        most_rounds: The rounds that a counter may need.
    """
    tables = Tables._make([arrays[name] for name in Tables._fields])
    tokens = arrays["tokens"]
    states, rules, calls = len(tables.row), len(tables.start), len(tables.call_rule)
    fits = (
        0 < states == len(tables.rule) == len(tables.final) == len(tables.live) == len(tables.quiet)
        and len(tables.call_first) == states + 1
        and calls == len(tables.call_next) == len(tables.call_operation) == len(tables.call_unique)
        and 0 < rules == len(tables.least) == len(tables.most)
        and tables.classes.shape == (rules, 256)
        and tokens.shape == (2, max(states, rules))
        and stored_kernels.fits(*tables, tokens, most_rounds, FAR)
    )
    return tables if fits else None
