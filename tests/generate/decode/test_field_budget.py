"""Token budgets of fields: a value that reaches its budget is closed."""

from __future__ import annotations

from random import Random
from typing import Annotated

import numpy as np
import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.generate.decode.field_budget import FieldBudgets
from structkit.generate.output.json_reader import JsonReader
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary, small_vocabulary
from tests.shared import cases

SMALL, BYTES = small_vocabulary(), byte_vocabulary()


class Note(BaseModel):
    title: Annotated[str, sk.MaxTokens(5)]
    body: str
    tags: Annotated[list[str], sk.MaxTokens(8)] = Field(default=[])
    code: Annotated[str, sk.MaxTokens(3), Field(min_length=20, max_length=30)] = ""


def test_a_string_is_closed_at_its_budget() -> None:
    text = '{"title": "abcdefgh", "body": "", "tags": [], "code": ""}'
    assert sk.extract(ScriptedModel([text], BYTES, strict=False), "x", Note).title == "abcd"
    text = '{"title": "abc", "body": "abcdefgh", "tags": [], "code": "aaaaaaaaaaaaaaaaaaaaaaaaa"}'
    note = sk.extract(ScriptedModel([text], BYTES, strict=False), "x", Note)
    assert (note.title, note.body) == ("abc", "abcdefgh")
    assert note.code == 20 * "a"  # constraints of the type take precedence


@pytest.mark.parametrize("seed", range(cases(6, of=20)))
def test_a_random_model_exceeds_a_budget_by_one_character_at_most(seed: int) -> None:
    result = sk.generate(RandomModel(seed, SMALL), "x", Note, temperature=1.0, seed=seed, max_tokens=300)
    count = len(tokens_of_field(result, "title"))
    assert count <= 5 + 8  # an escape or a character of more than one byte is completed first
    assert Note.model_validate_json(result.text) == result.value


def tokens_of_field(result: sk.Result[Note], name: str) -> list[sk.Token]:
    """Return the tokens that contain a byte of the value of a field."""
    start = result.text.encode().index(f'"{name}": '.encode()) + len(name) + 4
    value = result.value.model_dump_json(include={name}).split(":", 1)[1][:-1]
    found, position = [], 0
    for token in result.events:
        if position + len(token.text) > start and position < start + len(value.encode()):
            found.append(token)
        position += len(token.text)
    return found


def test_a_list_is_closed_at_its_budget() -> None:
    target = Annotated[list[int], sk.MaxTokens(6)]
    # The list cannot end after a comma.
    assert sk.extract(ScriptedModel(["[1, 2, 3, 4, 5]"], BYTES, strict=False), "x", target) == [1, 2, 3]


def test_a_json_schema_has_a_keyword_for_the_budget() -> None:
    schema = {"type": "string", "x-structkit-maxTokens": 4}
    assert sk.extract(ScriptedModel(['"abcdefgh"'], BYTES, strict=False), "x", schema) == "abc"


@pytest.mark.parametrize(("tokens", "error"), [(0, ValueError), ("3", TypeError), (True, TypeError)])
def test_invalid_budgets_raise(tokens: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="MaxTokens"):
        sk.MaxTokens(tokens)


CLOSING = {"string": b'"', "array": b"]", "object": b"}", "number": b",]}) \n", "literal": b""}


@pytest.mark.parametrize(
    "text", ['{"a": [1, "x", {"b": 23}, []], "c": tru', '[["ab", 12', '{"k": {"l": {"m": "x', "-4"]
)
def test_a_value_at_its_budget_allows_what_closes_it(text: str) -> None:
    """A string in it is closed first, and a token of its closing bytes alone does not start another item."""
    extra = [b'"]', b"],", b'"}]', b'"x', b"]]", b", 1", b"}}", b"2]"]
    vocabulary = sk.Vocabulary([*(bytes([byte]) for byte in range(256)), *extra], eos_token_ids=[300])
    guide = sk.compile({}, vocabulary, cache=False)
    data, rng = text.encode(), Random(1)
    whole = np.full(vocabulary.mask_words, 0xFFFFFFFF, np.uint32)
    for length in range(1, len(data) + 1):
        reader = JsonReader()
        reader.read(data[:length])
        for exhausted in [None, *reader.open_fields]:
            path = None if exhausted is None else exhausted.path
            used = 0 if exhausted is None else length - exhausted.start
            for limit in (used, used + 1):
                budgets = FieldBudgets(
                    guide, lambda at, path=path, limit=limit: limit if at == path else None, JsonReader()
                )
                mask = whole.copy()
                if rng.random() < 0.3:
                    mask[0x5D >> 5] &= ~np.uint32(1 << (0x5D & 31))  # `]` is forbidden
                before = mask.copy()
                budgets.restrict(mask, bytearray(data[:length]), [*data[:length]])
                inner = reader.open_fields[-1] if reader.open_fields else None
                if exhausted is None or inner is None or limit != used:
                    assert (mask == before).all()
                    continue
                kind = "string" if inner.kind == "string" else exhausted.kind
                expected = {
                    token
                    for token, each in enumerate(vocabulary.tokens)
                    if each[:1]
                    and each[:1] in CLOSING[kind]
                    and before[token >> 5] >> (token & 31) & 1
                    and (exhausted is inner or not each.strip(b'"]}'))
                }
                found = set(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist())
                assert found == expected if expected else (mask == before).all()
