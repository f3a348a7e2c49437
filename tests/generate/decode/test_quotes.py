from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, Json, field_validator

import structkit as sk
from structkit.generate.input.guide_cache import GuideCache
from structkit.generate.input.options import CompileSettings
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary

Name = Annotated[str, sk.Quote()]
TEXT = 'Ana "Nina" Souza, 34,\nworks as a nurse in Porto\\Gaia. Ana likes 東京.'


class Person(BaseModel):
    name: Name
    job: Name | None = None
    words: list[Annotated[str, sk.Quote(words=False), Field(max_length=6)]] = []


def test_quotes_come_back_with_their_places() -> None:
    answer = '{"name": "Ana \\"Nina\\" Souza", "job": "nurse", "words": ["34,\\nwo", "a", "Gaia"]}'
    result = sk.generate(ScriptedModel([answer]), TEXT, Person)
    assert result.value.name == 'Ana "Nina" Souza'
    assert result.spans == {
        "name": (0, 16), "job": (33, 38), "words[0]": (18, 24), "words[1]": (2, 3), "words[2]": (48, 52),
    }  # fmt: skip
    assert all(TEXT[span.start : span.end] for span in result.spans.values())
    assert TEXT[slice(*result.spans["job"])] == "nurse"


def test_nothing_else_can_be_written() -> None:
    # What the script wants and the source does not hold is not followed.
    for wanted in ("Bob", "na", "Souz", "Ana ", "", "Ana Souza"):
        value = sk.extract(ScriptedModel([json.dumps(wanted)]), TEXT, Name)
        assert value != wanted and value in TEXT


@pytest.mark.parametrize(
    "source", [TEXT, "x", "\x00\t\x1f", "e\u0301a ab", "東京に行く", "😀😀 a", "a\ud800b", "aa aa aa"]
)
@pytest.mark.parametrize("budget", [14, 60])
def test_random_values_are_parts_of_the_source(source: str, budget: int) -> None:
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


def test_the_source_of_messages_is_what_the_user_said() -> None:
    messages = [
        {"role": "system", "content": "Bob"},
        {"role": "user", "content": "Ana is here."},
        {"role": "assistant", "content": "Clara?"},
        {"role": "user", "content": "No, Marta."},
    ]
    result = sk.generate(ScriptedModel(['"Marta"']), messages, Name)
    assert (result.value, result.spans["$"]) == ("Marta", (18, 23))
    assert "Ana is here.\n\nNo, Marta."[18:23] == "Marta"
    for wanted in ("Bob", "Clara"):
        assert sk.extract(ScriptedModel([json.dumps(wanted)]), messages, Name) != wanted


def test_other_sources() -> None:
    own = Annotated[str, sk.Quote("red green")]
    result = sk.generate(ScriptedModel(['["green", "Ana"]']), "blue", tuple[own, Name], source="Ana")
    assert (result.value, result.spans) == (("green", "Ana"), {"[0]": (4, 9), "[1]": (0, 3)})
    assert sk.extract(ScriptedModel(['"green"']), "", own) == "green"


def test_a_quote_beside_another_string() -> None:
    result = sk.generate(ScriptedModel(['"Ana"', "7"]), "Bob", int | Name)
    assert result.spans == {"$": (0, 3)} and result.value == "Bob" if result.value != 7 else not result.spans


def test_every_function_takes_quotes() -> None:
    prompts = ["Ana is 34.", "Bob is 5."]
    assert sk.extract_many(ScriptedModel(['"Ana"', '"Bob"']), prompts, Name) == ["Ana", "Bob"]
    results = sk.generate_many(ScriptedModel(['"Ana"', '"Bob"']), prompts, Name, source="Bob, Ana")
    assert [result.spans["$"] for result in results] == [(5, 8), (0, 3)]
    *_, last = sk.stream(ScriptedModel(['"Ana"']), prompts[0], Name)
    assert last.result.spans == {"$": (0, 3)}
    guide = sk.compile(Name, byte_vocabulary(), source="Ana")
    assert guide.cursor().forced_bytes() == b'"Ana"'
    assert sk.explain(Name, source="Ana").cost is not None


