"""What a correction flow yields: it reads replies piece by piece, and does no input or output itself."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from structkit.generate.input.validator import ValidateOutput
from structkit.models.text.protocol import TextRequest
from structkit.rejected import Rejected

__all__ = ["NextPiece", "OpenReply", "TextEffect", "TextFlow"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class OpenReply:
    """Start a reply, and return its first piece. A reply that is open before is closed.

    Attributes:
        request: The request.
        deadline: The time, by `time.perf_counter()`, at which the reply is given up, besides the timeout of the model;
            `None` for no such time.
    """

    request: TextRequest
    deadline: float | None


@dataclass(frozen=True, slots=True)
class NextPiece:
    """Return the next piece of the reply; `None` at its end."""


TextEffect: TypeAlias = OpenReply | NextPiece | ValidateOutput
"""What a correction flow yields."""

TextFlow: TypeAlias = Generator[TextEffect, str | Rejected | None, R]
"""A generator that is sent a piece, or `None` at the end of the reply, for an `OpenReply` and a `NextPiece`; and a
`Rejected` or `None` for a `ValidateOutput`. A `TimeoutError` is thrown into it if the reply takes too long, and a
`ModelError` if the model fails."""
