"""What a step can be for a request of pydantic-ai: calls of tools, text, JSON, or calls of output tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings, ToolOrOutput
from pydantic_ai.tools import ToolDefinition

from structkit.agent.formats.text import TextOutput
from structkit.agent.run.state import AgentStep
from structkit.agent.tools.tool import Tool
from structkit.integrations.json_target import json_target
from structkit.messages import Calls
from structkit.targets.specs import JsonSchema
from structkit.targets.targets import AnyTarget, read_target

__all__ = ["StepLanguage", "read_language"]

_NO_LIMIT = 2**31
"""The number of retries of a tool: pydantic-ai counts them itself."""


@dataclass(frozen=True)
class StepLanguage:
    """What a step can be.

    One output tool is written as the JSON of its arguments, and one of multiple output tools as
    `{"name": ..., "arguments": ...}`.

    Attributes:
        tools: The tools that the step can call.
        result_tools: The tools whose call is the result of the step.
        schema: The JSON Schema of the result, if it is JSON in a text.
        allow_text: Whether the result can be text.
    """

    tools: tuple[ToolDefinition, ...]
    result_tools: tuple[ToolDefinition, ...]
    schema: Mapping[str, object] | None
    allow_text: bool

    @property
    def key(self) -> str:
        """A text that is equal for equal languages."""
        listed = [
            [[tool.name, tool.description, tool.parameters_json_schema] for tool in tools]
            for tools in (self.tools, self.result_tools)
        ]
        return json.dumps([*listed, self.schema, self.allow_text])

    def agent_tools(self) -> list[Tool[..., object]]:
        """Return the tools for an agent, which never executes them."""
        return [
            Tool(
                function=_not_executed,
                name=tool.name,
                description=tool.description,
                schema=json_target(tool.parameters_json_schema),
                tool_retries=_NO_LIMIT,
            )
            for tool in self.tools
        ]

    def output_type(self) -> AnyTarget:
        """Return the output type for an agent."""
        json_schema = self._json_schema()
        if json_schema is None:
            return str
        if self.schema is None and self.allow_text:
            return TextOutput(read_target(json_schema), excluded_starts="{[")
        return json_schema

    def _json_schema(self) -> JsonSchema | None:
        """Return the target of a result that is JSON; `None` if the result is text."""
        if self.schema is not None:
            return json_target(self.schema)
        if not self.result_tools:
            return None
        if len(self.result_tools) == 1:
            (tool,) = self.result_tools
            return json_target(_described(tool.parameters_json_schema, tool.description))
        members = [
            _described(
                {
                    "type": "object",
                    "properties": {"name": {"const": tool.name}, "arguments": {"$ref": _uri(tool)}},
                    "required": ["name", "arguments"],
                },
                tool.description,
            )
            for tool in self.result_tools
        ]
        resources = {_uri(tool): tool.parameters_json_schema for tool in self.result_tools}
        return json_target({"anyOf": members}, resources)

    @property
    def can_be_retracted(self) -> bool:
        """Whether a value can be rejected after it was generated, because a keyword cannot be enforced."""
        targets = [*(tool.schema for tool in self.agent_tools()), self._json_schema()]
        return any(isinstance(each, JsonSchema) and not each.strict for each in targets)

    def response_parts(self, step: AgentStep[object]) -> list[ModelResponsePart]:
        """Convert a step to the parts of a response."""
        message = step.message
        parts: list[ModelResponsePart] = [ThinkingPart(step.thinking)] if step.thinking else []
        if message.text:
            parts.append(TextPart(message.text))
        if isinstance(message, Calls):
            return [*parts, *(ToolCallPart(call.name, call.arguments) for call in message.calls)]
        if not self.result_tools or (self.allow_text and not message.content.startswith("{")):
            return [*parts, TextPart(message.content)]
        if len(self.result_tools) == 1:
            return [*parts, ToolCallPart(self.result_tools[0].name, message.content)]
        call = cast("Mapping[str, object]", step.value)
        return [*parts, ToolCallPart(f"{call['name']}", json.dumps(call["arguments"], ensure_ascii=False))]


def read_language(parameters: ModelRequestParameters, settings: ModelSettings) -> StepLanguage:
    """Return the language of the response to a request.

    Args:
        parameters: The parameters, as `Model.prepare_request` returns them.
        settings: The settings; `tool_choice` restricts the language.

    Raises:
        UserError: `tool_choice` names an unknown tool.
    """
    found = StepLanguage(
        tools=tuple(parameters.declared_function_tools),
        result_tools=tuple(parameters.output_tools),
        schema=None if parameters.output_object is None else _output_schema(parameters),
        allow_text=parameters.allow_text_output,
    )
    match settings.get("tool_choice"):
        case None | "auto":
            return found
        case "none" | []:
            return replace(found, tools=())
        case "required":
            return _forced(found.tools)
        case ToolOrOutput(function_tools=names):
            return replace(found, tools=_named(names, found.tools))
        case names:
            return _restricted(found, cast("Sequence[str]", names))


def _restricted(language: StepLanguage, names: Sequence[str]) -> StepLanguage:
    """Return the calls of the named tools."""
    chosen = _named(names, (*language.tools, *language.result_tools))
    tools = tuple(tool for tool in chosen if tool in language.tools)
    results = tuple(tool for tool in chosen if tool in language.result_tools)
    return replace(_forced(results), tools=tools) if results else _forced(tools)


def _forced(tools: tuple[ToolDefinition, ...]) -> StepLanguage:
    """Return one call of one of the tools."""
    if not tools:
        raise UserError("tool_choice requires a call, and there is no tool")
    return StepLanguage(tools=(), result_tools=tools, schema=None, allow_text=False)


def _named(names: Sequence[str], tools: Sequence[ToolDefinition]) -> tuple[ToolDefinition, ...]:
    known = {tool.name for tool in tools}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UserError(f"tool_choice names {unknown[0]}; the tools are {', '.join(sorted(known)) or 'none'}")
    return tuple(tool for tool in tools if tool.name in names)


def _output_schema(parameters: ModelRequestParameters) -> Mapping[str, object] | None:
    output = parameters.output_object
    return None if output is None else _described(output.json_schema, output.description)


def _described(schema: Mapping[str, object], description: str | None) -> Mapping[str, object]:
    return schema if description is None else {"description": description, **schema}


def _uri(tool: ToolDefinition) -> str:
    return f"urn:structkit:tool:{tool.name}"


def _not_executed(**arguments: object) -> object:
    raise RuntimeError("pydantic-ai executes the calls")
