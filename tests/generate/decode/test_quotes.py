"""Fields with `Quote`: substrings of a source, and their spans."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, Json, field_validator

import structkit as sk
from structkit.generate.input.guide_cache import GuideCache
from structkit.generate.input.settings import CompileSettings
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary

Name = Annotated[str, sk.Quote()]
TEXT = 'Ana "Nina" Souza, 34,\nworks as a nurse in Porto\\Gaia. Ana likes 東京.'


class Person(BaseModel):
    name: Name
    job: Name | None = None
    words: list[Annotated[str, sk.Quote(words=False), Field(max_length=6)]] = []


def test_the_result_has_the_spans_of_quotes() -> None:
    answer = '{"name": "Ana \\"Nina\\" Souza", "job": "nurse", "words": ["34,\\nwo", "a", "Gaia"]}'
    result = sk.generate(ScriptedModel([answer]), TEXT, Person)
    assert result.value.name == 'Ana "Nina" Souza'
    assert result.spans == {
        "name": (0, 16), "job": (33, 38), "words[0]": (18, 24), "words[1]": (2, 3), "words[2]": (48, 52),
    }  # fmt: skip
    assert all(TEXT[span.start : span.end] for span in result.spans.values())
    assert TEXT[slice(*result.spans["job"])] == "nurse"


def test_a_value_that_is_no_string_has_no_span() -> None:
    result = sk.generate(ScriptedModel(['{"name": "Ana", "job": null, "words": []}']), TEXT, Person)
    assert result.spans == {"name": (0, 3)}
    assert sk.generate(ScriptedModel(["[34]"]), TEXT, list[Name | int]).spans == {}


def test_only_quotes_of_the_source_can_be_generated() -> None:
    # The script prefers texts that are not quotes of the source.
    for preferred in ("Bob", "na", "Souz", "Ana ", "", "Ana Souza"):
        value = sk.extract(ScriptedModel([json.dumps(preferred)], strict=False), TEXT, Name)
        assert value != preferred and value in TEXT


@pytest.mark.parametrize(
    "source", [TEXT, "x", "\x00\t\x1f", "e\u0301a ab", "東京に行く", "😀😀 a", "a\ud800b", "aa aa aa"]
)
@pytest.mark.parametrize("budget", [14, 60])
def test_random_values_are_substrings_of_the_source(source: str, budget: int) -> None:
    model = RandomModel(seed=3)
    for seed in range(8):
        result = sk.generate(
            model, "x", tuple[Name, Annotated[str, sk.Quote(words=False)]], source=source, temperature=1.0, seed=seed,
            max_tokens=budget,
        )  # fmt: skip
        for path, quote in zip(("[0]", "[1]"), result.value, strict=True):
            start, end = result.spans[path]
            assert source[start:end] == quote


def test_lengths_patterns_sets_and_keys() -> None:
    model = RandomModel(seed=1)
    year = Annotated[str, sk.Quote(), Field(pattern=r"^\d{4}$")]
    short = Annotated[str, sk.Quote(), Field(min_length=4, max_length=9)]
    source = "Ana wrote 12 books in 1984, 1990 and 2001. She lives in Porto Alegre."
    for seed in range(6):
        options: Any = {"temperature": 1.0, "seed": seed, "max_tokens": 150, "source": source}
        assert sk.extract(model, "x", year, **options) in {"1984", "1990", "2001"}
        value = sk.extract(model, "x", short, **options)
        assert 4 <= len(value) <= 9 and value in source
        assert sk.extract(model, "x", set[year], **options) <= {"1984", "1990", "2001"}
        assert sk.extract(model, "x", dict[year, int], **options).keys() <= {"1984", "1990", "2001"}


def test_the_source_of_messages_is_the_text_of_the_user() -> None:
    messages = [
        {"role": "system", "content": "Bob"},
        {"role": "user", "content": "Ana is here."},
        {"role": "assistant", "content": "Clara?"},
        {"role": "user", "content": "No, Marta."},
    ]
    result = sk.generate(ScriptedModel(['"Marta"']), messages, Name)
    assert (result.value, result.spans["$"]) == ("Marta", (18, 23))
    assert "Ana is here.\n\nNo, Marta."[18:23] == "Marta"
    for preferred in ("Bob", "Clara"):
        assert sk.extract(ScriptedModel([json.dumps(preferred)], strict=False), messages, Name) != preferred


def test_a_call_and_a_field_can_set_the_source() -> None:
    own = Annotated[str, sk.Quote("red green")]
    result = sk.generate(ScriptedModel(['["green", "Ana"]']), "blue", tuple[own, Name], source="Ana")
    assert (result.value, result.spans) == (("green", "Ana"), {"[0]": (4, 9), "[1]": (0, 3)})
    assert sk.extract(ScriptedModel(['"green"']), "", own) == "green"


def test_a_quote_beside_another_string() -> None:
    result = sk.generate(ScriptedModel(['"Ana"', "7"], strict=False), "Bob", int | Name)
    assert result.spans == {"$": (0, 3)} and result.value == "Bob" if result.value != 7 else not result.spans


def test_every_function_supports_quotes() -> None:
    prompts = ["Ana is 34.", "Bob is 5."]
    assert sk.extract_many(ScriptedModel(['"Ana"', '"Bob"']), prompts, Name) == ["Ana", "Bob"]
    results = sk.generate_many(ScriptedModel(['"Ana"', '"Bob"']), prompts, Name, source="Bob, Ana")
    assert [result.spans["$"] for result in results] == [(5, 8), (0, 3)]
    *_, last = sk.stream(ScriptedModel(['"Ana"']), prompts[0], Name)
    assert last.result.spans == {"$": (0, 3)}
    guide = sk.compile(Name, byte_vocabulary(), source="Ana")
    assert guide.cursor().forced_bytes() == b'"Ana"'
    assert sk.explain(Name, source="Ana").cost is not None


def test_the_cache_has_one_guide_per_target_with_quotes() -> None:
    guides = GuideCache(max_entries=4)
    first = guides.get(Name, byte_vocabulary(), CompileSettings(), "Ana")
    assert guides.get(Name, byte_vocabulary(), CompileSettings(), "Ana").guide is first.guide
    second = guides.get(Name, byte_vocabulary(), CompileSettings(), "Bob")
    assert second.guide is not first.guide and second.target is first.target
    # A target without quotes has one guide, whatever the prompt.
    plain = guides.get(int, byte_vocabulary(), CompileSettings(), "Ana").guide
    assert guides.get(int, byte_vocabulary(), CompileSettings(), "Bob").guide is plain


def test_a_prompt_without_words_fails_alone() -> None:
    values = sk.extract_many(ScriptedModel(['"Ana"', '"Bob"']), ["Ana.", " "], Name, return_exceptions=True)
    assert values[0] == "Ana" and isinstance(values[1], sk.UnsatisfiableSchema)


def test_a_rejected_quote_is_generated_again() -> None:
    class Someone(BaseModel):
        name: Name

        @field_validator("name")
        @classmethod
        def not_ana(cls, name: str) -> str:
            if name == "Ana":
                raise ValueError("not Ana")
            return name

    result = sk.generate(ScriptedModel(['{"name": "Ana"}', '{"name": "Bob"}']), "Ana or Bob", Someone)
    assert result.attempts == ('{"name": "Ana"}', '{"name": "Bob"}')
    assert result.spans == {"name": (7, 10)}
    assert sk.extract(sk.load(), "Ana or Bob", Someone).name in "Ana or Bob"


def test_an_empty_source_has_no_quotes() -> None:
    assert sk.extract(ScriptedModel(['"x"'], strict=False), "   ", Name | None) is None
    with pytest.raises(sk.UnsatisfiableSchema, match=r"at `\$.name`:\n.*the source of the quote is empty"):
        sk.extract(ScriptedModel([""]), "", Person)


def test_a_quote_without_a_source_raises() -> None:
    for call in (
        lambda: sk.compile(Person, byte_vocabulary()),
        lambda: sk.explain(Person),
    ):
        with pytest.raises(sk.SchemaError, match=r"at `\$.name`:\n  the quote has no source.*"):
            call()
    with pytest.raises(sk.SchemaError, match="cannot be printed as a regex"):
        sk.to_regex(Person)


def test_invalid_quotes_raise() -> None:
    for wrong in (Annotated[int, sk.Quote()], Annotated[str | None, sk.Quote()]):
        with pytest.raises(sk.SchemaError, match="Quote applies only to strings"):
            sk.extract(ScriptedModel([]), "x", wrong)
    with pytest.raises(TypeError, match="source must be a string"):
        sk.Quote(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="words must be"):
        sk.Quote(words=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="source"):
        sk.extract(ScriptedModel([]), "x", Name, source=3)  # type: ignore[arg-type]
    with pytest.raises(sk.UnsupportedKeyword, match="JSON"):
        sk.extract(ScriptedModel([]), "x", Json[Name])
    with pytest.raises(sk.UnsupportedKeyword, match="a quote cannot have a format"):
        sk.extract(ScriptedModel([]), "x", {"type": "string", "format": "date", "x-structkit-quote": True})
    with pytest.raises(sk.SchemaError, match="x-structkit-quote must be true, or an object"):
        sk.extract(ScriptedModel([]), "x", {"type": "string", "x-structkit-quote": {"word": 3}})


def test_a_json_schema_has_a_keyword_for_quotes() -> None:
    schema = {"type": "array", "items": {"type": "string", "x-structkit-quote": {"words": False}}}
    result = sk.generate(ScriptedModel(['["na", "34"]']), "Ana is 34.", schema)
    assert (result.value, result.spans) == (["na", "34"], {"[0]": (1, 3), "[1]": (7, 9)})


def test_the_description_mentions_quotes() -> None:
    prompt = sk.render_prompt(ScriptedModel([]), "Ana", Person)
    assert '"name": string (copied from the text)' in prompt


def test_a_long_source(tmp_path: Any) -> None:
    source = " ".join(f"word{i * i % 9973} of {i}" for i in range(6_000))
    result = sk.generate(ScriptedModel(['"word25 of 5"']), "x", Name, source=source)
    assert result.value == "word25 of 5" and source[slice(*result.spans["$"])] == "word25 of 5"


def test_keys_can_be_quotes() -> None:
    value = sk.extract(ScriptedModel(['{"Ana": 34, "Porto": 1}']), "Ana, 34, of Porto", dict[Name, int])
    assert value == {"Ana": 34, "Porto": 1}
    other = sk.generate(ScriptedModel(['{"Bob": 34}'], strict=False), "Ana, 34, of Porto", dict[Name, int])
    assert all(key in "Ana, 34, of Porto" for key in other.value)


def test_keys_can_be_quotes_or_a_literal() -> None:
    word = Annotated[str, sk.Quote()]
    value = sk.extract(RandomModel(seed=1), "The quick fox", dict[word | Literal["total"], int])  # type: ignore[valid-type]
    assert all(key == "total" or key in "The quick fox" for key in value)


@pytest.mark.parametrize(("key", "is_allowed"), [("Bob", True), ("Ana", False), ("Eve", False)])
def test_keys_that_are_quotes_are_none_of_the_declared_ones(key: str, is_allowed: bool) -> None:
    class Counts(BaseModel):
        model_config = ConfigDict(extra="allow")
        __pydantic_extra__: dict[Annotated[str, sk.Quote()], int]
        Ana: int = 0

    text = f'{{"Ana": 3, "{key}": 4}}'
    with nullcontext() if is_allowed else pytest.raises(sk.StructkitError, match="does not allow"):
        result = sk.generate(ScriptedModel([text]), "Ana has 3, Bob has 4", Counts)
        assert result.value.model_dump() == {"Ana": 3, "Bob": 4}
