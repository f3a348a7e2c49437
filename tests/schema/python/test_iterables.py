"""The value of an iterable is a list, in every position."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

import structkit as sk
from structkit.testing import ScriptedModel


class Item(BaseModel):
    numbers: Iterable[int]


class Recursive(BaseModel):
    children: Iterable[Recursive] = ()


@dataclass
class Point:
    numbers: Annotated[Iterable[int], Field(min_length=1)]


class Row(TypedDict):
    numbers: Iterable[int] | None


@pytest.mark.parametrize(
    ("target", "text", "value"),
    [
        (Iterable[int], "[1, 2]", [1, 2]),
        (Generator[int, None, None], "[1]", [1]),
        (Iterable[Item], '[{"numbers": [3]}]', [Item(numbers=[3])]),
        (Item, '{"numbers": [1, 2]}', Item.model_construct(numbers=[1, 2])),
        (list[Point], '[{"numbers": [1]}]', [Point(numbers=[1])]),
        (Row, '{"numbers": [1]}', {"numbers": [1]}),
    ],
)
def test_the_value_is_a_list(target: Any, text: str, value: object) -> None:
    made = sk.extract(ScriptedModel([text]), "x", target)
    if target == Iterable[Item]:
        assert [each.numbers for each in made] == [[3]]
    else:
        assert made == value
    assert sk.render_prompt(ScriptedModel([]), "x", target, examples=[("text", made)])


def test_a_recursive_class_has_lists() -> None:
    text = '{"children": [{"children": []}]}'
    (child,) = sk.extract(ScriptedModel([text]), "x", Recursive).children
    assert child.children == []


def test_minimum_lengths_are_enforced() -> None:
    with pytest.raises(sk.ScriptError):
        sk.extract(ScriptedModel(['{"numbers": []}']), "x", Point)
