"""Counts of the texts of distinct parts, compared with a count of each state by itself."""

from __future__ import annotations

import numpy as np
import pytest

import structkit as sk
from structkit.automaton.core.dfa import DEAD
from structkit.automaton.core.kernels import OPERATION_BITS
from structkit.guide.distinct_lengths import DistinctLengths
from structkit.index.index import UNREACHABLE
from structkit.testing import byte_vocabulary

PATTERNS = ["^[ab]{2}$", "^a?b?c?$", "^(a|bb)*$", "^[0-9]{1,3}$", "^(ab|a)(c|d{2,3})?$", "^é?x$", "^a*$"]


def _lengths(pattern: str) -> DistinctLengths:
    items = {"type": "string", "pattern": pattern}
    guide = sk.compile({"type": "array", "uniqueItems": True, "items": items}, byte_vocabulary(), cache=False)
    guide.automaton.build_all() if hasattr(
        guide.automaton, "build_all"
    ) else guide.automaton.builder.build_all()
    guide.index.make_exact()
    return DistinctLengths(guide.index)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_texts_of_each_state_are_counted_by_length(pattern: str) -> None:
    lengths = _lengths(pattern)
    assert lengths.is_known
    automaton, checked = lengths._index.automaton, 0
    for rule, place in lengths._place.items():
        dfa = automaton.dfa(rule)
        if dfa.callees:
            continue
        following = [
            [-1 if target == DEAD else target >> OPERATION_BITS for target in row[dfa.classes].tolist()]
            for row in dfa.targets
        ]

        of_length = [dfa.final.astype(int).tolist()]
        for _ in range(60):
            of_length.append([sum(of_length[-1][to] for to in moves if to >= 0) for moves in following])
        for state in range(len(dfa.final)):
            counted = np.cumsum([of_length[length][state] for length in range(9)])
            assert lengths._texts[:9, place + state].tolist() == counted.tolist()
            longest = max((n for n in range(60) if of_length[n][state]), default=-1)
            assert lengths._longest[place + state] == (UNREACHABLE if longest > 40 else longest)
            most = int(counted[-1])
            for different in range(1, min(most, 30) + 1):
                found = lengths._length(place + state, different)
                assert counted[found] >= different and (found == 0 or counted[found - 1] < different)
            if longest < 9:
                assert lengths._length(place + state, most + 1) == UNREACHABLE
            checked += 1
    assert checked > 1


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_value_ends_within_the_bound_of_each_state(pattern: str) -> None:
    """Whatever was written, and whichever items were seen, the tokens to the end that are promised are enough."""
    items = {"type": "string", "pattern": pattern}
    schema = {"type": "array", "uniqueItems": True, "items": items, "minItems": 2}
    rng = np.random.default_rng(1)
    guide = sk.compile(schema, byte_vocabulary(), cache=False)
    for extra in range(4):
        cursor = guide.cursor()
        budget = cursor.min_tokens_to_end() + 3 * extra
        mask = np.zeros(guide.vocabulary.mask_words, np.uint32)
        for left in range(budget, 0, -1):
            assert cursor.fits(left)
            cursor.fill_mask(mask, left)
            allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist()
            tokens = [token for token in allowed if token not in guide.vocabulary.eos_token_ids]
            if not tokens:
                break
            cursor.advance(int(rng.choice(tokens)))
        assert cursor.is_accepting


def test_long_texts_are_counted_if_few_are_shorter() -> None:
    """A text of n nested objects is one of 2^n, so 40 different ones have more than 64 bytes."""
    keys = {"a": {"enum": [1, 2]}, "b": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}}
    node = {"type": "object", "properties": keys, "required": ["a", "b"], "additionalProperties": False}
    items = {"type": "array", "items": {"$ref": "#/$defs/node"}, "minItems": 40, "uniqueItems": True}
    guide = sk.compile({**items, "$defs": {"node": node}}, byte_vocabulary(), cache=False)
    shortest = '{"a": 1, "b": null}'
    bytes_of = [len(shortest) + 15 * depth for depth in range(5) for _ in range(2 ** (depth + 1))]
    fewest = sum(bytes_of[:40]) + len(", ") * 39 + len("[]")
    cursor = guide.cursor()
    assert not cursor.fits(fewest - 1)
    assert fewest <= cursor.min_tokens_to_end() < 10 * fewest
    assert not cursor.fits(fewest - 1)  # the answer does not depend on earlier questions
    assert cursor.fits(cursor.min_tokens_to_end())
