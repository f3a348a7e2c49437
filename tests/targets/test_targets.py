"""Targets: choices, patterns, names, descriptions and cache keys."""

from __future__ import annotations

import enum
import re
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.regex.print import format_regex
from structkit.targets.fingerprint import cache_key
from structkit.targets.specs import Choice, Regex
from structkit.targets.targets import read_target
from structkit.testing import byte_vocabulary


class Letter(str, enum.Enum):
    A = "a"
    B = "b"


class Person(BaseModel):
    name: str


Age = Annotated[int, Field(ge=0)]


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        (["yes", "no"], ["yes", "no"]),
        (["", " "], ["", " "]),
        (["é\n", '"quoted"'], ["é\n", '"quoted"']),
        ([1, 2.5, -1e100], ["1", "2.5", "-1e+100"]),
        ([True, 1, "1", None], ["true", "1", '"1"', "null"]),
        ([[1, 2], {"a": [True]}], ["[1, 2]", '{"a": [true]}']),
        (["é", 1], ['"é"', "1"]),
        (list(Letter), ["a", "b"]),
    ],
)
def test_choice_returns_the_option_of_each_text(options: list[Any], texts: list[str]) -> None:
    target = read_target(Choice(options))
    pattern = re.compile(format_regex(target.rules()))
    for option, text in zip(options, texts, strict=True):
        assert pattern.fullmatch(text)
        assert target.parse(text) is option or target.parse(text) == option


def test_options_can_be_compact_json() -> None:
    target = read_target(Choice([[1, 2], {"a": 1}]))
    assert format_regex(target.rules(whitespace="compact")) == r'\[1,2\]|\{"a":1\}'
    assert target.parse('{"a":1}') == {"a": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "at least one"),
        ("yes", "list of options"),
        (["a", "b", "a"], r"(?s)at `options\[2\]`:\n  .*occurs twice"),
        ([1, 1], "occurs twice"),
        ([1, object()], r"(?s)at `options\[1\]`:\n  .*JSON value"),
        ([1, float("nan")], "JSON value"),
        (["\ud800"], "surrogate"),
        ([1, "\ud800"], "surrogate"),
    ],
)
def test_invalid_options_are_rejected(options: list[Any], message: str) -> None:
    with pytest.raises(sk.SchemaError, match=message):
        Choice(options)


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        ("[a-z]+", "Regex("),
        (["a", "b"], "Choice("),
        ({"a", "b"}, "Choice("),
        (3, "pass a type"),
        (True, "pass a type"),
        (b"x", "pass a type"),
        (object(), "object"),
        (lambda: 1, "a lambda has no name"),
        (print, "any number of arguments"),
    ],
)
def test_invalid_targets_are_rejected_with_a_hint(target: Any, hint: str) -> None:
    with pytest.raises(sk.SchemaError, match=re.escape(hint)):
        read_target(target)


def test_flags_that_are_no_part_of_the_pattern_have_a_remedy() -> None:
    for call in (lambda: sk.Regex("a", re.I), lambda: sk.Regex("a", flags=re.I)):  # type: ignore
        with pytest.raises(TypeError, match=r"write Regex\(re.compile\(pattern, flags\)\)"):
            call()


def test_a_compiled_pattern_has_its_flags_and_one_of_bytes_is_rejected() -> None:
    assert Regex(re.compile("a", re.IGNORECASE)) == Regex("(?i)a")
    with pytest.raises(TypeError, match="pattern"):
        Regex(re.compile(b"a"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("target", "name", "description"),
    [
        (Person, "Person", 'JSON of this type:\nPerson = {"name": string}'),
        (Regex(r"\d+"), r"Regex('\\d+')", r"text matching /\d+/"),
        (Choice(["a", "b"]), "Choice of 2", "one of: a, b"),
        (Choice(["a, b", "c"]), "Choice of 2", 'one of: "a, b", "c"'),
        (Choice([1, "x"]), "Choice of 2", 'one of: 1, "x"'),
        ({"type": "integer", "title": "Age"}, "Age", "JSON of this type:\nAge = integer"),
        ({"type": "boolean"}, "JSON Schema", "JSON of this type:\nboolean"),
    ],
)
def test_targets_have_names_and_descriptions(target: Any, name: str, description: str) -> None:
    parsed = read_target(target)
    assert (parsed.name, parsed.description()) == (name, description)


@pytest.mark.parametrize("target", [Person, Regex("a|b"), Choice(["a", 1]), {"type": "integer"}, int | None])
def test_the_json_schema_of_a_target_is_a_target(target: Any) -> None:
    assert format_regex(read_target(read_target(target).json_schema()).rules())


def test_a_parsed_target_is_returned_unchanged() -> None:
    parsed = read_target(Person)
    assert read_target(parsed) is parsed


def _local_person() -> type[BaseModel]:
    class Local(BaseModel):
        name: str

    return Local


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (int | str, str | int),
        (Literal[1], Literal[True]),
        (Choice([1, 2]), Choice([True, 2])),
        (Choice(["1"]), Choice([1])),
        (Choice(["a"]), Regex("a")),
        (_local_person(), _local_person()),
        ({"enum": [1]}, {"enum": [True]}),
        ({"properties": {"1": {}}}, {"properties": {1: {}}}),
        ({"properties": {"a": {}, "b": {}}}, {"properties": {"b": {}, "a": {}}}),
        (Annotated[int, Field(ge=1)], Annotated[int, Field(ge=2)]),
        (list[_local_person()], list[_local_person()]),
    ],
)
def test_different_targets_have_different_keys(one: Any, other: Any) -> None:
    assert cache_key(one) is not None
    assert cache_key(one) != cache_key(other)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Person | None,
        lambda: list[Person],
        lambda: Regex("a"),
        lambda: Choice(["a", [1]]),
        lambda: {"type": "integer"},
        lambda: Age,
    ],
)
def test_equal_targets_have_equal_keys(make: Any) -> None:
    assert cache_key(make()) == cache_key(make())


@pytest.mark.parametrize("target", [{"a": object()}, Annotated[int, {}], [1]])
def test_targets_without_a_hash_have_no_key(target: Any) -> None:
    assert cache_key(target) is None


@pytest.mark.parametrize("digits", [0, -1, 4301, 10**9])
def test_the_digits_of_an_integer_are_limited(digits: int) -> None:
    with pytest.raises(ValueError, match="integer_digits must be from 1 to 4300"):
        sk.Limits(integer_digits=digits)
    longest = sk.compile(int, byte_vocabulary(), limits=sk.Limits(integer_digits=4300)).cursor()
    for digit in b"1" * 4300:
        longest.advance(digit)
    assert longest.is_finished
