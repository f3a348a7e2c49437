"""Calls in Python notation: `[f(a=1, b="x"), g()]`."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import Unpack

from structkit.agent.formats.base import ArgumentsReader, Delimiters, Format
from structkit.agent.tools.prepared import PreparedTool
from structkit.generate.output.json_reader import JsonReader
from structkit.lowering.containers.notation import PYTHON, is_keyword
from structkit.lowering.lower import lower
from structkit.regex.nodes import Rules
from structkit.schema.markers.json_style import Whitespace
from structkit.targets.targets import RulesOptions, Target

__all__ = ["PythonArgumentsReader", "PythonicFormat"]

_WORDS = {ord("T"): (b"t", 0), ord("F"): (b"f", 0), ord("N"): (b"null", 3)}
"""First byte of `True`, `False` and `None`: the JSON replacement, and the number of following bytes to skip."""


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


class PythonArgumentsReader:
    """Incremental reader of the literal arguments of a Python call as JSON.

    >>> PythonArgumentsReader().read(b'a=[None, "None)"], b=True)]')
    (25, '{"a": [null, "None)"], "b": true}')
    >>> PythonArgumentsReader().read(b'**{"a b": False})')
    (16, '{"a b": false}')
    """

    def __init__(self) -> None:
        self.is_complete = False
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._name: bytearray | None = bytearray()
        self._started = False
        self._depth = 0
        self._quoted = self._escaped = False
        self._passed = 0
        self._dict = False

    def read(self, text: bytes) -> tuple[int, str]:
        """Read further bytes; see `ArgumentsReader`. The closing parenthesis of the call is not consumed."""
        found = bytearray()
        end = 0
        while end < len(text) and not self.is_complete:
            if not self._read_byte(text[end], found):
                break
            end += 1
        return end, self._decoder.decode(bytes(found))

    def _read_byte(self, byte: int, json_text: bytearray) -> bool:
        """Read one byte; return whether it is part of the arguments."""
        if self._name is not None:
            return self._read_name_byte(self._name, byte, json_text)
        if self._passed:
            self._passed -= 1
        elif self._quoted:
            json_text.append(byte)
            self._quoted = self._escaped or byte != ord('"')
            self._escaped = byte == ord("\\") and not self._escaped
        elif byte == ord(")"):
            self._end(json_text)
            return False
        elif byte == ord(",") and not self._depth:
            self._name = bytearray()
        else:
            self._depth += (byte in b"[{") - (byte in b"]}")
            self._quoted = byte == ord('"')
            replacement, self._passed = _WORDS.get(byte, (bytes([byte]), 0))
            json_text += replacement
        return True

    def _read_name_byte(self, name: bytearray, byte: int, json_text: bytearray) -> bool:
        """Read one byte of the name of an argument."""
        if byte == ord(")"):
            self._end(json_text)
            return False
        if byte == ord("*"):
            self._dict = True
        elif byte == ord("="):
            json_text += (b", " if self._started else b"{") + b'"' + name + b'": '
            self._started, self._name = True, None
        elif self._dict:
            self._name = None
            return self._read_byte(byte, json_text)
        elif byte != ord(" "):
            name.append(byte)
        return True

    def _end(self, json_text: bytearray) -> None:
        if not self._dict:
            json_text += b"}" if self._started else b"{}"
        self.is_complete = True
