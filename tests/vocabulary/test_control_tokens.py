"""Control tokens are allowed where the language contains them, and nowhere else."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structkit as sk
from structkit.compile import compile
from structkit.regex.nodes import LiteralText, Node, Repeat, RuleRef, Rules, choice, seq
from structkit.targets.specs import JsonSchema
from structkit.targets.targets import Target, read_target
from structkit.testing import byte_vocabulary, small_vocabulary
from structkit.vocabulary.control_tokens import (
    control_text,
    display_text,
    text_mask,
    to_bytes,
    to_text,
    with_control_tokens,
    with_named_tokens,
)
from tests.reading import reads

NAMES = ["[A]", "[B]"]
PLAIN = small_vocabulary()
FIRST = PLAIN.size
MARKED = with_control_tokens(
    sk.Vocabulary([*PLAIN.tokens, None, None], PLAIN.eos_token_ids),
    frozenset({(FIRST, NAMES[0]), (FIRST + 1, NAMES[1])}),
)


def _allowed(cursor: sk.Cursor) -> set[int]:
    mask = np.zeros(cursor.guide.vocabulary.mask_words, np.uint32)
    cursor.fill_mask(mask)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())


class ControlTokens(Target[str]):
    """JSON strings after control tokens; the strings may contain the names of the control tokens."""

    name = "control tokens"

    def rules(self, **style: object) -> Rules:
        text = read_target(JsonSchema({"type": "string"})).rules()
        quoted: Node = RuleRef("quoted")
        part = choice([seq(LiteralText(control_text(name)), quoted) for name in NAMES])
        return Rules(Repeat(part, 1, 3), {**text.rules, "quoted": text.start})

    def parse(self, text: str) -> str:
        return text

    def json_schema(self) -> dict[str, object]:
        return {}

    def description(self) -> None:
        return None


GUIDES = [compile(ControlTokens(), each, cache=False) for each in (MARKED, byte_vocabulary())]


@given(st.lists(st.sampled_from([*range(2), '"', "a", "[A]", "\\u00ff", "é"]), max_size=12))
def test_masks_with_control_tokens_equal_brute_force(steps: list[int | str]) -> None:
    """The mask of every state contains the tokens whose bytes the automaton accepts."""
    cursor, slow = (guide.cursor() for guide in GUIDES)
    for step in steps:
        allowed = _allowed(cursor)
        ends = MARKED.eos_token_ids if cursor.is_accepting else ()
        for token, text in enumerate(MARKED.tokens):
            if text[:1] == b"\xff" or token % 17 == 0:
                assert (token in allowed) == (reads(slow.fork(), text) if text else token in ends)
        data = to_bytes(control_text(NAMES[step])) if isinstance(step, int) else step.encode()
        if not reads(slow.fork(), data):
            continue
        for token in [FIRST + step] if isinstance(step, int) else MARKED.tokenize(data):
            cursor.advance(token)
        for byte in data:
            slow.advance(byte)


@pytest.mark.parametrize("target", [str, dict[str, list[int]], sk.Regex(r"(?s).*")])
def test_a_language_without_control_tokens_allows_none(target: object) -> None:
    plain = compile(target, PLAIN, cache=False).cursor()  # type: ignore[arg-type]
    marked = compile(target, MARKED, cache=False).cursor()  # type: ignore[arg-type]
    for text in ('"', "[A]", "x"):
        assert _allowed(marked) == _allowed(plain)
        for token in PLAIN.tokenize(text.encode()):
            if token in _allowed(plain):
                plain.advance(token)
                marked.advance(token)


def test_no_text_spells_a_control_token() -> None:
    assert [token for token in MARKED.tokens if b"\xff" in token] == [b"\xff[A]", b"\xff[B]"]
    assert PLAIN.tokens[0xFF] == b"\xff" and MARKED.tokens[0xFF] == b""
    assert len(MARKED.trie.token_ids) == len(PLAIN.trie.token_ids) + 1


def test_thinking_has_no_control_tokens() -> None:
    allowed = set(np.flatnonzero(np.unpackbits(text_mask(MARKED).view(np.uint8), bitorder="little")).tolist())
    assert {FIRST, FIRST + 1} & allowed == set()
    assert len(allowed) > 300


def test_control_tokens_are_displayed_by_name() -> None:
    text = f"a{control_text('[A]')}é"
    assert to_text(to_bytes(text)) == text
    assert display_text(text) == "a[A]é"


def test_named_tokens_are_found_by_name_or_number() -> None:
    plain = sk.Vocabulary([b"a", None, None, None], eos_token_ids={3}, named_tokens={"<x>": 1, "<end>": 3})
    for names, ids in (
        ({"<x>"}, {1: "<x>"}),
        ({"<[2]>", "<x>"}, {1: "<x>", 2: "<[2]>"}),
        ({"<[0]>"}, {0: "<[0]>"}),
    ):
        found = with_named_tokens(plain, names).tokens
        assert list(map(to_text, found)) == [
            control_text(ids[at]) if at in ids else to_text(token) for at, token in enumerate(plain.tokens)
        ]
    for name in ("<y>", "<[4]>", "<[1234567890]>", "<[]>"):
        with pytest.raises(
            sk.VocabularyError, match=re.escape(f"the vocabulary has no token {name}\n  write `<[id]>`")
        ):
            with_named_tokens(plain, {"<x>", name})
    for name in ("<end>", "<[3]>"):
        with pytest.raises(sk.VocabularyError, match=re.escape(f"the token {name} ends a sequence")):
            with_named_tokens(plain, {name})
    with pytest.raises(
        sk.VocabularyError, match=re.escape("<[1]> and <x> are one token\n  write one of them")
    ):
        with_named_tokens(plain, {"<x>", "<[1]>"})
