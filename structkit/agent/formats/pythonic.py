"""Calls in Python notation: `[f(a=1, b="x"), g()]`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from typing_extensions import Unpack

from structkit.agent.formats.base import ArgumentsReader, Delimiters, Format
from structkit.agent.tools.prepared import PreparedTool
from structkit.functions.python_arguments import PythonArgumentsReader
from structkit.generate.output.json_reader import JsonReader
from structkit.lowering.containers.notation import PYTHON, is_keyword
from structkit.lowering.lower import lower
from structkit.regex.nodes import Rules
from structkit.schema.markers.json_style import Whitespace
from structkit.targets.base import JsonPart
from structkit.targets.targets import RulesOptions, Target
from structkit.vocabulary.control_tokens import to_bytes

__all__ = ["PythonicFormat"]


@dataclass(frozen=True, kw_only=True)
class PythonicFormat(Format):
    """`[f(a=1, b="x"), g()]`: Llama 3.2 and 4, and others. Arguments are literals and are never evaluated.

    Attributes:
        whitespace: Style between arguments; the arguments themselves are unchanged.
    """

    whitespace: Whitespace = "spaced"

    def call_prefix(self, name: str) -> str:
        """Return the name and an opening parenthesis."""
        return f"{name}("

    def call_suffix(self) -> str:
        """Return a closing parenthesis."""
        return ")"

    def delimiters(self) -> Delimiters:
        """Return the delimiters of a list, also around a single call."""
        return Delimiters("[", ", ", "]", wraps_single=True)

    @property
    def is_json(self) -> bool:
        """False."""
        return False

    def rules(self, tool: PreparedTool, **style: Unpack[RulesOptions]) -> Rules:
        """Return keyword arguments, or a dict after `**` if names are not identifiers."""
        if not tool.is_schema:
            return lower(tool.document, notation=PYTHON, **style)
        return lower(tool.document, notation=PYTHON, strict=tool.is_strict, document_keys=True, **style)

    def arguments_reader(self) -> ArgumentsReader:
        """Return a reader that converts the literals of a call to JSON."""
        return PythonArgumentsReader()

    def format_arguments(self, arguments: str) -> str:
        """Convert JSON to keyword arguments, or a dict after `**`.

        >>> PythonicFormat().format_arguments('{"a": [true, null], "b": "null"}')
        'a=[True, None], b="null"'
        >>> PythonicFormat(whitespace="compact").format_arguments('{"a": [1E5,2.0], "b": {"c":3}}')
        'a=[1E5,2.0],b={"c":3}'
        >>> PythonicFormat().format_arguments('{"a b": 1}')
        '**{"a b": 1}'
        """
        try:
            values: object = json.loads(arguments, parse_constant=int)  # rejects NaN, which is not a literal
        except (ValueError, RecursionError):  # messages can come from user code
            values = None
        if not isinstance(values, dict) or not all(map(is_keyword, values)):
            return f"**{PYTHON.render(arguments)}"
        comma = ", " if self.whitespace == "spaced" else ","
        return comma.join(f"{name}={_literal(text)}" for name, text in _entries(arguments).items())

    def json_parts(self, arguments: str, text: bytes) -> Iterator[JsonPart]:
        """Yield each argument, whose literal `read_values` reads like JSON.

        >>> text = b'a=[True], b="="'
        >>> for path, start, end in PythonicFormat().json_parts('{"a": [true], "b": "="}', text):
        ...     print(path, text[start:end])
        ('a',) b'[True]'
        ('b',) b'"="'
        """
        if text.startswith(b"**"):
            yield JsonPart((), 2, len(text))
            return
        end = 0
        for name, value in _entries(arguments).items():
            start = text.index(b"=", end) + 1
            end = start + len(to_bytes(PYTHON.render(value)))
            yield JsonPart((name,), start, end)

    def describe(
        self,
        tools: Sequence[PreparedTool],
        output: Target[object],
        max_calls: int,
        *,
        allow_text: bool = False,
    ) -> str:
        """Describe the tools as the base class does, and explain keyword arguments."""
        description = super().describe(tools, output, max_calls, allow_text=allow_text)
        return (
            f'{description}\nWrite the arguments of a function by name: [f(a=1, b="x")]'
            if tools
            else description
        )


def _entries(arguments: str) -> dict[str, str]:
    """Return the names and values of an object, with values as written: 1E5 is not 100000.0."""
    text, fields = arguments.encode(), JsonReader()
    fields.read(text)
    return {
        f"{field.path[0]}": text[field.start : field.end].decode()
        for field, ended in fields.take_changes()
        if ended and len(field.path) == 1
    }


def _literal(text: str) -> str:
    """Convert JSON to a literal, without escapes that Python reads differently, such as surrogate pairs."""
    plain = _STRING.sub(lambda found: json.dumps(json.loads(found[0]), ensure_ascii=False), text)
    return PYTHON.render(plain).encode(errors="backslashreplace").decode()  # lone surrogates stay escapes


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
