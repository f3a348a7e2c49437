"""Which format a model's chat template writes calls in, found out by having it write some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from structkit.errors import ModelFailed
from structkit.messages import CallPart, Calls, Message, Output, User
from structkit.models.base import LogitsModel, Templated
from structkit.schema.policy import Whitespace
from structkit.tools.format import Format, HermesFormat, JsonFormat
from structkit.tools.ready import Ready

__all__ = ["FormatName", "choose_format", "function_of"]

FormatName: TypeAlias = Literal["auto", "json", "hermes"]
"""`auto` is the format that the model's chat template writes, or `json`."""

_NATIVE: Mapping[FormatName, tuple[str, Format]] = {"hermes": ("<tool_call>", HermesFormat())}
"""Formats of chat templates, each with what such a template says of it."""

_ARGUMENTS = ('{"a": 1, "b": "c d"}', "{}")
_TOOL = {
    "type": "function",
    "function": {
        "name": "probe",
        "description": "Nothing.",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": []},
    },
}


def choose_format(
    name: FormatName, model: LogitsModel, whitespace: Whitespace | None, *, tools: bool
) -> tuple[Format, bool]:
    """The format of an agent's calls, and whether the model's chat template writes it.

    Raises:
        ValueError: There is no format of the name.
    """
    if name not in get_args(FormatName):
        known = ", ".join(map(repr, get_args(FormatName)))
        raise ValueError(f"format is one of {known}, not {name!r:.60}")
    if name == "auto" and tools:
        for said, native in _NATIVE.values():
            if _writes(model, said, native):
                return native, True
    if name in _NATIVE and tools:
        said, native = _NATIVE[name]
        return native, _writes(model, said, native)
    return JsonFormat(whitespace or "spaced"), False


def function_of(tool: Ready) -> dict[str, object]:
    """A tool as chat templates take it."""
    schema = dict(tool.target.json_schema())
    schema.pop("title", None)
    described = schema.pop("description", None)
    said = tool.tool.description or (described if isinstance(described, str) else "")
    return {"type": "function", "function": {"name": tool.name, "description": said, "parameters": schema}}


def _writes(model: LogitsModel, said: str, native: Format) -> bool:
    """Whether a model's template writes calls in a format, in tokens that the model can write too.

    A mark that is a special token has no text, so no guide can write it, and it is not found here.
    """
    if not isinstance(model, Templated) or said not in (template := model.chat_template or ""):
        return False
    if "tools" not in template:
        return False
    parts = [CallPart(id=f"call_{n}", name="probe", arguments=text) for n, text in enumerate(_ARGUMENTS)]
    calls = Calls(calls=tuple(parts))
    told = [Output(id=part.id, name=part.name, content=f"output {part.id}") for part in calls.calls]
    messages: Sequence[Message] = [User(content="question"), calls, *told]
    try:
        written = model.encode(native.conversation(messages, "", "instructions", [_TOOL]))
    except ModelFailed:
        return False
    tokens = model.vocabulary.tokens
    text = b"".join(tokens[each] for each in written if each < len(tokens)).decode(errors="replace")
    shown = [
        "instructions",
        "Nothing.",
        "question",
        native.text(calls.calls),
        *(each.content for each in told),
    ]
    return all(each in text for each in shown)
