"""The tools of a request, and which of them the answer may or must call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from structkit.messages import Message
from structkit.serve.read.constraints import json_schema
from structkit.serve.read.conversation import FUNCTION_NAME, FUNCTION_NAME_FAULT, Conversation
from structkit.serve.read.fields import Fields
from structkit.targets.specs import JsonSchema

__all__ = ["ToolAsk", "ToolSpec", "read_tools"]

_MAX_TOOLS = 128
_MAX_PARALLEL_CALLS = 4

_Choice: TypeAlias = Literal["auto", "required", "none"]

_CHOICES = (
    "must be 'none', 'auto', 'required', {type: 'function', function: {name}} or "
    "{type: 'allowed_tools', allowed_tools: {mode, tools}}"
)
_FLAT_CHOICES = (
    "must be 'none', 'auto', 'required', {type: 'function', name} or {type: 'allowed_tools', mode, tools}"
)
_FIELDS = ("name", "description", "parameters", "strict")


@dataclass(frozen=True)
class ToolSpec:
    """A tool of a request.

    Attributes:
        name: Its name.
        description: Its description, or empty.
        parameters: The target of its arguments.
        param: The field with its schema.
    """

    name: str
    description: str
    parameters: JsonSchema
    param: str


@dataclass(frozen=True)
class ToolAsk:
    """A request that allows or requires calls, or whose conversation has some.

    Attributes:
        tools: The tools that can be called.
        choice: Whether there can be a call, or must be one.
        max_parallel_calls: Maximum number of calls.
        instructions: The system messages.
        messages: The other messages.
    """

    tools: tuple[ToolSpec, ...]
    choice: _Choice
    max_parallel_calls: int
    instructions: str
    messages: tuple[Message, ...]


def read_tools(body: Fields, conversation: Conversation, *, is_flat: bool = False) -> ToolAsk | None:
    """Return the tools of a request with its conversation; `None` if there are neither tools nor calls.

    Args:
        body: The request.
        conversation: The messages and calls.
        is_flat: Whether the fields of a function are those of its tool, as in a request for a response.

    Raises:
        ApiError: A tool or the choice is malformed, or no step can follow the conversation.
    """
    specs = [_tool(each, is_flat) for each in body.objects("tools", _MAX_TOOLS)]
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        raise body.error("tools", "has two functions with the same name")
    parallel = _MAX_PARALLEL_CALLS if body.flag("parallel_tool_calls", True) else 1
    if specs:
        choice, chosen = _tool_choice(body, specs, is_flat)
    elif body.has("tool_choice") and body.raw("tool_choice") not in ("none", "auto"):
        raise body.error("tool_choice", "needs tools")
    elif conversation.has_calls:
        choice, chosen = "none", []
    else:
        return None
    return ToolAsk(tuple(chosen), choice, parallel, *conversation.finish())


def _tool(item: Fields, is_flat: bool) -> ToolSpec:
    if item.text("type") != "function":
        raise item.error("type", "must be 'function': the client executes the calls")
    function = item if is_flat else item.nested("function")
    if function is None:
        raise item.error("function", "is required: {name, description, parameters}")
    function.check_names(("type", *_FIELDS) if is_flat else _FIELDS)
    name = function.text("name") or ""
    if not FUNCTION_NAME.fullmatch(name):
        raise function.error("name", FUNCTION_NAME_FAULT)
    function.flag("strict", False)  # its type: arguments match in any case
    given = function.nested("parameters") or Fields({}, function.path("parameters"))
    kinds = given.raw("type")
    if kinds not in (None, "object") and not (isinstance(kinds, list) and "object" in kinds):
        raise given.error("type", "must be 'object': the arguments of a function have names")
    parameters = Fields({**given.values, "type": "object"}, given.place)
    return ToolSpec(name, function.text("description") or "", json_schema(parameters), given.place)


def _tool_choice(body: Fields, specs: list[ToolSpec], is_flat: bool) -> tuple[_Choice, list[ToolSpec]]:
    value = body.raw("tool_choice")
    match value:
        case None | "auto":
            return "auto", specs
        case "none":
            return "none", specs
        case "required":
            return "required", specs
        case {"type": "function"} if (name := _name(value, is_flat)) is not None:
            return "required", [_named(body, name, specs)]
        case {"type": "allowed_tools", **rest}:
            match rest if is_flat else rest.get("allowed_tools"):
                case {"mode": "auto" | "required" as mode, "tools": [_, *_] as allowed}:
                    found = [_named(body, _name(each, is_flat), specs) for each in allowed]
                    chosen = [*{spec.name: spec for spec in found}.values()]
                    return ("auto" if mode == "auto" else "required"), chosen
    raise body.error("tool_choice", _FLAT_CHOICES if is_flat else _CHOICES)


def _name(item: object, is_flat: bool) -> object:
    """Return the name of the function that a choice names; `None` if it names none."""
    match item:
        case {"type": "function", "name": name} if is_flat:
            return name
        case {"type": "function", "function": {"name": name}} if not is_flat:
            return name
        case _:
            return None


def _named(body: Fields, name: object, specs: list[ToolSpec]) -> ToolSpec:
    for spec in specs:
        if spec.name == name:
            return spec
    raise body.error("tool_choice", f"names {str(name)[:80]!r}, which is none of the tools")
