"""Rows of frames in which a token has very many parses."""

from __future__ import annotations

import random

import numpy as np
import pytest

import structkit as sk
from structkit.index import walker
from structkit.index.distance.token_distance import TokenDistance
from structkit.index.index import UNREACHABLE, Index
from structkit.index.merged_rows import MergedRows
from structkit.limits import Work
from tests.shared import cases

TEXTS = [
    *"()-+*ab;",
    "-" * 9,
    "-" * 40,
    "(" * 40,
    "-(" * 20,
    "a+",
    "a)",
    "))",
    ")" * 40,
    "a;",
    "-a)-",
    "))+((--a",
]
"""Tokens of which some have a number of stacks of calls that is exponential in their length."""

VOCABULARY = sk.Vocabulary(tokens=[*(each.encode() for each in TEXTS), b""], eos_token_ids={len(TEXTS)})

GRAMMARS = [
    sk.Grammar('start: e ";"\ne: "-" e "+" | "--" e "*" | "a" | "b" e'),
    sk.Grammar('start: e ";"\ne: "(" e ")" | "(" e ")" e | "(" e ")" "+" e | "a" | "-" e'),
    sk.Grammar(
        'start: e ";"\ne: MINUS e "+" | TWO e "*" | "a"\nMINUS: "-"\nTWO: "--"\n%ignore /b+/', lexer="basic"
    ),
    sk.Grammar('start: e ";"\ne: A e "+" | "(" e ")" e | "(" e ")" | A\nA: /-+a|a+(?!b)/\n%ignore "b"'),
    sk.Grammar(
        'start: e ";"\ne: A e "*" | "(" e ")" e | "(" e ")" | A\nA: /-a?(?=-)|a/', lexer="dynamic_complete"
    ),
]


@pytest.mark.parametrize("number", range(len(GRAMMARS)))
def test_masks_allow_the_tokens_that_can_be_read(number: int) -> None:
    guide = sk.compile(GRAMMARS[number], VOCABULARY, cache=False)
    mask = np.zeros(VOCABULARY.mask_words, np.uint32)
    for seed in range(cases(4, of=40)):
        choose, cursor = random.Random(seed), guide.cursor()
        for _ in range(12):
            allowed, is_limited = [], seed % 2 > 0
            if is_limited:
                cursor.fill_mask(mask, cursor.min_tokens_to_end() + choose.randrange(3))
            else:
                cursor.fill_mask(mask)
            for token in range(len(TEXTS)):
                is_allowed = bool(mask[0] >> token & 1)
                fork = cursor.fork()
                try:
                    fork.advance(token)
                except sk.TokenRejected:
                    assert not is_allowed, TEXTS[token]
                else:
                    assert is_allowed or is_limited, TEXTS[token]
                    allowed += [token] * is_allowed
            if not allowed:
                assert cursor.is_accepting
                break
            cursor.advance(choose.choice(allowed))


@pytest.mark.parametrize("number", range(len(GRAMMARS)))
def test_rows_are_those_of_a_walk(number: int) -> None:
    few = [text.encode() for text in TEXTS if len(text) < 10]
    vocabulary = sk.Vocabulary(tokens=[*few, b""], eos_token_ids={len(few)})
    automaton = sk.compile(GRAMMARS[number], vocabulary, cache=False).automaton
    index = Index(automaton, vocabulary)
    rows = MergedRows(index.reader, TokenDistance(automaton, vocabulary), vocabulary)
    nodes = [np.zeros(1, np.int32)]
    nodes += [np.array([node], np.int32) for node in range(1, len(vocabulary.trie))]
    none, words = np.empty(0, np.int32), vocabulary.mask_words
    for state in range(len(automaton.rule_of)):
        frame = automaton.frame(state)
        for begin in nodes:
            walked = index.row(frame) if begin[0] == 0 else index.continuation_row(begin, frame)
            merged = rows.row(begin, frame, UNREACHABLE, 0, none.astype(np.int64), none, Work(10**9))
            assert (walked.mask.dense(words) == merged.mask.dense(words)).all()
            # A walk leaves out the ends behind which no byte of the tokens can follow.
            assert {*walked.exit_nodes.tolist()} <= {*merged.exit_nodes.tolist()}
            assert walked.max_cost_after == merged.max_cost_after


