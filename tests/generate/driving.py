"""One flow run to its end."""

from __future__ import annotations

from structkit.generate.decode.config import Decoded, Flow
from structkit.generate.run.scheduler import run_flows
from structkit.models.protocols import Batch

__all__ = ["drive"]


def drive(flow: Flow, rows: Batch) -> Decoded:
    """What the flow returns; raises what ends it."""
    outcome = next(driven.outcome for driven in run_flows([flow], rows, 1) if driven is not None)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
