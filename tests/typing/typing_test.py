"""What type checkers infer: checked by mypy and pyright in `scripts/check`, never run.

An ignored error must be one: both checkers report comments that ignore nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, Field
from typing_extensions import TypedDict, assert_type

import structkit as sk

T = TypeVar("T")
Priority = Literal["low", "high"]


class Person(BaseModel):
    name: str
    age: int


class Page(BaseModel, Generic[T]):
    items: list[T]


@dataclass
class Point:
    x: int


class Row(TypedDict):
    id: int


class Color(Enum):
    RED = "red"


def classes(model: sk.testing.ScriptedModel) -> None:
    assert_type(sk.extract(model, "x", Person), Person)
    assert_type(sk.extract(model, "x", Point), Point)
    assert_type(sk.extract(model, "x", Row), Row)
    assert_type(sk.extract(model, "x", Color), Color)
    assert_type(sk.extract(model, "x", int), int)
    assert_type(sk.extract(model, "x", None), None)


def special_forms(model: sk.testing.ScriptedModel) -> None:
    assert_type(sk.extract(model, "x", list[Person]), list[Person])
    assert_type(sk.extract(model, "x", dict[str, int]), dict[str, int])
    assert_type(sk.extract(model, "x", tuple[int, str]), tuple[int, str])
    assert_type(sk.extract(model, "x", Page[Person]), Page[Person])
    assert_type(sk.extract(model, "x", Person | None), Person | None)
    assert_type(sk.extract(model, "x", int | str), int | str)
    assert_type(sk.extract(model, "x", Literal["low", "high"]), Literal["low", "high"])
    assert_type(sk.extract(model, "x", Priority), Priority)
    assert_type(sk.extract(model, "x", Annotated[int, Field(ge=0)]), int)
    assert_type(sk.extract(model, "x", list[Annotated[int, Field(ge=0)]]), list[int])


def targets_that_are_no_types(model: sk.testing.ScriptedModel) -> None:
    assert_type(sk.extract(model, "x", sk.Regex(r"\d+")), str)
    assert_type(sk.extract(model, "x", sk.Choice(["yes", "no"])), str)
    assert_type(sk.extract(model, "x", sk.Choice([1, 2, 3])), int)
    assert_type(sk.extract(model, "x", {"type": "integer"}), object)


def weather(city: str, days: int = 1) -> list[str]:
    return [city] * days


async def lookup(name: str) -> Person:
    return Person(name=name, age=0)


class Shop:
    def price(self, item: str) -> float:
        return float(len(item))


async def functions(model: sk.testing.ScriptedModel) -> None:
    assert_type(sk.extract(model, "x", weather), sk.Call[list[str]])
    assert_type(sk.extract(model, "x", lookup), sk.Call[Person])
    assert_type(sk.extract(model, "x", Shop().price), sk.Call[float])
    assert_type(sk.generate(model, "x", weather), sk.Result[sk.Call[list[str]]])
    assert_type(await sk.aextract(model, "x", lookup), sk.Call[Person])
    assert_type(sk.extract(model, "x", weather).run(), list[str])
    assert_type(await sk.extract(model, "x", lookup).arun(), Person)


def results(model: sk.testing.RandomModel) -> None:
    result = sk.generate(model, [{"role": "user", "content": "x"}], list[Person], max_tokens=20, seed=1)
    assert_type(result, sk.Result[list[Person]])
    assert_type(result.value, list[Person])
    assert_type(result.finish_reason, Literal["stop", "budget"])
    assert_type(result.usage, sk.Usage)
    assert_type(sk.generate(model, "x", sk.Regex("a+")), sk.Result[str])
    assert_type(sk.generate(model, "x", {"type": "null"}), sk.Result[object])


async def in_async_programs(model: sk.testing.ScriptedModel) -> None:
    assert_type(await sk.aextract(model, "x", Person), Person)
    assert_type(await sk.agenerate(model, "x", Person | None), sk.Result[Person | None])


def generic_callers(model: sk.testing.ScriptedModel, kind: type[T], texts: Sequence[str]) -> list[T]:
    return [sk.extract(model, text, kind) for text in texts]


def steps(vocabulary: sk.Vocabulary) -> None:
    guide = sk.compile(Person, vocabulary)
    assert_type(guide, sk.Guide)
    cursor = guide.cursor()
    assert_type(cursor, sk.Cursor)
    assert_type(cursor.can_end, bool)
    assert_type(cursor.forced_bytes(), bytes)
    assert_type(cursor.fork(), sk.Cursor)
    assert_type(sk.to_regex(int | None), str)
    assert_type(sk.to_json_schema(Person), dict[str, object])


def mistakes(model: sk.testing.ScriptedModel) -> None:
    sk.extract(model, "x", 3)  # type: ignore[call-overload]
    sk.extract(model, 3, Person)  # type: ignore[call-overload]
    sk.extract(model, "x", Person, max_token=3)  # type: ignore[call-overload]
    sk.extract(model, "x", Person, temperature="hot")  # type: ignore[call-overload]
    wrong: str = sk.extract(model, "x", Person)  # type: ignore[assignment]
    del wrong
