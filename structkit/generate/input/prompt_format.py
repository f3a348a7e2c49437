"""How a target is described to a model: the choice for its chat template, with the reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from structkit.arguments.checks import check_type
from structkit.errors import GenerationError
from structkit.generate.input.prompt import Prompt
from structkit.models.protocols import Conversation, HasChatTemplate, Message
from structkit.models.text.protocol import AnyModel, TextModel
from structkit.schema.markers.json_style import JsonStyle
from structkit.schema.view.example import example_of, plain_schema
from structkit.targets.targets import Target

__all__ = [
    "Description",
    "PromptFormat",
    "RenderedPrompt",
    "check_description",
    "choose_format",
    "describe_target",
    "with_tool",
]

Description: TypeAlias = Literal["types", "json_schema", "example", "tools"]
"""How a target is described. `"types"`: a short type expression, such as `{"age": integer}`. `"json_schema"`: its JSON
Schema. `"example"`: a value with its names and nesting. `"tools"`: a function in the tools of the chat template, whose
arguments the model writes; only for objects, and for chat templates that render tools."""

_FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        "llama-3": "<|start_header_id|>",
        "phi-4": "<|im_sep|>",
        "chatml": "<|im_start|>",
        "gemma": "<start_of_turn>",
        "mistral": "[INST]",
        "phi-3": "<|end|>",
    }
)
"""Families of chat templates, with a substring of each; the first that a template contains is its family."""

_DEFAULTS: Mapping[str, tuple[Description, str]] = MappingProxyType(
    {
        "phi-3": (
            "types",
            "most fields right in the benchmark with the demo model, which has such a template",
        ),
    }
)
"""What the benchmark chose for a family of chat templates."""

_UNMEASURED: tuple[Description, str] = (
    "types",
    "the shortest; not measured with such a template, so compare with python -m benchmarks.outcome --model FOLDER",
)


@dataclass(frozen=True, slots=True)
class PromptFormat:
    """What was chosen for a prompt and its answer, and why; its `str` is a table.

    Attributes:
        template: The family of the model's chat template, such as `chatml`; `none` without one, and `unknown` if it is
            of no known family, or only a server has it.
        description: How the target is described; `None` if it is not, with `include_schema=False`.
        choices: The value and the reason of each choice, by name.
    """

    template: str
    description: Description | None
    choices: Mapping[str, tuple[str, str]]

    def __reduce__(self) -> tuple[type[PromptFormat], tuple[object, ...]]:
        return PromptFormat, (self.template, self.description, dict(self.choices))

    def __str__(self) -> str:
        lines = [f"{'chat template':<16}{self.template}"]
        return "\n".join(
            [*lines, *(f"{name:<16}{value}: {why}" for name, (value, why) in self.choices.items())]
        )


class RenderedPrompt(str):
    """The text that a model reads: a string, with the choices that were made for it.

    Attributes:
        prompt_format: The choices.
    """

    prompt_format: PromptFormat

    def __new__(cls, text: str, prompt_format: PromptFormat) -> RenderedPrompt:
        """Return the text with its choices."""
        rendered = super().__new__(cls, text)
        rendered.prompt_format = prompt_format
        return rendered

    def __reduce__(self) -> tuple[type[RenderedPrompt], tuple[str, PromptFormat]]:
        return RenderedPrompt, (str(self), self.prompt_format)


def check_description(include_schema: object) -> None:
    """Check the option `include_schema`.

    Raises:
        TypeError: It is neither a boolean nor a string.
        ValueError: It is a string that names no description.

    >>> check_description("yaml")
    Traceback (most recent call last):
    ValueError: include_schema must be True or False, or one of 'types', 'json_schema', 'example', 'tools', not 'yaml'
    """
    known = ", ".join(map(repr, get_args(Description)))
    check_type("include_schema", include_schema, (bool, str), f"True or False, or one of {known}")
    if isinstance(include_schema, str) and include_schema not in get_args(Description):
        raise ValueError(
            f"include_schema must be True or False, or one of {known}, not {include_schema!r:.60}"
        )


def choose_format(
    model: AnyModel, target: Target[object], include_schema: bool | Description, style: JsonStyle
) -> PromptFormat:
    """Return how a target is described to a model, and written by it, and why.

    Args:
        model: The model, whose chat template decides what the call leaves open.
        target: The target.
        include_schema: The option of the call.
        style: The JSON style of the call.

    >>> from structkit.targets.targets import read_target
    >>> from structkit.testing import ScriptedModel
    >>> print(choose_format(ScriptedModel([]), read_target(list[int]), "json_schema", JsonStyle(null="omit")))
    chat template   unknown
    description     json_schema: set by the call
    whitespace      spaced: as json.dumps writes
    null            omit: set by the call
    order           declared: declare a field of reasons before the answer that they lead to
    fence           none: the mask begins with the value
    """
    template = _family(model)
    default, why = _DEFAULTS.get(template, _UNMEASURED)
    description = default if include_schema is True else include_schema or None
    if include_schema is not True:
        why = "set by the call"
    if description is not None and not target.is_json:
        description, why = "types", "a target that is not JSON has one description"
    chosen: dict[str, tuple[str, str]] = {"description": (description or "none", why)}
    null = style.null or (style.null_fields if style.defaults else None)
    for name, given, own, default_why in (
        ("whitespace", style.whitespace, target.default_whitespace or "spaced", "as json.dumps writes"),
        ("null", null, "always", "every field is written, unless a class sets its own"),
        ("order", style.order, "declared", "declare a field of reasons before the answer that they lead to"),
    ):
        chosen[name] = (own, default_why) if given is None else (str(given), "set by the call")
    if style.whitespace is None and target.default_whitespace is not None:
        chosen["whitespace"] = (target.default_whitespace, "set by the target")
    chosen["fence"] = ("none", "the mask begins with the value")
    return PromptFormat(template, description, MappingProxyType(chosen))


def describe_target(target: Target[object], description: Description | None, style: JsonStyle) -> str | None:
    r"""Return the text after "Answer with" in a prompt; `None` to omit it.

    >>> from structkit.targets.targets import read_target
    >>> describe_target(read_target(list[int]), "example", JsonStyle())
    'JSON like this example:\n[1]'
    """
    if description is None:
        return None
    if description == "types":
        return target.description()
    schema = target.json_schema()
    if description == "tools":
        return f"JSON, the arguments of {_tool_name(schema)}"
    title, value = (
        ("that matches this JSON Schema", plain_schema(schema))
        if description == "json_schema"
        else ("like this example", example_of(schema))
    )
    compact = (style.whitespace or target.default_whitespace) == "compact"
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":") if compact else None, default=str)
    return f"JSON {title}:\n{text}"


def with_tool(model: AnyModel, prompt: Prompt, target: Target[object]) -> Conversation:
    """Return a prompt whose chat template describes the target, as the only tool.

    Raises:
        GenerationError: The target is no object, or the chat template has no tools.
    """
    schema = plain_schema(target.json_schema())
    if schema.get("type") != "object":
        raise GenerationError(
            f"include_schema='tools' describes objects, and {target.name} is none; leave include_schema out"
        )
    name, text = _tool_name(schema), schema.pop("description", "")
    schema.pop("title", None)
    tool = {"type": "function", "function": {"name": name, "description": text, "parameters": schema}}
    messages = (Message(role="user", content=prompt),) if isinstance(prompt, str) else tuple(prompt)
    asked = Conversation(messages, (tool,))
    has_tools = "tools" in (_template(model) or "")
    if isinstance(model, TextModel) or not has_tools or model.encode(asked) == model.encode(messages):
        raise GenerationError(
            f"include_schema='tools' needs a chat template that renders tools, and that of {model.name} does not; "
            "use include_schema='json_schema'"
        )
    return asked


def _tool_name(schema: Mapping[str, object]) -> str:
    title = schema.get("title")
    return title if isinstance(title, str) and title.isidentifier() else "answer"


def _family(model: AnyModel) -> str:
    """Return the family of a model's chat template."""
    if isinstance(model, TextModel) or not isinstance(model, HasChatTemplate):
        return "unknown"
    template = _template(model)
    if template is None:
        return "none"
    return next((family for family, sign in _FAMILIES.items() if sign in template), "unknown")


def _template(model: object) -> str | None:
    return model.chat_template if isinstance(model, HasChatTemplate) else None
