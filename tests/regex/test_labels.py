"""Rules with labels: the automaton, the masks, budgets and what is printed, against the same rules without labels."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import TokenRejected
from structkit.export.residual import residual
from structkit.guide.guide import Guide
from structkit.regex.labels import without_labels
from structkit.regex.nodes import EMPTY, CharClass, LiteralText, Network, Node, ReturnLabel, RuleRef, Rules
from structkit.vocabulary.vocabulary import Vocabulary
from tests.shared import cases

_TOKENS = [b"a", b"b", b"ab", b"ba", b"aab", b"bb", b"abab", b"bba", b"ca", b"c", b"acb"]
V = Vocabulary(tokens=[*_TOKENS, b"<end>"], eos_token_ids={len(_TOKENS)})
_SINGLE = Vocabulary(tokens=[b"a", b"b", b"c", b"<end>"], eos_token_ids={3})

_Move = tuple[int, Node, int]


class _Random:
    """Random rules: each is a tree of characters, calls with a branch for each label of the callee, and ends."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.labels = {name: self.random.randint(0, 3) for name in "xyz"}

    def rules(self) -> Rules:
        rules: dict[str, Node] = {name: self._rule(labels) for name, labels in self.labels.items()}
        return Rules(self._rule(0), rules)

    def _rule(self, labels: int) -> Network:
        moves: list[_Move] = []
        size = [2]

        def state() -> int:
            size[0] += 1
            return size[0] - 1

        def tree(source: int, depth: int, *, may_call: bool) -> None:
            kind = self.random.random()
            if depth == 0 or (kind < 0.2 and may_call):
                label: Node = ReturnLabel(self.random.randrange(labels)) if labels else EMPTY
                moves.append((source, label, 1))
                if labels and self.random.random() < 0.3:  # an end, and a way to go on
                    step(source, depth)
                return
            if kind < 0.55 or not may_call:
                step(source, depth)
                return
            callee = self.random.choice("xyz")
            behind = state()
            moves.append((source, RuleRef(callee), behind))
            if not self.labels[callee]:
                tree(behind, depth - 1, may_call=True)
            for label_number in range(self.labels[callee]):
                after = state()
                moves.append((behind, ReturnLabel(label_number, is_return=True), after))
                tree(after, depth - 1, may_call=True)

        def step(source: int, depth: int) -> None:
            for character in self.random.sample("abc", self.random.randint(1, 2)):
                after = state()
                moves.append((source, LiteralText(character), after))
                tree(after, max(depth - 1, 0), may_call=True)

        step(0, 0)  # each rule has a text without calls
        tree(0, 3, may_call=False)
        return Network(size[0], tuple(moves))


def _accepted(rules: Rules, length: int) -> set[bytes]:
    reader = Reader(link(rules))
    words = (bytes(word) for size in range(length + 1) for word in product(b"abc", repeat=size))
    return {word for word in words if reader.accepts(word)}


def _allowed(guide: Guide, text: bytes) -> set[int]:
    """The tokens that a guide over single characters allows, one character after another."""
    start = guide.cursor()
    for byte in text:
        start.advance(_SINGLE.tokens.index(bytes([byte])))
    found = set()
    for token, spelling in enumerate(_TOKENS):
        cursor = start.fork()
        try:
            for byte in spelling:
                cursor.advance(_SINGLE.tokens.index(bytes([byte])))
        except TokenRejected:
            continue
        found.add(token)
    return found | ({len(_TOKENS)} if start.is_accepting else set())


@pytest.mark.long(every=3)
@pytest.mark.parametrize("seed", range(cases(12, of=60)))
def test_labels_are_what_rules_without_them_say(seed: int) -> None:
    rules = _Random(seed).rules()
    plain = without_labels(rules)
    if plain is not rules:
        assert not any(
            isinstance(part, ReturnLabel) for node in plain.rules.values() for part in _parts(node)
        )
    assert _accepted(rules, 6) == _accepted(plain, 6)


def _parts(node: Node) -> list[Node]:
    return [part for _, part, _ in node.moves] if isinstance(node, Network) else []


