"""A value of which the model is not sure becomes null, where the target allows it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from pydantic import BaseModel, Field, model_validator

import structkit as sk
from structkit.testing import RandomModel, small_vocabulary

SMALL = small_vocabulary()
OPTIONS: dict[str, Any] = {"include_schema": False, "max_tokens": 60}


class Person(BaseModel):
    name: str = Field(max_length=8)
    age: int | None
    jobs: list[int | None] = Field(max_length=3)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("bound", [0.001, 0.2, 1.0])
def test_exactly_the_unsure_nullable_values_become_null(seed: int, bound: float) -> None:
    plain = sk.generate(RandomModel(seed, SMALL), "x", Person, **OPTIONS)
    result = sk.generate(RandomModel(seed, SMALL), "x", Person, abstain=bound, **OPTIONS)
    said = json.loads(plain.text)
    values = {"age": said["age"]} | {f"jobs[{at}]": job for at, job in enumerate(said["jobs"])}
    unsure = [
        path
        for path, value in values.items()
        if value is not None and math.exp(plain.confidence[path].unmasked_logprob) < bound
    ]
    assert list(result.abstained) == unsure
    expected = said | {
        "age": None if "age" in unsure else said["age"],
        "jobs": [None if f"jobs[{at}]" in unsure else job for at, job in enumerate(said["jobs"])],
    }
    assert json.loads(result.text) == result.value.model_dump() == expected
    assert result.token_ids == plain.token_ids
    assert result.attempts == ((plain.text, result.text) if unsure else (plain.text,))


def test_the_complete_value_can_be_null() -> None:
    first = sk.generate(RandomModel(1, SMALL), "x", int | None, **OPTIONS)
    result = sk.generate(RandomModel(1, SMALL), "x", int | None, abstain=1.0, **OPTIONS)
    assert result.value is None
    assert result.abstained == (("$",) if first.value is not None else ())


def test_a_validator_that_refuses_null_is_an_error() -> None:
    class Either(BaseModel):
        age: int | None
        year: int | None

        @model_validator(mode="after")
        def one(self) -> Either:
            if self.age is None and self.year is None:
                raise ValueError("give the age or the year")
            return self

    with pytest.raises(sk.OutputValidationError, match="give the age or the year\n  lower abstain") as caught:
        sk.generate(RandomModel(2, SMALL), "x", Either, abstain=1.0, retries=9, **OPTIONS)
    assert caught.value.text == '{"age": null, "year": null}'
    assert caught.value.attempts[-1] == caught.value.text


def test_nulls_that_the_target_does_not_allow_together_are_an_error() -> None:
    def fields(a: str, b: str) -> dict[str, object]:
        return {
            "type": "object",
            "properties": {"a": {"type": a}, "b": {"type": b}},
            "required": ["a", "b"],
            "additionalProperties": False,
        }

    integers = fields("integer", "integer")
    schema = {"anyOf": [fields("integer", "null"), fields("null", "integer"), integers]}
    seeds = [
        seed
        for seed in range(12)
        if None not in sk.extract(RandomModel(seed, SMALL), "x", schema, **OPTIONS).values()  # type: ignore[call-overload]
    ]
    assert seeds
    with pytest.raises(sk.OutputValidationError, match="does not allow these values to be null together"):
        sk.generate(RandomModel(seeds[0], SMALL), "x", schema, abstain=1.0, **OPTIONS)