def test_rules_that_a_row_builds_have_distances() -> None:
    rules = [
        f'x{n}: "a" x{n + 1} "b" | "c" x{(n * 7 + 3) % 60} "{"d" * 200}" | "e" x{n * 3 % 60} | "f"'
        for n in range(60)
    ]
    grammar = sk.Grammar("\n".join(["start: x0", *rules, 'x60: "g"']), lexer="basic")
    texts = [*b"abcdefg", b"aaac", b"acaec", b"ccf", b"eeeeef"]
    tokens = [text if isinstance(text, bytes) else bytes([text]) for text in texts]
    vocabulary = sk.Vocabulary(tokens=[*tokens, b""], eos_token_ids={len(tokens)})
    automaton = sk.compile(grammar, vocabulary, cache=False).automaton
    built = len(automaton.built)
    rows = MergedRows(Index(automaton, vocabulary).reader, TokenDistance(automaton, vocabulary), vocabulary)
    root, none = np.zeros(1, np.int32), np.empty(0, np.int32)
    (frame,) = automaton.start_frames()
    found = rows.row(root, frame, UNREACHABLE, 0, none.astype(np.int64), none, Work(10**9))
    assert len(automaton.built) > built
    walked = Index(automaton, vocabulary).row(frame)
    assert found.max_cost_after == walked.max_cost_after
    assert (found.mask.dense(vocabulary.mask_words) == walked.mask.dense(vocabulary.mask_words)).all()


@pytest.mark.parametrize("number", range(len(GRAMMARS)))
def test_a_row_begins_in_the_state_of_each_node(number: int) -> None:
    """Whatever the frame's own state; several nodes have the tokens and ends of each."""
    few = [text.encode() for text in TEXTS if len(text) < 6]
    vocabulary = sk.Vocabulary(tokens=[*few, b""], eos_token_ids={len(few)})
    automaton = sk.compile(GRAMMARS[number], vocabulary, cache=False).automaton
    index = Index(automaton, vocabulary)
    rows = MergedRows(index.reader, TokenDistance(automaton, vocabulary), vocabulary)
    none, choose = np.empty(0, np.int64), random.Random(number)

    def found(nodes: list[int], states: list[int], own: int) -> tuple[set[int], set[int]]:
        nodes_array, states_array = np.array(nodes, np.int32), np.array(states, np.int32)
        row = rows.row(nodes_array, automaton.frame(own), UNREACHABLE, 0, none, states_array, Work(10**9))
        return set(row.mask.tokens()), set(row.exit_nodes.tolist())

    for _ in range(60):
        nodes = [choose.randrange(len(vocabulary.trie)) for _ in range(2)]
        states = [choose.randrange(len(automaton.rule_of)) for _ in range(2)]
        alone = [found([node], [state], state) for node, state in zip(nodes, states, strict=True)]
        for own in (states[0], choose.randrange(len(automaton.rule_of))):
            assert found([nodes[0]], [states[0]], own) == alone[0]
            assert found(nodes, states, own) == (alone[0][0] | alone[1][0], alone[0][1] | alone[1][1])


def test_counts_of_counts_are_merged_early_with_the_masks_of_a_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte of a token can end any of the counts, so that a walk has thousands of frames for each byte."""
    rules = "\n".join(f"r{n} ::= (r{n + 1} ){{0,9}}" for n in range(10))
    grammar = sk.Grammar(f'root ::= r0 "y"\n{rules}\nr10 ::= "x"', syntax="gbnf")
    tokens = [b"x" * length for length in (1, 4, 6)] + [b"y", b"xy", b""]
    vocabulary = sk.Vocabulary(tokens=tokens, eos_token_ids={len(tokens) - 1})

    def masks() -> list[int]:
        cursor = sk.compile(grammar, vocabulary, cache=False).cursor()
        mask, found = np.zeros(vocabulary.mask_words, np.uint32), []
        for budget in (None, 3, 40):
            cursor.fill_mask(mask, budget)
            found.append(int(mask[0]))
            cursor.advance(1)
        return found

    walks: list[int] = []
    kernel = walker.walk_kernels.walk
    with monkeypatch.context() as patch:
        patch.setattr(
            walker.walk_kernels, "walk", lambda *args: walks.append(len(args[-12])) or kernel(*args)
        )
        merged = masks()
        assert max(walks) <= walker.ARENA_SIZE * 8
    monkeypatch.setattr(walker, "_MERGING_STEPS", 0)
    assert masks() == merged


def test_the_bounds_of_many_parses_are_paid() -> None:
    """Each of 20 arrays may be in each other one, so that 100 brackets have 40,000 frames on 2,000 lists."""
    arrays = [{"type": "array", "items": {"$ref": f"#/$defs/d{n}"}, "minItems": 1} for n in range(20)]
    found = {f"d{n}": {"anyOf": [*arrays, {"const": n}]} for n in range(20)}
    schema = {"$ref": "#/$defs/d0", "$defs": found}
    vocabulary = sk.Vocabulary([bytes([byte]) for byte in range(256)] + [b"[" * 100], {257})
    guide = sk.compile(schema, vocabulary, cache=False, limits=sk.Limits(work=300_000))
    with pytest.raises(sk.LimitExceeded, match="the search for the tokens of a mask"):
        guide.cursor().fill_mask(np.zeros(vocabulary.mask_words, np.uint32))