@pytest.mark.parametrize("seed", range(cases(15, of=40)))
def test_masks_of_labelled_rules_are_exact(seed: int) -> None:
    rules = _Random(seed).rules()
    guide, single = Guide(link(rules), V), Guide(link(without_labels(rules)), _SINGLE)
    draw = random.Random(seed)
    mask = np.zeros(V.mask_words, np.uint32)
    for _ in range(8):
        cursor, text = guide.cursor(), b""
        for _ in range(12):
            cursor.fill_mask(mask)
            tokens = {token for token in range(V.size) if int(mask[token >> 5]) >> (token & 31) & 1}
            assert tokens == _allowed(single, text), text
            going_on = sorted(tokens - {len(_TOKENS)})
            if not going_on:
                break
            token = draw.choice(going_on)
            cursor.advance(token)
            text += _TOKENS[token]


@pytest.mark.parametrize("seed", range(cases(15, of=40)))
def test_a_budget_is_kept(seed: int) -> None:
    guide = Guide(link(_Random(seed).rules()), V)
    draw = random.Random(seed)
    for extra in (0, 1, 3):
        cursor = guide.cursor()
        for remaining in range(cursor.min_tokens_to_end() + extra, -1, -1):
            mask = np.zeros(V.mask_words, np.uint32)
            cursor.fill_mask(mask, remaining)
            tokens = [token for token in range(len(_TOKENS)) if int(mask[0]) >> token & 1]
            if not tokens or (cursor.is_accepting and draw.random() < 0.2):
                break
            cursor.advance(draw.choice(tokens))
            assert cursor.fits(remaining - 1)
        assert cursor.is_accepting


@pytest.mark.parametrize("seed", range(cases(10, of=30)))
def test_the_rest_after_a_text(seed: int) -> None:
    rules = _Random(seed).rules()
    automaton = link(rules)
    reader, words = Reader(automaton), _accepted(rules, 6)
    for text in sorted({word[:2] for word in words if len(word) > 2})[:4]:
        frames, _ = reader.read(automaton.start_frames(), b"", text)
        rest = residual(automaton, frames).rules
        expected = {word[2:] for word in words if word.startswith(text)}
        assert _accepted(rest, 4) - {b""} == expected - {b""}


def test_what_follows_is_no_part_of_the_language() -> None:
    first = CharClass(((ord("b"), ord("b")),))
    inner = Network(
        4,
        (
            (0, LiteralText("a"), 2),
            (2, LiteralText("a"), 2),
            (2, ReturnLabel(0), 3),
            (3, EMPTY, 1),
            (3, first, 1),
        ),
    )
    start = Network(
        4, ((0, RuleRef("x"), 2), (2, ReturnLabel(0, is_return=True), 3), (3, LiteralText("b"), 1))
    )
    rules = Rules(start, {"x": inner})
    assert _accepted(rules, 4) == _accepted(without_labels(rules), 4) == {b"ab", b"aab", b"aaab"}
    mask = np.zeros(V.mask_words, np.uint32)
    Guide(link(rules), V).cursor().fill_mask(mask)
    assert [_TOKENS[token] for token in range(len(_TOKENS)) if int(mask[0]) >> token & 1] == [
        b"a",
        b"ab",
        b"aab",
    ]


def test_a_rule_ends_with_a_label_behind_a_call_of_a_rule_without_labels() -> None:
    a, b, c = (LiteralText(letter) for letter in "abc")
    plain = Network(3, ((0, a, 2), (2, EMPTY, 1)))
    inner = Network(4, ((0, RuleRef("x"), 2), (2, ReturnLabel(0), 1), (0, b, 3), (3, ReturnLabel(1), 1)))
    behind = (2, ReturnLabel(0, is_return=True), 3), (2, ReturnLabel(1, is_return=True), 4)
    start = Network(5, ((0, RuleRef("y"), 2), *behind, (3, b, 1), (4, c, 1)))
    rules = Rules(start, {"x": plain, "y": inner})
    assert _accepted(rules, 3) == _accepted(without_labels(rules), 3) == {b"ab", b"bc"}
    cursor = Guide(link(rules), V).cursor()
    cursor.advance(_TOKENS.index(b"a"))
    assert cursor.min_tokens_to_end() == 1
    assert cursor.residual().to_regex() == "b"
