"""The public corpora that some tests compare with, and the number of random cases."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The root of the repository."""

SHARED = Path(os.environ.get("STRUCTKIT_SHARED", ROOT.parent / "shared"))
"""The folder of shared data: `STRUCTKIT_SHARED`, or `../shared` beside the checkout."""

ALL = bool(os.environ.get("STRUCTKIT_ALL"))
"""Whether the tests run all random cases; `sh scripts/test --all` sets the variable."""


def cases(few: int, *, of: int) -> int:
    """Return a number of random cases: `of` with `--all`, which releases use, and otherwise the first `few` of them."""
    return of if ALL else few
