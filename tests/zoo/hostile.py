"""Adversarial types: classes of every kind with unusual combinations of features."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import re
from collections import deque
from decimal import Decimal
from typing import Annotated, Any, Final, Generic, Literal, Optional, Union

import pydantic
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Json,
    NameEmail,
    RootModel,
    Secret,
    StringConstraints,
    Tag,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import NamedTuple, NotRequired, Required, TypeAliasType, TypedDict, TypeVar

from tests.zoo.specimen import Kind, Specimen

T = TypeVar("T")


class Box(BaseModel, Generic[T]):
    x: T


class Linked(BaseModel, Generic[T]):
    box: Box[T]
    more: dict[str, T] | None = None


class Short(Linked[Annotated[str, Field(max_length=2)]]):
    tag: Literal[1] = 1


class Entry(TypedDict, Generic[T]):
    x: T
    y: NotRequired[list[T]]


class Row(NamedTuple, Generic[T]):
    a: T
    b: int = 3


Ring = TypeAliasType("Ring", "T | list[Ring[T]]", type_params=(T,))


class First(BaseModel):
    kind: Literal["c1"] = Field("c1", alias="type")
    v: int


class Second(BaseModel):
    kind: Literal["c2", "c3"] = Field(alias="type")
    v: str


class Inner(BaseModel):
    tag: Literal[1]
    inner: Annotated[First | Second, Field(discriminator="kind")] = Field(alias="in")


class Many(BaseModel):
    tag: Literal[2, 3]
    many: tuple[Annotated[First | Second, Field(discriminator="kind")], ...] = ()


class Nested(BaseModel):
    u: Annotated[Inner | Many, Field(discriminator="tag")] | str | None = None


@dataclasses.dataclass
class TagX:
    k: Literal["x"]
    v: int = 0


@pydantic_dataclass
class TagY:
    v: str
    k: Literal["y"] = "y"


class TagZ(TypedDict):
    k: Literal["z"]
    v: NotRequired[bool]


class Square(BaseModel):
    side: int


class One(RootModel[Annotated[int, Field(ge=1)]]):
    pass


class Maybe(RootModel[One | None]):
    pass


class Keyed(RootModel[dict[Annotated[str, Field(pattern="^k")], Maybe]]):
    pass


class Parent(TypedDict, total=False):
    a: Required[int]
    b: str


class Heir(Parent):
    c: Required[Annotated[int, Field(ge=1)]]
    d: NotRequired[list[Heir]]


Functional = TypedDict("Functional", {"in": int, "with space": NotRequired[bool], "": int})


class Extra(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow", str_max_length=3)  # type: ignore[misc]
    x: str


@dataclasses.dataclass
class Seeded:
    a: int
    seed: dataclasses.InitVar[Annotated[int, Field(ge=3)]]
    b: str = "x"


@dataclasses.dataclass(slots=True, kw_only=True, frozen=True, order=True)
class Slotted:
    a: int
    b: Annotated[list[int], Field(max_length=1)] = dataclasses.field(default_factory=list)
    c: Final[str] = "q"


@pydantic_dataclass(config=ConfigDict(str_max_length=2, str_strip_whitespace=True, extra="allow"))
class Configured:
    s: str


@dataclasses.dataclass
class Left:
    x: int
    right: Optional[Right] = None


@dataclasses.dataclass
class Right:
    y: str
    lefts: list[Left] = dataclasses.field(default_factory=list)


class Again(enum.Enum):
    A = 1
    B = 1
    C = 2


class Powers(enum.IntEnum):
    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last: list[Any]) -> Any:
        return 10**count

    A = enum.auto()
    B = enum.auto()


class Odd(str, enum.Enum):
    QUOTED = 'a"b\\'
    EMPTY = ""


class Access(enum.IntFlag):
    READ = 1
    WRITE = 2


class Huge(int, enum.Enum):
    A = 2**70
    B = 1


class Nothing(enum.Enum):
    pass


class Everything(BaseModel):
    a: int

    @model_validator(mode="before")
    @classmethod
    def before(cls, value: Any) -> Any:
        return value

    @field_validator("a", mode="plain", json_schema_input_type=int | Literal["one"])
    @classmethod
    def read(cls, value: Any) -> Any:
        return value


def _numbers(value: Any) -> Any:
    return [int(part) for part in value.split(",")] if isinstance(value, str) else value


class Listed(BaseModel):
    a: Annotated[
        list[int],
        BeforeValidator(_numbers, json_schema_input_type=Annotated[str, Field(pattern=r"^\d(,\d)*$")]),
    ]


class Cased(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True, str_min_length=1, str_to_upper=True)
    a: str
    b: Annotated[str, StringConstraints(to_lower=True)]


class Shared(BaseModel):
    a: int = Field(validation_alias=AliasPath("x", 2))
    b: int = Field(validation_alias=AliasPath("x", 0, "y"))
    c: str = Field(validation_alias=AliasPath("x", 1), min_length=2)


class Swapped(BaseModel):
    model_config = ConfigDict(extra="forbid", validate_by_name=True, validate_by_alias=True)
    a: int = Field(alias="b")
    b: str = Field(alias="a")


class Taken(BaseModel):
    a: int = Field(validation_alias=AliasChoices("p", AliasPath("q", 0)))
    p: str = "z"


class Strange(BaseModel):
    weird: int = Field(alias='\n"\\ é😀\u2028')
    empty: int = Field(alias="")


class Prefixed(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[Annotated[str, Field(pattern="^x_")], Annotated[list[int], Field(max_length=2)]]
    a: int


class Branching(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Branching | int]
    a: int = 0


class Wrong(BaseModel):
    a: int = Field("no number")  # type: ignore[assignment]
    b: Annotated[list[int], Field(min_length=2)] = []


class FromOthers(BaseModel):
    a: int
    b: list[int] = Field(default_factory=lambda data: [data["a"]])


class Thawed(BaseModel):
    a: int


class Frozen(BaseModel, frozen=True):
    a: dt.datetime
    b: bool | int = 2


class FrozenAround(BaseModel, frozen=True):
    a: list[int]


class Deep(BaseModel):
    a: Json[list[Deep]] = []


_UTC = dt.timezone.utc
_JSON_SET: Any = set[Json]  # type: ignore[type-arg]
_UNHASHABLE = "which is not hashable; use a list"


def _kind(value: Any) -> str:
    return "text" if isinstance(value, str) else "square"


HOSTILE: Kind = {
    "generic model, inherited": Specimen(
        Short,
        [Short(box=Box(x="ab"))],
        ['{"box": {"x": "abc"}, "more": null, "tag": 1}', '{"box": {"x": "a"}, "more": null, "tag": 2}'],
    ),
    "generic TypedDict": Specimen(Entry[int], [{"x": 1}, {"x": 1, "y": [2]}], ['{"x": "a"}']),
    "generic NamedTuple": Specimen(Row[str], [Row("a", 1)], ["[1, 2]", '["a"]']),
    "generic alias, recursive": Specimen(Ring[int], [1, [1, [2]]], ['"a"', '["a"]']),
    "unions with discriminators and aliases": Specimen(
        Nested,
        [Nested(u="x"), Nested(), Nested(u=Many(tag=3, many=(First(type="c1", v=1),)))],
        [
            '{"u": {"tag": 3, "many": [{"type": "c2", "v": 1}]}}',
            '{"u": {"tag": 1, "in": {"kind": "c1", "v": 1}}}',
        ],
    ),
    "discriminator of dataclasses and TypedDicts": Specimen(
        Annotated[TagX | TagY | TagZ, Field(discriminator="k")],
        [TagX("x"), TagY("a"), {"k": "z"}],
        ['{"k": "x", "v": "a"}', '{"v": true}'],
    ),
    "callable Discriminator of str and model": Specimen(
        Annotated[Annotated[str, Tag("text")] | Annotated[Square, Tag("square")], Discriminator(_kind)],
        ["a", Square(side=1)],
        ["1", '{"a": 1}'],
    ),
    "RootModel of RootModels": Specimen(
        Keyed, [Keyed({"ka": Maybe(One(1)), "kb": Maybe(None)})], ['{"a": 1}', '{"ka": 0}']
    ),
    "RootModel of Json in Json": Specimen(
        RootModel[Json[dict[str, Json[list[int]]]]],
        texts=['"{\\"a\\": \\"[1, 2]\\"}"'],
        refuses=['"{\\"a\\": [1]}"', '"{}x"'],
    ),
    "TypedDict, inherited": Specimen(
        Heir,
        [{"a": 1, "c": 1}, {"a": 1, "b": "x", "c": 2, "d": [{"a": 1, "c": 1}]}],
        ['{"a": 1, "c": 0}', '{"a": 1}'],
    ),
    "TypedDict, functional": Specimen(Functional, [{"in": 1, "": 0}], ['{"in": 1}']),
    "TypedDict, extra='allow', str_max_length": Specimen(Extra, [{"x": "abc", "y": 1}], ['{"x": "abcd"}']),
    "dataclass, InitVar": Specimen(
        Seeded,
        texts=['{"a": 1, "seed": 3, "b": "x"}'],
        refuses=['{"a": 1, "b": "x"}', '{"a": 1, "seed": 2, "b": "x"}'],
    ),
    "dataclass, slots, kw_only, frozen": Specimen(
        Slotted, [Slotted(a=1)], ['{"a": 1, "b": [1, 2], "c": "q"}']
    ),
    "pydantic dataclass, config": Specimen(Configured, [Configured(s="ab")], ['{"s": "abc"}', '{"s": " a"}']),
    "dataclasses, mutually recursive": Specimen(
        Right, [Right("x", [Left(1, Right("y"))])], ['{"y": 1, "lefts": []}']
    ),
    "Enum with an alias": Specimen(Again, [Again.A, Again.C], ['"A"', "3"]),
    "IntEnum of auto()": Specimen(Powers, list(Powers), ["2"]),
    "str Enum of strange texts": Specimen(Odd, list(Odd), ['"QUOTED"']),
    "Enum of a large int": Specimen(Huge, error="cannot be read back from JSON"),
    "Enum without members": Specimen(Nothing, error="Nothing has an Enum or a Literal without values"),
    "dict[IntFlag, int]": Specimen(
        dict[Access, int],
        texts=['{"1": 1, "2": 2}'],
        refuses=['{"3": 1}', '{"0": 1}'],
        limits="only members are keys",
    ),
    "model with validators of every mode": Specimen(
        Everything,
        texts=['{"a": 1}', '{"a": "one"}'],
        refuses=['{"a": "two"}', "{}"],
        limits="validators run afterwards",
    ),
    "BeforeValidator, json_schema_input_type": Specimen(
        Listed, texts=['{"a": "1,2"}'], refuses=['{"a": [1]}', "{}"], limits="the input type alone"
    ),
    "model, str_to_upper, a field in lower case": Specimen(
        Cased, [Cased(a="A", b="b")], ['{"a": "a", "b": "x"}', '{"a": "", "b": "x"}']
    ),
    "model, AliasPaths in one list": Specimen(
        Shared, texts=['{"x": [{"y": 1}, "ab", 3]}'], refuses=['{"x": [{"y": 1}, "a", 3]}', '{"x": []}']
    ),
    "model, aliases swapped": Specimen(Swapped, texts=['{"b": 1, "a": "x"}'], refuses=['{"a": 1, "b": "x"}']),
    "model, an alias that is another field": Specimen(
        Taken, error="the fields a and p have the same name 'p' in JSON; give each an alias of its own"
    ),
    "model, strange aliases": Specimen(
        Strange, [Strange(**{'\n"\\ é😀\u2028': 1, "": 2})], ['{"weird": 1, "empty": 2}']
    ),
    "model, extra='allow', typed keys": Specimen(
        Prefixed,
        [Prefixed.model_validate({"a": 1, "x_b": [1]})],
        ['{"a": 1, "y": [1]}', '{"a": 1, "x_": [1, 2, 3]}'],
    ),
    "model, extra='allow', recursive": Specimen(
        Branching,
        [Branching.model_validate({"a": 1, "b": {"a": 0}, "c": 2})],
        ['{"a": 1, "b": "x"}'],
    ),
    "model, defaults that are not valid": Specimen(
        Wrong,
        texts=['{"a": 1, "b": [1, 2]}'],
        refuses=['{"a": "no number", "b": [1, 2]}', '{"a": 1, "b": []}'],
    ),
    "model, default_factory of the data": Specimen(
        FromOthers, [FromOthers(a=1)], ['{"a": 1}', '{"a": 1, "b": 2}']
    ),
    "dict of stripped keys, min_length=2": Specimen(
        Annotated[dict[Annotated[str, StringConstraints(strip_whitespace=True)], int], Field(min_length=2)],
        [{"a": 1, "b": 2}],
        ['{"a": 1, "a ": 2}', '{"a": 1}'],
    ),
    "set of frozen models, min_length=2": Specimen(
        Annotated[set[Frozen], Field(min_length=2)],
        [{Frozen(a=dt.datetime(2024, 1, 1, tzinfo=_UTC)), Frozen(a=dt.datetime(2024, 1, 1))}],
        [
            '[{"a": "2024-01-01T00:00:00Z", "b": 2}, {"a": "2024-01-01T01:00:00+01:00", "b": 2}]',
            '[{"a": "2024-01-01T00:00:00", "b": 1}, {"a": "2024-01-01T00:00:00", "b": true}]',
        ],
        limits="the offset is Z",
    ),
    "set[int | list[int]]": Specimen(
        set[int | list[int]], [{1, 2}], ["[[1]]", "[1, 1]"], limits="never the list, which is not hashable"
    ),
    "set[Json]": Specimen(_JSON_SET, texts=['["1", "\\"a\\""]'], refuses=['["[]"]', '["1", "1"]']),
    "set[Decimal | int], min_length=2": Specimen(
        Annotated[set[Decimal | int], Field(min_length=2)],
        [{1, 2}, {Decimal("1.5"), 1}],
        ['["1", 1]', "[1]"],
        limits="integral values as integers",
    ),
    "set[complex], min_length=2": Specimen(
        Annotated[set[complex], Field(min_length=2)],
        [{0j, 6 + 0j, 1j, 1.5 - 2j}],
        ['["1j", "0+1j"]', '["6+0j", "6-0j"]', "[1]"],
    ),
    "set[Pattern]": Specimen(set[re.Pattern[str]], [{re.compile("a")}], ['["("]']),
    "set[list[int]]": Specimen(set[list[int]], error=f"a set cannot contain list, {_UNHASHABLE}"),
    "set of a model that is not frozen": Specimen(
        set[Thawed], error=f"a set cannot contain Thawed, {_UNHASHABLE}"
    ),
    "set of frozen models with a list": Specimen(set[FrozenAround], error=_UNHASHABLE),
    "set[Secret[list[int]]]": Specimen(set[Secret[list[int]]], error=_UNHASHABLE),
    "set[NameEmail]": Specimen(frozenset[NameEmail], error="a set cannot contain NameEmail"),
    "dict[str, set[deque[int]]]": Specimen(
        dict[str, set[deque[int]]], error=f"a set cannot contain deque, {_UNHASHABLE}"
    ),
    "Json of itself": Specimen(Deep, error="at most 4 levels deep"),
    "ImportString, relative": Specimen(
        pydantic.ImportString,
        texts=['"math:pi"'],
        refuses=['"..math"', '""', '":pi"'],
        limits="whether it can be imported is checked afterwards",
        checked=True,
    ),
    "Union of everything": Specimen(
        Union[None, bool, int, float, Decimal, str, list["int"], dict[str, "int"], Frozen],
        [None, True, 1, 1.5, "x", [1], {"a": 1}],
        ["[1", "nul", '["a", [1]]'],
    ),
}
