"""Where the public corpora lie that some tests compare with; those tests skip where it is not."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The checkout."""

SHARED = Path(os.environ.get("STRUCTKIT_SHARED", ROOT.parent / "shared"))
"""The folder of shared data: `STRUCTKIT_SHARED`, or `../shared` beside the checkout."""
