"""Budgets of languages with distinct texts: whatever tokens are taken, the value is complete within the budget."""

from __future__ import annotations

import json
import random
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import structkit as sk
from structkit.automaton.runtime.distinct import Fuel
from structkit.automaton.runtime.short_text import short_text
from structkit.automaton.runtime.stack import SeenTexts
from structkit.guide import budget as budgets
from structkit.guide.guide import Cursor
from structkit.guide.state import distinct_texts
from structkit.index.index import Index
from structkit.index.rows.arena import ARENA_SIZE
from structkit.targets.targets import read_target
from structkit.testing import byte_vocabulary, small_vocabulary
from tests.shared import cases

SCHEMAS: dict[str, dict[str, object]] = {
    "keys": {"type": "object", "minProperties": 4},
    "keys with values": {"type": "object", "minProperties": 4, "additionalProperties": {"type": "integer"}},
    "keys of a pattern": {
        "type": "object", "minProperties": 8, "propertyNames": {"pattern": "^[ab]{1,3}$"}, "maxProperties": 12,
    },
    "declared and other keys": {
        "type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "minProperties": 5,
    },
    "integers": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 11},
    "few texts": {
        "type": "array", "items": {"enum": ["a", "aa", "ab", "b", 1, 12]}, "uniqueItems": True, "minItems": 5,
    },
    "arrays": {
        "type": "array", "uniqueItems": True, "minItems": 3,
        "items": {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 2},
    },
    "nested": {
        "type": "array", "minItems": 2,
        "items": {"type": "object", "minProperties": 3, "additionalProperties": {"type": "null"}},
    },
}  # fmt: skip


def _allowed(cursor: Cursor, budget: int) -> list[int]:
    mask = np.empty(cursor.guide.vocabulary.mask_words, np.uint32)
    cursor.fill_mask(mask, budget)
    found = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist()
    return [token for token in found if token not in cursor.guide.vocabulary.eos_token_ids]


def _write(cursor: Cursor, budget: int, chance: random.Random) -> str:
    """Take random tokens as long as any are allowed; all of them together are within the budget."""
    text = b""
    for left in range(budget, -1, -1):
        tokens = _allowed(cursor, left)
        if not tokens:
            break
        token = chance.choice(tokens)
        cursor.advance(token)
        text += cursor.guide.vocabulary.tokens[token]
    assert cursor.is_accepting, text
    return text.decode("utf-8", "strict")


@pytest.mark.long(every=5)
@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize(
    ("vocabulary", "reads"),
    [(byte_vocabulary(), 0), (small_vocabulary(), 400), (byte_vocabulary(), 400), (small_vocabulary(), 0)][
        : cases(2, of=4)
    ],
    ids=["bytes, 0", "small, 400", "bytes, 400", "small, 0"][: cases(2, of=4)],
)
def test_every_sequence_ends_within_its_budget(
    name: str, vocabulary: sk.Vocabulary, reads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "_MAX_MASK_READS", reads)
    guide, target = sk.compile(SCHEMAS[name], vocabulary, cache=False), read_target(SCHEMAS[name])
    chance = random.Random(reads)
    for extra in (0, 25, 2)[: cases(2, of=3)]:
        cursor = guide.cursor()
        text = _write(cursor, cursor.min_tokens_to_end() + extra, chance)
        assert target.parse(text) == json.loads(text)


_LONG = {"type": "string", "minLength": 90, "maxLength": 91, "pattern": "^b*$"}
_DIGIT = {"type": "integer", "minimum": 0, "maximum": 9}
ANY_ORDER: dict[str, dict[str, object]] = {
    "a long optional key": {"properties": {"a": _DIGIT, "b": _LONG}},
    "a long optional key of three": {
        "properties": {"a": _DIGIT, "b": _LONG, "c": {"const": 1}},
        "required": ["a"],
    },
    "required keys of all lengths": {
        "properties": {"a": _DIGIT, "bb": _LONG, "c": _DIGIT, "ccc": {"const": "x" * 40}},
        "required": ["a", "bb", "ccc"],
    },
    "nested": {
        "properties": {
            "a": {"type": "object", "properties": {"a": _DIGIT, "b": _LONG}, "additionalProperties": False},
            "b": _DIGIT,
        },
        "required": ["a"],
    },
}
ENTRIES = sk.Vocabulary(
    tokens=[
        *(bytes([byte]) for byte in range(256)),
        *(f'{start}"{key}": {value}{end}'.encode() for start in ("", "{", ", ") for key in ("a", "b", "c", "ccc")
          for value in ("1", "{", '"') for end in ("", ", ", '}')),
        b"b" * 20, b"x" * 7,
    ],
    eos_token_ids={256 + 110},
)  # fmt: skip


