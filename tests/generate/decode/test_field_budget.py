"""A part of a value that has had its tokens is brought to its end."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary, small_vocabulary

SMALL, BYTES = small_vocabulary(), byte_vocabulary()


class Note(BaseModel):
    title: Annotated[str, sk.MaxTokens(5)]
    body: str
    tags: Annotated[list[str], sk.MaxTokens(8)] = Field(default=[])
    code: Annotated[str, sk.MaxTokens(3), Field(min_length=20, max_length=30)] = ""


def test_a_string_is_closed_after_its_tokens() -> None:
    text = '{"title": "abcdefgh", "body": "", "tags": [], "code": ""}'
    assert sk.extract(ScriptedModel([text], BYTES), "x", Note).title == "abcd"
    text = '{"title": "abc", "body": "abcdefgh", "tags": [], "code": "aaaaaaaaaaaaaaaaaaaaaaaaa"}'
    note = sk.extract(ScriptedModel([text], BYTES), "x", Note)
    assert (note.title, note.body) == ("abc", "abcdefgh")
    assert note.code == 20 * "a"  # what the type asks for comes first


@pytest.mark.parametrize("seed", range(20))
def test_a_random_model_keeps_to_them_about(seed: int) -> None:
    result = sk.generate(RandomModel(seed, SMALL), "x", Note, temperature=1.0, seed=seed, max_tokens=300)
    spelled = len(small_tokens(result, "title"))
    assert spelled <= 5 + 8  # an escape or a character of several bytes is finished first
    assert Note.model_validate_json(result.text) == result.value


def small_tokens(result: sk.Result[Note], name: str) -> list[sk.Token]:
    """The tokens that write a part of the value of a field."""
    start = result.text.encode().index(f'"{name}": '.encode()) + len(name) + 4
    value = result.value.model_dump_json(include={name}).split(":", 1)[1][:-1]
    found, at = [], 0
    for token in result.events:
        if at + len(token.text) > start and at < start + len(value.encode()):
            found.append(token)
        at += len(token.text)
    return found


def test_lists_are_closed_too() -> None:
    target = Annotated[list[int], sk.MaxTokens(6)]
    assert sk.extract(ScriptedModel(["[1, 2, 3, 4, 5]"], BYTES), "x", target) == [
        1,
        2,
        3,
    ]  # after a comma there is an item


def test_schemas_say_it_with_a_keyword() -> None:
    schema = {"type": "string", "x-structkit-maxTokens": 4}
    assert sk.extract(ScriptedModel(['"abcdefgh"'], BYTES), "x", schema) == "abc"


@pytest.mark.parametrize(("tokens", "error"), [(0, ValueError), ("3", TypeError), (True, TypeError)])
def test_what_cannot_be_meant(tokens: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="MaxTokens"):
        sk.MaxTokens(tokens)
