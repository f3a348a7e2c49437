"""Functions inside types: their values are calls, and nothing executes a function while a value is made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Annotated, Any, Generic, List, NamedTuple, Optional, TypeVar, Union  # noqa: UP035

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass
from typing_extensions import TypedDict

import structkit as sk
from structkit.schema.python.output import OutputType
from structkit.testing import RandomModel, ScriptedModel
from tests.shared import cases

T = TypeVar("T")
RUNS: list[object] = []


def delete_user(id: int, on: date, why: str = "-") -> str:
    """Delete a user.

    Args:
        id: Which one.
    """
    RUNS.append(id)
    return f"deleted {id}"


async def notify(name: Annotated[str, Field(max_length=3)]) -> None:
    """Notify somebody."""
    RUNS.append(name)


def ping(times: int) -> None:
    RUNS.append(times)


class Shop:
    def close(self, hour: int) -> None:
        RUNS.append(hour)


class Answer(BaseModel):
    text: Annotated[str, Field(max_length=5)]


class Plan(BaseModel):
    first: delete_user  # type: ignore[valid-type]
    then: list[Union[delete_user, notify, Answer]] = []  # type: ignore[valid-type]
    maybe: Optional[notify] = None  # type: ignore[valid-type]


class Page(BaseModel, Generic[T]):
    item: T


@dataclasses.dataclass
class Plain:
    act: delete_user  # type: ignore[valid-type]


@dataclass
class Checked:
    act: delete_user  # type: ignore[valid-type]


class Named(NamedTuple):
    act: ping  # type: ignore[valid-type]


class Keys(TypedDict):
    act: ping  # type: ignore[valid-type]


class Deferred(BaseModel):
    model_config = ConfigDict(defer_build=True)
    act: delete_user  # type: ignore[valid-type]


TARGETS: list[Any] = [
    delete_user,
    Union[delete_user, Answer],
    Optional[delete_user],
    List[delete_user],  # type: ignore[valid-type] # noqa: UP006
    list[Annotated[delete_user, Field(description="One.")]],  # type: ignore[valid-type]
    dict[str, delete_user],  # type: ignore[valid-type]
    tuple[delete_user, notify],  # type: ignore[valid-type]
    Union[partial(delete_user, why="x"), Shop().close, Answer],
    Plan,
    list[Plan],
    Page[delete_user],  # type: ignore[valid-type]
    Page[Page[Plan]],
    Plain,
    Checked,
    list[Checked],
    Named,
    Keys,
    Deferred,
    TypeAdapter(list[Plan]),
    Plan | Answer,
]


@pytest.fixture(autouse=True)
def _nothing_runs() -> Any:
    RUNS.clear()
    yield
    assert RUNS == []


def calls_in(value: object) -> list[sk.Call[object]]:
    """Return the calls in a value."""
    if isinstance(value, sk.Call):
        return [value]
    if isinstance(value, BaseModel) or dataclasses.is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        value = list(value.values())
    return [call for each in value for call in calls_in(each)] if isinstance(value, (list, tuple)) else []


@pytest.mark.long(every=3)
@pytest.mark.parametrize("target", TARGETS, ids=range(len(TARGETS)))
def test_nothing_runs_and_every_call_is_typed(target: Any) -> None:
    made = [
        *sk.sample(target, n=cases(5, of=20)),
        *(
            sk.extract(RandomModel(seed, brevity=4), "x", target, max_tokens=400)
            for seed in range(cases(2, of=3))
        ),
    ]
    calls = [call for value in made for call in calls_in(value)]
    assert calls
    for call in calls:
        assert call.name in ("delete_user", "notify", "ping", "close")
        if call.name == "delete_user":
            assert list(map(type, call.arguments.values()))[:2] == [int, date]
    assert sk.check(target, n=cases(4, of=20)).ok
    assert sk.explain(target).enforced
    assert sk.to_regex(target)
    for event in sk.stream(RandomModel(7, brevity=4), "x", target, max_tokens=400):
        repr(event)
    options: dict[str, Any] = {"temperature": 1.0, "seed": 1, "max_tokens": 400}
    assert len(sk.generate(RandomModel(brevity=4), "x", target, n=2, **options)) == 2


def test_arguments_are_read_as_the_signature_says() -> None:
    text = '{"first": {"id": 3, "on": "2026-11-24"}, "then": [{"name": "Ana"}, {"text": "b"}], "maybe": null}'
    plan = sk.extract(ScriptedModel([text]), "x", Plan)
    assert plan.first == sk.Call(delete_user, "delete_user", {"id": 3, "on": date(2026, 11, 24), "why": "-"})
    assert plan.then == [sk.Call(notify, "notify", {"name": "Ana"}), Answer(text="b")]


def test_the_prompt_has_the_names_and_docstrings_of_functions() -> None:
    shown = sk.render_prompt(ScriptedModel([]), "x", Union[delete_user, Answer])
    assert (
        '{"id": integer /* Which one. */, "on": date, "why"?: string} /* Call delete_user. Delete a user. */'
        in shown
    )


def test_an_example_may_have_calls() -> None:
    call: sk.Call[str] = sk.Call(delete_user, "delete_user", {"id": 1, "on": date(2026, 1, 2), "why": "?"})
    for value in (Plan.model_construct(first=call), {"first": dict(call.arguments)}):
        shown = sk.render_prompt(ScriptedModel([]), "x", Plan, examples=[("y", value)])
        assert '{"first": {"id": 1, "on": "2026-01-02", "why": "?"}, "then": [], "maybe": null}' in shown


def test_the_types_of_users_are_not_changed() -> None:
    adapter = TypeAdapter(list[Plain])
    before = adapter.core_schema
    sk.sample(adapter)  # type: ignore[call-overload]
    assert adapter.core_schema is before


class Tree(BaseModel):
    label: Annotated[str, Field(max_length=2)]
    next: Optional[grow] = None  # type: ignore[valid-type]


def grow(tree: Tree, by: bool) -> None:
    RUNS.append(tree)


Tree.model_rebuild()


def test_a_function_may_take_the_class_that_contains_it() -> None:
    text = '{"label": "a", "next": {"tree": {"label": "b", "next": null}, "by": true}}'
    tree = sk.extract(ScriptedModel([text]), "x", Tree)
    assert tree.next is not None
    assert tree.next.arguments == {"tree": Tree(label="b"), "by": True}
    assert sk.check(Tree, n=20).ok


def without_types(id) -> None:  # type: ignore[no-untyped-def]
    RUNS.append(id)


def many(*ids: int) -> None:
    RUNS.append(ids)


class Initialized(BaseModel):
    act: delete_user  # type: ignore[valid-type]

    def __init__(self, **values: object) -> None:
        super().__init__(**values)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            list[without_types],
            "(?s)at `without_types\\(id\\)`:\n  .*the parameter id of without_types has no annotation",
        ),  # type: ignore[valid-type]
        (Optional[many], "the parameter ids of many takes any number of arguments"),
        (Union[lambda x: x, Answer], "a lambda has no name"),
        (list[Initialized], "(?s)Initialized has a function in a field and an __init__.*remove"),
    ],
)
def test_a_function_that_cannot_be_read_is_an_error(target: Any, message: str) -> None:
    for reads in (sk.sample, sk.check, sk.explain, sk.to_regex):
        with pytest.raises(sk.SchemaError, match=message):
            reads(target)


def test_a_type_is_never_read_without_a_form_of_its_functions() -> None:
    functions: list[Callable[..., object]] = [delete_user, notify]
    for function in functions:
        with pytest.raises(sk.SchemaError, match=f"the function {function.__name__} is not supported here"):
            OutputType.of(Optional[function])  # type: ignore[arg-type]
