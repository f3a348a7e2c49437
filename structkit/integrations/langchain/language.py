"""What a reply of LangChain's chat model may be: text, calls of the tools that were bound, or a value of a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.utils.function_calling import convert_to_openai_tool

from structkit.agent.tools.tool import Tool
from structkit.errors import GenerationError
from structkit.integrations.json_target import json_target
from structkit.targets.targets import AnyTarget

__all__ = ["NO_LIMIT", "choice_of", "read_language", "schema_of"]

NO_LIMIT = 2**31
"""The number of steps and retries: LangChain counts them itself."""


def read_language(
    tools: Sequence[Mapping[str, Any]], choice: object, response: object
) -> tuple[list[Tool[..., object]], AnyTarget]:
    """Return the tools of the agent, and its output type: one call is a JSON object if it is required.

    Args:
        tools: The functions in the notation of OpenAI.
        choice: The choice of `choice_of`.
        response: The `response_format` of an answer without calls; `None` for text.
    """
    answer = _response_of(response)
    if choice == "none" or (not tools and choice in (None, "auto", False)):
        return [], answer
    if choice in (None, "auto", False):
        return [
            Tool(
                function=_not_executed,
                name=tool["name"],
                description=tool.get("description", ""),
                schema=json_target(_parameters(tool)),
                tool_retries=NO_LIMIT,
            )
            for tool in tools
        ], answer
    if not tools:
        raise GenerationError(f"tool_choice={choice!r} needs a tool to call; give tools, or leave it out")
    if choice not in ("any", "required", True):
        names = ", ".join(tool["name"] for tool in tools)
        tools = [tool for tool in tools if tool["name"] == choice]
        if not tools:
            raise GenerationError(f"tool_choice={choice!r} names no tool; the tools are {names or 'none'}")
    members = [
        {
            "type": "object",
            "description": tool.get("description", ""),
            "properties": {"name": {"const": tool["name"]}, "arguments": {"$ref": _uri(tool)}},
            "required": ["name", "arguments"],
        }
        for tool in tools
    ]
    return [], json_target({"anyOf": members}, {_uri(tool): _parameters(tool) for tool in tools})


def schema_of(given: Any) -> Any:
    """Return the schema of the arguments of a function that OpenAI or Anthropic describe; others are unchanged.

    >>> schema_of({"name": "f", "input_schema": {"type": "object"}})
    {'type': 'object'}
    """
    if isinstance(given, Mapping) and ("function" in given or {"parameters", "input_schema"} & given.keys()):
        return convert_to_openai_tool(dict(given))["function"].get("parameters", given)
    return given


def _response_of(given: Any) -> AnyTarget:
    """Return the target of a `response_format`, as OpenAI writes it and the agents of LangChain pass it.

    >>> _response_of({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "integer"}}}).schema
    {'type': 'integer'}
    """
    match given:
        case None | {"type": "text"}:
            return str
        case {"type": "json_schema", "json_schema": {"schema": Mapping() as schema}}:
            return json_target(schema)
        case {"type": "json_object"}:
            return dict[str, object]
        case Mapping():
            raise GenerationError(
                f"response_format={given!r:.80} has no schema; write with_structured_output(schema) of the model"
            )
    return cast("AnyTarget", given)


def choice_of(given: str | bool | Mapping[str, Any] | None) -> str | bool | None:
    """Return the choice that a dict of OpenAI or Anthropic has.

    >>> choice_of({"type": "function", "function": {"name": "f"}}), choice_of({"type": "tool", "name": "f"})
    ('f', 'f')
    >>> choice_of({"type": "any"})
    'any'
    """
    match given:
        case {"function": {"name": str(name)}} | {"name": str(name)}:
            return name
        case {"type": "auto" | "any" | "required" | "none" as kind}:
            return str(kind)
        case Mapping():
            raise GenerationError(
                f"tool_choice={given!r:.80} names no tool; write the name of one, 'any', 'none' or 'auto'"
            )
    return given


def _uri(tool: Mapping[str, Any]) -> str:
    return f"urn:structkit:tool:{tool['name']}"


def _parameters(tool: Mapping[str, Any]) -> Mapping[str, object]:
    return cast("Mapping[str, object]", tool.get("parameters") or {"type": "object", "properties": {}})


def _not_executed(**arguments: object) -> object:
    raise RuntimeError("LangChain executes the calls")
