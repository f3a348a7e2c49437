"""The formats that are JSON, with or without marks around it."""

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
    """`{"name": "f", "arguments": {...}}`, several in a list; outputs are told by the user, so any model will do.

    Attributes:
        whitespace: The style of the JSON around the arguments.
    """

    whitespace: Whitespace = "spaced"

    def call_prefix(self, name: str) -> str:
        """`{"name": "f", "arguments": `."""
        comma, colon = (", ", ": ") if self.whitespace == "spaced" else (",", ":")
        return f'{{"name"{colon}{_json(name)}{comma}"arguments"{colon}'

    def call_suffix(self) -> str:
        """`}`."""
        return "}"

    def delimiters(self) -> Delimiters:
        """A list."""
        return Delimiters("[", ", " if self.whitespace == "spaced" else ",", "]")

    @property
    def is_json(self) -> bool:
        """It is."""
        return True


@dataclass(frozen=True, kw_only=True)
class HermesFormat(Format):
    """`<tool_call>`, a line `{"name": "f", "arguments": {...}}`, `</tool_call>`: Hermes, Qwen and those after them."""

    markers: ClassVar[tuple[str, ...]] = ("<tool_call>", "</tool_call>")

    @property
    def text_separator(self) -> str:
        """A line break."""
        return "\n"

    def call_prefix(self, name: str) -> str:
        """The mark, and `{"name": "f", "arguments": `."""
        return f'{self.marker("<tool_call>")}\n{{"name": {_json(name)}, "arguments": '

    def call_suffix(self) -> str:
        """`}` and the mark of the end."""
        return f"}}\n{self.marker('</tool_call>')}"

    def delimiters(self) -> Delimiters:
        """One after another, each in a line of its own."""
        return Delimiters("", "\n", "")

    @property
    def is_json(self) -> bool:
        """It is not, for the marks."""
        return False


@dataclass(frozen=True, kw_only=True)
class LlamaFormat(Format):
    """`{"name": "f", "parameters": {...}}`, one in a turn: Llama 3.1 and those after it."""

    multiple_calls: ClassVar[bool] = False
    arguments_key: ClassVar[str] = "parameters"

    def call_prefix(self, name: str) -> str:
        """`{"name": "f", "parameters": `."""
        return f'{{"name": {_json(name)}, "parameters": '

    def call_suffix(self) -> str:
        """`}`."""
        return "}"

    def delimiters(self) -> Delimiters:
        """Nothing: there is but one."""
        return Delimiters("", "", "")

    @property
    def is_json(self) -> bool:
        """It is."""
        return True


def _json(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class MistralFormat(Format):
    """`[TOOL_CALLS]f[ARGS]{...}`, one after the other: the models of Mistral AI from the end of 2025."""

    markers: ClassVar[tuple[str, ...]] = ("[TOOL_CALLS]", "[ARGS]")

    @property
    def text_separator(self) -> str:
        """Nothing where the mark is a control token."""
        return "" if self.control_tokens else "\n\n"

    def call_prefix(self, name: str) -> str:
        """The mark, the name, and the mark of the arguments."""
        return f"{self.marker('[TOOL_CALLS]')}{name}{self.marker('[ARGS]')}"

    def call_suffix(self) -> str:
        """Nothing."""
        return ""

    def delimiters(self) -> Delimiters:
        """Nothing."""
        return Delimiters("", "", "")

    @property
    def is_json(self) -> bool:
        """It is not, for the marks."""
        return False


@dataclass(frozen=True, kw_only=True)
class MistralListFormat(Format):
    """`[TOOL_CALLS] [{"name": "f", "arguments": {...}}]`: the models of Mistral AI before.

    Their templates write an id after the arguments, which the models are told and do not write themselves.

    Attributes:
        space: What stands between the mark and the list.
    """

    markers: ClassVar[tuple[str, ...]] = ("[TOOL_CALLS]",)

    space: str = " "

    @property
    def text_separator(self) -> str:
        """Nothing where the mark is a control token."""
        return "" if self.control_tokens else "\n\n"

    def call_prefix(self, name: str) -> str:
        """`{"name": "f", "arguments": `."""
        return f'{{"name": {_json(name)}, "arguments": '

    def call_suffix(self) -> str:
        """`}`."""
        return "}"

    def delimiters(self) -> Delimiters:
        """The mark and a list, around a single call too."""
        return Delimiters(f"{self.marker('[TOOL_CALLS]')}{self.space}[", ", ", "]", wraps_single=True)

    @property
    def is_json(self) -> bool:
        """It is not, for the mark."""
        return False

    def rendered_calls(self, calls: Sequence[CallPart]) -> str:
        """With the ids."""
        around = self.delimiters()
        each = [
            f'{self.call_prefix(call.name)}{call.arguments}, "id": "{short_id(call.id)}"{self.call_suffix()}'
            for call in calls
        ]
        return f"{around.before}{around.between.join(each)}{around.after}"
