"""The tools of a request, and which of them the answer may or must call."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from structkit.messages import Message
from structkit.serve.read.constraints import json_schema
from structkit.serve.read.conversation import has_calls, read_conversation
from structkit.serve.read.fields import Fields
from structkit.targets.specs import JsonSchema

__all__ = ["ToolAsk", "ToolSpec", "read_tools"]

_MAX_TOOLS = 128
_MAX_PARALLEL_CALLS = 4
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

_Choice: TypeAlias = Literal["auto", "required", "none"]

_CHOICES = (
    "must be 'none', 'auto', 'required', {type: 'function', function: {name}} or "
    "{type: 'allowed_tools', allowed_tools: {mode, tools}}"
)


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


def read_tools(body: Fields) -> ToolAsk | None:
    """Return the tools of a request with its conversation; `None` if there are neither tools nor calls.

    Raises:
        ApiError: A tool, the choice or a message is malformed.
    """
    specs = [_tool(each) for each in body.objects("tools", _MAX_TOOLS)]
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        raise body.error("tools", "has two functions with the same name")
    parallel = _MAX_PARALLEL_CALLS if body.flag("parallel_tool_calls", True) else 1
    if specs:
        choice, chosen = _tool_choice(body, specs)
    elif body.has("tool_choice") and body.raw("tool_choice") not in ("none", "auto"):
        raise body.error("tool_choice", "needs tools")
    elif has_calls(body):
        choice, chosen = "none", []
    else:
        return None
    instructions, messages = read_conversation(body)
    return ToolAsk(tuple(chosen), choice, parallel, instructions, tuple(messages))


def _tool(item: Fields) -> ToolSpec:
    if item.text("type") != "function":
        raise item.error("type", "must be 'function'")
    function = item.nested("function")
    if function is None:
        raise item.error("function", "is required: {name, description, parameters}")
    function.check_names(("name", "description", "parameters", "strict"))
    name = function.text("name") or ""
    if not _NAME.fullmatch(name):
        raise function.error("name", "must be 1 to 64 letters, digits, underscores and hyphens")
    given = function.nested("parameters") or Fields({}, function.path("parameters"))
    kinds = given.raw("type")
    if kinds not in (None, "object") and not (isinstance(kinds, list) and "object" in kinds):
        raise given.error("type", "must be 'object': the arguments of a function have names")
    parameters = Fields({**given.values, "type": "object"}, given.place)
    return ToolSpec(name, function.text("description") or "", json_schema(parameters), given.place)


def _tool_choice(body: Fields, specs: list[ToolSpec]) -> tuple[_Choice, list[ToolSpec]]:
    match body.raw("tool_choice"):
        case None | "auto":
            return "auto", specs
        case "none":
            return "none", specs
        case "required":
            return "required", specs
        case {"type": "function", "function": {"name": name}}:
            return "required", [_named(body, name, specs)]
        case {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "auto" | "required" as mode, "tools": [_, *_] as allowed},
        }:
            chosen = {spec.name: spec for spec in (_named(body, _name(each), specs) for each in allowed)}
            return ("auto" if mode == "auto" else "required"), [*chosen.values()]
        case _:
            raise body.error("tool_choice", _CHOICES)


def _name(item: object) -> object:
    match item:
        case {"type": "function", "function": {"name": name}}:
            return name
        case _:
            return None


def _named(body: Fields, name: object, specs: list[ToolSpec]) -> ToolSpec:
    for spec in specs:
        if spec.name == name:
            return spec
    raise body.error("tool_choice", f"names {str(name)[:80]!r}, which is none of the tools")
