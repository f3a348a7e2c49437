"""Deeply nested values are completed before the depth that pydantic rejects."""

from __future__ import annotations

import json
import random
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, RootModel

import structkit as sk
from structkit.generate.output.json_reader import JsonReader
from structkit.testing import ScriptedModel, small_vocabulary

SMALL = small_vocabulary()


class Node(BaseModel):
    child: Node | None = None


class Deep(RootModel[list["Deep"]]):
    pass


class Tree(BaseModel):
    name: str
    items: list[Tree] = []


@pytest.mark.long(every=4)
@pytest.mark.parametrize(
    ("target", "opening", "inner", "closing"),
    [
        (Node, '{"child": ', "null", "}"),
        (Tree, '{"name": "[[", "items": [', "", "]}"),
        (Any, "[", "", "]"),
        (dict[str, Any], '{"]": ', "1", "}"),
    ],
)
def test_a_model_that_never_closes(target: Any, opening: str, inner: str, closing: str) -> None:
    text = opening * 210 + inner + closing * 210
    result = sk.generate(ScriptedModel([text], strict=False), "Go on.", target, max_tokens=20_000)
    assert result.finish_reason == "budget"
    assert 80 < result.text.count(closing[-1]) <= 200


def test_deep_values_are_completed_in_the_loop_of_transformers() -> None:
    text = _generate(Deep, 400)
    assert 180 < max(accumulate((byte in "[{") - (byte in "]}") for byte in text)) <= 200
    Deep.model_validate_json(text)


def test_text_that_is_not_json_has_no_nesting_limit() -> None:
    assert _generate(sk.Regex(r"\[{0,300}"), 400) == "[" * 300


def _generate(target: Any, opens: int) -> str:
    """Return the text of a loop that prefers opening brackets for `opens` steps, and closing ones afterwards."""
    torch = pytest.importorskip("torch", reason="needs torch")
    processor, ids, end = sk.LogitsProcessor(sk.compile(target, SMALL)), [7], SMALL.eos_token_ids[0]
    brackets = torch.tensor(
        [[float((t[-1:] in b"[{") - (t[-1:] in b"]}")) if t else 0.0 for t in SMALL.tokens]]
    )
    noise = torch.rand((len(SMALL.tokens),), generator=torch.Generator().manual_seed(1))
    while ids[-1] != end:
        scores = noise + (9 if len(ids) < opens else -9) * brackets
        scores[0, end] = -5 if len(ids) < opens else 20
        ids.append(int(processor(torch.tensor([ids]), scores).argmax()))
    return b"".join(SMALL.tokens[token] for token in ids[1:-1]).decode()


def test_long_values_are_not_deep() -> None:
    text = "[" + ", ".join(["[[]]"] * 150) + ', "' + "[" * 300 + '"]'
    result = sk.generate(ScriptedModel([text]), "Go on.", list[Any], max_tokens=20_000)
    assert result.text == text and result.finish_reason == "stop"


TEXTS = st.text('[]{}"\\\n,:a', max_size=8)
VALUES = st.recursive(
    st.none() | TEXTS | st.integers(-99, 999) | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=20,
)


def _state(reader: JsonReader) -> tuple[object, ...]:
    return reader.text, reader.open_fields, reader.values, reader.depth, reader.key_start, reader.current()


@given(VALUES, st.booleans(), st.randoms())
def test_a_rewound_reader_equals_a_new_one(value: object, spaced: bool, chance: random.Random) -> None:
    """The reader reads pieces of random lengths and is rewound at random."""
    text = json.dumps(value, separators=(", ", ": ") if spaced else (",", ":")).encode()
    read, end = JsonReader(), 0
    while end < len(text):
        end = min(len(text), end + chance.randint(1, 9))
        fresh = JsonReader()
        fresh.read(text[:end])
        assert _state(read.follow(bytearray(text[:end]))) == _state(fresh)
        assert read.depth == sum(field.kind in ("object", "array") for field in read.open_fields)
        fork = read.fork()
        fork.follow(bytearray(text))
        assert _state(read) == _state(fresh)
        fork.rewind(end)
        assert (fork.open_fields, fork.current()) == (fresh.open_fields, fresh.current())
        if chance.random() < 0.5:
            kept = chance.randint(0, end)
            other = JsonReader()
            other.read(text[:kept])
            read.rewind(kept)
            assert _state(read) == _state(other)
            read.follow(bytearray(text))
            read.finish()
            read.rewind(kept)
            assert _state(read) == _state(other)
            assert [change for change in read.take_changes() if change[0].start >= kept] == []


def test_a_fork_cannot_be_rewound_past_its_start() -> None:
    reader = JsonReader()
    reader.read(b'{"a": [1, ')
    with pytest.raises(ValueError, match="cannot be rewound"):
        reader.fork().rewind(3)