@pytest.mark.long(every=5)
@pytest.mark.parametrize(
    "vocabulary", [byte_vocabulary(), small_vocabulary(), ENTRIES], ids=["bytes", "small", "entries"]
)
@pytest.mark.parametrize("name", ANY_ORDER)
def test_keys_in_any_order_end_within_the_budget(name: str, vocabulary: sk.Vocabulary) -> None:
    """When only a long key is left to follow, a short one that was written does not count as what may follow."""
    schema = {"type": "object", "additionalProperties": False, **ANY_ORDER[name]}
    guide, target = sk.compile(schema, vocabulary, order="any", cache=False), read_target(schema)
    for extra in (0, 1, 4, 12, 40, 80, 95, 130):
        for seed in range(cases(2, of=60)):
            cursor = guide.cursor()
            text = _write(cursor, cursor.min_tokens_to_end() + extra, random.Random(seed))
            assert target.parse(text) == json.loads(text)


def test_many_keys_in_any_order_do_not_take_long() -> None:
    keys = {f"k{number}": {"type": "integer"} for number in range(60)}
    schema = {"type": "object", "properties": keys, "required": list(keys), "additionalProperties": False}
    cursor = sk.compile(schema, small_vocabulary(), order="any", cache=False).cursor()
    fewest = cursor.min_tokens_to_end()
    _allowed(cursor, fewest + 60)
    start, chance = time.process_time(), random.Random(0)
    for step in range(20):
        cursor.advance(chance.choice(_allowed(cursor, fewest + 60 - step)))
    assert time.process_time() - start < 3  # 0.1 s; it took minutes


@pytest.mark.long
def test_texts_that_are_used_up_do_not_exceed_a_budget() -> None:
    """The shortest texts and a margin are not enough when only longer ones are left."""
    schema = {
        "type": "array", "uniqueItems": True, "minItems": 27,
        "items": {
            "type": "object", "properties": {key: {"enum": [0, 1]} for key in "abc"}, "additionalProperties": False,
        },
    }  # fmt: skip
    guide, target = sk.compile(schema, byte_vocabulary(), cache=False), read_target(schema)
    fewest = guide.cursor().min_tokens_to_end()
    assert not guide.cursor().fits(fewest - 1)
    for budget in (fewest, fewest + 30, 2 * fewest, 3 * fewest):
        for seed in range(cases(2, of=20)):
            text = _write(guide.cursor(), budget, random.Random(seed))
            assert target.parse(text) == json.loads(text)


def test_the_last_text_of_several_rules_is_not_begun_without_tokens_for_it() -> None:
    schema = {
        "type": "object",
        "properties": {
            "p": {"type": "array", "items": {"enum": ["longer text", True, "bb", "x" * 40, 2]}, "uniqueItems": True},
            "q": {"type": "array", "items": {"type": "string", "pattern": "^[ab]+c?$"}, "uniqueItems": True},
        },
        "required": ["p", "q"], "additionalProperties": False,
    }  # fmt: skip
    cursor = sk.compile(schema, byte_vocabulary(), cache=False).cursor()
    cursor.min_tokens_to_end()
    for byte in b'{"p": ["longer text", "bb", ':
        cursor.advance(byte)
    assert _allowed(cursor, 50) == [*b"2t"]
    assert _allowed(cursor, 53) == [*b'"2t']


def test_a_completion_outlives_a_full_cache() -> None:
    guide = sk.compile(SCHEMAS["keys"], small_vocabulary(), cache=False)
    guide.parser._states._max_states = 8
    for seed in range(4):
        cursor = guide.cursor()
        _write(cursor, cursor.min_tokens_to_end() + 5, random.Random(seed))


