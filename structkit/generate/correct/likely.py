"""Chooses among the tokens that were likely where a reply is cut, if the model reports them."""

from __future__ import annotations

from structkit.generate.correct.reading import Reading
from structkit.generate.decode.retokenize import complete_characters
from structkit.guide.guide import Cursor
from structkit.models.text.scored import ScoredText, ScoredToken

__all__ = ["ReplyTokens"]


class ReplyTokens:
    """The tokens of a reply, for a model that reports which others were likely.

    Where a reply is cut, the most likely token that can follow takes the place of the one there: the model would have
    chosen it under a mask. So a correction needs no further request that asks for it.

    >>> import structkit as sk
    >>> from structkit.testing import byte_vocabulary
    >>> cursor = sk.compile(sk.Regex("on (Monday|Friday)"), byte_vocabulary()).cursor()
    >>> for byte in b"on ":
    ...     cursor.advance(byte)
    >>> tokens = ReplyTokens()
    >>> tokens.add(ScoredText(" noon", (ScoredToken(b" noon", (b" noon", b" Tuesday", b" Fri")),)))
    >>> tokens.choose(0, cursor, b"on ", 100)
    (b'Fri', 0)
    """

    def __init__(self) -> None:
        self._tokens: list[tuple[int, ScoredToken]] = []
        self._length = 0

    def add(self, piece: str) -> None:
        """Read the next piece of the reply."""
        length = len(piece.encode(errors="surrogatepass"))
        if isinstance(piece, ScoredText):
            start = self._length
            is_exact = sum(len(token.text) for token in piece.tokens) == length
            # Only the place of the first is known of tokens that are not the text, such as parts of characters.
            for token in piece.tokens if is_exact else piece.tokens[:1]:
                self._tokens.append((start, token))
                start += len(token.text)
        self._length += length

    def choose(self, position: int, cursor: Cursor, text: bytes, budget: int) -> tuple[bytes, int]:
        """Return the most likely text that can follow instead of the token at a position; empty if none is known.

        Args:
            position: The first byte of the reply that cannot follow.
            cursor: A cursor after the answer; it is not moved.
            text: The answer, with what the reply adds to it before the position.
            budget: The maximum number of bytes of the answer.

        Returns:
            The text, and the number of bytes at the end of the answer that are a part of the token: the text takes
            their place.
        """
        found = [(start, token) for start, token in self._tokens if start <= position]
        start, token = found[-1] if found else (0, ScoredToken(b""))
        if token.text and position >= start + len(token.text):
            return b"", 0  # no token there is known
        written = token.text[: position - start].lstrip()
        if not text.endswith(written):
            return b"", 0  # the answer spells it otherwise
        kept, before = text[: len(text) - len(written)], cursor.fork()
        before.rollback(len(written))
        for other in token.others():
            # Whitespace before a word belongs to its token, and may be a part of the answer already.
            for added in dict.fromkeys((other, other.lstrip())):
                chosen = _read(added, before, kept, budget)
                if chosen:
                    return chosen, len(written)
        return b"", 0


def _read(added: bytes, cursor: Cursor, text: bytes, budget: int) -> bytes:
    """Return what a text adds to the answer; empty if not all of it can follow."""
    if not added:
        return b""
    reading = Reading(cursor.fork(), text, 0, budget)
    reading.read(bytearray(added), len(added), is_last=True)
    is_whole = reading.state != "refused" and reading.position == len(added)
    whole = complete_characters(bytes(reading.text)).encode()
    return whole[len(text) :] if is_whole and whole == reading.text else b""
