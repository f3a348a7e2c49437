"""One token of an answer."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Token"]


class Token(NamedTuple):
    """One token of an answer."""

    token_id: int
    """The token id."""

    text: bytes
    """Bytes that the token adds to the answer; a character can be split between tokens."""

    forced: bool
    """Whether the token was appended without sampling, as the only continuation."""

    logprob: float
    """Log-probability among the allowed tokens; 0 if forced, or without `confidence`."""

    masked_probability: float
    """Probability of the forbidden tokens before masking; 0 if forced, or without `confidence`."""

    drafted: bool = False
    """Whether a draft guessed the token, which the model then chose; see `prompt_lookup`."""
