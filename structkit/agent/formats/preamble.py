"""Free text before a call or the output: its language, and detection of its end.

The first character distinguishes a step with free text from other steps: it starts no call and no JSON (RFC 8259).
The text contains no empty line; an empty line ends it, or the start delimiter of a call in formats that have one. No
line of the text starts like a call, so an incomplete call is never read as text.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping

from structkit.agent.formats.base import Format
from structkit.agent.formats.text import text_ends
from structkit.regex.charset import char_class
from structkit.regex.merge import RuleMerger
from structkit.regex.nodes import CharClass, LiteralText, Node, Repeat, choice, seq
from structkit.vocabulary.control_tokens import CONTROL_BYTE, to_bytes, to_text

__all__ = [
    "EMPTY_LINE",
    "PreambleReader",
    "preamble_ends",
    "preamble_language",
    "split_preamble",
    "starts_with_text",
]

EMPTY_LINE = "\n\n"
"""Separator between free text and the output, also allowed before calls."""

_MAX_LINE = 400
"""Maximum number of characters of a line, about three printed lines; bounds models that never end a line."""

_MAX_LINES = 16
"""Maximum number of lines of free text; longer text belongs in the output or in thoughts."""

_NOT_TEXT_START = frozenset(b'{["-0123456789tfn< \t\n\r')
"""First characters that are excluded: those of JSON, calls and whitespace."""


def _characters_without(characters: bytes) -> CharClass:
    """Return the characters of free text without the given ones; the tab is the only allowed control character."""
    allowed = [code for code in (0x09, *range(0x20, 0x7F)) if code not in characters]
    return char_class([*((code, code) for code in allowed), (0xA0, 0x10FFFF)])


def preamble_language(format: Format, joiner: RuleMerger) -> Node:
    """Return the language of the text before a call.

    If delimiters are text, `<` is only allowed before a space, a digit or `=`, so that the text contains no delimiter.
    """
    has_text_delimiters = any(
        mark.startswith("<") and mark not in format.control_tokens for mark in format.markers
    )
    inside: Node = _characters_without(b"")
    if has_text_delimiters:
        comparison = char_class([(0x20, 0x20), (0x30, 0x39), (0x3D, 0x3D)])
        inside = choice([_characters_without(b"<"), seq(LiteralText("<"), comparison)])
    rest = joiner.rule("rest of a line", Repeat(inside, 0, _MAX_LINE))
    line = joiner.rule(
        "line", seq(LiteralText("\n"), Repeat(LiteralText(" "), 0, 8), _characters_without(b"{[< \t"), rest)
    )
    return seq(_characters_without(bytes(_NOT_TEXT_START)), rest, Repeat(line, 0, _MAX_LINES - 1))


def starts_with_text(step: bytes) -> bool:
    """Return whether a non-empty step starts with free text."""
    return step[0] not in _NOT_TEXT_START and not step.startswith(CONTROL_BYTE)


def split_preamble(step: str, format: Format) -> tuple[str, str]:
    """Split a step into its free text and the rest."""
    data = to_bytes(step)
    if not starts_with_text(data):
        return "", step
    end, text = PreambleReader(preamble_ends(format)).read(data)
    return text, to_text(data[end:])


def preamble_ends(format: Format) -> dict[bytes, int]:
    """Return the strings that end free text; see `PreambleReader`."""
    ends = {EMPTY_LINE.encode(): len(EMPTY_LINE)}
    if format.text_separator != EMPTY_LINE:
        ends |= text_ends(format)
    return ends


class PreambleReader:
    """Incremental reader of text before calls or an output.

    Args:
        ends: The strings that end the text, each with the length of its part that is not part of what follows.

    Attributes:
        is_complete: Whether the text has ended.
    """

    def __init__(self, ends: Mapping[bytes, int]) -> None:
        self._ends = ends
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.is_complete = False

    def read(self, more: bytes) -> tuple[int, str]:
        """Read further bytes; return the number of bytes in the text and its end, and the text that is final now."""
        found = [(at, length) for end, length in self._ends.items() if (at := more.find(end)) >= 0]
        if found:
            self.is_complete = True
            at, length = min(found)
            return at + length, self._decoder.decode(more[:at])
        longest = max(map(len, self._ends), default=1) - 1
        pending = next((n for n in range(longest, 0, -1) if self._may_end(more[-n:], n)), 0)
        certain = len(more) - pending
        return certain, self._decoder.decode(more[:certain])

    def _may_end(self, last: bytes, length: int) -> bool:
        return len(last) == length and any(end.startswith(last) for end in self._ends)
