"""`python -m structkit` is the command `structkit`."""

from __future__ import annotations

import sys

from structkit.cli import main

sys.exit(main())