@pytest.mark.long(every=5)
@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("seed", range(cases(2, of=3)))
def test_a_bound_with_room_is_the_length_of_some_completion(name: str, seed: int) -> None:
    chance = random.Random(seed)
    guide = sk.compile(SCHEMAS[name], small_vocabulary(), cache=False)
    cursor = guide.cursor()
    cursor.min_tokens_to_end()
    for _ in range(chance.randrange(30)):
        tokens = _allowed(cursor, 10_000)
        if not tokens:
            return
        cursor.advance(chance.choice(tokens))
    of, state = guide.parser.budgets, cursor.state
    bound = of.upper_bound(state)
    if of._distinct.has_room(state, bound, state.frames):
        text = short_text(guide.index.shortest, guide.reader, state.frames, state.buffer, Fuel(100_000))
        assert text is not None
        assert len(guide.index.texts.tokenize(text) or ()) <= bound


def test_a_completion_is_found_when_short_texts_are_used_up() -> None:
    guide = sk.compile(SCHEMAS["keys of a pattern"], byte_vocabulary(), cache=False)
    shortest = b'{"a": 0, "b": 0, "aa": 0, "ab": 0, "ba": 0, "bb": 0, "aaa": 0, "aab": 0}'
    assert len(shortest) <= guide.cursor().min_tokens_to_end() <= len(shortest) + 2


def test_many_distinct_keys_do_not_take_long() -> None:
    cursor = sk.compile({"type": "object", "minProperties": 20}, small_vocabulary(), cache=False).cursor()
    fewest = cursor.min_tokens_to_end()
    _allowed(cursor, fewest + 60)
    start = time.process_time()
    chance = random.Random(0)
    for step in range(20):
        cursor.advance(chance.choice(_allowed(cursor, fewest + 60 - step)))
    assert time.process_time() - start < 5  # 0.2 s


def test_a_value_that_is_too_long_to_be_counted_is_not_stopped() -> None:
    definitions: dict[str, object] = {
        f"d{n}": {"type": "array", "items": {"$ref": f"#/$defs/d{n + 1}"}, "minItems": 8} for n in range(12)
    }
    schema = {"$ref": "#/$defs/d0", "$defs": {**definitions, "d12": {"type": "null"}}}
    cursor = sk.compile(schema, byte_vocabulary(), cache=False).cursor()
    assert _allowed(cursor, cursor.min_tokens_to_end() + 60) == [ord("[")]


def test_seen_texts_are_values() -> None:
    one, other = SeenTexts().with_text(b"a").with_text(b"b"), SeenTexts().with_text(b"b").with_text(b"a")
    assert one == other and hash(one) == hash(other)
    assert one.with_open(3) != one and one.with_open(3).with_text(b"a") == one
    assert SeenTexts((b"a", b"b")) == one != SeenTexts((b"a",))


def test_a_walk_that_begins_anew_keeps_the_groups_of_other_frames() -> None:
    """A long token outgrows the memory of a walk. The tokens that end the key then seemed to lead to one place.

    The order of the two frames, of declared keys and of others, differs between guides.
    """
    tokens = [b'": ', *(bytes([byte]) for byte in range(256)), b"a" * 10_000]
    vocabulary = sk.Vocabulary(tokens, eos_token_ids=[len(tokens)])
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a="]}
    for _ in range(8):
        cursor = sk.compile(schema, vocabulary, order="any", cache=False).cursor()
        for byte in b'{"a=':
            cursor.advance(byte + 1)
        assert _allowed(cursor, 3) == [0]


@pytest.mark.parametrize(
    "name", ["open keys in any order", pytest.param("unique strings", marks=pytest.mark.long)]
)
def test_a_completion_that_is_passed_on_is_one_after_the_token(name: str) -> None:
    names = [f"k{number}" for number in range(6)]
    target = {
        "open keys in any order": {
            "type": "object",
            "properties": {key: {"type": "integer"} for key in names},
            "required": names,
            "additionalProperties": {"type": "integer"},
        },
        "unique strings": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[ab]{1,3}$"},
            "minItems": 10,
            "uniqueItems": True,
        },
    }[name]
    vocabulary = small_vocabulary()
    guide = sk.compile(target, vocabulary, cache=False, order="any")
    mask = np.zeros(vocabulary.mask_words, np.uint32)
    reader, passed = guide.index.reader, 0
    for seed in range(cases(5, of=60)):
        chance, cursor = random.Random(seed), guide.cursor()
        for left in range(cursor.min_tokens_to_end() + chance.randrange(6), 0, -1):
            cursor.fill_mask(mask, left)
            tokens = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
            token = int(chance.choice(tokens.tolist()))
            if token in vocabulary.eos_token_ids:
                break
            cursor.advance(token)
            state = cursor.state
            if state.completion:
                passed += 1
                rest = b"".join(vocabulary.tokens[token] for token in state.completion)
                assert guide.automaton.is_accepting(reader.read(state.frames, state.buffer, rest)[0])
                if state.completion_texts is not None:
                    added = distinct_texts(reader.read(state.frames, state.buffer, rest[:-1])[0])
                    assert added - distinct_texts(state.frames) <= state.completion_texts
        assert cursor.is_accepting
    assert passed > 20


