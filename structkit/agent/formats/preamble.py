"""Free text before a call or the result: its language, and where it ends.

A step that begins with free text can be told from others by its first character, which begins no call and no JSON
(RFC 8259). The text has no empty line; one ends it, or else the mark of a call in the formats that have one. No line of
it begins like a call, so nobody takes half a call for text.
"""

from __future__ import annotations

import codecs

from structkit.agent.formats.base import Format
from structkit.regex.charset import chars
from structkit.regex.merge import Joiner
from structkit.regex.nodes import Chars, Node, Repeat, Text, alt, seq
from structkit.vocabulary.control_tokens import MARK, to_bytes, to_text

__all__ = ["EMPTY_LINE", "Saying", "begins_text", "said_language", "split_said"]

EMPTY_LINE = "\n\n"
"""What stands between free text and the result, and may stand before calls."""

_LINE = 400
"""Characters of a line, about three of print: a model that never ends its line is ended."""

_LINES = 16
"""Lines of free text; more belongs into a result, or into thoughts."""

_NO_TEXT = frozenset(b'{["-0123456789tfn< \t\n\r')
"""What a free text does not begin with: JSON, calls and white space do."""


def _without(characters: bytes) -> Chars:
    """The characters of free text, but some; controls are none of them, save the tab."""
    left = [code for code in (0x09, *range(0x20, 0x7F)) if code not in characters]
    return chars([*((code, code) for code in left), (0xA0, 0x10FFFF)])


def said_language(format: Format, joiner: Joiner) -> Node:
    """The texts that may stand before a call.

    Where marks are text, a text has no `<` but before a space, a figure or `=`, so that it cannot hold one.
    """
    spelled = any(mark.startswith("<") and mark not in format.controls for mark in format.marks)
    inside: Node = _without(b"")
    if spelled:
        compared = chars([(0x20, 0x20), (0x30, 0x39), (0x3D, 0x3D)])
        inside = alt([_without(b"<"), seq(Text("<"), compared)])
    rest = joiner.rule("rest of a line", Repeat(inside, 0, _LINE))
    line = joiner.rule("line", seq(Text("\n"), Repeat(Text(" "), 0, 8), _without(b"{[< \t"), rest))
    return seq(_without(bytes(_NO_TEXT)), rest, Repeat(line, 0, _LINES - 1))


def begins_text(step: bytes) -> bool:
    """Whether a step, of which there is at least a byte, begins with free text."""
    return step[0] not in _NO_TEXT and not step.startswith(MARK)


def split_said(step: str, format: Format) -> tuple[str, str]:
    """The free text of a step, and the rest."""
    data = to_bytes(step)
    if not begins_text(data):
        return "", step
    saying = Saying(format)
    end, text = saying.read(data)
    return text, to_text(data[end:])


class Saying:
    """Free text, read as it is written.

    Attributes:
        done: Whether it has ended.
    """

    def __init__(self, format: Format) -> None:
        empty = EMPTY_LINE.encode()
        self._ends = {empty: len(empty)}
        if format.spoken != EMPTY_LINE:
            self._ends[to_bytes(format.spoken + format.mark(format.marks[0]))] = len(format.spoken)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.done = False

    def read(self, more: bytes) -> tuple[int, str]:
        """Read on: how many of the bytes are of the text and of what ends it, and the text that is certain now."""
        found = [(at, passed) for end, passed in self._ends.items() if (at := more.find(end)) >= 0]
        if found:
            self.done = True
            at, passed = min(found)
            return at + passed, self._decoder.decode(more[:at])
        kept = next(
            (n for n in range(max(map(len, self._ends)) - 1, 0, -1) if self._may_end(more[-n:], n)), 0
        )
        certain = len(more) - kept
        return certain, self._decoder.decode(more[:certain])

    def _may_end(self, last: bytes, length: int) -> bool:
        return len(last) == length and any(end.startswith(last) for end in self._ends)
