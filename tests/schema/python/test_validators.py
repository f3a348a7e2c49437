"""The validators of the parts of a type: each reads its part as the type does."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any, Generic, TypeVar

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    RootModel,
    TypeAdapter,
    ValidationInfo,
)
from pydantic_core import PydanticCustomError, PydanticKnownError
from typing_extensions import TypedDict

from structkit.schema.python.judge import Judge
from structkit.schema.python.validators import PartValidator, own_functions


class Tree(BaseModel):
    day: date
    children: list[Tree] = []


class Renamed(BaseModel):
    model_config = ConfigDict(str_to_upper=True)
    inner: str = Field(alias="outer")
    more: dict[str, list[str]] = {}


@dataclasses.dataclass
class Point:
    x: int
    day: date | None = None


class Typed(TypedDict):
    at: date
    points: list[Point]


class Dates(RootModel[dict[str, date]]):
    pass


T = TypeVar("T")


class Box(BaseModel, Generic[T]):
    content: T


DAY = "2000-01-02"
CASES: list[tuple[Any, object]] = [
    (list[date], [DAY, DAY]),
    (dict[str, date], {"a": DAY}),
    (tuple[int, date], [1, DAY]),
    (tuple[date, ...], [DAY, DAY]),
    (Tree, {"day": DAY, "children": [{"day": DAY, "children": [{"day": DAY}]}]}),
    (list[Tree], [{"day": DAY}]),
    (Renamed, {"outer": "a", "more": {"B": ["c"]}}),
    (Point, {"x": 1, "day": DAY}),
    (Typed, {"at": DAY, "points": [{"x": 3, "day": DAY}]}),
    (Dates, {"a": DAY}),
    (Annotated[list[date], AfterValidator(sorted)], [DAY]),
    (list[date] | None, [DAY]),
    (Box[list[date]], {"content": [DAY]}),
]


def _parts(given: object, value: object) -> Iterator[tuple[str | int, object, object]]:
    """Yield the steps into a JSON value, the parts there, and those of the Python value."""
    if isinstance(value, RootModel):
        value = value.root
    if isinstance(given, list):
        for index, part in enumerate(given):
            yield index, part, value[index]  # type: ignore[index]
    if isinstance(given, dict):
        for key, part in given.items():
            name = {"outer": "inner"}.get(key, key)
            yield key, part, value[key] if isinstance(value, dict) else getattr(value, name)


def _check(validator: PartValidator, given: object, value: object) -> int:
    assert validator.validate(json.dumps(given)) == value
    count = 1
    for step, part, expected in _parts(given, value):
        child = validator.child(step)
        assert child is not None and child is validator.child(step), step
        count += _check(child, part, expected)
    return count


@pytest.mark.parametrize(("target", "given"), CASES, ids=str)
def test_a_part_is_read_as_the_type_reads_it(target: Any, given: object) -> None:
    adapter = TypeAdapter(target)
    assert _check(PartValidator.of(adapter), given, adapter.validate_python(given)) > 1


@pytest.mark.parametrize(
    ("target", "step"),
    [
        (tuple[int, date], 2), (list[int], "a"), (Point, "y"), (Typed, 0), (int, 0), (int | list[int], 0),
        (Renamed, "inner"), (Tree, "other"),
    ],
)  # fmt: skip
def test_a_part_that_the_type_does_not_determine_has_no_validator(target: Any, step: str | int) -> None:
    assert PartValidator.of(TypeAdapter(target)).child(step) is None


def test_an_object_is_built_with_some_of_its_fields() -> None:
    for target, given, expected in (
        (Renamed, {"outer": "x", "other": 1}, {"inner": "x"}),
        (Tree, {"children": []}, {"children": []}),
    ):
        found = PartValidator.of(TypeAdapter(target)).build_partial(given)
        assert isinstance(found, target) and vars(found) == expected == {
            name: value for name, value in vars(found).items() if name in found.model_fields_set
        }
    assert PartValidator.of(TypeAdapter(Point)).build_partial({"x": 1}) == {"x": 1}
    assert PartValidator.of(TypeAdapter(dict[str, int])).build_partial({"a": 1}) == {"a": 1}
    dates = PartValidator.of(TypeAdapter(Dates)).build_partial({"a": 1})
    assert isinstance(dates, Dates) and dates.root == {"a": 1}  # type: ignore[comparison-overlap]


def test_the_context_reaches_the_validators_of_parts() -> None:
    def add(value: int, info: ValidationInfo) -> int:
        return value + (info.context or 0)

    part = PartValidator.of(TypeAdapter(list[Annotated[int, AfterValidator(add)]]))
    child, other = part.child(0), part.with_context(5).child(0)
    assert child is not None and other is not None
    assert (child.validate("1"), other.validate("1")) == (1, 6)


def test_a_validator_that_needs_the_rest_of_the_value_leaves_json() -> None:
    def fail(value: date, info: ValidationInfo) -> date:
        return info.data["missing"] or value

    part = PartValidator.of(TypeAdapter(Annotated[date, AfterValidator(fail)]))
    assert part.validate(f'"{DAY}"') == DAY
    with pytest.raises(ValueError, match="date"):
        part.validate('"x"')


def test_a_refusal_says_whether_a_validator_of_the_user_refuses() -> None:
    def custom(value: int) -> int:
        raise PydanticCustomError("my_own", "never")

    def known(value: int) -> int:
        raise PydanticKnownError("greater_than", {"gt": 5})

    def plain(value: int) -> int:
        raise ValueError("no")

    def broken(value: int) -> int:
        raise RuntimeError("bug")

    found = {
        function.__name__: Judge(Annotated[int, AfterValidator(function)]).refusal("3")
        for function in (custom, known, plain, broken)
    }
    assert {
        name: None if each is None else (each.place, each.by_validator) for name, each in found.items()
    } == {
        "custom": ("$", True),
        "known": ("$", False),
        "plain": ("$", True),
        "broken": ("$", False),
    }
    wrong = Judge(dict[str, list[Annotated[int, AfterValidator(custom)]]]).refusal('{"a": [1, 2]}')
    assert wrong is not None and (wrong.place, wrong.by_validator) == ("$.a[0]", True)
    parsed = Judge(Annotated[list[int], PlainValidator(custom)]).refusal('"x"')
    assert parsed is not None and parsed.by_validator
    typed = Judge(Annotated[int, AfterValidator(custom)]).refusal('"x"')
    assert typed is not None and not typed.by_validator


def test_the_methods_that_make_an_object_are_named() -> None:
    @dataclasses.dataclass
    class Point:
        x: int

        def __post_init__(self) -> None:
            self.x += 1

    class Plain(BaseModel):
        x: int

        def model_post_init(self, context: Any, /) -> None:
            self.x += 1

    class Made(BaseModel):
        x: int

        def __init__(self, **given: Any) -> None:
            super().__init__(**given)

    for kind, method in (
        (Point, "Point.__post_init__"),
        (Plain, "Plain.model_post_init"),
        (Made, "Made.__init__"),
    ):
        (found,) = own_functions(TypeAdapter(kind).core_schema)
        assert found.path == "$" and method in found.reason, found
    assert not [*own_functions(TypeAdapter(dataclasses.make_dataclass("P", [("x", int)])).core_schema)]
