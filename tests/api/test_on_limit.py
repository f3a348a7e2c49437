"""A limit that is reached before the value is complete: `on_limit` says whether that is an error."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel
from typing_extensions import TypeAliasType

import structkit as sk
from structkit.testing import RandomModel, ScriptedModel


class Person(BaseModel):
    name: str
    age: int


ANA = '{"name": "Ana Souza de Almeida", "age": 34}'
START = '{"name": "Ana S'


def scripted() -> sk.testing.ScriptedModel:
    return ScriptedModel([ANA], strict=False)


@pytest.mark.parametrize("size", [12, 16, 20])
def test_raise_has_what_the_model_wrote_until_the_limit(size: int) -> None:
    with pytest.raises(sk.BudgetExceeded, match="max_tokens=") as raised:
        sk.extract(scripted(), "x", Person, max_tokens=size, on_limit="raise")
    error = raised.value
    assert (error.limit, error.place) == ("max_tokens", "name")
    assert ANA.startswith(error.text) and len(error.text) > len('{"name": "')
    assert isinstance(error.trace, sk.Trace) and error.trace.error == "BudgetExceeded"
    # By default the same limit gives a complete value.
    assert sk.generate(scripted(), "x", Person, max_tokens=size).finish_reason == "budget"


def test_a_value_that_fits_is_no_error() -> None:
    result = sk.generate(scripted(), "x", Person, max_tokens=40, on_limit="raise")
    assert (result.text, result.finish_reason) == (ANA, "stop")


@pytest.mark.parametrize("seed", range(6))
def test_no_result_has_the_finish_reason_budget(seed: int) -> None:
    """Whatever the limit: either the answer is an error, or it is the one without a limit."""
    target = list[Annotated[str, sk.MaxTokens(4)] | int]
    options: dict[str, Any] = {"seed": seed, "temperature": 1.0}
    for size in range(2, 40, 6):
        kept = sk.generate(RandomModel(seed), "x", target, max_tokens=size, **options)
        try:
            result = sk.generate(RandomModel(seed), "x", target, max_tokens=size, on_limit="raise", **options)
        except sk.BudgetExceeded:
            assert kept.finish_reason == "budget"
        else:
            assert (result.text, result.finish_reason) == (kept.text, "stop")


def test_a_timeout_is_named() -> None:
    with pytest.raises(sk.BudgetExceeded, match="timeout=0 has passed") as raised:
        sk.extract(scripted(), "x", Person, timeout=0, on_limit="raise")
    assert raised.value.limit == "timeout"


def test_a_full_context_is_named() -> None:
    model = sk.load()
    prompt = "word " * ((model.context_length - 8) // len(model.encode("word ")))
    with pytest.raises(sk.BudgetExceeded, match="shorten the prompt") as raised:
        sk.extract(model, prompt, list[str], include_schema=False, on_limit="raise")
    assert raised.value.limit == "context"


def test_a_depth_that_pydantic_does_not_read_is_named() -> None:
    nested: Any = TypeAliasType("nested", "list[nested]")
    model = ScriptedModel(["[" * 300 + "]" * 300], strict=False)
    with pytest.raises(sk.BudgetExceeded, match="190 levels are open") as raised:
        sk.extract(model, "x", nested, max_tokens=900, on_limit="raise")
    assert (raised.value.limit, raised.value.text) == ("depth", "[" * 190)


def test_a_limit_is_not_hidden_by_an_earlier_rejection() -> None:
    def refuse(value: str) -> str:
        if value == "no":
            raise ValueError("say more")
        return value

    model = ScriptedModel(['"no"', '"a longer answer than fits"'], strict=False)
    with pytest.raises(sk.BudgetExceeded):
        sk.extract(model, "x", Annotated[str, AfterValidator(refuse)], max_tokens=8, on_limit="raise")


def test_in_a_batch_only_the_long_answer_is_an_error() -> None:
    model = ScriptedModel(['"Ana Souza de Almeida"', '"Al"'], strict=False)
    first, second = sk.extract_many(
        model, ["a", "b"], str, max_tokens=6, on_limit="raise", return_exceptions=True
    )
    assert isinstance(first, sk.BudgetExceeded) and second == "Al"
    with pytest.raises(sk.BudgetExceeded, match=r"prompts\[0\]"):
        sk.extract_many(ScriptedModel(['"Ana Souza de Almeida"', '"Al"'], strict=False), ["a", "b"], str,
                        max_tokens=6, on_limit="raise")  # fmt: skip


def test_a_stored_value_that_a_limit_changed_is_generated_again(tmp_path: Path) -> None:
    path, prompts = tmp_path / "results.jsonl", ["a", "b"]
    replies = ['"Ana Souza de Almeida"', '"Al"']
    kept = sk.extract_many(
        ScriptedModel(replies, strict=False), prompts, str, max_tokens=6, results_file=path
    )
    assert kept[1] == "Al" and replies[0].startswith(f'"{kept[0]}'[:4])
    with pytest.raises(sk.BudgetExceeded):
        sk.extract_many(
            ScriptedModel(replies[:1], strict=False),
            prompts,
            str,
            max_tokens=6,
            results_file=path,
            on_limit="raise",
        )
    again = sk.extract_many(ScriptedModel(replies[:1]), prompts, str, results_file=path, on_limit="raise")
    assert again == ["Ana Souza de Almeida", "Al"]
    # The last line of a prompt counts.
    assert sk.extract_many(ScriptedModel([]), prompts, str, results_file=path, on_limit="raise") == again


def test_a_stream_ends_with_the_error() -> None:
    stream = sk.stream(scripted(), "x", Person, max_tokens=20, on_limit="raise")
    with pytest.raises(sk.BudgetExceeded) as raised:
        list(stream)
    assert raised.value.text.startswith(stream.text)
    assert stream.partial == Person.model_construct(name=raised.value.text.removeprefix('{"name": "'))


def test_async_functions_raise_too() -> None:
    async def run() -> None:
        with pytest.raises(sk.BudgetExceeded):
            await sk.aextract(scripted(), "x", Person, max_tokens=20, on_limit="raise")
        with pytest.raises(sk.BudgetExceeded):
            await sk.agenerate(scripted(), "x", Person, max_tokens=20, on_limit="raise")
        with pytest.raises(sk.BudgetExceeded):
            await sk.aextract_many(scripted(), ["x"], Person, max_tokens=20, on_limit="raise")
        with pytest.raises(sk.BudgetExceeded):
            await sk.astream(scripted(), "x", Person, max_tokens=20, on_limit="raise").result()

    asyncio.run(run())


@pytest.mark.parametrize("size", [32, 36])
def test_a_text_model_counts_bytes(size: int) -> None:
    model = sk.from_function(lambda text: ANA, name="a model")
    with pytest.raises(sk.BudgetExceeded) as raised:
        sk.extract(model, "x", Person, max_tokens=size, on_limit="raise")
    error = raised.value
    assert (error.limit, error.place) == ("max_tokens", "name") and ANA.startswith(error.text)
    assert isinstance(error.trace, sk.Trace) and len(error.trace.drafts) == 1
    assert sk.extract(model, "x", Person, max_tokens=len(ANA), on_limit="raise").age == 34


def test_the_context_of_a_text_model_is_named() -> None:
    model = sk.from_function(lambda text: ANA, name="a model", context_length=150)
    with pytest.raises(sk.BudgetExceeded, match="shorten the prompt") as raised:
        sk.extract(model, "x" * 110, Person, include_schema=False, on_limit="raise")
    assert raised.value.limit == "context"


def test_faithful_sampling_gives_no_weight_to_a_value_that_the_limit_changed() -> None:
    options: dict[str, Any] = {"sampling": "faithful", "particles": 8, "seed": 1, "max_tokens": 4}
    assert sk.generate(sk.load(), "Ana", list[str], **options).finish_reason == "budget"
    with pytest.raises(sk.BudgetExceeded):
        sk.generate(sk.load(), "Ana", list[str], on_limit="raise", **options)
    free = sk.generate(sk.load(), "Ana", list[str], on_limit="raise", **{**options, "max_tokens": 30})
    assert free.finish_reason == "stop"


def test_extract_without_it_says_how_to_get_an_error(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "structkit"):
        sk.extract(scripted(), "x", Person, max_tokens=20)
    assert 'on_limit="raise"' in caplog.text


def test_wrong_values_are_refused() -> None:
    wrong: Any = "error"
    with pytest.raises(ValueError, match="on_limit must be 'answer' or 'raise', not 'error'"):
        sk.extract(scripted(), "x", Person, on_limit=wrong)
    with pytest.raises(ValueError, match="use one of them"):
        sk.extract(scripted(), "x", Person, on_limit="raise", finish="shortest")
