"""Models, dataclasses and typed dicts: fields, aliases, extra keys, inheritance, recursion."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Annotated, Any, ClassVar, Generic, Literal, Optional, TypeVar, Union

import pydantic
from pydantic import (
    AliasChoices,
    AliasGenerator,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    RootModel,
    StringConstraints,
    TypeAdapter,
    computed_field,
)
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass as pydantic_dataclass
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import NotRequired, Required, TypeAliasType, TypedDict

from tests.zoo.choices import Color
from tests.zoo.specimen import Kind, Specimen

T = TypeVar("T")


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


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class OpenInts(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]
    a: str


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int


class Ignoring(BaseModel):
    model_config = ConfigDict(extra="ignore")
    a: int


class Empty(BaseModel):
    pass


class Aliased(BaseModel):
    inner: int = Field(alias='outer name "x"')


class ReadAs(BaseModel):
    inner: int = Field(validation_alias="read")


class WrittenAs(BaseModel):
    inner: int = Field(serialization_alias="written")


class BothWays(BaseModel):
    inner: int = Field(validation_alias="read", serialization_alias="written")


class Chosen(BaseModel):
    inner: int = Field(validation_alias=AliasChoices("first", "second"))


class ChosenFar(BaseModel):
    inner: int = Field(validation_alias=AliasChoices(AliasPath("a", 0), "b"))


class Reaching(BaseModel):
    first: str = Field(validation_alias=AliasPath("names", 0))
    last: str = Field(validation_alias=AliasPath("names", 1))
    age: int = Field(validation_alias=AliasPath("facts", "age"))


class ReachingFar(BaseModel):
    model_config = ConfigDict(extra="forbid")
    deep: int = Field(validation_alias=AliasPath("a", "b", 1, "c"))
    near: bool = Field(validation_alias=AliasPath("a", "d"))


class PathFirst(BaseModel):
    model_config = ConfigDict(extra="allow")
    inner: int = Field(validation_alias=AliasChoices(AliasPath("a", 0), "b"))
    hidden: SkipJsonSchema[int] = 5


class PathIntoField(BaseModel):
    inner: int = Field(validation_alias=AliasChoices(AliasPath("a", 0), "b"))
    a: list[str] = Field(max_length=1)


class PathIntoText(BaseModel):
    inner: str = Field(validation_alias=AliasChoices(AliasPath("name", "full"), "full"))
    name: str


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)
    first_name: str
    home_address: str


class CamelAndName(BaseModel):
    model_config = ConfigDict(
        alias_generator=AliasGenerator(validation_alias=to_camel), populate_by_name=True
    )
    first_name: str


class ByName(BaseModel):
    model_config = ConfigDict(validate_by_alias=False, validate_by_name=True)
    a: int = Field(alias="b")


class Computed(BaseModel):
    width: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def area(self) -> int:
        return self.width**2


class Hidden(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    shown: int
    secret: int = Field(default=3, exclude=True)
    skipped: SkipJsonSchema[int] = 5
    kind: ClassVar[str] = "x"
    _private: int = PrivateAttr(4)


class Base(BaseModel):
    a: int
    b: int = 2


class Child(Base):
    c: str
    a: float  # type: ignore[assignment]


class Described(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"a": 1}], "x-note": True})
    a: int = Field(description="a number", examples=[1, 2], json_schema_extra={"maximum": 3})


class Defaults(BaseModel):
    a: list[int] = Field(default_factory=list)
    b: dt.date = dt.date(2024, 1, 1)
    c: Literal["x"] = "x"


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, validate_assignment=True)
    a: Annotated[int, Field(frozen=True)]


class FromAttributes(BaseModel):
    model_config = ConfigDict(from_attributes=True, str_max_length=3, title="T")
    a: str


class Names(RootModel[list[str]]):
    pass


class Scores(RootModel[dict[str, Annotated[int, Field(ge=0)]]]):
    pass


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Partial(TypedDict, total=False):
    a: Required[int]
    b: str


class ShutDict(TypedDict):
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]
    a: int


@dataclasses.dataclass
class Size:
    width: float
    height: float = 1.0


@dataclasses.dataclass
class Unasked:
    a: int
    b: int = dataclasses.field(default=2, init=False)
    c: list[int] = dataclasses.field(default_factory=list)


@pydantic_dataclass
class Box:
    sides: tuple[int, int, int]
    label: str = "é"


@pydantic_dataclass(config=ConfigDict(extra="forbid"), kw_only=True)
class Strong:
    inner: int = Field(alias="outer", gt=0)


@dataclasses.dataclass
class KeywordFirst:
    a: int = dataclasses.field(kw_only=True)
    b: str = "x"


@dataclasses.dataclass
class Link:
    value: int
    next: Optional[Link] = None


Nested = TypeAliasType("Nested", "list[Nested] | int")
Named = TypeAliasType("Named", Annotated[int, Field(gt=0)])
Pair = TypeAliasType("Pair", "tuple[T, T]", type_params=(T,))


class Num(BaseModel):
    op: Literal["num"]
    value: float


class Add(BaseModel):
    op: Literal["add"]
    left: Expression
    right: Expression


Expression = Annotated[Union[Num, Add], Field(discriminator="op")]


class Deep(BaseModel):
    a: dict[str, list[dict[str, tuple[int, str | None]]]]


class HoldsAny(BaseModel):
    x: Any


_BARE_AGE = '{"name": "Ana", "age": 34}'

MODELS: Kind = {
    "model": Specimen(
        Person,
        [Person(name="Ana", age=34), Person(name="", age=0, job="x")],
        [
            "{}",
            _BARE_AGE,
            '{"age": 34, "name": "Ana", "job": null}',
            '{"name": "A", "age": 1, "job": null, "x": 1}',
        ],
        limits="fields with a default are included, unless defaults='may_omit'",
    ),
    "model without fields": Specimen(Empty, [Empty()], ["[]", '{"a": 1}']),
    "model of models": Specimen(
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
    "model, optional": Specimen(Person | None, [None, Person(name="x", age=1)], ["{}"]),
    "list of models": Specimen(list[Person], [[], [Person(name="A", age=1)]], ["{}", '[{"name": "A"}]']),
    "model, recursive": Specimen(
        Tree,
        [Tree(value=1), Tree(value=1, children=[Tree(value=2, children=[Tree(value=3)])])],
        ['{"value": 1, }', '{"value": 1, "children": [{"value": 1,}]}', '{"value": 1, "children": [1]}'],
    ),
    "models, mutually recursive": Specimen(
        Pong, [Pong(text="a"), Pong(text="a", ping=Ping(pong=Pong(text="b")))], ['{"ping": null}']
    ),
    "model, generic": Specimen(
        Page[Person],
        [Page[Person](items=[Person(name="x", age=1)], next=None)],
        ['{"items": [1], "next": null}'],
    ),
    "model, generic of a generic": Specimen(
        Page[Page[int]],
        [Page[Page[int]](items=[Page[int](items=[1], next=2)], next=None)],
        ['{"items": [1], "next": null}'],
    ),
    "model, extra='allow'": Specimen(
        Open,
        [Open.model_validate({"a": 1, "b": [2]})],
        ['{"b": 1, "a": 1}', '{"a": 1, "a": 2}', '{"b": 1}'],
    ),
    "model, extra='allow' of ints": Specimen(
        OpenInts, [OpenInts.model_validate({"a": "x", "b": 2})], ['{"a": "x", "b": "y"}']
    ),
    "model, extra='forbid'": Specimen(Closed, [Closed(a=1)], ['{"a": 1, "b": 2}']),
    "model, extra='ignore'": Specimen(Ignoring, [Ignoring(a=1)], ['{"a": 1, "b": 2}', "{}"]),
    "model, alias": Specimen(Aliased, [Aliased.model_validate({'outer name "x"': 1})], ['{"inner": 1}']),
    "model, validation_alias": Specimen(ReadAs, texts=['{"read": 1}'], refuses=['{"inner": 1}']),
    "model, serialization_alias": Specimen(WrittenAs, texts=['{"inner": 1}'], refuses=['{"written": 1}']),
    "model, both aliases": Specimen(
        BothWays, texts=['{"read": 1}'], refuses=['{"written": 1}', '{"inner": 1}']
    ),
    "model, AliasChoices": Specimen(
        Chosen, texts=['{"first": 1}'], refuses=['{"inner": 1}', '{"second": 1}'], limits="the first choice"
    ),
    "model, AliasPath": Specimen(
        Reaching,
        texts=['{"names": ["a", "b"], "facts": {"age": 3}}'],
        refuses=['{"names": ["a"], "facts": {"age": 3}}', '{"first": "a", "last": "b", "age": 3}'],
        limits="lists are as long as the paths need",
    ),
    "model, AliasPath deep": Specimen(
        ReachingFar,
        texts=['{"a": {"b": [null, {"c": 1}], "d": true}}'],
        refuses=['{"a": {"b": [{"c": 1}], "d": true}}', '{"deep": 1, "near": true}', '{"a": {"d": true}}'],
    ),
    "model, AliasChoices with AliasPath": Specimen(
        ChosenFar,
        texts=['{"b": 1}'],
        refuses=['{"inner": 1}', '{"a": [1]}'],
        limits="a plain alias, if the field has one",
    ),
    "model, extra='allow', AliasPath before an alias": Specimen(
        PathFirst,
        texts=['{"b": 1}', '{"b": 1, "c": ["x"]}'],
        refuses=['{"b": 1, "a": ["x"]}', '{"b": 1, "hidden": "x"}'],
        limits="no other alias of a field as an extra key",
    ),
    "model, AliasPath into another field": Specimen(
        PathIntoField, texts=['{"b": 1, "a": []}'], refuses=['{"b": 1, "a": ["x"]}']
    ),
    "model, AliasPath into a string": Specimen(
        PathIntoText, texts=['{"full": "a", "name": "b"}'], refuses=['{"name": {"full": "a"}}']
    ),
    "model, alias_generator": Specimen(
        Camel,
        [Camel.model_validate({"firstName": "a", "homeAddress": "b"})],
        ['{"first_name": "a", "home_address": "b"}'],
    ),
    "model, populate_by_name": Specimen(
        CamelAndName,
        texts=['{"firstName": "a"}'],
        refuses=['{"first_name": "a"}', "{}"],
        limits="by its alias",
    ),
    "model, validate_by_name only": Specimen(ByName, texts=['{"a": 1}'], refuses=['{"b": 1}']),
    "model, computed_field": Specimen(
        Computed, texts=['{"width": 2}'], refuses=['{"area": 4}', '{"width": 2, "area": 4}']
    ),
    "model, excluded, private and skipped": Specimen(
        Hidden, texts=['{"shown": 1, "secret": 2}'], refuses=["{}", '{"shown": "x", "secret": 2}']
    ),
    "model, inherited": Specimen(
        Child, [Child(a=1.5, c="x")], ['{"c": "x", "a": 1, "b": 2}', '{"a": "x", "b": 2, "c": "x"}']
    ),
    "model, json_schema_extra": Specimen(
        Described,
        [Described(a=1)],
        ['{"a": 4}', '{"a": "x"}'],
        limits="its additions to the schema are enforced too",
    ),
    "model, defaults": Specimen(Defaults, [Defaults()], ['{"a": [], "b": "x", "c": "x"}', "{}"]),
    "model, frozen": Specimen(Frozen, [Frozen(a=1)], ["{}"]),
    "model, from_attributes, str_max_length": Specimen(
        FromAttributes, [FromAttributes(a="abc")], ['{"a": "abcd"}']
    ),
    "RootModel[list[str]]": Specimen(Names, [Names(["a"])], ['{"root": []}', "[1]"]),
    "RootModel[dict[str, int]]": Specimen(Scores, [Scores({"a": 1})], ['{"a": -1}']),
    "TypedDict": Specimen(Movie, [{"title": "x", "year": 1}, {"title": "x"}], ['{"title": 1}', "{}"]),
    "TypedDict, total=False": Specimen(Partial, [{"a": 1}, {"a": 1, "b": "x"}], ['{"b": "x"}', "{}"]),
    "TypedDict, extra='forbid'": Specimen(ShutDict, [{"a": 1}], ['{"a": 1, "b": 2}']),
    "dataclass": Specimen(Size, [Size(1.5), Size(0.25, 2.0)], ['{"width": "x"}', "{}"]),
    "dataclass, init=False": Specimen(
        Unasked, texts=['{"a": 1, "c": [2]}'], refuses=['{"a": 1, "b": 2, "c": []}', "{}"]
    ),
    "dataclass, kw_only first": Specimen(KeywordFirst, [KeywordFirst(a=1)], ['{"b": "x", "a": 1}', "{}"]),
    "dataclass, recursive": Specimen(Link, [Link(1), Link(1, Link(2))], ['{"value": 1, "next": 1}']),
    "pydantic dataclass": Specimen(Box, [Box((1, 2, 3))], ['{"sides": [1, 2]}']),
    "pydantic dataclass, alias, kw_only": Specimen(
        Strong,
        [Strong(outer=1)],
        ['{"inner": 1}', '{"outer": 0}'],
    ),
    "model of Any": Specimen(HoldsAny, [HoldsAny(x=[{}])], ["{}"]),
    "TypeAliasType, recursive": Specimen(Nested, [1, [1, [2, []]]], ['["a"]', "null"]),
    "TypeAliasType": Specimen(Named, [1], ["0"]),
    "TypeAliasType, generic": Specimen(Pair[int], [(1, 2)], ["[1]", '["a", "b"]']),
    "expression tree": Specimen(
        Expression,
        [Add(op="add", left=Num(op="num", value=1.5), right=Num(op="num", value=2.0))],
        ['{"op": "mul"}', '{"op": "add", "left": 1, "right": 2}'],
    ),
    "model, deep containers": Specimen(Deep, [Deep(a={"k": [{"x": (1, None)}]})], ['{"a": {"k": {}}}']),
    "TypeAdapter": Specimen(TypeAdapter(list[int]), [[1]], ['["a"]']),
    "TypeAdapter of a model": Specimen(
        TypeAdapter(Person), [Person(name="a", age=1)], [_BARE_AGE[:-1], "{}"]
    ),
    "pydantic.create_model": Specimen(
        pydantic.create_model("Made", a=(int, ...), b=(str, "x")),
        texts=['{"a": 1, "b": "y"}'],
        refuses=["{}"],
    ),
}
