"""Pieces of a reply with its tokens, and the other tokens that were likely at their places."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["ScoredText", "ScoredToken"]

_CONTROL = re.compile(rb"<\|?[\w/:-]+\|?>|\[/?[A-Z_]+\]", re.A)
"""The names of control tokens, such as `<|end|>`, `</s>` and `[INST]`: servers name them in log-probabilities."""


@dataclass(frozen=True, slots=True)
class ScoredToken:
    """A token of a reply.

    Attributes:
        text: Its bytes; empty for a token that is not text, such as the one that ends a reply.
        likely: The bytes of the most likely tokens at its place, the most likely first.
    """

    text: bytes
    likely: tuple[bytes, ...] = ()

    def others(self) -> list[bytes]:
        """Return the likely tokens but this one, without control tokens and incomplete characters.

        >>> ScoredToken(b"a", (b"a", b"<|end|>", b"b", b"")).others()
        [b'b']
        """
        # A server without the bytes of a token writes a replacement character for a part of a character.
        return [
            each
            for each in self.likely
            if each and each != self.text and not _CONTROL.fullmatch(each) and b"\xef\xbf\xbd" not in each
        ]


class ScoredText(str):
    """A piece of a reply with its tokens.

    >>> piece = ScoredText("no", (ScoredToken(b"no", (b"no", b"yes")),))
    >>> piece, piece.tokens[0].others()
    ('no', [b'yes'])
    """

    __slots__ = ("tokens",)

    tokens: tuple[ScoredToken, ...]

    def __new__(cls, text: str, tokens: tuple[ScoredToken, ...]) -> ScoredText:
        """Return a piece."""
        piece = super().__new__(cls, text)
        piece.tokens = tokens
        return piece
