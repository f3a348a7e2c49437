"""Detection of the call format of a model's chat template, by rendering test calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from structkit.agent.formats.base import Format
from structkit.agent.formats.json import (
    HermesFormat,
    JsonFormat,
    LlamaFormat,
    MistralFormat,
    MistralListFormat,
)
from structkit.agent.formats.pythonic import PythonicFormat
from structkit.agent.formats.text import TextOutput
from structkit.agent.tools.prepared import PreparedTool
from structkit.arguments.checks import check_choice
from structkit.errors import AgentError
from structkit.messages import CallPart, Calls, Message, Output, User
from structkit.models.protocols import HasChatTemplate, LogitsModel, SupportsControlTokens
from structkit.models.text.protocol import AnyModel, TextModel
from structkit.schema.markers.json_style import Whitespace
from structkit.targets.targets import Target
from structkit.vocabulary.control_tokens import to_text, with_control_tokens
from structkit.vocabulary.vocabulary import Vocabulary, byte_vocabulary

__all__ = [
    "FormatName",
    "StepNotation",
    "choose_notation",
    "detect_format",
    "function_schema",
    "vocabulary_of",
]

FormatName: TypeAlias = Literal["auto", "json", "hermes", "llama", "mistral", "pythonic"]
"""`auto` selects the format that the model's chat template writes, or `json`."""

_NATIVE: Sequence[tuple[FormatName, str, Format]] = (
    ("hermes", "<tool_call>", HermesFormat()),
    ("llama", '"parameters": ', LlamaFormat()),
    ("mistral", "[ARGS]", MistralFormat()),
    ("mistral", "[TOOL_CALLS]", MistralListFormat()),
    ("mistral", "[TOOL_CALLS]", MistralListFormat(space="")),
    # These templates describe the format but do not render argument values in it, so calls are passed as text.
    ("pythonic", "func_name1(", PythonicFormat(calls_as_text=True)),
)
"""Formats of chat templates, each with a substring of such templates."""

_ARGUMENTS = ('{"a": 1, "b": "c d"}', "{}")
_TOOL = {
    "type": "function",
    "function": {
        "name": "probe",
        "description": "Nothing.",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": []},
    },
}


@dataclass(frozen=True, slots=True)
class StepNotation:
    """How the steps of an agent are written.

    Attributes:
        format: The format of calls.
        uses_chat_template: Whether the chat template of the model renders tools, calls and their outputs.
        allow_text: Whether text can precede calls.
        output: The target of the output; its plain text differs from calls.
    """

    format: Format
    uses_chat_template: bool
    allow_text: bool
    output: Target[object]


def choose_notation(
    name: FormatName,
    model: AnyModel,
    tools: Sequence[str],
    output: Target[object],
    whitespace: Whitespace | None,
    *,
    allow_text: bool,
) -> StepNotation:
    """Return the notation of an agent's steps.

    Text output can precede calls without `allow_text` if the format has a start delimiter and the chat template, if
    one is used, renders text before calls.

    Raises:
        AgentError: Text output cannot precede calls in the format, and `allow_text` demands it.
        ValueError: The name is unknown.
    """
    if not isinstance(output, TextOutput) or not tools:
        format, native = detect_format(name, model, whitespace, tools=bool(tools), allow_text=allow_text)
        return StepNotation(format, native, allow_text, output)
    format, native = detect_format(name, model, whitespace, tools=True, allow_text=True)
    if format.markers:
        allow_text = True
    elif allow_text:
        raise AgentError(
            "text output does not differ from text before calls in this format; omit allow_text=True, or use "
            'format="hermes", whose calls have a start delimiter',
            place="output_type",
        )
    else:
        format, native = detect_format(name, model, whitespace, tools=True)
    return StepNotation(format, native, allow_text, output.beside_calls(format, tools))


