"""Values that are no targets: the error says what was probably meant."""

from __future__ import annotations

import dataclasses
import enum
import re
from typing import Annotated, Any, Literal, Protocol

import pytest
from pydantic import BaseModel, TypeAdapter

import structkit as sk
from structkit.testing import RandomModel


class Person(BaseModel):
    name: str


class Plain:
    size = 3


class Shape(Protocol):
    size: int


class Nothing(enum.Enum):
    pass


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Misspelt:
    name: Strin  # type: ignore[name-defined]  # noqa: F821


@dataclasses.dataclass
class Number:
    name: 3  # type: ignore[valid-type]


class Nested(BaseModel):
    parts: list[Misspelt]


class Marked(BaseModel):
    part: Annotated[str, sk.Quote]


class Empty(BaseModel):
    kind: Nothing


@pytest.mark.parametrize(
    ("target", "cause", "remedy"),
    [
        ("int", "invalid target 'int'", "write int without quotation marks"),
        ("Person", "invalid target 'Person'", "pass the class Person itself"),
        ('{"type": "integer"}', "invalid target", "json.loads(...) returns"),
        ("a|b", "invalid target 'a|b'", "a pattern is written structkit.Regex('a|b')"),
        ("Ana is 34.", "invalid target", "if it is the prompt, write it before the target"),
        ("x" * 90 + "; " + "y" * 90, "invalid target 'xxx", "a pattern is written structkit.Regex('xxx"),
        ([Person], "invalid target [", "write list[Person] for a list, or Person for one"),
        ((int, str), "invalid target (", "write int | str for one of them, and list[int | str] for a list"),
        (["a", "b"], "invalid target ['a', 'b']", "structkit.Choice(['a', 'b'])"),
        ({"a"}, "invalid target {'a'}", "structkit.Choice(['a'])"),
        ([*range(99)], "invalid target [0, 1,", "structkit.Choice([...])"),
        ([], "invalid target []", "structkit.Choice([])"),
        (re.compile("[a-z]+"), "invalid target re.compile('[a-z]+')", "write structkit.Regex('[a-z]+')"),
        (3, "invalid target 3", "pass a type, a function,"),
        (RandomModel(), "invalid target <", "it is a model, which is the first argument"),
        (Person(name="Ana"), "Person(name='Ana') is a value", "pass its class Person"),
        (Colour.RED, "<Colour.RED: 'red'> is an object of Colour, not a type", "pass the class Colour"),
        (Plain, "pydantic cannot read the class Plain", "make it a pydantic.BaseModel or a dataclass"),
        (Shape, "pydantic cannot read the class Shape", "make it a pydantic.BaseModel or a dataclass"),
        (list[Plain], "list[Plain] has a part that pydantic cannot read, the class Plain", "make it a"),
        (Number, "Number has a part that pydantic cannot read, 3", "write a type"),
        (Misspelt, "Misspelt refers to 'Strin', which is not defined", "define it where Misspelt is defined"),
        (Nested, "Nested refers to 'Strin', which is not defined", "define it where Nested is defined"),
        (
            TypeAdapter(Misspelt),
            "Misspelt refers to 'Strin', which is not defined",
            "define it where Misspelt",
        ),
        (Nothing, "Nothing has an Enum or a Literal without values", "add one"),
        (Empty, "Empty has an Enum or a Literal without values", "add one"),
        (Literal[()], "Literal[] has an Enum or a Literal without values", "add one"),
        (Marked, "Marked has the class Quote as an annotation", "write Annotated[str, structkit.Quote()]"),
    ],
)
def test_what_is_no_target(target: Any, cause: str, remedy: str) -> None:
    with pytest.raises(sk.SchemaError) as raised:
        sk.extract(RandomModel(), "x", target)
    assert raised.value.cause.startswith(cause)
    assert raised.value.remedy is not None
    assert remedy in raised.value.remedy


def test_several_arguments_are_no_list_of_options() -> None:
    with pytest.raises(sk.SchemaError, match=r"not 3 arguments\n  write Choice\(\['a', 'b', 'c'\]\)"):
        sk.Choice("a", "b", "c")  # type: ignore[arg-type]


def test_a_compiled_pattern_and_an_open_class_have_a_remedy() -> None:
    with pytest.raises(TypeError, match=r"must be a str, not Pattern; write Regex\(pattern\.pattern\)"):
        sk.Regex(re.compile("a"))  # type: ignore[arg-type]
    with pytest.raises(sk.PatternError) as caught:
        sk.to_regex(sk.Regex("[a-"))
    assert caught.value.remedy == r"end it with `]`, or write `\[` for the character"
    assert sk.to_regex(sk.Regex(r"\[a-")) == r"\[a-"
