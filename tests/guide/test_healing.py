"""Token healing: the masks, budgets and errors of a cursor that spells the end of the prompt first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structkit as sk
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.guide.guide import Guide
from structkit.guide.healing import HealedCursor, count_healed_tokens
from structkit.testing import ScriptedModel
from tests.guide.healing import GUIDES, PROMPTS, SMALL, allowed_tokens
from tests.shared import cases


class ReferenceCursor:
    """The tokens that a healed cursor must allow, by reading every token with the automaton byte by byte."""

    def __init__(self, guide: Guide, before: bytes) -> None:
        self.automaton: Automaton = guide.automaton
        self.guide, self.before = guide, before
        self.frames, self.kept = self.automaton.start_frames(), b""

    def read(self, token: bytes) -> tuple[bytes, tuple] | None:
        """Return the pending bytes and the state of the automaton after a token; `None` if it is rejected."""
        if self.before.startswith(token):
            return self.before[len(token) :], (self.frames, self.kept)
        if not token.startswith(self.before):
            return None
        after = Reader(self.automaton).read(self.frames, self.kept, token[len(self.before) :])
        return (b"", after) if after[0] else None

    def allowed(self) -> set[int]:
        vocabulary = self.guide.vocabulary
        allowed = {t for t, token in enumerate(vocabulary.tokens) if token and self.read(token)}
        if not self.before and self.automaton.is_accepting(self.frames):
            allowed |= set(vocabulary.eos_token_ids)
        return allowed

    def advance(self, token: bytes) -> None:
        found = self.read(token)
        assert found is not None
        self.before, (self.frames, self.kept) = found


@pytest.mark.long
@settings(max_examples=cases(50, of=150))
@given(st.sampled_from(sorted(GUIDES)), PROMPTS, st.randoms())
def test_the_mask_agrees_with_the_reference(name: str, before: str, random: object) -> None:
    guide = GUIDES[name]
    cursor, reference = HealedCursor(guide, before.encode()), ReferenceCursor(guide, before.encode())
    for _ in range(8):
        allowed = allowed_tokens(cursor)
        assert allowed == reference.allowed()
        assert cursor.pending_prompt == reference.before
        for rejected in set(range(SMALL.size)) - allowed:
            if rejected % 37 == 0:
                with pytest.raises(sk.TokenRejected):
                    cursor.advance(rejected)
        usable = sorted(allowed - set(SMALL.eos_token_ids))
        if not usable:
            break
        token = random.choice(usable)
        cursor.advance(token)
        reference.advance(SMALL.tokens[token])


@settings(max_examples=cases(50, of=150))
@given(st.sampled_from(sorted(GUIDES)), PROMPTS, st.integers(0, 12), st.randoms())
def test_a_budget_that_fits_is_always_met(name: str, before: str, slack: int, random: object) -> None:
    guide = GUIDES[name]
    cursor = HealedCursor(guide, before.encode())
    left = cursor.min_tokens_to_end() + slack
    while not (cursor.is_finished or left == 0):
        allowed = allowed_tokens(cursor, left) - set(SMALL.eos_token_ids)
        assert allowed or cursor.is_accepting
        if not allowed:
            break
        token = random.choice(sorted(allowed))
        left -= len(SMALL.tokens[token]) > len(cursor.pending_prompt)
        cursor.advance(token)
        assert cursor.fits(left)
    assert cursor.is_accepting


@settings(max_examples=cases(33, of=100))
@given(st.sampled_from(sorted(GUIDES)), PROMPTS, st.randoms())
def test_rollback_and_fork_restore_earlier_states(name: str, before: str, random: object) -> None:
    cursor = HealedCursor(GUIDES[name], before.encode())
    states = []
    for _ in range(6):
        states.append(
            (allowed_tokens(cursor), cursor.pending_prompt, cursor.forced_bytes(), cursor.is_accepting)
        )
        usable = sorted(states[-1][0] - set(SMALL.eos_token_ids))
        if not usable:
            break
        cursor.advance(random.choice(usable))
    steps = len(cursor.token_ids)
    for back in range(steps + 1):
        fork = cursor.fork()
        fork.rollback(back)
        if back or steps < len(states):
            state = (allowed_tokens(fork), fork.pending_prompt, fork.forced_bytes(), fork.is_accepting)
            assert state == states[steps - back]


@settings(max_examples=cases(50, of=150))
@given(st.sampled_from(sorted(GUIDES)), PROMPTS)
def test_the_number_of_removed_tokens_is_minimal(name: str, prompt: str) -> None:
    guide, tokens = GUIDES[name], SMALL.tokens
    prompt_ids = [ord("a"), *ScriptedModel([]).encode_text(prompt)]
    count = count_healed_tokens(guide, prompt_ids)
    text = b"".join(tokens[token] for token in prompt_ids[1:])
    kept = b"".join(tokens[token] for token in prompt_ids[1 : len(prompt_ids) - count])
    first = guide.automaton.start_frames()
    reaching = [
        length
        for length in range(1, len(text) + 1)
        for token in tokens
        if len(token) > length
        and token.startswith(text[-length:])
        and guide.reader.read(first, b"", token[length:])[0]
    ]
    need = max(reaching, default=0)
    assert len(text) - len(kept) >= need
    if count:
        last = tokens[prompt_ids[len(prompt_ids) - count]]
        assert len(text) - len(kept) - len(last) < need


def test_tokens_before_a_control_token_are_not_removed() -> None:
    guide, control = GUIDES["words"], SMALL.tokens.index(b"", 256)
    assert count_healed_tokens(guide, [*b"x", *b" t"]) == 2
    assert count_healed_tokens(guide, [*b"x ", control, *b"t"]) == 1
    assert count_healed_tokens(guide, [*b"x t", control]) == 0
    assert count_healed_tokens(guide, [*b"t"]) == 0


@pytest.mark.parametrize("name", sorted(GUIDES))
@pytest.mark.parametrize("before", ["", " ", "a", "e ", '"', ' {"', "tr"])
def test_a_budget_leaves_the_tokens_after_which_the_value_fits(name: str, before: str) -> None:
    """Tokens within the prompt are free, and do not take a part of the budget."""
    guide = GUIDES[name]
    cursor = HealedCursor(guide, before.encode())
    allowed = allowed_tokens(cursor)
    fewest: dict[int, int] = {}
    for token in allowed - set(SMALL.eos_token_ids):
        cursor.advance(token)
        is_free = len(SMALL.tokens[token]) <= len(before)
        fewest[token] = 0 if is_free and before else cursor.min_tokens_to_end() + 1
        assert cursor.fits(cursor.min_tokens_to_end()) and not cursor.fits(cursor.min_tokens_to_end() - 1)
        cursor.rollback(1)
    ends = allowed & set(SMALL.eos_token_ids)
    for budget in range(1, max(fewest.values(), default=0) + 2):
        fitting = {token for token, tokens in fewest.items() if tokens <= budget}
        assert allowed_tokens(HealedCursor(guide, before.encode()), budget) == fitting | ends, budget


def test_the_end_is_not_allowed_before_the_prompt_is_spelled() -> None:
    guide = sk.compile(sk.Regex("|b"), SMALL, cache=False)
    cursor = HealedCursor(guide, b"xb")
    end = SMALL.eos_token_ids[0]
    assert cursor.pending_prompt == b"xb" and cursor.forced_bytes() == b"xb"
    assert not cursor.is_accepting and not cursor.is_finished and end not in allowed_tokens(cursor)
    cursor.advance(ord("x"))
    assert cursor.pending_prompt == b"b" and not cursor.is_accepting
    cursor.advance(ord("b"))
    assert cursor.pending_prompt == b"" and cursor.is_accepting and not cursor.is_finished
    cursor.advance(ord("b"))
    assert cursor.is_finished and allowed_tokens(cursor) == set(SMALL.eos_token_ids)
    cursor.advance(end)
    assert cursor.is_terminated and cursor.token_ids == (*b"xbb", end)
    cursor.rollback(3)
    assert cursor.pending_prompt == b"b" and not cursor.is_accepting and not cursor.is_terminated


@pytest.mark.parametrize("token", [-1, SMALL.size, *SMALL.eos_token_ids, ord("y")])
def test_a_token_that_leaves_the_prompt_is_rejected(token: int) -> None:
    cursor = HealedCursor(GUIDES["choice"], b"ab")
    cursor.advance(ord("a"))
    name = f"{token} (b'y')" if token == ord("y") else f"{token}"
    with pytest.raises(sk.TokenRejected) as raised:
        cursor.advance(token)
    assert raised.value.token_id == token
    assert str(raised.value).replace(" (b'')", "").splitlines() == [
        "at `token 1`:",
        f"  token {name} is not allowed: the prompt ends in b'b'",
        "  take one of the mask",
    ]
    assert cursor.token_ids == (ord("a"),) and cursor.pending_prompt == b"b"


def test_the_tokens_that_continue_the_prompt_are_those_of_any_language() -> None:
    for before in (b"", b" ", b"t", b"ye", b'", "', b" no"):
        cursor = HealedCursor(GUIDES["choice"], before)
        mask = cursor.continuing_mask()
        if not before:
            assert mask is None
            continue
        assert mask is not None
        found = set(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist())
        assert found == {
            token
            for token, text in enumerate(SMALL.tokens)
            if text and (text.startswith(before) or before.startswith(text))
        }


def test_a_part_of_the_prompt_is_kept_if_tokens_cannot_spell_the_rest() -> None:
    """A token within the prompt is allowed only if other tokens spell what it leaves."""
    vocabulary = sk.Vocabulary([b"a", b"ab", b"abc", b"c", b"abcx", b"x"], eos_token_ids=[6])
    cursor = HealedCursor(sk.compile(sk.Regex("x"), vocabulary, cache=False), b"abc")
    assert allowed_tokens(cursor) == {1, 2, 4} and cursor.can_cross()
    with pytest.raises(sk.TokenRejected):
        cursor.advance(0)
    cursor.advance(1)
    assert allowed_tokens(cursor) == {3} and not cursor.can_cross()
    assert count_healed_tokens(cursor.guide, [5, 1, 3]) == 2
    assert count_healed_tokens(cursor.guide, [5, 2, 3]) == 0
    assert count_healed_tokens(cursor.guide, [5, 7, 1, 3]) == 2, "a token beyond the vocabulary has no text"
    assert count_healed_tokens(cursor.guide, [5, 1, 7]) == 0


@pytest.mark.parametrize("before", ["[", " [", '["', '["a'])
@pytest.mark.parametrize("budget", [None, 3, 5, 8, 20])
def test_a_token_across_the_end_of_the_prompt_repeats_no_item(before: str, budget: int | None) -> None:
    """The prompt ends in what the value starts with, and a token has both, and items that must differ."""
    items = [b'["a", "a"]', b'["a", "b"]', b'["a", "b', b'["a", "a', b'["b", ', b'["a"]', b"[[", b"[]", b"["]
    texts = [bytes([each]) for each in b'[]ab", '] + [before.encode() + text for text in items]
    vocabulary = sk.Vocabulary([*dict.fromkeys(texts)], eos_token_ids=[99])
    target = {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True}
    guide = sk.compile(target, vocabulary, cache=False)
    cursor = HealedCursor(guide, before.encode())
    found = allowed_tokens(cursor, budget)
    expected = set[int]()
    for token, text in enumerate(vocabulary.tokens):
        plain = guide.cursor()
        if text and before.encode().startswith(text):
            expected.add(token)
        elif text.startswith(before.encode()):
            try:
                for byte in text[len(before.encode()) :]:
                    plain.advance(vocabulary.tokens.index(bytes([byte])))
            except sk.TokenRejected:
                continue
            if budget is None or plain.min_tokens_to_end() + 1 <= budget:
                expected.add(token)
    # A small budget counts a margin for each item.
    assert found <= expected and (found == expected or budget in (3, 5))
