"""How `structkit.tool` reads what it is given."""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import Annotated, Any

import pytest

import structkit as sk
from structkit import messages
from structkit.testing import ScriptedModel
from tests.calls import call


def outputs(tool: Any, *calls: str) -> list[object]:
    result = sk.Agent(ScriptedModel([*calls, "done"]), tools=[tool]).run("x", deps="!")
    return [each.tool_result for each in result.calls]


def greet(greeting: str, whom: Annotated[str, "Whom to greet.", "No description."]) -> str:
    """Greet.

    Args:
        greeting: Such as hi.
        whom: Not this.
    """
    return f"{greeting} {whom}"


class Shout:
    def __call__(self, context: sk.Context[str], text: str) -> str:
        """Shout."""
        return text.upper() + context.deps


class LaterShout:
    async def __call__(self, text: str) -> str:
        return text.upper()


class Wrapper:
    """A decorator that is a class."""

    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.function(*args, **options)


def test_a_partial_has_the_name_of_its_function() -> None:
    tool = sk.tool(functools.partial(functools.partial(greet, greeting="Hi")), max_calls=1)
    assert tool.name == "greet"
    assert outputs(tool, call("greet", whom="Ana")) == ["Hi Ana"]


@pytest.mark.parametrize(("given", "output"), [(Shout(), "HI!"), (LaterShout(), "HI")])
def test_an_object_with_a_call_method_is_a_tool_with_a_name(given: Any, output: str) -> None:
    assert outputs(sk.tool(given, name="shout"), call("shout", text="hi")) == [output]
    with pytest.raises(sk.AgentError, match=r"write a def, or structkit\.tool\(\.\.\., name='\.\.\.'\)"):
        sk.tool(given)


def test_a_wrapper_has_the_signature_of_its_function() -> None:
    tool = sk.tool(Wrapper(greet))
    assert outputs(tool, call("greet", greeting="Hi", whom="Tom")) == ["Hi Tom"]


def test_a_tool_of_a_tool_is_refused_with_a_remedy() -> None:
    tool: Any = sk.tool(greet)
    with pytest.raises(sk.AgentError, match=r"greet is a tool already\n  .*dataclasses\.replace\(greet, "):
        sk.tool(tool, max_calls=1)
    assert dataclasses.replace(tool, max_calls=1).max_calls == 1


def test_one_tool_in_place_of_a_list_is_named() -> None:
    tool: Any = sk.tool(greet)
    with pytest.raises(TypeError, match=r"write tools=\[greet\]$"):
        sk.Agent(ScriptedModel([]), tools=tool)


def test_a_string_in_an_annotation_describes_the_parameter() -> None:
    model = ScriptedModel(["done"])
    sk.Agent(model, tools=[greet]).run("x")
    assert '"greeting": string /* Such as hi. */, "whom": string /* Whom to greet. */' in model.prompts[0]


def test_an_optional_context_is_told_to_be_annotated_alone() -> None:
    def ask(context: sk.Context[str] | None = None) -> str:
        return ""

    with pytest.raises(sk.SchemaError, match="annotate it with this type alone"):
        sk.Agent(ScriptedModel([]), tools=[ask])


def test_an_output_that_cannot_be_written_has_its_remedy_last() -> None:
    def ask() -> object:
        return object()

    with pytest.raises(sk.AgentError) as caught:
        outputs(ask, call("ask"))
    assert (caught.value.remedy or "").startswith("return a string, a model")


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_messages_of_other_libraries_are_not_read_as_those_of_the_user(role: str) -> None:
    with pytest.raises(ValueError, match=r"'kind' at .*; pass a text that structkit\.messages\.dumps"):
        messages.loads(json.dumps([{"role": role, "content": "Hi"}]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sk.tool(print, available=lambda: True), r"available of print must .* \(context\), not <lambda>\(\)"),
        (lambda: sk.tool(print, requires_approval=lambda context, call: True), r"approval of print must .* \(call\)"),
        (lambda: sk.require_approval(print, when=lambda *, call: True), r"when must be a function of \(call\), not"),
        (lambda: sk.Toolset([print]).filter(["print"]), r"keep must be a function of \(tool\), not \['print'\]"),
        (lambda: sk.Toolset([print]).available(lambda: True), r"when must be a function of \(context\)"),
        (lambda: sk.Toolset([print]).require_approval(lambda a, b: True), r"predicate must be .* \(tool\)"),
    ],
)  # fmt: skip
def test_a_predicate_of_other_parameters_is_refused_before_a_run(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def prepared(given: Any) -> Any:
    """The analysed tool of an agent."""
    (tool,) = sk.Agent(ScriptedModel([]), tools=[given])._config.tools
    return tool


async def later(text: str) -> str:
    return text


def test_a_partial_of_an_async_function_is_awaited() -> None:
    functions = (later, functools.partial(later, text="a"), greet)
    assert [prepared(function).is_async for function in functions] == [True, True, False]


def test_the_schema_of_arguments_has_the_description_of_the_tool() -> None:
    schema = {"properties": {"a": {"type": "integer"}}}
    for description in ("Add one.", None):
        given = sk.Tool(name="add", function=print, schema=schema, description=description)
        assert prepared(given).target.json_schema().get("description") == description
