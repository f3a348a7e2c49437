"""One flow run to its end."""

from __future__ import annotations

from structkit.generate.decode.config import Decoded, Flow
from structkit.generate.run.scheduler import drive_all
from structkit.models.protocols import Rows

__all__ = ["drive"]


def drive(flow: Flow, rows: Rows) -> Decoded:
    """What the flow returns; raises what ends it."""
    outcome = next(driven.outcome for driven in drive_all([flow], rows, 1) if driven is not None)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
