"""Supported and unsupported Python types, for the tests of this folder."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import ipaddress
import pathlib
import re
import uuid
from typing import Annotated, Any, Generic, Literal, NamedTuple, Optional, TypeVar, Union

import pydantic
from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints
from typing_extensions import NotRequired, Required, TypedDict

__all__ = ["SUPPORTED", "UNSUPPORTED"]


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Priority(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Shade(str, enum.Enum):
    LIGHT = "light"
    DARK = "dark"


class Mixed(enum.Enum):
    ONE = 1
    TEXT = "one"
    NOTHING = None
    HALF = 0.5
    ALIAS = True


class Address(BaseModel):
    """Where somebody lives."""

    street: str
    number: int = Field(ge=1)


class Person(BaseModel):
    """A person."""

    name: str = Field(min_length=1, max_length=20)
    age: int = Field(ge=0, le=120, description="in years")
    job: str | None = None
    address: Address
    other: Address | None = None


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Tick(BaseModel):
    tock: Optional[Tock] = None


class Tock(BaseModel):
    tick: Tick


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(BaseModel):
    kind: Literal["dog", "wolf"] = "dog"
    name: str


class Num(BaseModel):
    op: Literal["num"]
    value: float


class Add(BaseModel):
    op: Literal["add"]
    left: Expression
    right: Expression


Expression = Annotated[Union[Num, Add], Field(discriminator="op")]
Pet = Annotated[Union[Cat, Dog], Field(discriminator="kind")]


class Home(BaseModel):
    pet: Pet
    guests: list[Pet] = []


class Numbered(BaseModel):
    kind: Literal[1, 2]


class Zeroth(BaseModel):
    kind: Literal[0] = 0


class ByPriority(BaseModel):
    level: Literal[Priority.LOW]


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]
    following: Page[T] | None = None


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0
    label: str = dataclasses.field(default="", init=False)


@pydantic.dataclasses.dataclass
class Circle:
    center: Point
    radius: Annotated[float, Field(gt=0)]


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Loose(TypedDict, total=False):
    a: Required[int]
    b: Loose


class Pair(NamedTuple):
    left: int
    right: str = "x"


class Names(RootModel[list[str]]):
    pass


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class OpenInts(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]
    a: str


class Shut(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int


class Aliased(BaseModel):
    first_name: str = Field(alias="firstName")
    last_name: str = Field(validation_alias=pydantic.AliasChoices("lastName", "surname"))


class ByName(BaseModel):
    model_config = ConfigDict(validate_by_alias=False, validate_by_name=True)
    a: int = Field(alias="b")


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    a: int
    b: float
    when: datetime.datetime
    id: uuid.UUID
    tags: set[str]


class Hidden(BaseModel):
    shown: int
    secret: int = Field(default=3, exclude=True)
    _private: int = 4

    @pydantic.computed_field
    @property
    def double(self) -> int:
        return 2 * self.shown


class Stripped(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True, str_min_length=1)
    a: str


SUPPORTED: dict[str, Any] = {
    "str": str,
    "str lengths": Annotated[str, Field(min_length=2, max_length=4)],
    "str pattern": Annotated[str, Field(pattern=r"^[A-Z]{2}[0-9]+\z")],
    "str pattern and lengths": Annotated[str, Field(pattern=r"^[a-z]+\z", min_length=2, max_length=3)],
    "str compiled pattern": Annotated[str, Field(pattern=re.compile(r"^ab\Z", re.IGNORECASE))],
    "str stripped": Annotated[str, StringConstraints(strip_whitespace=True, min_length=2, pattern=r"^\S")],
    "model stripped": Stripped,
    "int": int,
    "int bounds": Annotated[int, Field(gt=0, lt=10)],
    "int multiple": Annotated[int, Field(multiple_of=5, ge=-20, le=20)],
    "float": float,
    "float bounds": Annotated[float, Field(ge=-1.5, le=2.5)],
    "finite": pydantic.FiniteFloat,
    "bool": bool,
    "None": type(None),
    "Any": Any,
    "Literal": Literal["a", 1, None, True],
    "Literal one": Literal["New York"],
    "Literal enum": Literal[Priority.LOW, Shade.DARK],
    "Enum": Color,
    "IntEnum": Priority,
    "str Enum": Shade,
    "mixed Enum": Mixed,
    "Optional": int | None,
    "union": int | str | list[bool],
    "list": list[int],
    "list bounds": Annotated[list[int], Field(min_length=1, max_length=3)],
    "bare list": list,
    "tuple": tuple[int, str],
    "tuple empty": tuple[()],
    "tuple variadic": tuple[int, ...],
    "NamedTuple": Pair,
    "set": set[int],
    "set of enum": set[Color],
    "set of enum, two": Annotated[set[Color], Field(min_length=2)],
    "frozenset of bool": frozenset[bool],
    "set of literals": Annotated[set[Literal["a", "b", "c"]], Field(min_length=2, max_length=2)],
    "dict": dict[str, int],
    "dict bounds": Annotated[dict[str, int], Field(min_length=1, max_length=2)],
    "bare dict": dict,
    "dict int": dict[int, str],
    "dict float": dict[float, str],
    "dict bool": dict[bool, str],
    "dict date": dict[datetime.date, int],
    "dict uuid": dict[uuid.UUID, int],
    "dict enum": dict[Color, int],
    "dict IntEnum": dict[Priority, int],
    "dict literal": dict[Literal["a", "b"], int],
    "dict pattern": dict[Annotated[str, Field(pattern=r"^[a-z]+\z")], int],
    "dict lengths": dict[Annotated[str, Field(min_length=1, max_length=2)], int],
    "dict Any": dict[Any, Any],
    "model": Person,
    "list of models": list[Person],
    "optional model": Person | None,
    "recursive": Node,
    "recursive list": list[Node],
    "mutual": Tick,
    "generic": Page[Address],
    "generic int": Page[int],
    "expression": Expression,
    "discriminated": Pet,
    "discriminated field": Home,
    "discriminated numbers": Annotated[Union[Numbered, Zeroth], Field(discriminator="kind")],
    "overlapping": Cat | Dog | Person,
    "dataclass": Point,
    "pydantic dataclass": Circle,
    "TypedDict": Movie,
    "TypedDict total=False": Loose,
    "RootModel": Names,
    "open": Open,
    "open ints": OpenInts,
    "shut": Shut,
    "aliased": Aliased,
    "by name": ByName,
    "strict": Strict,
    "hidden": Hidden,
    "date": datetime.date,
    "time": datetime.time,
    "datetime": datetime.datetime,
    "aware": pydantic.AwareDatetime,
    "naive": pydantic.NaiveDatetime,
    "timedelta": datetime.timedelta,
    "UUID": uuid.UUID,
    "UUID4": pydantic.UUID4,
    "UUID7": pydantic.UUID7,
    "Decimal": decimal.Decimal,
    "Decimal digits": Annotated[decimal.Decimal, Field(max_digits=5, decimal_places=2)],
    "Decimal bounds": Annotated[decimal.Decimal, Field(gt=0, le=decimal.Decimal("10.5"), decimal_places=1)],
    "SecretStr": pydantic.SecretStr,
    "Path": pathlib.Path,
    "bytes": bytes,
    "IPv4": ipaddress.IPv4Address,
    "IPv6": ipaddress.IPv6Address,
}
"""Supported types; pydantic must accept every value of their documents."""


class Twofold(BaseModel):
    b: int = Field(validation_alias=pydantic.AliasPath("a", "b"))
    c: int = Field(validation_alias=pydantic.AliasPath("a", 0))


class TupleEnum(enum.Enum):
    A = (1, 2)


class WithTupleEnum(BaseModel):
    e: TupleEnum


UNSUPPORTED: dict[str, tuple[Any, str]] = {
    "tuple enum": (WithTupleEnum, "$.e"),
    "class": (tuple[int, type[int]], "$[1]"),
    "bytes pattern": (list[re.Pattern[bytes]], "$[]"),
    "alias into a list and an object": (Twofold, "$.a"),
    "enum literal": (list[Literal[Color.RED]], "$[]"),
    "bytes literal": (Literal[b"x"], "$"),
    "date bounds": (list[Annotated[datetime.date, Field(gt=datetime.date.max)]], "$[]"),
    "dict of int literals": (dict[Literal[1, 2], int], "$"),
    "dict of tuples": (dict[tuple[int, int], int], "$"),
}
"""Unsupported types, and the path in the error."""
