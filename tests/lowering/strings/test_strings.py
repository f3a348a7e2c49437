"""Strings that quote a source, that are texts of a grammar, or that contain JSON."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, Json

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import UnsatisfiableSchema, UnsupportedKeyword
from structkit.targets.targets import read_target

SOURCE = 'Ana, 5 "x" Bob\n'


def _accepts(target: Any, *texts: str) -> list[bool]:
    reader = Reader(link(read_target(target).rules()))
    return [reader.accepts(text.encode()) for text in texts]


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize(("least", "most"), [(0, None), (1, 3), (2, 2)])
def test_a_quote_is_a_part_of_its_source(words: bool, least: int, most: int | None) -> None:
    target = Annotated[str, sk.Quote(source=SOURCE, words=words), Field(min_length=least, max_length=most)]
    parts = {SOURCE[start:end] for start, end in combinations(range(len(SOURCE) + 1), 2)}
    texts = sorted(parts | {"b", "Anb", "5x", "  "})
    if words:
        texts = [text for text in texts if text[0].isalnum() and text[-1].isalnum()]

    def is_whole(text: str) -> bool:
        places = [place for place in range(len(SOURCE)) if SOURCE.startswith(text, place)]
        return any(
            not (SOURCE[place - 1 : place].isalnum() and text[0].isalnum())
            and not (SOURCE[place + len(text) :][:1].isalnum() and text[-1].isalnum())
            for place in places
        )

    expected = [
        text in parts and least <= len(text) <= (most or 99) and (not words or is_whole(text))
        for text in texts
    ]
    assert _accepts(target, *(json.dumps(text) for text in texts)) == expected


def test_a_quote_of_nothing_is_no_value() -> None:
    for source, message in [
        ("", "the source of the quote is empty or blank"),
        (" \n", "the source of the quote is empty or blank"),
        ("ab", "at least 3"),
    ]:
        with pytest.raises(UnsatisfiableSchema, match=message) as raised:
            link(read_target(Annotated[str, sk.Quote(source=source), Field(min_length=3)]).rules())
        assert raised.value.place == "$"


def test_keys_that_are_quotes_are_none_of_the_others() -> None:
    schema = {
        "type": "object",
        "properties": {"Ana": {"type": "null"}},
        "required": [],
        "additionalProperties": False,
        "patternProperties": {"^[A-Z]": {"type": "integer"}},
    }
    assert _accepts(schema, '{"Ana": null}', '{"Ana": 1}', '{"Bob": 1}', '{"bob": 1}') == [
        False,
        False,
        True,
        False,
    ]


GRAMMAR = 'start: "a" ("\\"" | "é")+'


def test_a_text_of_a_grammar_is_escaped_in_its_string() -> None:
    target = Annotated[str, sk.Grammar(GRAMMAR)]
    texts = ['a"', "aé", 'aé"é', "a", "b", "aée"]
    expected = [True, True, True, False, False, False]
    assert _accepts(target, *(json.dumps(text, ensure_ascii=False) for text in texts)) == expected
    assert _accepts(list[target], '["aé", "a\\""]', '["aé", "a"]') == [True, False]
    with pytest.raises(UnsupportedKeyword, match="a text of a grammar cannot have other") as raised:
        read_target(dict[str, Annotated[target, Field(max_length=3)]]).rules()
    assert raised.value.keyword == "x-structkit-grammar" and raised.value.place is not None


def test_json_in_a_string_is_escaped_at_each_level() -> None:
    inner = ['["é", "\\\\"]', "[]", '["a", 1]', '["a"', '{"a": 1}']
    expected = [True, True, False, False, False]
    for target in (Json[list[str]], Json[Json[list[str]]], Json[Json[Json[list[str]]]]):
        inner = [json.dumps(text, ensure_ascii=False) for text in inner]
        assert _accepts(target, *inner) == expected, target
    assert _accepts(list[Json[dict[str, int]]], json.dumps(['{"a": 1}', "{}"]), json.dumps(["{1}"])) == [
        True,
        False,
    ]


def test_json_in_a_string_is_nested_four_levels_at_most() -> None:
    target: Any = list[int]
    for _ in range(4):
        target = Json[target]
    assert _accepts(target, json.dumps(json.dumps(json.dumps(json.dumps("[1]"))))) == [True]
    with pytest.raises(UnsupportedKeyword, match="JSON in strings is nested at most 4 levels deep"):
        read_target(list[Json[Tree]]).rules()


class Tree(BaseModel):
    inside: Json[Tree] | None
