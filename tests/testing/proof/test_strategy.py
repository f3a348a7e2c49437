"""The hypothesis strategy: valid values that shrink to simple ones."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Any, Literal

import pytest
from hypothesis import HealthCheck, find, given, settings
from pydantic import AfterValidator, BaseModel, Field

import structkit as sk
from structkit.testing import strategy


class Item(BaseModel):
    name: str
    count: Annotated[int, Field(ge=0, le=1000)]
    kind: Literal["a", "b"] | None = None


class Tree(BaseModel):
    value: int
    children: list[Tree]


def even(value: int) -> int:
    if value % 2:
        raise ValueError("odd")
    return value


FINDING = settings(
    max_examples=3_000, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@settings(max_examples=50)
@given(strategy(list[Item]))
def test_values_are_valid(items: list[Item]) -> None:
    assert all(isinstance(item, Item) and 0 <= item.count <= 1000 for item in items)


@settings(max_examples=50)
@given(strategy(Annotated[int, AfterValidator(even)]))
def test_rejected_values_are_discarded(value: int) -> None:
    assert value % 2 == 0


@settings(max_examples=30)
@given(strategy({"type": "array", "items": {"type": "string"}, "minItems": 2}), strategy(sk.Regex("[ab]{3}")))
def test_other_targets(value: object, text: str) -> None:
    assert isinstance(value, list)
    assert len(value) >= 2
    assert set(text) <= {"a", "b"}


@pytest.mark.long(every=4)
@pytest.mark.parametrize(
    ("target", "condition", "expected"),
    [
        (list[bool], lambda value: len(value) >= 2, [False, False]),
        (list[Item], lambda value: len(value) >= 1, [Item(name="", count=0, kind=None)]),
        (str, lambda value: len(value) >= 3, None),
        (Tree, lambda tree: tree.children, Tree(value=0, children=[Tree(value=0, children=[])])),
    ],
    ids=["bools", "items", "text", "tree"],
)
def test_failing_examples_shrink(target: Any, condition: Any, expected: object) -> None:
    found = find(strategy(target), lambda value: bool(condition(value)), settings=FINDING)
    if expected is None:
        assert len(found) <= 5  # a word, or three letters
    else:
        assert found == expected


@pytest.mark.long
def test_without_hypothesis_the_error_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from structkit.testing import strategy\n"
        "try: strategy(int)\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "structkit-llm[check]"' in done.stdout
