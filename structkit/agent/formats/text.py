"""Plain text as the output of an agent, alone or beside JSON objects and arrays.

The first character distinguishes text from the other texts of a step: it starts no JSON output and, in formats without
a start delimiter, no call. In formats with a start delimiter the text does not contain it, so calls can follow text.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Union, get_args, get_origin

from typing_extensions import Unpack

from structkit.agent.formats.base import Format
from structkit.limits import Limits
from structkit.regex.charset import char_class
from structkit.regex.merge import RuleMerger
from structkit.regex.nodes import EMPTY, Intersection, LiteralText, Node, Repeat, Rules, choice, seq
from structkit.rejected import Rejected
from structkit.schema.markers.json_style import JsonStyle
from structkit.targets.targets import AnyTarget, RulesOptions, Target, read_target
from structkit.vocabulary.control_tokens import to_bytes

__all__ = ["TextOutput", "read_text_or_json", "split_text", "text_ends"]

_JSON_STARTS = "{["
"""The first characters of JSON objects and arrays."""

_CHARACTERS = char_class([(0x09, 0x0A), (0x20, 0x7E), (0xA0, 0x10FFFF)])
"""The characters of text: the tab and the line feed are the only control characters."""


@dataclass(frozen=True)
class TextOutput(Target[object]):
    """Plain text, or also JSON objects and arrays.

    The value of a text is the text as it is, blank lines and final whitespace included. A text is not empty and does
    not start with whitespace.

    Attributes:
        json: The target of the JSON outputs; `None` if there are none.
        excluded_starts: First characters that text does not have.
        excluded_marker: A string that text does not contain; empty if there is none.
    """

    json: Target[object] | None = None
    excluded_starts: str = ""
    excluded_marker: str = ""

    @property
    def name(self) -> str:
        """`str`, and the name of the JSON output."""
        return "str" if self.json is None else f"str | {self.json.name}"

    @property
    def is_json(self) -> bool:
        """False."""
        return False

    def json_schema(self) -> dict[str, object]:
        """Return the schema of the values."""
        text: dict[str, object] = {"type": "string"}
        return text if self.json is None else {"anyOf": [text, self.json.json_schema()]}

    def rules(self, **style: Unpack[RulesOptions]) -> Rules:
        """Return the language of text and of the JSON outputs."""
        return self.rules_with_calls(None, RuleMerger(), **style)

    def rules_with_calls(
        self, calls: Node | None, merger: RuleMerger, **style: Unpack[RulesOptions]
    ) -> Rules:
        """Return the language of text, of text followed by `calls`, and of the JSON outputs.

        Args:
            calls: The separator and the calls that can follow text; `None` if nothing can.
            merger: The rules that `calls` refers to.
            **style: See `Target.rules`.
        """
        text = self._text()
        texts = text if calls is None else seq(text, choice([EMPTY, calls]))
        if self.json is None:
            return merger.rules(texts)
        return merger.rules(choice([texts, merger.add("result", self.json.rules(**style))]))

    def _text(self) -> Node:
        excluded = {ord(each) for each in f"\t\n {self.excluded_starts}"}
        first = char_class(
            [(code, code) for code in range(0x20, 0x7F) if code not in excluded] + [(0xA1, 0x10FFFF)]
        )
        rest = Repeat(_CHARACTERS)
        text = seq(first, rest)
        if not self.excluded_marker:
            return text
        return Intersection(text, seq(rest, LiteralText(self.excluded_marker), rest), negate=True)

    def is_text(self, text: str) -> bool:
        """Return whether a text of the language, or its beginning, is plain text."""
        return self.json is None or text[:1] not in _JSON_STARTS

    def parse(self, text: str, context: object = None) -> object | Rejected:
        """Return the text itself, or the value of the JSON."""
        return text if self.json is None or self.is_text(text) else self.json.parse(text, context)

    def field_limits(self) -> Callable[[Sequence[str | int]], int | None] | None:
        """Return the token limits of the parts of the JSON outputs."""
        return None if self.json is None else self.json.field_limits()

    def description(self) -> str:
        """Return the description for the prompt."""
        if self.json is None:
            return "plain text"
        return f"plain text, or {self.json.description() or self.json.name}"

    def beside_calls(self, format: Format, names: Sequence[str]) -> TextOutput:
        """Return the output with text that differs from the calls of tools in a format."""
        excluded = set(_JSON_STARTS if self.json is not None else "")
        marker = ""
        if format.markers:
            marker = "" if format.markers[0] in format.control_tokens else format.markers[0]
        else:
            starts = format.start_delimiters(multiple=True)
            excluded |= {(start + format.call_prefix(name))[0] for start in starts for name in names}
        return replace(self, excluded_starts="".join(sorted(excluded)), excluded_marker=marker)


def read_text_or_json(output_type: AnyTarget, *, policy: JsonStyle, limits: Limits) -> Target[object]:
    """Parse an output type: `str` is plain text, alone or in a union with objects and arrays.

    In a union with other types, `str` is a JSON string: plain text `12` does not differ from the number.

    Raises:
        SchemaError: See `read_target`.

    >>> style, limits = JsonStyle(), Limits()
    >>> [read_text_or_json(each, policy=style, limits=limits).is_json for each in (str, str | list[int], str | int)]
    [False, False, True]
    """
    if output_type is str:
        return TextOutput()
    members = get_args(output_type) if get_origin(output_type) in (Union, types.UnionType) else ()
    if str in members:
        others = tuple(member for member in members if member is not str)
        json = read_target(Union[others], policy=policy, limits=limits)  # type: ignore[arg-type]  # noqa: UP007
        if json.is_container:
            return TextOutput(json, excluded_starts=_JSON_STARTS)
    return read_target(output_type, policy=policy, limits=limits)


def text_ends(format: Format) -> dict[bytes, int]:
    """Return the string that ends text before calls, with the length of its part before the calls."""
    separator = format.text_separator
    return {to_bytes(separator + format.marker(format.markers[0])): len(separator)}


def split_text(step: str, format: Format) -> tuple[str, str]:
    r"""Split a step into its text and its calls, in a format with a start delimiter; one of them can be empty.

    >>> from structkit.agent.formats.json import HermesFormat
    >>> split_text('One moment.\n<tool_call>\n{"name": ...', HermesFormat())
    ('One moment.', '<tool_call>\n{"name": ...')
    """
    start = step.find(format.marker(format.markers[0]))
    if start < 0:
        return step, ""
    return step[:start].removesuffix(format.text_separator), step[start:]
