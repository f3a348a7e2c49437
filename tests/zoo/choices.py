"""Enums, literals and unions."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional, Union

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from tests.zoo.specimen import Kind, Specimen


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


class Shade(str, enum.Enum):
    LIGHT = "light"
    DARK = "dark"


class Weight(float, enum.Enum):
    HALF = 0.5
    WHOLE = 1.0


class Access(enum.IntFlag):
    READ = 1
    WRITE = 2
    RUN = 4


class Side(enum.Flag):
    LEFT = 1
    RIGHT = 2


class Exact(enum.Enum):
    HALF = Decimal("0.5")
    TWO = Decimal(2)


class Forgiving(enum.Enum):
    A = "a"
    B = "b"

    @classmethod
    def _missing_(cls, value: object) -> Forgiving:
        return cls.A


class TupleEnum(enum.Enum):
    A = (1, 2)


class DateEnum(enum.Enum):
    A = dt.date(2020, 1, 1)


class UsesValues(BaseModel):
    model_config = ConfigDict(use_enum_values=True)
    color: Color
    level: Level = Level.LOW


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(ge=0, le=9)


class Dog(BaseModel):
    kind: Literal["dog", "wolf"]
    good: bool


class Lizard(BaseModel):
    kind: Literal["lizard"]
    scales: Literal["green", "brown"]


class Black(BaseModel):
    kind: Literal["cat"]
    color: Literal["black"]


class White(BaseModel):
    kind: Literal["cat"]
    color: Literal["white"]
    lazy: bool


class One(BaseModel):
    version: Literal[1]
    a: int


class Two(BaseModel):
    version: Literal[2]
    b: str


class Apple(BaseModel):
    fruit: str = "apple"
    cores: int


class Pear(BaseModel):
    fruit: str = "pear"
    stalk: bool


class Aliased(BaseModel):
    kind: Literal["x"] = Field(alias="type")
    a: int


class AliasedToo(BaseModel):
    kind: Literal["y"] = Field(alias="type")
    b: int


def _fruit(value: Any) -> str:
    return "apple" if "cores" in (value if isinstance(value, dict) else vars(value)) else "pear"


_Cats = Annotated[Black | White, Field(discriminator="color")]

CHOICES: Kind = {
    "Literal": Specimen(
        Literal["New York", "New York City", 3], ["New York", "New York City", 3], ['"New"', '"3"', "4"]
    ),
    "Literal[True, 'x', None]": Specimen(Literal[True, "x", None], [True, "x", None], ["false", '"y"']),
    "Literal of enum members": Specimen(
        Literal[Level.HIGH, Shade.DARK], [Level.HIGH, Shade.DARK], ["1", '"light"', '"DARK"']
    ),
    "Enum": Specimen(Color, list(Color), ['"RED"', '"blue"']),
    "Enum of mixed values": Specimen(Mixed, list(Mixed), ["2", '"1"', '"b"', "true"]),
    "IntEnum": Specimen(Level, list(Level), ["2", '"LOW"']),
    "str Enum": Specimen(Shade, list(Shade), ['"LIGHT"', "1"]),
    "float Enum": Specimen(Weight, list(Weight), ["2.5", '"HALF"']),
    "Enum of Decimals": Specimen(
        Exact,
        texts=["0.5", "2"],
        refuses=["1", '"HALF"'],
        limits="as numbers; pydantic rejects its own strings",
    ),
    "IntFlag": Specimen(
        Access,
        [Access.READ, Access.READ | Access.RUN, Access(0), Access(7)],
        ['"READ"', "8", "1.5"],
        limits="combinations of members",
    ),
    "Flag": Specimen(Side, [Side.LEFT, Side.LEFT | Side.RIGHT, Side(0)], ["4", '"LEFT"']),
    "Enum with _missing_": Specimen(
        Forgiving, list(Forgiving), ['"z"', "z"], limits="only the members' values"
    ),
    "Enum of tuples": Specimen(TupleEnum, error="cannot be read back from JSON"),
    "Enum of dates": Specimen(DateEnum, error="cannot be read back from JSON"),
    "Literal of bytes": Specimen(Literal[b"x"], error="cannot be read back from JSON"),
    "Literal of a plain enum member": Specimen(Literal[Color.RED], error="cannot be read back from JSON"),
    "model, use_enum_values": Specimen(
        UsesValues,
        [UsesValues(color=Color.RED)],
        ['{"color": "RED", "level": 1}', '{"color": "red", "level": 2}'],
    ),
    "Optional[int]": Specimen(Optional[int], [None, 3], ['"x"', "nul"]),
    "int | float | str": Specimen(Union[int, float, str], [3, 3.14, "x"], ["null", "[1]"]),
    "list[int] | dict[str, int] | bool": Specimen(
        Union[list[int], dict[str, int], bool], [[1], {"a": 1}, True], ["7", '["a"]']
    ),
    "str | date": Specimen(str | dt.date, ["x", dt.date(2024, 1, 1)], ["null"]),
    "int | UUID": Specimen(int | uuid.UUID, [1, uuid.UUID(int=1)], ['"a"']),
    "union, left_to_right": Specimen(
        Annotated[int | str, Field(union_mode="left_to_right")], [1, "a"], ["null"]
    ),
    "union of models": Specimen(
        Cat | Dog, [Cat(kind="cat", lives=1), Dog(kind="wolf", good=True)], ['{"kind": "cat", "good": true}']
    ),
    "union, discriminator": Specimen(
        Annotated[Cat | Dog, Field(discriminator="kind")],
        [Cat(kind="cat", lives=9), Dog(kind="dog", good=True)],
        ['{"kind": "cat", "good": true}', '{"kind": "cow"}', '{"kind": "cat", "lives": 10}'],
    ),
    "union, nested discriminators": Specimen(
        Annotated[_Cats | Dog | Lizard, Field(discriminator="kind")],
        [
            Black(kind="cat", color="black"),
            White(kind="cat", color="white", lazy=True),
            Lizard(kind="lizard", scales="green"),
        ],
        ['{"kind": "cat", "color": "white"}', '{"kind": "lizard", "color": "black"}'],
    ),
    "union, discriminator of ints": Specimen(
        Annotated[One | Two, Field(discriminator="version")],
        [One(version=1, a=2), Two(version=2, b="x")],
        ['{"version": 3}', '{"version": 1, "b": "x"}'],
    ),
    "union, discriminator with alias": Specimen(
        Annotated[Aliased | AliasedToo, Field(discriminator="kind")],
        [Aliased.model_validate({"type": "x", "a": 1})],
        ['{"kind": "x", "a": 1}', '{"type": "x", "b": 1}'],
    ),
    "union, callable Discriminator": Specimen(
        Annotated[Annotated[Apple, Tag("apple")] | Annotated[Pear, Tag("pear")], Discriminator(_fruit)],
        [Apple(cores=1), Pear(stalk=True)],
        ['{"fruit": "apple"}', '{"cores": true}'],
        limits="the function is called afterwards",
    ),
}
