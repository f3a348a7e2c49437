"""The zoo: types with values that pydantic accepts and texts that the guide must refuse.

`accepts` are values; each is dumped by pydantic and the dump must be in the language. `refuses` are JSON texts.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, NamedTuple, Optional, TypeVar, Union

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import NotRequired, TypedDict

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Specimen:
    """One type of the zoo."""

    target: Any
    accepts: Sequence[Any]
    refuses: Sequence[str]


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Mixed(enum.Enum):
    TEXT = "a"
    NUMBER = 1
    HALF = 2.5
    NOTHING = None


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 10


class Person(BaseModel):
    """Somebody."""

    name: str
    age: int
    job: str | None = None


class Address(BaseModel):
    street: str = Field(min_length=1, max_length=40)
    city: str
    zip: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{3}$")]


class Customer(BaseModel):
    person: Person
    addresses: list[Address] = Field(max_length=2)
    since: dt.date
    favourite: Color = Color.RED


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


class Ping(BaseModel):
    pong: Optional[Pong] = None


class Pong(BaseModel):
    ping: Ping | None = None
    text: str


class Page(BaseModel, Generic[T]):
    items: list[T]
    next: int | None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(ge=0, le=9)


class Dog(BaseModel):
    kind: Literal["dog"]
    good: bool


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int


class Aliased(BaseModel):
    inner: int = Field(alias='outer name "x"')


class Names(RootModel[list[str]]):
    pass


class Point(NamedTuple):
    x: int
    y: int


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


@dataclasses.dataclass
class Size:
    width: float
    height: float = 1.0


@pydantic_dataclass
class Box:
    sides: tuple[int, int, int]
    label: str = "é"


Json = Union[dict[str, "Json"], list["Json"], str, int, None]


class Deep(BaseModel):
    a: dict[str, list[dict[str, tuple[int, str | None]]]]


ZOO: Mapping[str, Specimen] = {
    "str": Specimen(str, ["", 'a"b\\c\n\té😀\x00\x1f\x7f'], ['"', "a", '"\t"', '"\\x"', "null"]),
    "str min": Specimen(Annotated[str, Field(min_length=3)], ["abc", "ééé", "a" * 500], ['"ab"', '"éé"']),
    "str max": Specimen(
        Annotated[str, Field(max_length=3)], ["", "abc", "😀😀😀", '"""'], ['"abcd"', '"éééé"']
    ),
    "str both": Specimen(
        Annotated[str, Field(min_length=2, max_length=100)], ["ab", "x" * 100], ['"a"', f'"{"x" * 101}"']
    ),
    "str pattern": Specimen(
        Annotated[str, Field(pattern=r"^[a-z]+-\d{2}$")], ["a-12", "zz-00"], ['"a-1"', '"A-12"', '"a-123"']
    ),
    "str search": Specimen(Annotated[str, Field(pattern=r"a\"b|\\")], ['xa"by', "\\"], ['"ab"', '""']),
    "str pattern and lengths": Specimen(
        Annotated[str, Field(pattern="^(ab)*$", min_length=3, max_length=5)],
        ["abab"],
        ['"ab"', '"ababab"', '"abc"'],
    ),
    "int": Specimen(int, [0, -1, 10**17, 42], ["01", "-0", "1.0", "1e3", '"1"', "+1", "true"]),
    "int bounds": Specimen(Annotated[int, Field(ge=-5, lt=120)], [-5, 0, 119], ["-6", "120", "1000"]),
    "int one side": Specimen(Annotated[int, Gt(17)], [18, 99, 12345678], ["17", "0", "-20"]),
    "int multiple": Specimen(Annotated[int, Field(multiple_of=5)], [0, 5, -10, 1235], ["1", "12", "-4"]),
    "int multiple of 7 in range": Specimen(
        Annotated[int, Field(multiple_of=7, ge=10, le=1000)], [14, 994], ["7", "15", "1001"]
    ),
    "int multiple of 12": Specimen(Annotated[int, Field(multiple_of=12)], [0, 144, -12], ["10", "6", "100"]),
    "float": Specimen(
        float, [0.0, -1.5, 3.14, 1e-07, 1e22, 123456.789, 5e-324], ["NaN", "1.", ".5", "1e400", "01.5"]
    ),
    "float bounds": Specimen(
        Annotated[float, Ge(0), Lt(1.5)], [0.0, 1.49, 0.1, 1e-9], ["1.5", "-0.1", "2.0", "1e3"]
    ),
    "float multiple": Specimen(
        Annotated[float, Field(multiple_of=0.3)], [0.0, 0.9, -20.1, 3999999.9], ["0.1", "1.0", "20252024.1"]
    ),
    "float multiple in binary": Specimen(
        Annotated[float, Field(multiple_of=1.5)],
        [0.0, 4.5, -1501.5, 3e15],
        ["0.5", "1.0", "9007199254740993"],
    ),
    "float positive": Specimen(Annotated[float, Gt(0)], [0.5, 100.0, 1e-300], ["0", "0.0", "-1"]),
    "float finite": Specimen(Annotated[float, Field(allow_inf_nan=False)], [1.7e307], ["1e999", "Infinity"]),
    "bool": Specimen(bool, [True, False], ["True", "1", "null"]),
    "None": Specimen(None, [None], ["0", '""']),
    "Literal": Specimen(
        Literal["New York", "New York City", 3], ["New York", "New York City", 3], ['"New"', '"3"', "4"]
    ),
    "Literal bool": Specimen(Literal[True, "x"], [True, "x"], ["false", "1"]),
    "Enum": Specimen(Color, list(Color), ['"RED"', '"blue"']),
    "Enum mixed": Specimen(Mixed, list(Mixed), ["2", '"1"', "true"]),
    "IntEnum": Specimen(Level, list(Level), ["2", '"LOW"']),
    "Optional": Specimen(Optional[int], [None, 3], ['"3"', "nul"]),
    "Union": Specimen(Union[int, float, str], [3, 3.14, "x"], ["null", "[1]"]),
    "Union of shapes": Specimen(
        Union[list[int], dict[str, int], bool], [[1], {"a": 1}, True], ["1", '["a"]']
    ),
    "list": Specimen(list[int], [[], [1], [1, 2, 3]], ["[1,2]", "[1, ]", "[", '["1"]']),
    "list bounds": Specimen(
        Annotated[list[bool], Field(min_length=1, max_length=3)],
        [[True], [True] * 3],
        ["[]", "[true, true, true, true]"],
    ),
    "list many": Specimen(
        Annotated[list[int], Field(min_length=30, max_length=40)],
        [[1] * 30, [1] * 40],
        [f"[{', '.join('1' * 29)}]", f"[{', '.join('1' * 41)}]"],
    ),
    "list of models": Specimen(list[Person], [[], [Person(name="A", age=1)]], ["{}", '[{"name": "A"}]']),
    "list of lists": Specimen(list[list[str]], [[["a"], []]], ["[[]"]),
    "set": Specimen(set[int], [{1, 2, 3}, set()], ["[1, 1]", "[1, 2, 1]"]),
    "set min": Specimen(Annotated[set[int], Field(min_length=2)], [{1, 2}, {10, 1}], ["[1]", "[1, 1]"]),
    "set of bool": Specimen(
        Annotated[set[bool], Field(min_length=2)],
        [{True, False}],
        ["[true]", "[true, true]", "[true, false, true]"],
    ),
    "set of Literal": Specimen(
        Annotated[set[Literal["a", "ab", "b"]], Field(min_length=3)],
        [{"a", "ab", "b"}],
        ['["a", "ab"]', '["a", "a", "b"]'],
    ),
    "frozenset of models": Specimen(frozenset[str], [frozenset({"a", "b"})], ['["a", "a"]']),
    "tuple": Specimen(
        tuple[int, str, bool], [(1, "a", True)], ["[1]", '[1, "a"]', '["a", 1, true]', '[1, "a", true, 1]']
    ),
    "tuple variadic": Specimen(tuple[int, ...], [(), (1, 2)], ['["a"]']),
    "tuple empty": Specimen(tuple[()], [()], ["[1]"]),
    "NamedTuple": Specimen(Point, [Point(1, 2)], ["[1]", "[1, 2, 3]"]),
    "dict": Specimen(
        dict[str, int],
        [{}, {"a": 1, "b": -2}, {"": 0, '\n"': 1}],
        ['{"a": "1"}', "{1: 2}", '{"a": 1,}', '{"a": 1, "a": 2}'],
    ),
    "dict bounds": Specimen(
        Annotated[dict[str, int], Field(min_length=2, max_length=2)],
        [{"a": 1, "b": 2}],
        ['{"a": 1}', '{"a": 1, "a": 2}', '{"a": 1, "b": 2, "c": 3}'],
    ),
    "dict of pattern": Specimen(
        dict[Annotated[str, Field(pattern="^[a-z]$")], bool], [{"a": True}], ['{"A": true}', '{"aa": true}']
    ),
    "dict of Literal": Specimen(
        dict[Literal["x", "y"], int], [{"x": 1}, {"x": 1, "y": 2}], ['{"z": 1}', '{"x": 1, "x": 2}']
    ),
    "dict of int": Specimen(dict[int, str], [{1: "a", -20: "b"}], ['{"x": "a"}', '{"1.5": "a"}']),
    "Any": Specimen(Any, [None, 1, "x", [1, {"a": [True]}], {"b": 2.5}], ["{a}", "[1,", "nul", "NaN"]),
    "model": Specimen(
        Person,
        [Person(name="Ana", age=34), Person(name="", age=0, job="x")],
        [
            "{}",
            '{"name": "Ana", "age": 34}',
            '{"age": 34, "name": "Ana", "job": null}',
            '{"name": "A", "age": 1, "job": null, "x": 1}',
        ],
    ),
    "model nested": Specimen(
        Customer,
        [
            Customer(
                person=Person(name="A", age=1),
                addresses=[Address(street="s", city="c", zip="4000-123")],
                since=dt.date(2024, 2, 29),
            )
        ],
        ['{"person": null}'],
    ),
    "model recursive": Specimen(
        Tree,
        [Tree(value=1), Tree(value=1, children=[Tree(value=2, children=[Tree(value=3)])])],
        ['{"value": 1, }', '{"value": 1, "children": [{"value": 1,}]}', '{"value": 1, "children": [1]}'],
    ),
    "models mutually recursive": Specimen(
        Pong, [Pong(text="a"), Pong(text="a", ping=Ping(pong=Pong(text="b")))], ['{"ping": null}']
    ),
    "model generic": Specimen(
        Page[Person],
        [Page[Person](items=[Person(name="x", age=1)], next=None)],
        ['{"items": [1], "next": null}'],
    ),
    "model open": Specimen(
        Open, [Open.model_validate({"a": 1, "b": [2]})], ['{"b": 1, "a": 1}', '{"a": 1, "a": 2}']
    ),
    "model closed": Specimen(Closed, [Closed(a=1)], ['{"a": 1, "b": 2}']),
    "model alias": Specimen(Aliased, [Aliased.model_validate({'outer name "x"': 1})], ['{"inner": 1}']),
    "union discriminated": Specimen(
        Annotated[Cat | Dog, Field(discriminator="kind")],
        [Cat(kind="cat", lives=9), Dog(kind="dog", good=True)],
        ['{"kind": "cat", "good": true}', '{"kind": "cow"}', '{"kind": "cat", "lives": 10}'],
    ),
    "RootModel": Specimen(Names, [Names(["a"])], ['{"root": []}']),
    "TypedDict": Specimen(Movie, [{"title": "x", "year": 1}], ['{"title": 1}', "{}"]),
    "dataclass": Specimen(Size, [Size(1.5), Size(0.25, 2.0)], ['{"width": "1"}', "{}"]),
    "dataclass of pydantic": Specimen(Box, [Box((1, 2, 3))], ['{"sides": [1, 2]}']),
    "date": Specimen(
        dt.date,
        [dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31)],
        ['"2023-02-29"', '"2024-13-01"', '"0000-01-01"', '"1900-02-29"', '"2024-1-1"'],
    ),
    "time": Specimen(
        dt.time, [dt.time(0, 0), dt.time(23, 59, 59, 500000)], ['"24:00:00"', '"12:60:00"', '"12:00:60"']
    ),
    "datetime": Specimen(
        dt.datetime,
        [
            dt.datetime(2024, 2, 29, 1, 2, 3),
            dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc),
            dt.datetime(2024, 1, 1, 1, 1, 1, 5),
        ],
        ['"2023-02-29T00:00:00"', '"2024-01-01T00:00:60"', '"2024-01-01T24:00:00"', '"2024-01-01"'],
    ),
    "UUID": Specimen(
        uuid.UUID,
        [uuid.UUID(int=0), uuid.UUID("12345678-1234-5678-1234-567812345678")],
        ['"1234"', '"12345678123456781234567812345678x"'],
    ),
    "json value": Specimen(TypedDict("J", {"x": Any}), [{"x": [{}]}], ["{}"]),
    "deep": Specimen(Deep, [Deep(a={"k": [{"x": (1, None)}]})], ['{"a": {"k": {}}}']),
    "optional model": Specimen(Person | None, [None, Person(name="x", age=1)], ["{}"]),
    "Annotated bounds stacked": Specimen(
        Annotated[int, Ge(10), Le(99), Field(multiple_of=3)], [12, 99], ["10", "100", "9"]
    ),
    "list of unions": Specimen(list[Literal["a"] | int | None], [["a", 1, None]], ['["b"]']),
    "dict of lists of dates": Specimen(
        dict[str, list[dt.date]], [{"a": [dt.date(2020, 1, 1)]}], ['{"a": ["x"]}']
    ),
}
