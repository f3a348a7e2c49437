"""Calls as Python writes them: `[f(a=1, b="x"), g()]`."""

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
from structkit.limits import Limits
from structkit.lowering.containers.notation import PYTHON, is_keyword
from structkit.lowering.lower import lower
from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.regex.nodes import Rules
from structkit.schema.json_schema.document_keys import with_document_keys
from structkit.schema.markers.json_style import Whitespace
from structkit.targets.targets import RulesOptions, Target

__all__ = ["PythonArgumentsReader", "PythonicFormat"]

_WORDS = {ord("T"): (b"t", 0), ord("F"): (b"f", 0), ord("N"): (b"null", 3)}
"""What begins `True`, `False` and `None`: what JSON has instead, and how many of the bytes after it are passed over."""


@dataclass(frozen=True, kw_only=True)
class PythonicFormat(Format):
    """`[f(a=1, b="x"), g()]`: Llama 3.2 and 4, and others. Arguments are literals; none is ever evaluated.

    Attributes:
        whitespace: The style between arguments; inside of them all is as it was written.
    """

    whitespace: Whitespace = "spaced"

    def call_prefix(self, name: str) -> str:
        """The name and a parenthesis."""
        return f"{name}("

    def call_suffix(self) -> str:
        """A parenthesis."""
        return ")"

    def delimiters(self) -> Delimiters:
        """A list, around a single call too."""
        return Delimiters("[", ", ", "]", wraps_single=True)

    @property
    def is_json(self) -> bool:
        """It is not."""
        return False

    def rules(self, tool: PreparedTool, **style: Unpack[RulesOptions]) -> Rules:
        """Keyword arguments, or a dict after `**` where names are no keywords."""
        document = tool.document
        if not tool.is_schema:
            return lower(document, notation=PYTHON, **style)
        if style.get("order") != "any":
            document = with_document_keys(
                document, AutomatonOracle(python=False, limits=style.get("limits", Limits()))
            )
        return lower(document, notation=PYTHON, strict=tool.is_strict, **style)

    def arguments_reader(self) -> ArgumentsReader:
        """What reads the literals of a call as JSON."""
        return PythonArgumentsReader()

    def format_arguments(self, arguments: str) -> str:
        """Keyword arguments, or a dict after `**`, from JSON.

        >>> PythonicFormat().format_arguments('{"a": [true, null], "b": "null"}')
        'a=[True, None], b="null"'
        >>> PythonicFormat(whitespace="compact").format_arguments('{"a": [1E5,2.0], "b": {"c":3}}')
        'a=[1E5,2.0],b={"c":3}'
        >>> PythonicFormat().format_arguments('{"a b": 1}')
        '**{"a b": 1}'
        """
        try:
            values: object = json.loads(arguments, parse_constant=int)  # refuses NaN, which is no literal
        except (ValueError, RecursionError):  # messages may have been made by anyone
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
        """With a word about arguments, which are told as the type of a dict."""
        told = super().describe(tools, output, max_calls, allow_text=allow_text)
        return f'{told}\nWrite the arguments of a function by name: [f(a=1, b="x")]' if tools else told


def _entries(arguments: str) -> dict[str, str]:
    """The names in an object, and their values to the letter: 1E5 is not 100000.0."""
    text, fields = arguments.encode(), JsonReader()
    fields.read(text)
    return {
        f"{field.path[0]}": text[field.start : field.end].decode()
        for field, ended in fields.take_changes()
        if ended and len(field.path) == 1
    }


def _literal(text: str) -> str:
    """A JSON text as a literal; its strings without escapes that Python reads otherwise, such as those of pairs."""
    plain = _STRING.sub(lambda found: json.dumps(json.loads(found[0]), ensure_ascii=False), text)
    return PYTHON.render(plain).encode(errors="backslashreplace").decode()  # halves of pairs stay escapes


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class PythonArgumentsReader:
    """Arguments of a call of Python that are literals, read as JSON.

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
        """See `Arguments`; the parenthesis that closes the call is not read."""
        found = bytearray()
        end = 0
        while end < len(text) and not self.is_complete:
            if not self._read_byte(text[end], found):
                break
            end += 1
        return end, self._decoder.decode(bytes(found))

    def _read_byte(self, byte: int, json_text: bytearray) -> bool:
        """Read a byte; whether it is one of the arguments."""
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
            written, self._passed = _WORDS.get(byte, (bytes([byte]), 0))
            json_text += written
        return True

    def _read_name_byte(self, name: bytearray, byte: int, json_text: bytearray) -> bool:
        """Read a byte where the name of an argument is."""
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
