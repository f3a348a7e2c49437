"""Helper that runs one flow."""

from __future__ import annotations

from structkit.generate.decode.config import Decoded, Flow
from structkit.generate.run.scheduler import run_flows
from structkit.models.protocols import Batch

__all__ = ["drive"]


def drive(flow: Flow[Decoded], rows: Batch) -> Decoded:
    """Run the flow; return its result or raise its error."""
    outcome = next(result.outcome for result in run_flows([flow], rows, 1) if result is not None)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
