"""The public contracts, compared with oracles that are independent of the implementation.

A text is a member of a type if `json.dumps` writes it and pydantic in strict mode accepts it. All members up to a
length are listed, and a mask must contain exactly the tokens after which tokens can spell a member.
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, permutations, product
from typing import Annotated, Any, Literal, Optional

import numpy as np
import pytest
from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import TypeAliasType, assert_type

import structkit as sk
from structkit import testing

FAR = 10**6


class Person(BaseModel):
    name: str
    age: int
    job: str | None = None


class Tree(BaseModel):
    a: list[Tree]


class Pair(BaseModel):
    a: bool
    b: Literal["x", "xy"] | None


def allowed(cursor: sk.Cursor, budget: int | None = None) -> set[int]:
    """Return the tokens of a mask: token t is bit t % 32 of word t // 32."""
    size = cursor.guide.vocabulary.size
    out = np.full(-(-size // 32), 0xFFFFFFFF, np.uint32)
    cursor.fill_mask(out, budget)
    tokens = {
        token for token in range(32 * len(out)) if out[token // 32] >> np.uint32(token % 32) & np.uint32(1)
    }
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


def test_async_equals_sync_and_does_not_block_the_loop() -> None:
    def result() -> sk.Result[list[int]]:
        return sk.generate(
            testing.RandomModel(seed=3), "x", list[int], temperature=1.0, seed=4, max_tokens=60
        )

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


def test_schema_and_regex_of_a_model() -> None:
    assert (
        sk.to_json_schema(Person)["required"] == ["name", "age", "job"]
        or "name" in sk.to_json_schema(Person)["properties"]
    )
    assert re.fullmatch(sk.to_regex(Person), '{"name": "Ana", "age": 3, "job": null}')
    assert not re.fullmatch(sk.to_regex(Person), '{"name": "Ana", "age": 3')


def test_vocabulary_from_token_bytes() -> None:
    vocabulary = sk.Vocabulary(tokens=[b"a", b"b", b"ab"], eos_token_ids={7})
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
    cursor = sk.compile(sk.Regex("[ab]*"), sk.Vocabulary(tokens=tokens, eos_token_ids={64, 100})).cursor()
    out = np.full(4, 7, np.uint32)
    cursor.fill_mask(out)
    assert out.tolist() == [1 << 31, 1 << 0, 1 << 0, 1 << 4]


@pytest.mark.parametrize(
    "out",
    [np.zeros(1, np.int32), np.zeros(2, np.uint32), np.zeros(1, np.uint64), np.zeros((1, 1), np.uint32)],
)
def test_masks_of_wrong_shape_or_dtype_are_rejected(out: Any) -> None:
    cursor = sk.compile(bool, sk.Vocabulary(tokens=[b"true", b"false"], eos_token_ids={2})).cursor()
    with pytest.raises(ValueError, match=r"uint32\[1\]"):
        cursor.fill_mask(out)


@pytest.mark.parametrize("token", [0, 2, 3, 4, 5, 6, 31, 32, 1_000_000, -1, -2, 2**40])
def test_rejected_tokens_leave_the_cursor_unchanged(token: int) -> None:
    vocabulary = sk.Vocabulary(tokens=[b"t", b"rue", b"x", None, b""], eos_token_ids={5})
    cursor = sk.compile(bool, vocabulary, cache=False).cursor()
    cursor.advance(0)
    before = (allowed(cursor), cursor.token_ids, cursor.is_accepting, cursor.forced_bytes())
    with pytest.raises(sk.TokenRejected, match="at `token 1`") as caught:
        cursor.advance(token)
    assert caught.value.token_id == token
    assert (allowed(cursor), cursor.token_ids, cursor.is_accepting, cursor.forced_bytes()) == before
    cursor.advance(1)
    assert cursor.is_accepting


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
    with pytest.raises(ValueError, match="cannot roll back 1000"):
        other.rollback(1000)
    with pytest.raises(ValueError, match="cannot roll back -1"):
        other.rollback(-1)


def test_random_model_has_a_default_seed_and_is_reproducible() -> None:
    def texts(model: testing.RandomModel) -> list[str]:
        return [sk.generate(model, "", Person, max_tokens=60, temperature=0.7, seed=9).text for _ in range(3)]

    assert texts(testing.RandomModel()) == texts(testing.RandomModel(seed=0))
    assert texts(testing.RandomModel(seed=0)) != texts(testing.RandomModel(seed=1))


def test_exhausted_scripted_model_raises() -> None:
    model = testing.ScriptedModel(["1"])
    assert sk.extract(model, "", int) == 1
    with pytest.raises(sk.ModelError, match="add one"):
        sk.extract(model, "", int)


class Color(enum.Enum):
    RED = "r"
    REDDER = "rr"


class Cat(BaseModel):
    kind: Literal["cat"]


class Cow(BaseModel):
    kind: Literal["cow"]
    c: bool


Nested = TypeAliasType("Nested", list["Nested"])
AB = Annotated[str, Field(pattern="^[ab]*$")]


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A target and its explicitly listed members.

    Args:
        target: The target.
        members: The texts of the target: all of them, or all up to `longest` bytes.
        longest: The maximum length of the members, for an infinite target.
        closing: The maximum number of bytes from a prefix to a member, for an infinite target.
        differ: Whether items must be distinct.
    """

    target: Any
    members: Sequence[str]
    longest: int = FAR
    closing: int = 0
    differ: bool = False


def dumped(values: Iterable[object]) -> list[str]:
    return [json.dumps(value, ensure_ascii=False) for value in values]


def texts_of(node: Callable[[int], Iterable[str]], longest: int) -> list[str]:
    return [text for length in range(longest + 1) for text in node(length)]


@cache
def words(alphabet: str, length: int) -> tuple[str, ...]:
    return tuple(map("".join, product(alphabet, repeat=length))) if length >= 0 else ()


@cache
def joined(item: Callable[[int], Iterable[str]], length: int) -> tuple[str, ...]:
    """Return one or more items, separated by `, `, of the given total length."""
    longer = (
        f"{a}, {b}" for n in range(1, length - 2) for a in item(n) for b in joined(item, length - n - 2)
    )
    return (*item(length), *longer)


def listed(item: Callable[[int], Iterable[str]]) -> Callable[[int], Iterable[str]]:
    return cache(
        lambda n: ["[]"] if n == 2 else [f"[{items}]" for items in joined(item, n - 2)] if n > 2 else []
    )


def booleans(length: int) -> Iterable[str]:
    return {4: ["true"], 5: ["false"]}.get(length, [])


def numbers(length: int) -> Iterable[str]:
    return [text for text in map(str, (0, 1, 2, 10, 11, 12, 20, 21, 22)) if len(text) == length]


def quoted(alphabet: str) -> Callable[[int], Iterable[str]]:
    return lambda n: [f'"{text}"' for text in words(alphabet, n - 2)]


@cache
def nested(length: int) -> Iterable[str]:
    return listed(nested)(length)


@cache
def trees(length: int) -> Iterable[str]:
    return [f'{{"a": {items}}}' for items in listed(trees)(length - 7)] if length > 8 else []


def anything(length: int) -> Iterable[str]:
    """Return JSON texts without objects over the characters of `FEW`."""
    atoms = [text for text in words("01", length) if text and str(int(text)) == text]
    return [*atoms, *quoted("[]a, 01")(length), *listed(anything)(length)]


def pairs(length: int) -> Iterable[str]:
    keys = chain.from_iterable(quoted("ab")(n) for n in range(2, length - 5))
    return [f"{k}: {v}" for k in keys for v in booleans(length - len(k) - 2)]


def objects(length: int) -> Iterable[str]:
    texts = ["{}"] if length == 2 else [f"{{{items}}}" for items in joined(pairs, length - 2)]
    return [text for text in texts if not _repeats(json.loads(text, object_pairs_hook=list))]


def different(length: int) -> Iterable[str]:
    return [text for text in listed(numbers)(length) if len(set(json.loads(text))) == len(json.loads(text))]


def _repeats(items: list[tuple[str, object]]) -> bool:
    return len(dict(items)) < len(items)


CASES: dict[str, Case] = {
    "bool": Case(bool, ["true", "false"]),
    "None": Case(None, ["null"]),
    "Literal of prefixes": Case(Literal["x", "xy", "x y"], dumped(["x", "xy", "x y"])),
    "Literal of prefix numbers": Case(Literal[1, 12, "1", 121], dumped([1, 12, "1", 121])),
    "Choice of prefixes": Case(sk.Choice(["a", "ab", "abba", "b"]), ["a", "ab", "abba", "b"]),
    "Choice of values": Case(sk.Choice(["a", 1, [1, 2], None]), dumped(["a", 1, [1, 2], None])),
    "Choice of nothing": Case(sk.Choice(["", "a"]), ["", "a"]),
    "Enum": Case(Color, dumped(["r", "rr"])),
    "Regex finite": Case(sk.Regex("(ab|a|abb){1,2}"), [a + b for a in ["ab", "a", "abb"] for b in ["", "ab", "a", "abb"]]),
    "Regex infinite": Case(
        sk.Regex("(ab)*|a(ba)*b{3}"),
        [t for n in range(13) for t in words("ab", n) if re.fullmatch("(ab)*|a(ba)*b{3}", t)],
        longest=12,
        closing=4,
    ),
    "Regex with lookahead": Case(
        sk.Regex("(?=.*bb)(?!.*aaa)[ab]{0,6}"),
        [t for n in range(7) for t in words("ab", n) if re.fullmatch("(?=.*bb)(?!.*aaa)[ab]{0,6}", t)],
    ),
    "int in a range": Case(Annotated[int, Field(ge=-12, le=121)], dumped(range(-12, 122))),
    "int multiple": Case(Annotated[int, Field(ge=-22, lt=222, multiple_of=11)], dumped(range(-22, 222, 11))),
    "int or Literal": Case(Literal["1"] | Annotated[int, Field(ge=1, le=2)] | bool, dumped([1, 2, "1", True, False])),
    "str of a pattern": Case(Annotated[str, Field(pattern="^[ab]*$", max_length=3)], dumped(words("ab", 0) + words("ab", 1) + words("ab", 2) + words("ab", 3))),
    "str of lengths and pattern": Case(
        Annotated[str, Field(pattern="^(ab|b)*$", min_length=2, max_length=4)],
        dumped(t for n in (2, 3, 4) for t in words("ab", n) if re.fullmatch("(ab|b)*", t)),
    ),
    "model": Case(Pair, dumped({"a": a, "b": b} for a in (True, False) for b in ("x", "xy", None))),
    "optional model": Case(Optional[Pair], dumped([None, *({"a": a, "b": b} for a in (True, False) for b in ("x", "xy", None))])),
    "discriminated": Case(Cat | Cow, dumped([{"kind": "cat"}, {"kind": "cow", "c": True}, {"kind": "cow", "c": False}])),
    "tuple": Case(tuple[bool, None, Literal[1, 12]], dumped([a, None, b] for a in (True, False) for b in (1, 12))),
    "list of at most": Case(Annotated[list[bool], Field(max_length=3)], dumped(v for n in range(4) for v in product((True, False), repeat=n))),
    "list of exactly": Case(Annotated[list[Literal[1]], Field(min_length=4, max_length=4)], ["[1, 1, 1, 1]"]),
    "set": Case(set[Literal["a", "ab", "b"]], dumped(v for n in range(4) for v in permutations(["a", "ab", "b"], n)), differ=True),
    "set with least": Case(Annotated[set[Literal[1, 12, 2]], Field(min_length=2)], dumped(v for n in (2, 3) for v in permutations([1, 12, 2], n)), differ=True),
    "dict of Literal": Case(
        dict[Literal["a", "ab"], bool],
        dumped(dict(zip(k, v, strict=True)) for k in ([], ["a"], ["ab"], ["a", "ab"]) for v in product((True, False), repeat=len(k))),
    ),
    "list": Case(list[bool], texts_of(listed(booleans), 22), longest=22, closing=8),
    "list of int": Case(list[Annotated[int, Field(ge=0, le=22)]], texts_of(listed(numbers), 12), longest=12, closing=2),
    "nested lists": Case(Nested, texts_of(nested, 16), longest=16, closing=9),
    "tree": Case(Tree, texts_of(trees, 36), longest=36, closing=18),
    "dict": Case(dict[AB, bool], texts_of(objects, 20), longest=20, closing=10, differ=True),
    "set of int": Case(set[Annotated[int, Field(ge=0, le=22)]], texts_of(different, 12), longest=12, closing=3, differ=True),
}  # fmt: skip

BYTES = [bytes([byte]) for byte in b'{}[]":, truefalsnxyabckidow012-']
MERGED = [b'": ', b'"}, {"', b'"},{"', b", ", b"true", b"rue]", b"e, ", b"]]", b"[[", b"], [", b'{"a": [', b'"ab"', b'b"', b"12", b"1, 1", b"21", b"aba", b"ull}", b'x"}', b"al", b"se", b", f"]  # fmt: skip
VOCABULARIES: dict[str, sk.Vocabulary] = {
    "bytes": sk.Vocabulary(BYTES, eos_token_ids={100}),
    "merged": sk.Vocabulary([*BYTES, *MERGED], eos_token_ids={0, 64}),
    "twins and specials": sk.Vocabulary([*MERGED, None, b"", *BYTES, *BYTES[:20], *MERGED[:5], b"</s>"], eos_token_ids={94, 7}),
    "without quotes": sk.Vocabulary([*(t for t in BYTES if t != b'"'), *MERGED, b'{"', b'"a'], eos_token_ids={99}),
    "without e, b, comma": sk.Vocabulary([*(t for t in BYTES if t not in (b"e", b"b", b",")), *MERGED, b"fals"], eos_token_ids={99}),
    "without closing": sk.Vocabulary([*(t for t in BYTES if t not in (b"]", b"}")), *MERGED, b"]}"], eos_token_ids={99}),
}  # fmt: skip
LAWS = [
    pytest.param(case, v, id=f"{name}-{w}") for name, case in CASES.items() for w, v in VOCABULARIES.items()
]


@cache
def fewest(case: Case, vocabulary: sk.Vocabulary) -> dict[bytes, int]:
    """Return, for each prefix of a member, the fewest tokens to a member, `FAR` if there are none."""
    tokens = {token for token in vocabulary.tokens if token}
    lengths = sorted({len(token) for token in tokens})
    need: dict[bytes, int] = {}
    for member in case.members:
        text = member.encode()
        left = [0] * (len(text) + 1)
        for at in range(len(text) - 1, -1, -1):
            costs = (left[at + n] for n in lengths if text[at : at + n] in tokens and at + n <= len(text))
            left[at] = min(min(costs, default=FAR) + 1, FAR)
        for at, count in enumerate(left):
            need[text[:at]] = min(need.get(text[:at], FAR), count)
    return need


def expected(need: dict[bytes, int], vocabulary: sk.Vocabulary, prefix: bytes, budget: int = FAR) -> set[int]:
    """Return the tokens after which fewer than `budget` tokens complete a member, and the end tokens."""
    tokens = {
        t for t, token in enumerate(vocabulary.tokens) if token and need.get(prefix + token, FAR) < budget
    }
    return tokens | (set(vocabulary.eos_token_ids) if need[prefix] == 0 else set())


def compiled(case: Case, vocabulary: sk.Vocabulary, need: dict[bytes, int]) -> sk.Cursor:
    if need[b""] == FAR:
        with pytest.raises(sk.VocabularyError, match=r"no sequence of tokens (was found that )?spells"):
            sk.compile(case.target, vocabulary, cache=False)
        pytest.skip("this vocabulary cannot spell any member")
    return sk.compile(case.target, vocabulary, cache=False).cursor()


def prefixes(
    case: Case, vocabulary: sk.Vocabulary, need: dict[bytes, int], max_prefixes: int
) -> Iterator[tuple[bytes, list[int]]]:
    """Yield the prefixes that tokens can write, breadth first, as far as the members are known."""
    known = case.longest - case.closing - vocabulary.max_token_length
    seen: set[bytes] = {b""}
    pending: list[tuple[bytes, list[int]]] = [(b"", [])]
    for prefix, path in pending:
        if len(prefix) > known or len(seen) > max_prefixes:
            return
        yield prefix, path
        for token in sorted(expected(need, vocabulary, prefix) - set(vocabulary.eos_token_ids)):
            text = prefix + vocabulary.tokens[token]
            if text not in seen:
                seen.add(text)
                pending.append((text, [*path, token]))


@pytest.mark.long(every=5)
@pytest.mark.parametrize(("case", "vocabulary"), LAWS)
def test_masks_equal_brute_force(case: Case, vocabulary: sk.Vocabulary) -> None:
    need = fewest(case, vocabulary)
    start = compiled(case, vocabulary, need)
    for prefix, path in prefixes(case, vocabulary, need, max_prefixes=60):
        cursor = start.fork()
        for token in path:
            cursor.advance(token)
        assert allowed(cursor) == expected(need, vocabulary, prefix), prefix
        assert cursor.is_accepting == (need[prefix] == 0), prefix
        assert cursor.is_finished == (allowed(cursor) <= set(vocabulary.eos_token_ids)), prefix
        forced = cursor.forced_bytes()
        assert not forced or (not cursor.is_accepting and prefix + forced[:1] in need), prefix
        assert not forced or not any(prefix + byte in need for byte in BYTES if byte != forced[:1]), prefix


@pytest.mark.long(every=5)
@pytest.mark.parametrize(("case", "vocabulary"), LAWS)
def test_masks_with_a_budget_are_sound_and_not_empty(case: Case, vocabulary: sk.Vocabulary) -> None:
    need = fewest(case, vocabulary)
    start = compiled(case, vocabulary, need)
    for prefix, path in prefixes(case, vocabulary, need, max_prefixes=20):
        cursor = start.fork()
        for token in path:
            cursor.advance(token)
        min_tokens = cursor.min_tokens_to_end()
        # With distinct items `min_tokens_to_end` is an upper bound.
        assert need[prefix] <= min_tokens if case.differ else need[prefix] == min_tokens, prefix
        for budget in range(min_tokens + 3):
            mask, exact = allowed(cursor, budget), expected(need, vocabulary, prefix, budget)
            assert mask <= exact, (prefix, budget)
            assert cursor.fits(budget) == (min_tokens <= budget), (prefix, budget)
            assert mask or budget < min_tokens, (prefix, budget)


@pytest.mark.long(every=5)
@pytest.mark.parametrize(("case", "vocabulary"), LAWS)
def test_every_budget_is_kept_or_rejected_with_the_exact_minimum(
    case: Case, vocabulary: sk.Vocabulary
) -> None:
    need = fewest(case, vocabulary)
    compiled(case, vocabulary, need)
    min_tokens = need[b""]
    adapter: Any = None if isinstance(case.target, (sk.Regex, sk.Choice)) else TypeAdapter(case.target)
    for budget in range(min_tokens):
        with pytest.raises(sk.BudgetTooSmall, match=f"pass max_tokens={min_tokens}") as caught:
            sk.generate(
                testing.RandomModel(vocabulary=vocabulary),
                "a",
                case.target,
                max_tokens=budget,
                include_schema=False,
            )
        assert (caught.value.needed, caught.value.budget) == (min_tokens, budget)
    for extra in (0, 1, 2, 5):
        for seed in range(2):
            model = testing.RandomModel(seed, vocabulary)
            result = sk.generate(
                model,
                "a",
                case.target,
                max_tokens=min_tokens + extra,
                include_schema=False,
                temperature=1.0,
                seed=seed,
            )
            assert len(result.token_ids) == result.usage.generated_tokens <= min_tokens + extra
            assert len(result.text) > case.longest or result.text in case.members
            assert adapter is None or adapter.validate_json(result.text) == result.value


@pytest.mark.long(every=3)
@pytest.mark.parametrize(
    "target",
    [
        Annotated[set[AB], Field(min_length=8)],
        Annotated[set[Annotated[str, Field(pattern="^a*$")]], Field(min_length=6)],
        Annotated[dict[AB, bool], Field(min_length=6)],
        Annotated[set[Annotated[int, Field(ge=0, le=9)]], Field(min_length=8)],
        list[Annotated[set[bool], Field(min_length=2)]],
        set[frozenset[bool]],
    ],
)
def test_many_distinct_texts_within_a_tight_budget(target: Any) -> None:
    vocabulary = testing.small_vocabulary()
    min_tokens = sk.compile(target, vocabulary, cache=False).cursor().min_tokens_to_end()
    for seed in range(6):
        model = testing.RandomModel(seed, vocabulary)
        result = sk.generate(model, "a", target, max_tokens=min_tokens + seed, temperature=1.0, seed=seed)
        assert result.usage.generated_tokens <= min_tokens + seed
        assert TypeAdapter(target).validate_json(result.text) == result.value


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (set[Annotated[str, Field(pattern="^[ab]$")]], b'["b", "a"'),
        (dict[Annotated[str, Field(pattern="^[ab]$")], bool], b'{"b": true, "a": false'),
        (set[Literal["a"] | Annotated[int, Field(ge=1, le=2)]], b'[2, "a", 1'),
    ],
)
def test_no_separator_follows_the_last_available_distinct_text(target: Any, text: bytes) -> None:
    cursor = sk.compile(target, testing.byte_vocabulary(), cache=False).cursor()
    for byte in text:
        cursor.advance(byte)
    assert allowed(cursor) == {ord("]" if text[:1] == b"[" else "}")}
