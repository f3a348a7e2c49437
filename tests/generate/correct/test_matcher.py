"""Replies are read alike, however they are divided into pieces."""

from __future__ import annotations

import random

import pytest

import structkit as sk
from structkit.generate.correct.matcher import ReplyMatcher
from structkit.guide.guide import Cursor
from structkit.vocabulary.vocabulary import byte_vocabulary
from tests.generate.correct.test_hostile_replies import REPLIES, TARGETS
from tests.shared import cases


def read(cursor: Cursor, text: bytes, pieces: list[str], *, continues: bool) -> tuple[object, ...]:
    matcher = ReplyMatcher(cursor, text, len(text.rstrip()), 2_000, continues=continues)
    for piece in pieces:
        if matcher.feed(piece):
            break
    matcher.finish()
    best = matcher.best()
    return () if best is None else (bytes(best.text), best.state, best.start, best.position)


@pytest.mark.parametrize("seed", range(cases(60, of=300)))
def test_the_division_into_pieces_does_not_matter(seed: int) -> None:
    rng = random.Random(seed)
    target, answer = rng.choice(TARGETS)
    cursor = sk.compile(target, byte_vocabulary()).cursor()
    text = answer.encode()[: rng.randrange(len(answer.encode()))]
    for byte in text:
        cursor.advance(byte)
    reply = REPLIES[rng.choice([*REPLIES])](rng, answer, text.decode(errors="ignore"))
    pieces, rest = [], reply
    while rest:
        length = rng.randrange(1, 9)
        pieces.append(rest[:length])
        rest = rest[length:]
    for continues in (True, False):
        whole = read(cursor, text, [reply], continues=continues)
        assert whole == read(cursor, text, pieces, continues=continues), reply[:200]
