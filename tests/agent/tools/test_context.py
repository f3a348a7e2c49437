"""The run context of tools, for every kind of first parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

import structkit as sk
from structkit.testing import ScriptedModel
from tests.calls import call


@dataclass
class Db:
    rows: dict[str, int]


def maybe_context(context: sk.Context[Db] | None = None) -> None: ...


def by_name(*, context: sk.Context[Db], item: str) -> int:
    return context.deps.rows[item]


def annotated(context: Annotated[sk.Context[Db], "the database"], item: str) -> int:
    return context.deps.rows[item]


@pytest.mark.parametrize("function", [by_name, annotated])
def test_the_context_is_detected_for_every_kind_of_first_parameter(function: Any) -> None:
    model = ScriptedModel([call(function.__name__, item="pen"), "done"])
    (made,) = sk.Agent(model, tools=[function]).run("x", deps=Db({"pen": 3})).calls
    assert (made.tool_result, made.arguments) == (3, {"item": "pen"})


def test_an_optional_context_is_rejected() -> None:
    with pytest.raises(sk.SchemaError, match="parameter context of maybe_context is a Context"):
        sk.Agent(ScriptedModel([]), [maybe_context])


def test_a_context_of_a_test_has_the_defaults_of_the_first_step() -> None:
    context = sk.Context(deps=1)
    assert (context.step, context.approved, context.messages) == (1, False, ())
    assert context == sk.Context(deps=1) and "Event" not in repr(context)


def test_the_name_of_another_library_is_told() -> None:
    with pytest.raises(AttributeError, match=r"\.messages"):
        getattr(sk.Context(deps=1), "prompt")  # noqa: B009  # a type checker knows that there is none