def test_a_batch_compiles_for_each_prompt_and_keeps_one_guide() -> None:
    guides = GuideCache(max_entries=4)
    first = guides.get(Name, byte_vocabulary(), CompileSettings(), "Ana")
    assert guides.get(Name, byte_vocabulary(), CompileSettings(), "Ana").guide is first.guide
    second = guides.get(Name, byte_vocabulary(), CompileSettings(), "Bob")
    assert second.guide is not first.guide and second.target is first.target
    # A target without quotes has one guide, whatever the prompt.
    plain = guides.get(int, byte_vocabulary(), CompileSettings(), "Ana").guide
    assert guides.get(int, byte_vocabulary(), CompileSettings(), "Bob").guide is plain


def test_one_prompt_without_quotes_does_not_lose_the_others() -> None:
    found = sk.extract_many(ScriptedModel(['"Ana"', '"Bob"']), ["Ana.", " "], Name, return_exceptions=True)
    assert found[0] == "Ana" and isinstance(found[1], sk.UnsatisfiableSchema)


def test_a_refused_quote_is_written_anew() -> None:
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


def test_what_is_absent_is_null() -> None:
    assert sk.extract(ScriptedModel(['"x"']), "   ", Name | None) is None
    with pytest.raises(sk.UnsatisfiableSchema, match=r"the source of the quote is empty at `\$.name`"):
        sk.extract(ScriptedModel([""]), "", Person)


def test_without_a_source_it_is_refused() -> None:
    for call in (
        lambda: sk.compile(Person, byte_vocabulary()),
        lambda: sk.explain(Person),
    ):
        with pytest.raises(sk.SchemaError, match=r"the quote has no source.* at `\$.name`"):
            call()
    with pytest.raises(sk.SchemaError, match="cannot be printed as a regex"):
        sk.to_regex(Person)


def test_mistakes_are_told() -> None:
    for wrong in (Annotated[int, sk.Quote()], Annotated[str | None, sk.Quote()]):
        with pytest.raises(sk.SchemaError, match="Quote applies only to strings"):
            sk.extract(ScriptedModel([]), "x", wrong)
    with pytest.raises(TypeError, match="source as a text"):
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


def test_a_json_schema_may_ask_for_quotes() -> None:
    schema = {"type": "array", "items": {"type": "string", "x-structkit-quote": {"words": False}}}
    result = sk.generate(ScriptedModel(['["na", "34"]']), "Ana is 34.", schema)
    assert (result.value, result.spans) == (["na", "34"], {"[0]": (1, 3), "[1]": (7, 9)})


def test_the_prompt_says_it() -> None:
    asked = sk.render_prompt(ScriptedModel([]), "Ana", Person)
    assert '"name": string (copied from the text)' in asked


def test_a_long_source(tmp_path: Any) -> None:
    source = " ".join(f"word{i * i % 9973} of {i}" for i in range(6_000))
    result = sk.generate(ScriptedModel(['"word25 of 5"']), "x", Name, source=source)
    assert result.value == "word25 of 5" and source[slice(*result.spans["$"])] == "word25 of 5"


def test_keys_are_quotes_of_the_prompt() -> None:
    value = sk.extract(ScriptedModel(['{"Ana": 34, "Porto": 1}']), "Ana, 34, of Porto", dict[Name, int])
    assert value == {"Ana": 34, "Porto": 1}
    other = sk.generate(ScriptedModel(['{"Bob": 34}']), "Ana, 34, of Porto", dict[Name, int])
    assert all(key in "Ana, 34, of Porto" for key in other.value)


def test_keys_may_be_quotes_or_something_else() -> None:
    word = Annotated[str, sk.Quote()]
    found = sk.extract(RandomModel(seed=1), "The quick fox", dict[word | Literal["total"], int])  # type: ignore[valid-type]
    assert all(key == "total" or key in "The quick fox" for key in found)
