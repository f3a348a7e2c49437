from __future__ import annotations

import asyncio
import json
import pickle
import subprocess
import sys
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, TypeAdapter, model_validator

import structkit as sk
from structkit.generate.decode.budget import DEFAULT_MAX_TOKENS
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary


class Person(BaseModel):
    name: str
    age: int
    job: str | None = None


class Span(BaseModel):
    low: int
    high: int

    @model_validator(mode="after")
    def ordered(self) -> Span:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


ANA = '{"name": "Ana", "age": 34, "job": null}'
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
TARGETS: list[Any] = [
    Person,
    list[bool],
    int | None,
    Literal["a", "b"],
    sk.Regex("[ab]{1,4}"),
    sk.Choice([1, "x"]),
    SCHEMA,
]


def test_import_is_lightweight() -> None:
    heavy = ["numba", "numpy", "pydantic", "torch", "transformers"]
    code = f"import structkit, sys; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_public_names_are_sorted_and_importable() -> None:
    assert sk.__all__ == sorted(sk.__all__)
    for name in sk.__all__:
        assert getattr(sk, name) is not None
        assert name in dir(sk)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sk.nothing


def test_every_error_is_public() -> None:
    from structkit import errors

    assert set(errors.__all__) <= set(sk.__all__)


@pytest.mark.long
def test_functions_are_not_replaced_by_modules_of_the_same_name() -> None:
    code = "import structkit as sk; from structkit.compile import compile; import structkit.generate.decode.decode"
    code += "; print(callable(sk.compile), callable(sk.generate))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True True\n"
    )


@pytest.mark.parametrize(
    ("target", "reply", "value"),
    [
        (Person, ANA, Person(name="Ana", age=34)),
        (Person, '{"name":"Ana","age":34,"job":null}', Person(name="Ana", age=34)),
        (list[Person], f"[{ANA}]", [Person(name="Ana", age=34)]),
        (Person | None, "null", None),
        (None, "null", None),
        (tuple[int, str], '[1, "a"]', (1, "a")),
        (Literal["a", 1], "1", 1),
        (sk.Regex(r"\d{3}"), "123", "123"),
        (sk.Choice(["yes", "no"]), "no", "no"),
        (sk.Choice([[1], 2]), "[1]", [1]),
        (SCHEMA, '{"a": 3}', {"a": 3}),
    ],
)
def test_extract_returns_a_value_of_the_target(target: Any, reply: str, value: object) -> None:
    assert sk.extract(ScriptedModel([reply]), "Go.", target) == value


def test_result_has_text_reason_and_usage() -> None:
    model = ScriptedModel([ANA], byte_vocabulary())
    result = sk.generate(model, "Ana is 34.", Person)
    assert result.text == ANA
    assert result.attempts == (ANA,)
    assert bytes(result.token_ids).decode() == ANA
    assert result.finish_reason == "stop"
    usage = result.usage
    assert usage.prompt_tokens == len(model.prompts[0])
    assert usage.generated_tokens == len(ANA)
    assert 0 < usage.forced_tokens < usage.generated_tokens
    assert usage.mask_seconds > 0
    assert usage.model_seconds > 0
    assert repr(result).startswith("Result(value=Person(name='Ana', age=34, job=None), finish_reason='stop'")
    with pytest.raises(AttributeError):
        result.value = 3


def test_a_second_call_reuses_the_compiled_guide() -> None:
    class Fresh(BaseModel):
        a: int

    model = ScriptedModel(['{"a": 1}'] * 2)
    first, second = (sk.generate(model, "x", Fresh).usage.compile_seconds for _ in range(2))
    assert first > 0
    assert second == 0


def test_whitespace_and_defaults() -> None:
    model = ScriptedModel([ANA, ANA, '{"name": "Ana", "age": 1}', '{"name": "Ana", "age": 1}'], strict=False)
    assert sk.generate(model, "x", Person).text == ANA
    assert sk.generate(model, "x", Person, whitespace="compact").text == '{"name":"Ana","age":34,"job":null}'
    assert sk.generate(model, "x", Person, defaults="may_omit").text == '{"name": "Ana", "age": 1}'
    assert "job" in sk.generate(model, "x", Person).text


def test_the_prompt_ends_with_the_description() -> None:
    model = ScriptedModel([ANA] * 3)
    described = 'Ana\n\nAnswer with JSON of this type:\nPerson = {"name": string, "age": integer, "job": string | null}'
    sk.extract(model, "Ana", Person)
    sk.extract(model, "Ana", Person, include_schema=False)
    sk.extract(model, [{"role": "user", "content": "Ana"}], Person, system="Be brief.")
    assert model.prompts == [described, "Ana", f"system: Be brief.\nuser: {described}"]
    assert sk.render_prompt(model, "Ana", Person) == described
    assert sk.render_prompt(model, "Ana", Person, include_schema=False) == "Ana"
    assert len(model.prompts) == 3


