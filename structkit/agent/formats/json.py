"""JSON formats, with or without delimiters around the JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from structkit.agent.formats.base import Delimiters, Format, short_id
from structkit.messages import CallPart
from structkit.schema.markers.json_style import Whitespace

__all__ = ["HermesFormat", "JsonFormat", "LlamaFormat", "MistralFormat", "MistralListFormat"]


@dataclass(frozen=True, kw_only=True)
class JsonFormat(Format):
    """`{"name": "f", "arguments": {...}}`, several in a list; outputs are user messages, so any model can be used.

    Attributes:
        whitespace: The style of the JSON around the arguments.
    """

    whitespace: Whitespace = "spaced"

    def call_prefix(self, name: str) -> str:
        """Return `{"name": "f", "arguments": `."""
        comma, colon = (", ", ": ") if self.whitespace == "spaced" else (",", ":")
        return f'{{"name"{colon}{_json(name)}{comma}"arguments"{colon}'

    def call_suffix(self) -> str:
        """Return `}`."""
        return "}"

    def delimiters(self) -> Delimiters:
        """Return the delimiters of a list."""
        return Delimiters("[", ", " if self.whitespace == "spaced" else ",", "]")

    @property
    def is_json(self) -> bool:
        """True."""
        return True


@dataclass(frozen=True, kw_only=True)
class HermesFormat(Format):
    """`<tool_call>`, a line `{"name": "f", "arguments": {...}}`, `</tool_call>`: Hermes, Qwen and derived models."""

    markers: ClassVar[tuple[str, ...]] = ("<tool_call>", "</tool_call>")

    @property
    def text_separator(self) -> str:
        """A line break."""
        return "\n"

    def call_prefix(self, name: str) -> str:
        """Return the start delimiter and `{"name": "f", "arguments": `."""
        return f'{self.marker("<tool_call>")}\n{{"name": {_json(name)}, "arguments": '

    def call_suffix(self) -> str:
        """Return `}` and the end delimiter."""
        return f"}}\n{self.marker('</tool_call>')}"

    def delimiters(self) -> Delimiters:
        """Return delimiters that put each call on its own line."""
        return Delimiters("", "\n", "")

    @property
    def is_json(self) -> bool:
        """False: the calls have delimiters."""
        return False


@dataclass(frozen=True, kw_only=True)
class LlamaFormat(Format):
    """`{"name": "f", "parameters": {...}}`, one per turn: Llama 3.1 and later models."""

    multiple_calls: ClassVar[bool] = False
    arguments_key: ClassVar[str] = "parameters"

    def call_prefix(self, name: str) -> str:
        """Return `{"name": "f", "parameters": `."""
        return f'{{"name": {_json(name)}, "parameters": '

    def call_suffix(self) -> str:
        """Return `}`."""
        return "}"

    def delimiters(self) -> Delimiters:
        """Return empty delimiters: there is one call."""
        return Delimiters("", "", "")

    @property
    def is_json(self) -> bool:
        """True."""
        return True


def _json(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class MistralFormat(Format):
    """`[TOOL_CALLS]f[ARGS]{...}`, one after the other: models of Mistral AI from the end of 2025."""

    markers: ClassVar[tuple[str, ...]] = ("[TOOL_CALLS]", "[ARGS]")

    @property
    def text_separator(self) -> str:
        """Empty if the delimiter is a control token."""
        return "" if self.control_tokens else "\n\n"

    def call_prefix(self, name: str) -> str:
        """Return the start delimiter, the name, and the delimiter of the arguments."""
        return f"{self.marker('[TOOL_CALLS]')}{name}{self.marker('[ARGS]')}"

    def call_suffix(self) -> str:
        """Return the empty string."""
        return ""

    def delimiters(self) -> Delimiters:
        """Return empty delimiters."""
        return Delimiters("", "", "")

    @property
    def is_json(self) -> bool:
        """False: the calls have delimiters."""
        return False


@dataclass(frozen=True, kw_only=True)
class MistralListFormat(Format):
    """`[TOOL_CALLS] [{"name": "f", "arguments": {...}}]`: earlier models of Mistral AI.

    Their templates render an id after the arguments, which the models read but do not generate.

    Attributes:
        space: Text between the delimiter and the list.
    """

    markers: ClassVar[tuple[str, ...]] = ("[TOOL_CALLS]",)

    space: str = " "

    @property
    def text_separator(self) -> str:
        """Empty if the delimiter is a control token."""
        return "" if self.control_tokens else "\n\n"

    def call_prefix(self, name: str) -> str:
        """Return `{"name": "f", "arguments": `."""
        return f'{{"name": {_json(name)}, "arguments": '

    def call_suffix(self) -> str:
        """Return `}`."""
        return "}"

    def delimiters(self) -> Delimiters:
        """Return the start delimiter and a list, also around a single call."""
        return Delimiters(f"{self.marker('[TOOL_CALLS]')}{self.space}[", ", ", "]", wraps_single=True)

    @property
    def is_json(self) -> bool:
        """False: the list has a delimiter."""
        return False

    def rendered_calls(self, calls: Sequence[CallPart]) -> str:
        """Return the calls with their ids."""
        delimiters = self.delimiters()
        each = [
            f'{self.call_prefix(call.name)}{call.arguments}, "id": "{short_id(call.id)}"{self.call_suffix()}'
            for call in calls
        ]
        return f"{delimiters.before}{delimiters.between.join(each)}{delimiters.after}"