def test_a_token_that_ends_an_array_behind_its_last_item_is_no_way_to_repeat_the_item() -> None:
    """The item is not among the texts after the token, so a completion seemed not to write it."""
    vocabulary = sk.Vocabulary([*(bytes([byte]) for byte in range(256)), b"]]"], eos_token_ids=[257])
    bits = {"type": "array", "items": {"type": "integer", "minimum": -3, "maximum": 1}, "maxItems": 1}
    texts = {"type": "string", "pattern": "^a*$"}
    schema = {
        "type": "object",
        "properties": {
            key: {"type": "array", "items": items, "minItems": 3, "uniqueItems": True}
            for key, items in (("q", bits), ("p", texts))
        },
        "required": ["q", "p"],
        "additionalProperties": False,
    }
    cursor = sk.compile(schema, vocabulary, cache=False).cursor()
    budget = cursor.min_tokens_to_end() + 6
    for byte in b'{"q": [[], [1], [':
        assert byte in _allowed(cursor, budget)
        cursor.advance(byte)
        budget -= 1
    assert _allowed(cursor, budget) == [*b"-0"]


def test_tokens_of_a_group_lead_to_the_same_frames_where_texts_have_several_parses() -> None:
    values = {f"k{number}": {"type": "integer"} for number in range(3)}
    target = {
        "anyOf": [
            {"type": "object", "properties": {"kind": {"const": number}, **values}, "required": ["kind"]}
            for number in range(4)
        ]
    }
    vocabulary = small_vocabulary()
    guide = sk.compile(target, vocabulary, cache=False, order="any")
    step, groups = guide.parser.budgets.step, guide.parser.budgets.groups
    for text in (b'{"', b'{"k', b'{"k1": 1', b'{"k1": 1, "', b'{"x'):
        cursor = guide.cursor()
        for byte in text:
            cursor.advance(vocabulary.tokens.index(bytes([byte])))
        found = groups(cursor.state)
        assert len(cursor.state.frames) > 1
        for group, representative in enumerate(found.representatives.tolist()):
            expected = sorted(
                (frame.state, frame.count) for frame in step(cursor.state, representative).frames
            )
            for token in np.flatnonzero(found.group_of == group).tolist()[:40]:
                after = step(cursor.state, token)
                assert sorted((frame.state, frame.count) for frame in after.frames) == expected


def test_few_frames_are_walked_where_others_allow_their_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts inside of counts have a frame for each pair of them, and one with room allows what the others do."""
    walk, walks = Index.row_within_budget, []

    def counted(*arguments: Any) -> Any:
        walks.append(arguments)
        return walk(*arguments)

    monkeypatch.setattr(Index, "row_within_budget", counted)
    grammar = sk.Grammar('start ::= #"(.{0,100}a){100}";', syntax="kbnf")
    cursor, chance = sk.compile(grammar, small_vocabulary(), cache=False).cursor(), random.Random(1)
    budget = cursor.min_tokens_to_end() + 9
    for left in range(budget, budget - 20, -1):
        cursor.advance(chance.choice(_allowed(cursor, left)))
    assert len(walks) <= 5, "one for each of up to 20 frames in each mask before"


def test_the_walks_of_a_mask_under_a_budget_share_their_work() -> None:
    pattern = "|".join(f"{chr(97 + n)}.{{{20 - n}}}z" for n in range(10))
    guide = sk.compile({"type": "string", "pattern": pattern}, small_vocabulary(), cache=False)
    cursor, chance = guide.cursor(), random.Random(1)
    budget = cursor.min_tokens_to_end() + 9
    for left in range(budget, budget - 6, -1):
        cursor.advance(chance.choice(_allowed(cursor, left)))
    assert _allowed(cursor, budget - 6)
    automaton = guide.index.automaton
    automaton.limits = replace(automaton.limits, work=2 * ARENA_SIZE)
    with pytest.raises(sk.LimitExceeded, match="the search for the tokens of a mask exceeds the limit work"):
        _allowed(cursor, budget - 6)