def test_the_budget_is_the_context_or_a_thousand_tokens() -> None:
    endless = ["x" * 5000]
    result = sk.generate(ScriptedModel(['"' + endless[0]], byte_vocabulary(), strict=False), "x", str)
    assert (result.usage.generated_tokens, result.finish_reason) == (DEFAULT_MAX_TOKENS, "budget")
    model = ScriptedModel(['"' + endless[0]], byte_vocabulary(), context_length=60, strict=False)
    result = sk.generate(model, "x", str, include_schema=False)
    assert (result.usage.generated_tokens, result.finish_reason) == (59, "budget")
    long = sk.Regex("a{2000,}")
    result = sk.generate(ScriptedModel(["a" * 3000], byte_vocabulary(), strict=False), "x", long)
    assert (result.usage.generated_tokens, result.finish_reason) == (2000, "budget")


def test_a_budget_below_the_shortest_value_is_rejected_before_the_model_runs() -> None:
    model = ScriptedModel([ANA], byte_vocabulary())
    with pytest.raises(sk.BudgetTooSmall) as caught:
        sk.extract(model, "x", Person, max_tokens=10)
    assert (caught.value.needed, caught.value.budget) == (len('{"name": "", "age": 0, "job": ""}'), 10)
    with pytest.raises(sk.BudgetTooSmall):
        sk.extract(ScriptedModel([], byte_vocabulary(), context_length=20), "x", Person, include_schema=False)
    with pytest.raises(sk.GenerationError, match="tokens too long"):
        sk.extract(ScriptedModel([], byte_vocabulary(), context_length=20), "x" * 30, Person)


def test_a_validation_error_is_reported_with_the_text() -> None:
    text = '{"low": 3, "high": 1}'
    with pytest.raises(sk.OutputValidationError, match="low is above high") as caught:
        sk.extract(ScriptedModel([text]), "x", Span)
    assert (caught.value.text, caught.value.attempts) == (text, (text,))
    assert type(caught.value.error).__name__ == "ValidationError"


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("Person", sk.SchemaError),
        ({"type": "string", "pattern": "("}, sk.PatternError),
        (sk.Regex(r"(a+)\1"), sk.PatternError),
        ({"type": "integer", "minimum": 3, "maximum": 2}, sk.UnsatisfiableSchema),
        ({"$ref": "#/$defs/x"}, sk.UnresolvedReference),
        ({"type": "array", "not": {"uniqueItems": True}}, sk.UnsupportedKeyword),
    ],
)
def test_invalid_arguments_are_rejected_before_the_model_runs(target: Any, error: type[Exception]) -> None:
    model = ScriptedModel([])
    with pytest.raises(error):
        sk.extract(model, "x", target)
    assert model.prompts == []


def test_a_vocabulary_that_cannot_spell_the_target() -> None:
    with pytest.raises(sk.VocabularyError):
        sk.extract(ScriptedModel([], sk.Vocabulary([b"a"], eos_token_ids=[1])), "a", bool)


def test_wrong_arguments_raise_type_errors() -> None:
    with pytest.raises(TypeError, match=r"extract\(\) has no argument 'max_token'"):
        sk.extract(ScriptedModel([]), "x", int, max_token=3)
    with pytest.raises(ValueError, match="top_p"):
        sk.generate(ScriptedModel([]), "x", int, top_p=3)
    with pytest.raises(TypeError, match="role"):
        sk.extract(ScriptedModel([]), 3, int)
    with pytest.raises(TypeError, match=r"vocabulary must be a Vocabulary, not <.*; write model\.vocabulary"):
        sk.compile(int, ScriptedModel([]))


def test_results_and_errors_can_be_pickled() -> None:
    result = sk.generate(ScriptedModel([ANA]), "x", Person)
    assert pickle.loads(pickle.dumps(result)) == result


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(TARGETS), st.integers(0, 1000), st.integers(1, 60), st.booleans(), st.floats(0, 2))
def test_seeds_repeat_and_async_is_sync(
    target: Any, seed: int, budget: int, forced: bool, temperature: float
) -> None:
    def run(asynchronous: bool) -> tuple[object, ...]:
        options: dict[str, Any] = {
            "max_tokens": budget,
            "seed": seed,
            "temperature": temperature,
            "fast_forward": forced,
        }
        model = RandomModel(seed, brevity=2.0)
        try:
            if asynchronous:
                result = asyncio.run(sk.agenerate(model, "x", target, **options))
            else:
                result = sk.generate(model, "x", target, **options)
        except sk.BudgetTooSmall as error:
            return error.needed, error.budget
        assert result.usage.generated_tokens == len(result.token_ids) <= budget
        if not isinstance(target, (sk.Regex, sk.Choice)):
            json.loads(result.text)
        return result.value, result.text, result.token_ids, result.finish_reason

    assert run(False) == run(False) == run(True)


@pytest.mark.parametrize("target", TARGETS)
def test_different_seeds_write_different_texts(target: Any) -> None:
    texts = {
        sk.generate(RandomModel(1), "x", target, seed=seed, temperature=3.0, max_tokens=60).text
        for seed in range(8)
    }
    assert len(texts) > 1


def test_validators_that_change_the_value() -> None:
    shouted = Annotated[str, AfterValidator(str.upper)]
    result = sk.generate(ScriptedModel(['"abc"']), "x", shouted)
    assert (result.value, result.text) == ("ABC", '"abc"')
    assert TypeAdapter(shouted).validate_json(result.text) == result.value


def test_explain_takes_no_prompt() -> None:
    with pytest.raises(TypeError, match=r"the model is a string, 'Ana is 34\.'"):
        sk.explain(int, "Ana is 34.")  # type: ignore[arg-type]
