"""Unions with a member that no text can select are refused, and others are not."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Literal, TypeAlias, Union

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    RootModel,
    Tag,
    TypeAdapter,
    create_model,
    model_validator,
)
from typing_extensions import TypedDict

import structkit as sk
from structkit.schema.python.output import OutputType
from structkit.testing import ScriptedModel
from tests.shared import cases

Extra: TypeAlias = Literal["ignore", "forbid", "allow"]

TYPES: dict[str, tuple[object, list[object]]] = {
    "int": (int, [0, 1, -7, 10**6]),
    "natural": (Annotated[int, Field(ge=0)], [0, 1, 10**6]),
    "a": (Literal["a"], ["a"]),
    "a or b": (Literal["a", "b"], ["a", "b"]),
    "ints": (list[int], [[], [1], [-2, 3]]),
    "optional": (int | None, [None, -1]),
}
"""Types of fields, with values that cover their members."""

FIELDS = st.dictionaries(
    st.sampled_from(["x", "y"]), st.tuples(st.sampled_from(sorted(TYPES)), st.booleans()), max_size=2
)


def model_of(name: str, fields: dict[str, tuple[str, bool]], extra: Extra) -> type[BaseModel]:
    made: dict[str, Any] = {
        key: (TYPES[kind][0], TYPES[kind][1][0] if default else ...)
        for key, (kind, default) in fields.items()
    }
    return create_model(name, __config__=ConfigDict(extra=extra), **made)


def dataclass_of(name: str, fields: dict[str, tuple[str, bool]], extra: Extra) -> type:
    made = [
        (key, TYPES[kind][0], dataclasses.field(default_factory=lambda kind=kind: TYPES[kind][1][0]))
        if default
        else (key, TYPES[kind][0])
        for key, (kind, default) in sorted(fields.items(), key=lambda each: each[1][1])
    ]
    return dataclasses.make_dataclass(name, made)


def texts(fields: dict[str, tuple[str, bool]]) -> list[str]:
    """Texts of a class, as structkit writes them: with all fields."""
    objects: list[dict[str, object]] = [{}]
    for key, (kind, _) in fields.items():
        objects = [{**each, key: value} for each in objects for value in TYPES[kind][1]]
    return [json.dumps(each) for each in objects]


@settings(deadline=None, max_examples=cases(40, of=400))
@given(
    FIELDS,
    FIELDS,
    st.sampled_from(["ignore", "forbid", "allow"]),
    st.sampled_from(["smart", "left_to_right"]),
    st.sampled_from([model_of, dataclass_of]),
)
def test_a_union_is_refused_if_and_only_if_no_text_selects_a_member(
    first: dict[str, tuple[str, bool]],
    second: dict[str, tuple[str, bool]],
    extra: Extra,
    mode: Literal["smart", "left_to_right"],
    make: Callable[..., type],
) -> None:
    one, other = make("One", first, extra), make("Other", second, extra)
    union = Annotated[Union[one, other], Field(union_mode=mode)]
    selected = {type(TypeAdapter(union).validate_json(text)) for text in texts(second)}
    if other in selected:
        sk.to_json_schema(union)
    else:
        with pytest.raises(sk.SchemaError, match="no text is read as Other"):
            sk.to_json_schema(union)


class A(BaseModel):
    pass


class B(BaseModel):
    pass


class X(BaseModel):
    x: int
    inner: A | None = None


class Y(BaseModel):
    x: int
    inner: B | None = None


class Tree(BaseModel):
    children: list[Tree]


class Bush(BaseModel):
    children: list[Bush]


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Paint(Enum):
    RED = "red"


class Numbers(RootModel[list[int]]):
    pass


class Counts(RootModel[list[int]]):
    pass


class Holder(BaseModel):
    items: dict[str, list[A | B]]


def refund(id: int, note: str = "") -> None: ...
def cancel(id: int) -> None: ...


@pytest.mark.parametrize(
    ("target", "place"),
    [
        (A | B, "$"),
        (A | B | None, "$"),
        (Union[list[A], list[B]], "$"),
        (Union[dict[str, A], dict[str, B]], "$"),
        (tuple[A, int] | tuple[B, int], "$"),
        (list[A | B], "$[]"),
        (Holder, "$.items[][]"),
        (X | Y, "$"),
        (Tree | Bush, "$"),
        (Color | Paint, "$"),
        (Numbers | Counts, "$"),
        (Union[refund, cancel], "$"),
        (list[Union[refund, cancel, int]], "$[]"),
    ],
)
def test_refused_with_the_place_and_a_remedy(target: Any, place: str) -> None:
    with pytest.raises(
        sk.SchemaError, match=r"no text is read as .*\n  give both a (field|parameter) that differs"
    ) as caught:
        sk.extract(ScriptedModel([]), "x", target)
    assert caught.value.place == place


def test_the_remedy_names_the_order_where_that_suffices() -> None:
    class Wide(BaseModel):
        x: int
        y: int = 0

    class Narrow(BaseModel):
        x: int

    with pytest.raises(sk.SchemaError, match="or put Narrow before Wide"):
        sk.to_json_schema(Wide | Narrow)
    assert sk.extract(ScriptedModel(['{"x": 1}']), "x", Narrow | Wide) == Narrow(x=1)
    with pytest.raises(sk.SchemaError) as caught:
        sk.to_json_schema(A | B)
    assert "before" not in str(caught.value)


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


def reject_even(value: int) -> int:
    if value % 2 == 0:
        raise ValueError("odd")
    return value


class Odd(BaseModel):
    n: Annotated[int, AfterValidator(reject_even)]


class Any_(BaseModel):
    n: int


class Checked(BaseModel):
    n: int

    @model_validator(mode="after")
    def check(self) -> Checked:
        if self.n % 2 == 0:
            raise ValueError("odd")
        return self


class First(TypedDict):
    a: int


class Second(TypedDict):
    a: int


@pytest.mark.parametrize(
    "target",
    [
        Cat | Dog,
        Annotated[Cat | Dog, Field(discriminator="kind")],
        Annotated[
            Annotated[A, Tag("a")] | Annotated[B, Tag("b")],
            Discriminator(lambda value: "b" if value else "a"),
        ],
        Odd | Any_,
        Checked | Any_,
        First | Second,
        int | Annotated[int, Field(ge=0)],
        A | X,
        X | A,
        list[A] | dict[str, B],
        Union[cancel, refund],
    ],
)
def test_not_refused_where_a_text_or_a_validator_decides_or_the_values_are_equal(target: Any) -> None:
    sk.to_json_schema(target)


def test_the_value_is_the_member_that_the_validators_accept() -> None:
    texts = ['{"n": 2}', '{"n": 3}']
    assert [sk.extract(ScriptedModel([text]), "x", Odd | Any_) for text in texts] == [Any_(n=2), Odd(n=3)]


def test_agents_refuse_such_outputs_and_arguments() -> None:
    def give(item: A | B) -> None: ...

    for options in ({"output_type": A | B}, {"tools": [give]}):
        with pytest.raises(sk.SchemaError, match="no text is read as B"):
            sk.Agent(ScriptedModel([]), **options)  # type: ignore[call-overload]


@pytest.mark.parametrize("has_tag", [True, False])
def test_members_that_a_field_tells_apart_are_not_compared(has_tag: bool) -> None:
    """Hundreds of tools have hundreds of thousands of pairs."""
    fields: list[dict[str, Any]] = [
        {"kind": (Literal[f"k{n}"], ...), "x": (int, 0)}
        if has_tag
        else {f"k{n}": (int, ...), "x": (str, ...)}
        for n in range(400)
    ]
    union = Union[tuple(create_model(f"M{n}", **each) for n, each in enumerate(fields))]
    OutputType.of(union, limits=sk.Limits(work=5_000_000))


def test_the_comparison_of_members_is_bounded() -> None:
    members: list[Any] = [
        create_model(f"M{n}", a=(Annotated[int, Field(ge=-n)], ...), b=(int, n)) for n in range(60)
    ]
    with pytest.raises(sk.LimitExceeded, match="the members of unions") as caught:
        OutputType.of(Union[tuple(members)], limits=sk.Limits(work=50_000))
    assert caught.value.place == "$"


class Add(BaseModel):
    op: Literal["+"]
    left: int | Add | Multiply


class Multiply(BaseModel):
    op: Literal["*"]
    left: int | Add | Multiply
    right: Leaf | None = None


class Leaf(BaseModel):
    op: Literal["leaf"]
    parent: Annotated[Add | Multiply, Field(discriminator="op")] | None
    chain: Leaf | Plain | None = None


class Plain(BaseModel):
    value: int


def test_a_recursive_union_without_a_discriminator_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """Pydantic tries each member at each level, also after a member has matched."""
    for target in (Plain, Add, list[Multiply]):
        sk.to_json_schema(target)
        sk.explain(target)
    assert [each.message.split(" contains itself")[0] for each in caplog.records] == [
        "the union Add | Multiply"
    ]
    assert "takes 2 times as long for each level" in caplog.text
