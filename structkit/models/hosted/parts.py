"""What one event of a reply of an official client says."""

from __future__ import annotations

from dataclasses import dataclass

from structkit.models.text.scored import ScoredToken

__all__ = ["CALLS_TOOL", "ReplyPart"]

CALLS_TOOL = (
    "the model calls a tool and does not answer; leave tools out of options=..., or use structkit.Agent"
)
"""The fault of a reply that ends in the call of a tool."""


@dataclass(frozen=True, slots=True)
class ReplyPart:
    """What one event of a reply has.

    Attributes:
        text: The text; empty if the event has none. Reasoning is no part of it.
        refusal: A part of the words in which the model or a filter refuses to answer; `None` if neither does.
        fault: Why the reply ends without the rest of an answer, and the remedy; empty if it ends as others do.
        is_full: Whether the reply ends at its maximum number of tokens.
        tokens: The tokens of the text with likely others, if the service returns them.
    """

    text: str = ""
    refusal: str | None = None
    fault: str = ""
    is_full: bool = False
    tokens: tuple[ScoredToken, ...] = ()
