"""One token of an answer."""

from __future__ import annotations

from typing import NamedTuple

from structkit.schema.python.json_codec import BytesOfText

__all__ = ["Token"]


class Token(NamedTuple):
    """One token of an answer."""

    token_id: int
    """The token id."""

    text: BytesOfText
    """Bytes that the token adds to the answer; a character can be split between tokens. In JSON, a string, or a list of
    numbers if the bytes are only a part of a character."""

    forced: bool
    """Whether the token was appended without sampling, as the only continuation."""

    logprob: float
    """Log-probability among the allowed tokens; 0 if forced, or without `confidence`."""

    masked_probability: float
    """Probability of the forbidden tokens before masking; 0 if forced, or without `confidence`."""

    drafted: bool = False
    """Whether a draft guessed the token, which the model then chose; see `prompt_lookup`."""
