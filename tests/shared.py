"""Location of the public corpora that some tests compare with; without them these tests are skipped."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The root of the repository."""

SHARED = Path(os.environ.get("STRUCTKIT_SHARED", ROOT.parent / "shared"))
"""The folder of shared data: `STRUCTKIT_SHARED`, or `../shared` beside the checkout."""
