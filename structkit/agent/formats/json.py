"""The formats that are JSON, with or without marks around it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from structkit.agent.formats.base import Around, Format, short_id
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

    def opened(self, name: str) -> str:
        """`{"name": "f", "arguments": `."""
        comma, colon = (", ", ": ") if self.whitespace == "spaced" else (",", ":")
        return f'{{"name"{colon}{_json(name)}{comma}"arguments"{colon}'

    def closed(self) -> str:
        """`}`."""
        return "}"

    def around(self) -> Around:
        """A list."""
        return Around("[", ", " if self.whitespace == "spaced" else ",", "]")

    @property
    def is_json(self) -> bool:
        """It is."""
        return True


@dataclass(frozen=True, kw_only=True)
class HermesFormat(Format):
    """`<tool_call>`, a line `{"name": "f", "arguments": {...}}`, `</tool_call>`: Hermes, Qwen and those after them."""

    marks: ClassVar[tuple[str, ...]] = ("<tool_call>", "</tool_call>")

    @property
    def spoken(self) -> str:
        """A line break."""
        return "\n"

    def opened(self, name: str) -> str:
        """The mark, and `{"name": "f", "arguments": `."""
        return f'{self.mark("<tool_call>")}\n{{"name": {_json(name)}, "arguments": '

    def closed(self) -> str:
        """`}` and the mark of the end."""
        return f"}}\n{self.mark('</tool_call>')}"

    def around(self) -> Around:
        """One after another, each in a line of its own."""
        return Around("", "\n", "")

    @property
    def is_json(self) -> bool:
        """It is not, for the marks."""
        return False


@dataclass(frozen=True, kw_only=True)
class LlamaFormat(Format):
    """`{"name": "f", "parameters": {...}}`, one in a turn: Llama 3.1 and those after it."""

    several: ClassVar[bool] = False
    key: ClassVar[str] = "parameters"

    def opened(self, name: str) -> str:
        """`{"name": "f", "parameters": `."""
        return f'{{"name": {_json(name)}, "parameters": '

    def closed(self) -> str:
        """`}`."""
        return "}"

    def around(self) -> Around:
        """Nothing: there is but one."""
        return Around("", "", "")

    @property
    def is_json(self) -> bool:
        """It is."""
        return True


def _json(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class MistralFormat(Format):
    """`[TOOL_CALLS]f[ARGS]{...}`, one after the other: the models of Mistral AI from the end of 2025."""

    marks: ClassVar[tuple[str, ...]] = ("[TOOL_CALLS]", "[ARGS]")

    @property
    def spoken(self) -> str:
        """Nothing where the mark is a control token."""
        return "" if self.controls else "\n\n"

    def opened(self, name: str) -> str:
        """The mark, the name, and the mark of the arguments."""
        return f"{self.mark('[TOOL_CALLS]')}{name}{self.mark('[ARGS]')}"

    def closed(self) -> str:
        """Nothing."""
        return ""

    def around(self) -> Around:
        """Nothing."""
        return Around("", "", "")

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

    marks: ClassVar[tuple[str, ...]] = ("[TOOL_CALLS]",)

    space: str = " "

    @property
    def spoken(self) -> str:
        """Nothing where the mark is a control token."""
        return "" if self.controls else "\n\n"

    def opened(self, name: str) -> str:
        """`{"name": "f", "arguments": `."""
        return f'{{"name": {_json(name)}, "arguments": '

    def closed(self) -> str:
        """`}`."""
        return "}"

    def around(self) -> Around:
        """The mark and a list, around a single call too."""
        return Around(f"{self.mark('[TOOL_CALLS]')}{self.space}[", ", ", "]", alone=True)

    @property
    def is_json(self) -> bool:
        """It is not, for the mark."""
        return False

    def shown(self, calls: Sequence[CallPart]) -> str:
        """With the ids."""
        around = self.around()
        each = [
            f'{self.opened(call.name)}{call.arguments}, "id": "{short_id(call.id)}"{self.closed()}'
            for call in calls
        ]
        return f"{around.before}{around.between.join(each)}{around.after}"
