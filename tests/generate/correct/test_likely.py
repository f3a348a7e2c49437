"""The likely tokens of a reply, at the place where it is cut."""

from __future__ import annotations

import pytest

import structkit as sk
from structkit.generate.correct.likely import ReplyTokens
from structkit.guide.guide import Cursor
from structkit.models.text.scored import ScoredText, ScoredToken
from structkit.testing import byte_vocabulary

DAY = sk.compile(sk.Regex("on (Monday|Friday|é)!?"), byte_vocabulary(), cache=False)


def _cursor(text: bytes) -> Cursor:
    cursor = DAY.cursor()
    for byte in text:
        cursor.advance(byte)
    return cursor


def _token(text: str, *others: str) -> ScoredToken:
    return ScoredToken(text.encode(), (text.encode(), *(other.encode() for other in others)))


def _tokens(*pieces: str) -> ReplyTokens:
    tokens = ReplyTokens()
    for piece in pieces:
        tokens.add(piece)
    return tokens


ON = _token("on", "at", "Mon")
NOON = _token(" noon", " Tuesday", " Fri", " Mon")
EXACT = ScoredText("on noon", (ON, NOON))
INEXACT = ScoredText("on noon.", (ON, NOON))


@pytest.mark.parametrize(
    ("pieces", "position", "text", "expected"),
    [
        ((EXACT,), 3, b"on ", (b"Fri", 0)),
        ((EXACT,), 2, b"on", (b" Fri", 0)),
        ((EXACT,), 6, b"on ", (b"", 0)),  # the answer spells the start of the token otherwise
        ((EXACT,), 7, b"on ", (b"", 0)),  # behind the last token
        ((EXACT,), 0, b"", (b"", 0)),  # no other token can follow
        ((INEXACT,), 3, b"on ", (b"", 0)),  # only the place of the first token is known
        ((INEXACT,), 1, b"o", (b"", 0)),
        (("é", ScoredText(" noon", (NOON,))), 3, b"on ", (b"Fri", 0)),
        (("é", ScoredText(" noon", (NOON,))), 2, b"on ", (b"Fri", 0)),
        (("é", ScoredText(" noon", (NOON,))), 1, b"on ", (b"", 0)),
        (("on noon",), 3, b"on ", (b"", 0)),
        ((ScoredText("Mx", (_token("Mx", "Mon", "Fri"),)),), 1, b"on M", (b"Mon", 1)),
        ((ScoredText("Mx", (_token("Mx", "é", "Mon"),)),), 1, b"on M", ("é".encode(), 1)),
        ((ScoredText("Mx", (_token("Mx", "Mox"),)),), 1, b"on M", (b"", 0)),
    ],
)
def test_the_most_likely_token_that_can_follow(
    pieces: tuple[str, ...], position: int, text: bytes, expected: tuple[bytes, int]
) -> None:
    cursor = _cursor(text)
    assert _tokens(*pieces).choose(position, cursor, text, 100) == expected
    assert cursor.token_ids == tuple(text)


def test_a_token_that_leaves_no_room_for_the_end_is_not_chosen() -> None:
    """After `on Fri` the answer has three bytes more."""
    for budget, expected in ((9, b"Fri"), (8, b"")):
        assert _tokens(EXACT).choose(3, _cursor(b"on "), b"on ", budget)[0] == expected
