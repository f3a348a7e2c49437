"""Example values: valid, varied sentences of the language, equal for equal seeds."""

from __future__ import annotations

import json
import math
import random
import re
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field, TypeAdapter

import structkit as sk
from structkit.testing.proof.language import Language
from structkit.testing.proof.random_source import SeededSource
from structkit.testing.proof.sample import texts_and_values
from tests.zoo import ZOO

PROBABLE = random.Random("some of the zoo").sample(sorted(ZOO), 12)


class Line(BaseModel):
    title: str
    quantity: Annotated[int, Field(ge=1, le=100)]


class Order(BaseModel):
    customer: str
    lines: list[Line]
    note: str | None = None
    status: Literal["open", "paid"] = "open"
    total: float


class Tree(BaseModel):
    children: list[Tree] = []


@pytest.mark.parametrize("name", PROBABLE)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_sentences_are_valid_and_depend_only_on_the_seed(name: str) -> None:
    specimen = ZOO[name]
    language = Language.compile(specimen.target)
    texts = [language.sentence(SeededSource(f"{seed}")) for seed in range(12)]
    for text in texts:
        assert language.contains(text)
        if not specimen.checked:
            specimen.adapter.validate_json(text)
    again = Language.compile(specimen.target)
    assert [again.sentence(SeededSource(f"{seed}")) for seed in reversed(range(12))][::-1] == texts


def test_the_first_of_several_equals_the_single_value() -> None:
    assert sk.sample(Order, seed=3, n=4)[0] == sk.sample(Order, seed=3)
    assert sk.sample(Order, seed=3, n=4)[:2] == sk.sample(Order, seed=3, n=2)
    assert sk.sample(Order, seed=3) != sk.sample(Order, seed=4)
    assert sk.sample(Order, n=0) == []


def test_values_vary() -> None:
    orders = sk.sample(Order, n=200)
    assert {order.status for order in orders} == {"open", "paid"}
    assert any(order.note is None for order in orders)
    assert any(order.note for order in orders)
    counts = {len(order.lines) for order in orders}
    assert 0 in counts
    assert max(counts) > 5
    quantities = {line.quantity for order in orders for line in order.lines}
    assert {1, 100} <= quantities  # the bounds
    names = [order.customer for order in orders]
    assert sum(bool(re.fullmatch("[A-Za-z ]+", name)) for name in names) > 50
    assert any(not name.isascii() for name in names)
    assert any(set(name) & set('"\\\n') for name in names)
    assert "" in names


def test_numbers_are_of_all_magnitudes() -> None:
    for kind in (int, float):
        numbers: list[float] = [value for value in sk.sample(kind, n=1000) if value]  # type: ignore[misc]
        magnitudes = {int(math.log10(abs(value))) for value in numbers}
        assert len(magnitudes) >= 14
        assert any(value < 0 for value in numbers)


def test_optional_fields_are_present_and_absent() -> None:
    texts = [json.dumps(value) for value in sk.sample(TypedOptions, n=100)]
    seen = [frozenset(json.loads(text)) for text in texts]
    assert frozenset() in seen
    assert frozenset("abcdefgh") in seen
    assert len(set(seen)) >= 15


TypedOptions: dict[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "boolean"} for name in "abcdefgh"},
    "additionalProperties": False,
}


def test_names_of_an_object_are_distinct() -> None:
    language = Language.compile({"type": "object"})
    for seed in range(200):
        pairs = json.loads(language.sentence(SeededSource(f"{seed}")), object_pairs_hook=lambda pairs: pairs)
        assert len({name for name, _ in pairs}) == len(pairs)


def test_recursive_and_unconstrained_values_end() -> None:
    for target in (Tree, {}, {"type": "array"}, list[Any]):
        language = Language.compile(target)
        lengths = [len(language.sentence(SeededSource(f"{seed}")).encode()) for seed in range(100)]
        assert max(lengths) < 3_000


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (sk.Regex("a|b{3}"), {"a", "bbb"}),
        (sk.Choice(["x", "y"]), {"x", "y"}),
        (sk.Choice([1, "1"]), {1, "1"}),
    ],
    ids=["regex", "texts", "values"],
)
def test_targets_that_are_not_types(target: Any, expected: set[object]) -> None:
    assert set(sk.sample(target, n=30)) == expected


@pytest.mark.parametrize(
    "constraints",
    [
        {},
        {"lt": 1},
        {"gt": 0, "decimal_places": 2},
        {"ge": 10**16},
        {"multiple_of": Decimal("0.25")},
        {"max_digits": 15, "decimal_places": 4},
    ],
    ids=str,
)
def test_a_decimal_keeps_its_written_digits(constraints: dict[str, Any]) -> None:
    language = Language.compile(Annotated[Decimal, Field(**constraints)])
    for text, value in texts_and_values(language, 0, 200):
        assert value == Decimal(text.strip('"'))
    numbers = (f"{9:9<{before}}.{9:9<{behind}}" for before in (1, 8, 15, 17) for behind in (1, 7, 15, 17))
    for text in numbers:
        if language.contains(text):
            assert language.target.parse(text) == Decimal(text)


def test_options_are_passed_to_the_language() -> None:
    assert {"note" in json.loads(text) for text in _texts(Order)} == {True}
    assert {"note" in json.loads(text) for text in _texts(Order, defaults="may_omit")} == {True, False}
    first = {next(iter(json.loads(text))) for text in _texts(Order, order="any")}
    assert len(first) > 2


def _texts(target: Any, **options: Any) -> list[str]:
    language = Language.compile(target, **options)
    return [language.sentence(SeededSource(f"{seed}")) for seed in range(50)]


def test_rejected_values_are_sampled_again() -> None:
    def even(value: int) -> int:
        if value % 2:
            raise ValueError("odd")
        return value

    assert all(value % 2 == 0 for value in sk.sample(Annotated[int, AfterValidator(even)], n=20))


def test_validators_that_reject_everything_raise() -> None:
    def never(value: int) -> int:
        raise ValueError("no")

    with pytest.raises(sk.OutputValidationError, match="reject each of 200") as caught:
        sk.sample(Annotated[int, AfterValidator(never)])
    assert len(caught.value.attempts) == 200


def test_long_values_are_written_and_excessive_ones_rejected() -> None:
    assert len(sk.sample(Annotated[str, Field(min_length=5_000)])) >= 5_000
    with pytest.raises(sk.GenerationError, match="at most 200000"):
        sk.sample(Annotated[str, Field(min_length=1_000_000)])


def test_invalid_arguments() -> None:
    with pytest.raises(ValueError, match="n must be at least 0, not"):
        sk.sample(int, n=-1)
    with pytest.raises(sk.UnsatisfiableSchema):
        sk.sample({"type": "integer", "minimum": 2, "maximum": 1})


def test_a_type_adapter_is_a_target() -> None:
    assert isinstance(sk.sample(TypeAdapter(int)), int)  # type: ignore[call-overload]


def test_samples_follow_the_options_of_the_call() -> None:
    class Optional(BaseModel):
        a: int | None = None

    language = Language.compile(Optional, null="omit", whitespace="compact")
    texts = {text for text, _ in texts_and_values(language, 0, 40)}
    assert "{}" in texts
    assert not any("null" in text or " " in text for text in texts)
