"""A value of which the model is not sure becomes null, where the target allows it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, field_validator, model_validator

import structkit as sk
from structkit.testing import RandomModel, small_vocabulary

SMALL = small_vocabulary()
OPTIONS: dict[str, Any] = {"include_schema": False, "max_tokens": 60}


class Person(BaseModel):
    name: str = Field(max_length=8)
    age: int | None
    jobs: list[int | None] = Field(max_length=3)


@pytest.mark.long(every=5)
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
    with pytest.raises(sk.OutputValidationError, match="does not allow these values to be absent together"):
        sk.generate(RandomModel(seeds[0], SMALL), "x", schema, abstain=1.0, **OPTIONS)


_ENTRY = {
    "type": "object",
    "properties": {name: {"type": "integer", "minimum": 0, "maximum": 99} for name in "abcd"},
    "required": ["c"],
    "additionalProperties": False,
}
_ENTRIES = {"type": "array", "items": _ENTRY, "minItems": 1, "maxItems": 2}
_OPTIONAL: dict[str, Any] = {
    "type": "object",
    "properties": {"entries": _ENTRIES, "note": {"enum": ["x", "y"]}, "size": {"type": ["integer", "null"]}},
    "required": ["entries"],
    "additionalProperties": False,
}


@pytest.mark.long(every=3)
@pytest.mark.parametrize("whitespace", ["spaced", "compact"])
@pytest.mark.parametrize("bound", [0.02, 0.1, 0.3, 1.0])
def test_an_unsure_member_that_is_not_required_is_left_out(whitespace: Any, bound: float) -> None:
    options: dict[str, Any] = {**OPTIONS, "max_tokens": 160, "whitespace": whitespace}
    for seed in range(10):
        plain = sk.generate(RandomModel(seed, SMALL), "x", _OPTIONAL, **options)
        result = sk.generate(RandomModel(seed, SMALL), "x", _OPTIONAL, abstain=bound, **options)

        def is_sure(path: str, confidence: Mapping[str, sk.Confidence] = plain.confidence) -> bool:
            return math.exp(confidence[path].unmasked_logprob) >= bound

        said, unsure = json.loads(plain.text), []
        for at, entry in enumerate(said["entries"]):
            gone = [name for name in entry if name != "c" and not is_sure(f"entries[{at}].{name}")]
            unsure += [f"entries[{at}].{entry_name}" for entry_name in gone]
            for name in gone:
                del entry[name]
        if "note" in said and not is_sure("note"):
            del said["note"]
            unsure.append("note")
        if said.get("size") is not None and not is_sure("size"):
            said["size"] = None
            unsure.append("size")
        assert json.loads(result.text) == result.value == said
        assert sorted(result.abstained) == sorted(unsure)


def test_a_field_with_a_default_is_left_out_where_it_may_be_omitted() -> None:
    class Order(BaseModel):
        product: str = Field(max_length=4)
        count: int = 1

    for seed in range(8):
        result = sk.generate(
            RandomModel(seed, SMALL), "x", Order, abstain=1.0, defaults="may_omit", **OPTIONS
        )
        assert result.value.count == 1
        assert json.loads(result.text) == {"product": result.value.product}
        kept = sk.generate(RandomModel(seed, SMALL), "x", Order, abstain=1.0, **OPTIONS)
        assert kept.abstained == ()
        assert "count" in json.loads(kept.text)


def test_an_unsure_entry_of_a_dict_is_left_out() -> None:
    for seed in range(4):
        result = sk.generate(RandomModel(seed, SMALL), "x", dict[str, int], abstain=1.0, **OPTIONS)
        assert result.value == {}
        assert len(result.abstained) == len(json.loads(result.attempts[0]))


def test_an_object_that_needs_one_of_its_members_is_an_error() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "additionalProperties": False,
        "minProperties": 1,
    }
    with pytest.raises(sk.OutputValidationError, match="does not allow these values to be absent together"):
        sk.generate(RandomModel(1, SMALL), "x", schema, abstain=1.0, **OPTIONS)


def test_a_quote_that_becomes_null_has_no_span() -> None:
    class Named(BaseModel):
        name: Annotated[str, sk.Quote()] | None

    found = 0
    for seed in range(8):
        plain = sk.generate(RandomModel(seed, SMALL), "Ana is 3", Named, **OPTIONS)
        result = sk.generate(RandomModel(seed, SMALL), "Ana is 3", Named, abstain=1.0, **OPTIONS)
        assert result.value.name is None
        assert result.spans == {}
        found += "name" in plain.spans
    assert found


def test_a_repaired_value_that_becomes_null_is_no_repair() -> None:
    class Grown(BaseModel):
        age: int | None

        @field_validator("age")
        @classmethod
        def grown(cls, age: int | None) -> int | None:
            if age is not None and age < 40:
                raise ValueError("too young")
            return age

    options: dict[str, Any] = {**OPTIONS, "retries": 20}
    seeds = [
        seed for seed in range(12) if sk.generate(RandomModel(seed, SMALL), "x", Grown, **options).repaired
    ]
    assert seeds
    for seed in seeds:
        result = sk.generate(
            RandomModel(seed, SMALL), "x", Grown, abstain=1.0, min_repair_probability=0.9, **options
        )
        assert result.value.age is None
        assert result.repaired == ()
