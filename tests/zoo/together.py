"""Types that combine several features."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Generic, Literal

from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, RootModel, StringConstraints
from typing_extensions import TypeAliasType, TypeVar

from tests.zoo.specimen import Kind, Specimen

T = TypeVar("T", default=int)


class Box(BaseModel, Generic[T]):
    x: T
    others: list[T] = []


class Tree(BaseModel, Generic[T]):
    value: T
    kids: list[Tree[T]] = []


class A1(BaseModel):
    kind: Literal["a1"] = "a1"
    v: int


class A2(BaseModel):
    kind: Literal["a2", "a3"]
    v: str


class B1(BaseModel):
    t: Literal["b1"] = "b1"
    inner: Annotated[A1 | A2, Field(discriminator="kind")]


class B2(BaseModel):
    t: Literal["b2"] = "b2"
    inner: list[Annotated[A1 | A2, Field(discriminator="kind")]]


class C1(BaseModel):
    z: Literal[1] = 1
    b: Annotated[B1 | B2, Field(discriminator="t")]


class C2(BaseModel):
    z: Literal[2] = 2


class Deep(RootModel[Annotated[C1 | C2, Field(discriminator="z")]]):
    pass


class Reaching(BaseModel):
    a: int = Field(validation_alias=AliasChoices("x", AliasPath("y", 0, "z")))
    b: str = Field(validation_alias=AliasPath("p", "q"))


class Extras(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Annotated[int, Field(ge=3)]]
    a: int


class Either(RootModel["list[Either] | dict[str, int] | int"]):
    pass


Pair = TypeAliasType("Pair", "tuple[T, T | None]", type_params=(T,))
_TREE: Any = Tree[Decimal]
_PAIRS: Any = dict[str, Pair[Pair[int]]]

TOGETHER: Kind = {
    "generic model with a default": Specimen(Box, [Box(x=1, others=[2])], ['{"x": "a", "others": []}']),
    "generic model in itself": Specimen(
        Box[Box[str]], [Box[Box[str]](x=Box[str](x="a"))], ['{"x": {"x": 1, "others": []}, "others": []}']
    ),
    "recursive generic model": Specimen(
        _TREE,
        [_TREE(value=Decimal("1.5"), kids=[_TREE(value=Decimal(2))])],
        ['{"value": "x", "kids": []}', '{"value": 1, "kids": [1]}'],
    ),
    "discriminated unions, three deep": Specimen(
        Deep,
        [Deep(C2()), Deep(C1(b=B2(inner=[A1(v=1), A2(kind="a3", v="x")])))],
        ['{"z": 3}', '{"z": 1, "b": {"t": "b1", "inner": {"kind": "a2", "v": 1}}}'],
    ),
    "AliasChoices with an AliasPath": Specimen(
        Reaching, texts=['{"x": 1, "p": {"q": "a"}}'], refuses=['{"x": 1}', '{"a": 1, "b": "c"}']
    ),
    "extra of a type": Specimen(
        Extras,
        [Extras.model_validate(each) for each in ({"a": 1}, {"a": 1, "b": 3})],
        ['{"a": 1, "b": 2}', '{"b": 3}'],
    ),
    "RootModel of a recursive union": Specimen(
        Either, [Either([Either({"a": 1}), Either(2)])], ['"a"', '[{"a": []}]']
    ),
    "generic alias in itself": Specimen(
        _PAIRS, [{"k": ((1, None), None)}], ['{"k": [1, null]}', '{"k": []}']
    ),
    "constraints upon constraints": Specimen(
        Annotated[
            Annotated[str, StringConstraints(strip_whitespace=True, to_upper=True)],
            Field(min_length=2, max_length=4, pattern="^[A-Z]+$"),
        ],
        ["ABC"],
        ['"A"', '"ab"', '"ABCDE"'],
    ),
}
