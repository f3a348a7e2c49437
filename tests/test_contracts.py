"""The contracts, as a user reads them, against oracles that know nothing of the library's inside.

A text is a member of a type if `json.dumps` would write it so and pydantic, being strict, reads it. All members
up to a length are listed, and a mask must hold exactly the tokens that lead towards one that tokens can spell.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Annotated, Any, Literal, Optional

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field, TypeAdapter, ValidationError, create_model
from typing_extensions import assert_type

import structkit as sk
from structkit import testing

FAR = 10**6


class Person(BaseModel):
    name: str
    age: int
    job: str | None = None


class Tree(BaseModel):
    a: list["Tree"]


class Pair(BaseModel):
    a: bool
    b: Literal["x", "xy"] | None


# ---------------------------------------------------------------- section 3, word for word


def allowed(cursor: sk.Cursor, budget: int | None = None) -> set[int]:
    """The tokens of a mask, read as section 3 says: bit t % 32 of word t // 32."""
    size = cursor.guide.vocabulary.size
    out = np.full(-(-size // 32), 0xFFFFFFFF, np.uint32)
    cursor.fill_mask(out, budget)
    tokens = {token for token in range(32 * len(out)) if out[token // 32] >> np.uint32(token % 32) & np.uint32(1)}
    assert all(token < size for token in tokens), "bits past the vocabulary"
    return tokens


def test_extract_gives_an_instance() -> None:
    model = testing.ScriptedModel(['{"name": "Ana Souza", "age": 34, "job": "nurse"}'])
    person = sk.extract(model, "Ana Souza, 34, works as a nurse in Porto.", Person)
    assert_type(person, Person)
    assert person == Person(name="Ana Souza", age=34, job="nurse")


def test_generate_gives_a_result() -> None:
    model = testing.ScriptedModel(['{"name": "A", "age": 1, "job": null}'])
    result = sk.generate(model, "A is 1", Person)
    assert_type(result, sk.Result[Person])
    assert result.value == Person(name="A", age=1)
    assert result.text == '{"name": "A", "age": 1, "job": null}'
    assert result.finish_reason == "stop"
    assert result.usage.prompt_tokens > 0 and result.usage.generated_tokens > 0
    assert result.attempts == (result.text,)


def test_types_are_inferred() -> None:
    def model() -> testing.RandomModel:
        return testing.RandomModel(seed=0)

    assert_type(sk.extract(model(), "", int), int)
    assert_type(sk.extract(model(), "", list[Person], max_tokens=200), list[Person])
    assert_type(sk.extract(model(), "", Optional[Person], max_tokens=200), Person | None)
    assert_type(sk.extract(model(), "", Literal["a", "b"]), Literal["a", "b"])
    assert_type(sk.extract(model(), "", Annotated[int, Field(ge=3)]), int)
    assert_type(sk.extract(model(), "", sk.Regex("a|b")), str)
    assert_type(sk.extract(model(), "", sk.Choice(["a", "b"])), str)
    assert_type(sk.extract(model(), "", sk.Choice([1, 2])), int)
    assert_type(sk.extract(model(), "", {"type": "null"}), object)


def test_async_equals_sync_and_leaves_the_loop_running() -> None:
    def result() -> sk.Result[list[int]]:
        return sk.generate(testing.RandomModel(seed=3), "x", list[int], temperature=1.0, seed=4, max_tokens=60)

    async def both() -> tuple[sk.Result[list[int]], sk.Result[list[int]], int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        model = testing.RandomModel(seed=3)
        first = await sk.agenerate(model, "x", list[int], temperature=1.0, seed=4, max_tokens=60)
        ticking.cancel()
        return first, result(), ticks  # a sync call inside a running loop works too

    first, second, ticks = asyncio.run(both())
    assert first.token_ids == second.token_ids == result().token_ids
    assert ticks > 1


def test_many_async_calls_on_one_model() -> None:
    async def many() -> list[int]:
        model = testing.ScriptedModel(["1"] * 20)
        return await asyncio.gather(*(sk.aextract(model, f"{i}", int) for i in range(20)))

    assert asyncio.run(many()) == [1] * 20


def test_visible_steps() -> None:
    assert sk.to_json_schema(Person)["required"] == ["name", "age", "job"] or "name" in sk.to_json_schema(Person)["properties"]
    assert re.fullmatch(sk.to_regex(Person), '{"name": "Ana", "age": 3, "job": null}')
    assert not re.fullmatch(sk.to_regex(Person), '{"name": "Ana", "age": 3')


def test_vocabulary_by_hand() -> None:
    vocabulary = sk.Vocabulary(tokens=[b"a", b"b", b"ab"], end_ids={7})
    assert vocabulary.size == 8
    assert vocabulary.tokens[2] == b"ab"
    guide = sk.compile(sk.Regex("(ab)*"), vocabulary)
    cursor = guide.cursor()
    out = np.zeros((vocabulary.size + 31) // 32, np.uint32)
    cursor.fill_mask(out)
    assert out.tolist() == [1 << 0 | 1 << 2 | 1 << 7]
    cursor.advance(0)
    cursor.fill_mask(out)
    assert out.tolist() == [1 << 1]


def test_mask_of_more_than_one_word() -> None:
    tokens = [b"x"] * 31 + [b"a", b"b"] + [b"y"] * 40
    cursor = sk.compile(sk.Regex("[ab]*"), sk.Vocabulary(tokens=tokens, end_ids={64, 100})).cursor()
    out = np.full(4, 7, np.uint32)
    cursor.fill_mask(out)
    assert out.tolist() == [1 << 31, 1 << 0, 1 << 0, 1 << 4]


@pytest.mark.parametrize("out", [np.zeros(1, np.int32), np.zeros(2, np.uint32), np.zeros(1, np.uint64), np.zeros((1, 1), np.uint32)])
def test_mask_of_the_wrong_kind_is_refused(out: Any) -> None:
    cursor = sk.compile(bool, sk.Vocabulary(tokens=[b"true", b"false"], end_ids={2})).cursor()
    with pytest.raises(ValueError, match=r"uint32\[1\]"):
        cursor.fill_mask(out)


@pytest.mark.parametrize("token", [0, 2, 3, 4, 5, 6, 31, 32, 1_000_000, -1, -2, 2**40])
def test_refused_token_changes_nothing(token: int) -> None:
    vocabulary = sk.Vocabulary(tokens=[b"t", b"rue", b"x", None, b""], end_ids={5})
    cursor = sk.compile(bool, vocabulary, cache=False).cursor()
    cursor.advance(0)
    before = (allowed(cursor), cursor.token_ids, cursor.can_end, cursor.forced_bytes())
    with pytest.raises(sk.TokenRefused, match="at `token 1`") as caught:
        cursor.advance(token)
    assert caught.value.token_id == token
    assert (allowed(cursor), cursor.token_ids, cursor.can_end, cursor.forced_bytes()) == before
    cursor.advance(1)
    assert cursor.can_end


def test_forced_bytes_fork_and_rollback() -> None:
    cursor = sk.compile(Person, testing.byte_vocabulary()).cursor()
    assert cursor.forced_bytes() == b'{"name": "'
    for byte in b'{"name": "An':
        cursor.advance(byte)
    assert cursor.forced_bytes() == b""
    other = cursor.fork()
    for byte in b'a", "age": 3':
        other.advance(byte)
    assert cursor.token_ids == tuple(b'{"name": "An')
    other.rollback(len(b'a", "age": 3'))
    assert other.token_ids == cursor.token_ids and allowed(other) == allowed(cursor)
    other.advance(ord('"'))
    assert other.forced_bytes() == b', "age": '
    with pytest.raises(ValueError, match="take back"):
        other.rollback(1000)
    with pytest.raises(ValueError, match="take back"):
        other.rollback(-1)


def test_random_model_has_a_default_seed_and_repeats_itself() -> None:
    def texts(model: testing.RandomModel) -> list[str]:
        return [sk.generate(model, "", Person, max_tokens=60, temperature=0.7, seed=9).text for _ in range(3)]

    assert texts(testing.RandomModel()) == texts(testing.RandomModel(seed=0))
    assert texts(testing.RandomModel(seed=0)) != texts(testing.RandomModel(seed=1))


def test_scripted_model_runs_out_with_an_error() -> None:
    model = testing.ScriptedModel(["1"])
    assert sk.extract(model, "", int) == 1
    with pytest.raises(sk.ModelFailed, match="add one"):
        sk.extract(model, "", int)


# ---------------------------------------------------------------- the oracle

DIGITS, LETTERS = "12", "ab"


@cache
def json_texts(length: int) -> tuple[str, ...]:
    """All canonical JSON texts of a length, over few letters and digits, `json.dumps` style."""
    fixed = [text for text in ("true", "false", "null", "{}", "[]") if len(text) == length]
    numbers = [text for text in words(DIGITS + "0", length) if str(int(text)) == text] if 1 <= length <= 3 else []
    strings = [f'"{text}"' for text in words(LETTERS, length - 2)] if 2 <= length <= 6 else []
    lists = [f"[{items}]" for items in sequences(length - 2)]
    objects = [f"{{{items}}}" for items in pairs(length - 2)]
    return tuple(dict.fromkeys(fixed + numbers + strings + lists + objects))


@cache
def words(alphabet: str, length: int) -> tuple[str, ...]:
    if length <= 0:
        return ("",) * (length == 0)
    return tuple(first + rest for first in alphabet for rest in words(alphabet, length - 1))


@cache
def sequences(length: int) -> tuple[str, ...]:
    """One or more items, with `, ` between them."""
    if length < 1:
        return ()
    longer = [f"{a}, {b}" for n in range(1, length - 2) for a in json_texts(n) for b in sequences(length - n - 2)]
    return (*json_texts(length), *longer)


@cache
def pairs(length: int) -> tuple[str, ...]:
    """One or more pairs, with `, ` between them."""
    found: list[str] = []
    for key_length in range(2, min(length, 5)):
        keys = [f'"{text}"' for text in words(LETTERS, key_length - 2)]
        for value_length in range(1, length - key_length - 1):
            rest = length - key_length - 2 - value_length
            tails = [""] if rest == 0 else [f", {tail}" for tail in pairs(rest - 2)] if rest > 4 else []
            found += [f"{k}: {v}{t}" for k in keys for v in json_texts(value_length) for t in tails]
    return tuple(found)


def is_member(adapter: TypeAdapter[Any], text: str, *, unordered: bool = False) -> bool:
    """Whether `json.dumps` would write this text for a value that strict pydantic reads from it."""

    def unrepeated(items: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(items)) < len(items):
            raise ValueError("a key twice")
        return dict(items)

    try:
        value = json.loads(text, object_pairs_hook=unrepeated)
        instance = adapter.validate_json(text, strict=True)
    except ValueError:
        return False
    if unordered:
        return len(instance) == len(value) and json.dumps(value) == text
    return json.dumps(adapter.dump_python(instance, mode="json", by_alias=True), ensure_ascii=False) == text


@dataclasses.dataclass(frozen=True)
class Case:
    """A type, its members up to `longest` characters, and how far from a prefix a member surely is."""

    target: Any
    longest: int
    closing: int
    unordered: bool = False
    pattern: str | None = None

    def members(self) -> list[bytes]:
        if self.pattern is not None:
            letters = sorted(set(re.sub(r"[^a-z]", "", self.pattern)))
            texts = [text for n in range(self.longest + 1) for text in words("".join(letters), n)]
            return [text.encode() for text in texts if re.fullmatch(self.pattern, text)]
        adapter: TypeAdapter[Any] = TypeAdapter(self.target)
        texts = [text for n in range(self.longest + 1) for text in json_texts(n)]
        return [text.encode() for text in texts if is_member(adapter, text, unordered=self.unordered)]


class Empty(BaseModel):
    pass


class Open(BaseModel):
    model_config = {"extra": "allow"}
    a: bool


Nested = list["Nested"]  # type: ignore[misc]