def detect_format(
    name: FormatName,
    model: AnyModel,
    whitespace: Whitespace | None,
    *,
    tools: bool,
    allow_text: bool = False,
) -> tuple[Format, bool]:
    """Return the format of an agent's calls, and whether the model's chat template writes it.

    Raises:
        ValueError: The name is unknown.
    """
    check_choice("format", name, get_args(FormatName))
    plain = JsonFormat(whitespace=whitespace or "spaced")
    if name == "json" or not tools:
        return plain, False
    if not isinstance(model, TextModel) and isinstance(model, HasChatTemplate):
        template = model.chat_template or ""
        for known, signature, format in _NATIVE if "tools" in template else ():
            if name in ("auto", known) and signature in template:
                for native in _variants(model, format, allow_text):
                    if _renders(model, native, allow_text):
                        return _with_whitespace(native, plain.whitespace), True
    named = next((format for known, _, format in _NATIVE if known == name), None)
    return plain if named is None else _with_whitespace(named, plain.whitespace), False


def vocabulary_of(model: AnyModel, format: Format) -> Vocabulary:
    """Return the vocabulary of a model with the delimiters of a format that are control tokens.

    That of a text model is the bytes.
    """
    if isinstance(model, TextModel):
        return byte_vocabulary()
    markers = {(_control_token(model, name), name) for name in format.control_tokens}
    found = frozenset((token_id, name) for token_id, name in markers if token_id is not None)
    return with_control_tokens(model.vocabulary, found) if found else model.vocabulary


def function_schema(tool: PreparedTool) -> dict[str, object]:
    """Return a tool as a function schema for chat templates."""
    schema = dict(tool.target.json_schema())
    schema.pop("title", None)
    described = schema.pop("description", None)
    text = tool.tool.description or (described if isinstance(described, str) else "")
    return {"type": "function", "function": {"name": tool.name, "description": text, "parameters": schema}}


def _with_whitespace(format: Format, whitespace: Whitespace) -> Format:
    """Return the format with a whitespace style; JSON formats have none of their own."""
    return replace(format, whitespace=whitespace) if isinstance(format, PythonicFormat) else format


def _variants(model: LogitsModel, format: Format, allow_text: bool) -> Iterator[Format]:
    """Yield the ways to pass a conversation in a format to a template.

    If a template renders no text beside structured calls, both are passed as text, provided that the rendering is the
    same: control tokens cannot be passed as text.
    """
    controls = frozenset(name for name in format.markers if _control_token(model, name) is not None)
    for as_text in (format.calls_as_text, True) if allow_text and not controls else (format.calls_as_text,):
        for system in (True, False):
            yield replace(format, control_tokens=controls, system_role=system, calls_as_text=as_text)


def _control_token(model: LogitsModel, name: str) -> int | None:
    """Return the control token of a delimiter, if the model can generate it."""
    token_id = model.control_token(name) if isinstance(model, SupportsControlTokens) else None
    vocabulary = model.vocabulary
    known = token_id is not None and token_id < vocabulary.size and token_id not in vocabulary.eos_token_ids
    return token_id if known else None


def _renders(model: LogitsModel, native: Format, allow_text: bool) -> bool:
    """Return whether a model's template renders calls in a format, with text before them, in tokens of the model."""
    parts = [CallPart(id=f"call_{n}", name="probe", arguments=text) for n, text in enumerate(_ARGUMENTS)]
    calls = Calls(calls=tuple(parts), text="Let me see." if allow_text else "")
    outputs = [Output(id=part.id, name=part.name, content=f"output {part.id}") for part in calls.calls]
    messages: Sequence[Message] = [User(content="question"), calls, *outputs]
    try:
        token_ids = model.encode(native.conversation(messages, "", "instructions", [_TOOL]))
    except Exception:  # the template rejects tools, or a custom model does not support them
        return False
    tokens = vocabulary_of(model, native).tokens
    rendered = to_text(b"".join(tokens[each] for each in token_ids if each < len(tokens)))
    expected = (
        [native.rendered_calls(calls.calls)]
        if native.multiple_calls
        else [native.rendered_calls([part]) for part in parts]
    )
    expected[0] = calls.text + native.text_separator + expected[0] if allow_text else expected[0]
    expected += ["instructions", "Nothing.", "question", *(each.content for each in outputs)]
    return all(each in rendered for each in expected)
