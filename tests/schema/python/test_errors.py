"""Errors about types: the place, the cause, and a remedy that works as it is written."""

from __future__ import annotations

import array
import datetime
import enum
import io
import logging
import re
import types
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar

import numpy as np
import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, TypeAdapter

import structkit as sk
from structkit.schema.python.core_schema import name_of
from structkit.testing import ScriptedModel

_T = TypeVar("_T")


class Page(BaseModel, Generic[_T]):
    items: list[_T]


class UserId(str):
    pass


class Port(int):
    pass


class Tags(list[str]):
    pass


class Labels(dict[str, int]):
    pass


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Shade(enum.Enum):
    DARK = "dark"


@dataclass
class Account:
    ids: list[UserId]


class Holder(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    user: UserId


class Later(BaseModel):
    user: Annotated[Id | None, "later"]


class Id(str):
    pass


def find(user: UserId) -> None: ...


@pytest.mark.parametrize(
    ("target", "place", "text"),
    [
        (UserId, "$", '"ana"'),
        (Port, "$", "80"),
        (Tags, "$", '["a"]'),
        (Labels, "$", '{"a": 1}'),
        (dict[str, list[UserId]], "$", '"ana"'),
        (UserId | None, "$", '"ana"'),
        (Account, "$", '"ana"'),
        (Holder, "$.user", '"ana"'),
        (Later, "$", '"ana"'),
        (find, "find(user)", '"ana"'),
    ],
)
def test_a_class_derived_from_a_built_in_one(target: Any, place: str, text: str) -> None:
    with pytest.raises(sk.SchemaError) as caught:
        sk.extract(ScriptedModel([]), "", target)
    assert caught.value.place == place
    remedy = re.fullmatch(r"write (.*) instead of (\w+)", caught.value.remedy or "")
    assert remedy is not None
    annotation: Any = eval(remedy[1], globals() | {"Annotated": Annotated, "pydantic": pydantic})
    found = sk.extract(ScriptedModel([text]), "", annotation)
    assert type(found) is globals()[remedy[2]]
    assert str(caught.value).count(caught.value.cause) == 1


@pytest.mark.parametrize(
    ("target", "remedy", "other", "text"),
    [
        (Literal[Color.RED], "class Color(int, Enum)", "Literal[Color.RED]", "1"),
        (Literal[Shade.DARK], "class Shade(str, Enum)", "Literal[Shade.DARK]", '"dark"'),
        (dict[Color, str], "class Color(int, Enum)", "dict[Color, str]", '{"1": "x"}'),
    ],
)
def test_an_enum_whose_members_pydantic_does_not_read(
    target: Any, remedy: str, other: str, text: str
) -> None:
    with pytest.raises(sk.UnsupportedKeyword) as caught:
        sk.to_regex(list[target])
    assert caught.value.place == "$[]"
    assert remedy in (caught.value.remedy or "")
    names: dict[str, Any] = {"Enum": enum.Enum, "Literal": Literal}
    members = "RED = 1" if "Color" in remedy else "DARK = 'dark'"
    exec(f"{remedy}:\n    {members}", names)
    found = sk.extract(ScriptedModel([text]), "", TypeAdapter(eval(other, names)))
    assert found


def test_keys_that_are_constants_of_another_type() -> None:
    with pytest.raises(sk.UnsupportedKeyword) as caught:
        sk.to_regex(dict[Literal[1, 2], int])
    assert (caught.value.remedy or "").startswith("write Literal['1', '2'], or")
    with pytest.raises(sk.UnsupportedKeyword, match=r"write dict\[str, \.\.\.\]|use dict\[str"):
        sk.to_regex(dict[tuple[int, int], int])


class Unprintable(TypeError):
    """An exception that has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def test_an_exception_without_a_text_that_a_type_raises() -> None:
    class Broken:
        @classmethod
        def __get_pydantic_core_schema__(cls, source: object, handler: object) -> Any:
            raise Unprintable

    with pytest.raises(sk.SchemaError, match="<unprintable Unprintable object>"):
        sk.to_regex(Broken)


def test_an_exception_without_a_text_that_a_model_raises() -> None:
    def reply(prompt: str) -> str:
        raise Unprintable

    with pytest.raises(sk.ModelError, match="the model failed: Unprintable\n"):
        sk.extract(sk.from_function(reply), "", bool)


@pytest.mark.parametrize(
    "target", [Literal["\ud800"], dict[str, Literal["a", "\udfff"]], {"enum": ["\udfff"]}]
)
def test_lone_surrogates_in_values(target: Any) -> None:
    with pytest.raises(sk.SchemaError, match="lone surrogate") as caught:
        sk.to_regex(target)
    assert "or remove the surrogate" in (caught.value.remedy or "")
    assert sk.to_regex(Literal["\U0001f600"])


def test_lone_surrogates_in_options() -> None:
    with pytest.raises(sk.SchemaError, match="lone surrogate") as caught:
        sk.Choice(["a", "\ud800"])
    assert "or remove the surrogate" in (caught.value.remedy or "")


class Plain:
    pass


@pytest.mark.parametrize(
    ("target", "remedy"),
    [
        (Collection[int], "write list[...]"),
        (array.array, "write list[...]"),
        (datetime.timezone, "write zoneinfo.ZoneInfo"),
        (np.ndarray, "write list[float] or list[list[float]]"),
        (np.int32, "write int"),
        (io.StringIO, "write str"),
        (types.SimpleNamespace, "use a type that can be written as JSON"),
        (ValueError, "use a type that can be written as JSON"),
        (Plain, "make it a pydantic.BaseModel or a dataclass, or use another type"),
        (Callable[[], int], "use a type that can be written as JSON"),
    ],
)
def test_a_class_that_the_user_cannot_change(target: Any, remedy: str) -> None:
    with pytest.raises(sk.SchemaError) as caught:
        sk.to_regex(list[target])
    assert caught.value.remedy == remedy


def test_a_field_whose_default_has_no_json_form() -> None:
    class Handler(BaseModel):
        callback: Callable[[], object] = dict

    with pytest.raises(sk.UnsupportedKeyword) as caught:
        sk.to_regex(Handler)
    assert caught.value.place == "$.callback"
    assert (caught.value.remedy or "").endswith(
        "keep its default with pydantic.json_schema.SkipJsonSchema[...]"
    )


def test_null_is_described_to_the_model() -> None:
    class Handler(BaseModel):
        callback: Callable[[], object] | None = None
        kind: type[int] | None = None

    properties: Any = sk.to_json_schema(Handler)["properties"]
    assert [each["type"] for each in properties.values()] == ["null", "null"]
    assert 'Handler = {"callback": null, "kind": null}' in sk.render_prompt(ScriptedModel([]), "x", Handler)


@pytest.mark.parametrize("index", [10**9, -(10**9)])
def test_the_index_of_an_alias_path_is_bounded(index: int) -> None:
    """All items before it would be generated."""
    path: Any = pydantic.Field(validation_alias=pydantic.AliasPath("a", index))
    model: Any = pydantic.create_model("Model", value=(int, path))
    with pytest.raises(sk.UnsupportedKeyword, match="alias path") as caught:
        sk.to_regex(model)
    assert caught.value.place == "$.a"


def test_a_generic_model_without_a_type_for_its_parameter_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "structkit"):
        for target in (Page[int], Page, list[Page]):  # type: ignore[type-arg]
            sk.to_regex(target)
    assert [each.message for each in caplog.records] == [
        "Page has no type for _T, so any JSON is a value of it; write Page[...]"
    ]


def test_a_literal_that_cannot_be_printed_is_refused() -> None:
    """Python prints no integer of more than 4,300 digits."""
    with pytest.raises(sk.SchemaError, match="unprintable int"):
        sk.to_regex(Literal[10**4_300])  # type: ignore[valid-type]


class Color(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    "text",
    [
        "list[Port]",
        "dict[str, int | None]",
        "tuple[int, ...]",
        "Literal['a', 1, None]",
        "Literal[Color.RED]",
        "list[Literal[Color.RED, 2]] | Port",
    ],
)
def test_the_name_of_a_type_is_what_the_source_says(text: str) -> None:
    target = eval(text)
    assert name_of(target) == name_of(Annotated[target, 1]) == text
    assert name_of(list[Annotated[target, 1]]) == f"list[{text}]"
