"""The fewest tokens to an end, compared with a search of all states, and masks under tight budgets."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structkit as sk
from structkit.automaton.link import link
from structkit.errors import UnsatisfiableSchema
from structkit.guide import completion
from structkit.guide.completion import CompletionSearch
from structkit.guide.completion_texts import completion_texts, texts_after
from structkit.guide.guide import Cursor, Guide
from structkit.guide.state import State
from structkit.index.index import Index
from structkit.regex.nodes import Rules
from structkit.testing import byte_vocabulary, small_vocabulary
from tests.guide.reference import ReferenceCursor
from tests.languages import recursive_rules, vocabulary

V = vocabulary()


def _mask(cursor: Cursor, budget: int | None = None) -> list[int]:
    out = np.empty(cursor.guide.vocabulary.mask_words, np.uint32)
    cursor.fill_mask(out, budget)
    found = np.flatnonzero(np.unpackbits(out.view(np.uint8), bitorder="little")).tolist()
    return [token for token in found if token not in cursor.guide.vocabulary.eos_token_ids]


def _fewest(guide: Guide, max_tokens: int) -> int | None:
    """Return the fewest tokens of a text, by a search of all states; `None` if there are too many."""
    start = ReferenceCursor(guide.automaton, V)
    level, seen = {start.past[0][0]}, {start.past[0][0]}
    for tokens in range(max_tokens + 1):
        if any(guide.automaton.is_accepting(frames) for frames in level):
            return tokens
        if len(seen) > 40:
            return None
        reached = {
            guide.reader.read(frames, b"", token)[0] for frames in level for token in V.tokens if token
        } - {frozenset()}
        level = reached - seen
        seen |= level
    return None


def _guide(rules: Rules) -> Guide | None:
    try:
        automaton = link(rules)
    except UnsatisfiableSchema:
        return None
    guide = Guide(automaton, V)
    guide.index.make_exact()
    return None if automaton.has_distinct else guide


@given(recursive_rules)
def test_the_minimum_equals_a_search_of_all_states(rules: Rules) -> None:
    guide = _guide(rules)
    expected = None if guide is None else _fewest(guide, 4)
    if guide is not None and expected is not None:
        assert guide.cursor().min_tokens_to_end() == expected


@given(recursive_rules)
def test_a_completion_is_a_text_of_the_fewest_tokens(rules: Rules) -> None:
    guide = _guide(rules)
    expected = None if guide is None else _fewest(guide, 4)
    if guide is None or not expected:
        return
    search, cursor = CompletionSearch(guide.index), guide.cursor()
    found, first = search.fewest(cursor.state, 9), search.first_tokens(cursor.state, expected)
    assert len(found) == expected and found[0] in first
    for token in first:
        after = cursor.fork()
        after.advance(token)
        assert len(search.fewest(after.state, 9)) == expected - 1 or after.is_accepting
    for token in found:
        cursor.advance(token)
    assert cursor.is_accepting


@given(recursive_rules, st.integers(0, 200), st.integers(0, 3), st.data())
def test_masks_are_not_empty_whatever_the_limit_of_the_search(
    rules: Rules, fuel: int, extra: int, data: st.DataObject
) -> None:
    guide = _guide(rules)
    if guide is None:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(completion, "_FUEL", fuel)
        cursor = guide.cursor()
        for budget in range(cursor.min_tokens_to_end() + extra, 0, -1):
            tokens = _mask(cursor, budget)
            if not tokens:
                break
            cursor.advance(data.draw(st.sampled_from(tokens)))
            assert cursor.fits(budget - 1)
            assert cursor.min_tokens_to_end() <= budget - 1
        assert cursor.is_accepting


@given(recursive_rules, st.integers(0, 1000))
def test_masks_do_not_depend_on_earlier_questions(rules: Rules, seed: int) -> None:
    guides = _guide(rules), _guide(rules)
    if guides[0] is None or guides[1] is None:
        return
    asked, fresh, chance = guides[0].cursor(), guides[1].cursor(), random.Random(seed)
    for _ in range(5):
        fork = asked.fork()
        for _ in range(3):  # along another text
            fork.min_tokens_to_end()
            fork.fits(chance.randrange(8))
            tokens = _mask(fork, chance.choice([2, 5, 20])) or _mask(fork)
            if not tokens:
                break
            fork.advance(chance.choice(tokens))
        for budget in range(1, asked.min_tokens_to_end() + 3):
            assert _mask(asked, budget) == _mask(fresh, budget)
        assert asked.min_tokens_to_end() == fresh.min_tokens_to_end()
        tokens = _mask(asked)
        if not tokens:
            break
        token = chance.choice(tokens)
        asked.advance(token)
        fresh.advance(token)


def _protocol(definitions: int, seed: int = 0) -> dict[str, Any]:
    """Return a schema like that of the Debug Adapter Protocol: messages that extend others, with types by reference."""
    chance, types = random.Random(seed), [f"Type{i}" for i in range(definitions // 2)]

    def reference(name: str) -> dict[str, str]:
        return {"$ref": f"#/definitions/{name}"}

    def value() -> dict[str, Any]:
        name = chance.choice(types)
        kinds: list[dict[str, Any]] = [
            {"type": "string"},
            {"type": ["integer", "string"]},
            {"type": "boolean"},
            {"type": "array", "items": reference(name)},
            reference(name),
            {"type": "string", "enum": ["started", "stopped", "exited"][: chance.randint(1, 3)]},
        ]
        return chance.choice(kinds)

    def record(required: bool = False) -> dict[str, Any]:
        properties = {f"field{chance.randrange(100)}": value() for _ in range(chance.randint(2, 10))}
        names = [
            name
            for name, part in properties.items()
            if "$ref" not in part and (required or chance.random() < 0.4)
        ]
        return {"type": "object", "properties": properties, **({"required": names} if names else {})}

    message = {
        "type": "object",
        "properties": {"seq": {"type": "integer"}, "type": {"enum": ["request", "event"]}},
        "required": ["seq", "type"],
    }
    parts: dict[str, Any] = {"Message": message, **{name: record() for name in types}}
    requests = [f"Request{i}" for i in range(definitions // 2)]
    for name in requests:
        fixed = {"command": {"enum": [name]}, "arguments": record(required=True)}
        extended = {"type": "object", "properties": fixed, "required": ["command", "arguments"]}
        parts[name] = {"allOf": [reference("Message"), extended]}
    return {"definitions": parts, "anyOf": [reference(name) for name in requests]}


@pytest.mark.long(every=3)
@pytest.mark.parametrize("extra", [0, 5, 60])
def test_budgets_of_a_large_schema_need_little_work(extra: int, monkeypatch: pytest.MonkeyPatch) -> None:
    work = {"searches": 0, "walks": 0}
    search, walk = completion.CompletionSearch._search, Index.row_within_budget

    def counted_search(*arguments: Any) -> Any:
        work["searches"] += 1
        return search(*arguments)

    def counted_walk(*arguments: Any) -> Any:
        work["walks"] += 1
        return walk(*arguments)

    monkeypatch.setattr(completion.CompletionSearch, "_search", counted_search)
    monkeypatch.setattr(Index, "row_within_budget", counted_walk)
    guide = sk.compile(_protocol(200), small_vocabulary(), cache=False)
    cursor, chance = guide.cursor(), random.Random(0)
    budget, steps = cursor.min_tokens_to_end() + extra, 0
    while budget and (tokens := _mask(cursor, budget)):
        cursor.advance(chance.choice(tokens))
        budget, steps = budget - 1, steps + 1
    assert cursor.is_accepting
    assert work["searches"] <= 10 * (steps + 1), "two searches of five sizes for a mask at most"
    assert work["walks"] <= 100 * (steps + 1), "one for each parse of a text"


@pytest.mark.long(every=4)
@pytest.mark.parametrize(
    "items",
    [{"type": "string"}, {"type": "integer"}, {"enum": [f"v{i}" for i in range(30)]}],
    ids=["strings", "integers", "enum"],
)
@pytest.mark.parametrize("extra", [0, 4])
def test_unique_items_end_within_a_tight_budget(items: dict[str, Any], extra: int) -> None:
    schema = {"type": "array", "items": items, "uniqueItems": True, "minItems": 12}
    guide = sk.compile(schema, byte_vocabulary(), cache=False)
    cursor, chance = guide.cursor(), random.Random(0)
    for budget in range(cursor.min_tokens_to_end() + extra, 0, -1):
        tokens = _mask(cursor, budget)
        if not tokens:
            break
        cursor.advance(chance.choice(tokens))
    assert cursor.is_accepting


def test_completions_do_not_depend_on_the_order_of_frames() -> None:
    """The order of a set of frames differs between processes, and so would masks near the end of a budget."""
    texts = sk.compile(str, small_vocabulary(), cache=False).index.texts
    alternatives = [b"b", b"a", b"c"]
    found = {texts.fewest_tokens(order) for order in permutations(alternatives)}
    assert len(found) == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_completion_after_another_token_adds_no_text_that_is_not_expected(seed: int) -> None:
    """Tokens to the same frames share a completion unless it can repeat a text; all texts that it adds are known."""
    items = {"type": "string", "maxLength": 4, "pattern": "^[ab]*$"}
    schema = {"type": "array", "uniqueItems": True, "minItems": 4, "items": items}
    vocabulary, chance, compared = small_vocabulary(), random.Random(seed), 0
    guide = sk.compile(schema, vocabulary, cache=False)
    cursor, budgets = guide.cursor(), guide.parser.budgets
    for _ in range(12):
        state = cursor.state
        groups = budgets.groups(state)
        for group, representative in enumerate(groups.representatives.tolist()):
            alike = budgets.step(state, representative)
            budgets.completion_length(alike)
            tokens = np.flatnonzero(groups.group_of == group).tolist()
            for token in chance.sample(tokens, min(4, len(tokens))) if alike.completion else ():
                after = budgets.step(state, token)
                expected = texts_after(alike, after, guide.index)
                if expected is not None:
                    alone = State(after.configuration, after.frames, after.buffer)
                    alone.completion = alike.completion
                    assert completion_texts(alone, guide.index) <= expected
                    compared += 1
        allowed = _mask(cursor)
        if not allowed:
            break
        cursor.advance(chance.choice(allowed))
    assert compared
