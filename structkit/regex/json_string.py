r"""JSON strings: the language of a raw text, of its canonical JSON spelling, and of a whole string value.

Every character has exactly one spelling, the one of `json.dumps(text, ensure_ascii=False)`: a quote and a backslash
are escaped, controls below U+0020 are short escapes where JSON has them and lowercase `\\u00xx` otherwise, everything
else is written raw (RFC 8259, section 7).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from structkit.errors import SchemaError, UnsupportedKeyword
from structkit.regex.charset import ANY, chars, complement, intersection, union
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    Alt,
    Both,
    Call,
    Chars,
    Entry,
    Joined,
    Multiple,
    Node,
    Part,
    Repeat,
    Seq,
    Substring,
    Text,
    Unique,
    Unordered,
    alt,
    seq,
)

__all__ = [
    "ESCAPED",
    "JSON_CHAR",
    "QUOTE",
    "SPELLED",
    "closed",
    "escape",
    "is_quoting",
    "json_text",
    "lengths",
    "other_text",
    "raw_text",
    "spaced",
    "text_body",
    "text_name",
]

QUOTE = Text('"')

_PUNCTUATION = re.compile(r'"(?:[^"\\]|\\.)*"|[,:]')
SPELLED = " spelled"
"""What the name of a rule ends in whose texts are the canonical JSON spellings of another's."""

_SHORT = {0x08: "b", 0x09: "t", 0x0A: "n", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x5C: "\\"}
ESCAPED = chars([(0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C)])
"""The characters that JSON does not write raw."""

_RAW = complement(ESCAPED)
_EVERY = Repeat(ANY)
_WHOLE = r"\Z"
"""What follows an intersection that is a whole text, as nodes say it."""


def json_text(value: str, *, place: str | None = None) -> str:
    r"""The canonical JSON of a string, with its quotes.

    >>> json_text('a"b')
    '"a\\"b"'

    Raises:
        SchemaError: The string holds a surrogate, which UTF-8 cannot spell.
    """
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise SchemaError(f"{value!r} holds a surrogate, which no text can spell; remove it", place=place)
    return json.dumps(value, ensure_ascii=False)


@lru_cache(maxsize=1024)
def _escape_chars(these: Chars) -> Node:
    """Spellings of one character of the set."""
    codes = [code for first, last in intersection(these, ESCAPED).ranges for code in range(first, last + 1)]
    short = union(chars([(ord(_SHORT[code]),) * 2]) for code in codes if code in _SHORT)
    long: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for high in (0, 1):
        low = chars(
            (ord(f"{code & 15:x}"),) * 2 for code in codes if code not in _SHORT and code >> 4 == high
        )
        if low.ranges:
            long.setdefault(low.ranges, []).append(0x30 + high)
    spellings: list[Node] = [raw] if (raw := intersection(these, _RAW)).ranges else []
    if short.ranges:
        spellings.append(seq(Text("\\"), short))
    for low_ranges, highs in long.items():
        first = Text(chr(highs[0])) if len(highs) == 1 else chars((high, high) for high in highs)
        spellings.append(seq(Text("\\u00"), first, Chars(low_ranges)))
    return alt(spellings)


JSON_CHAR: Node = _escape_chars(ANY)
"""One canonically spelled character."""


def escape(node: Node) -> Node:
    r"""Map a language of raw texts to the language of their canonical JSON spellings, without the quotes.

    >>> escape(Text("a\n"))
    Text(value='a\\n')

    Each character is spelled in one way and no spelling begins another, so intersections and differences carry over.
    A call becomes one of a rule that is not made here, of the same name with `SPELLED`.
    """
    match node:
        case Text(value):
            spelled = json.dumps(value, ensure_ascii=False)[1:-1]
            return node if spelled == value else Text(spelled)
        case Chars():
            return _escape_chars(node)
        case Seq(parts):
            return seq(*(escape(part) for part in parts))
        case Alt(parts):
            return alt(escape(part) for part in parts)
        case Repeat(part, least, most):
            return Repeat(escape(part), least, most)
        case Both(left, right, negate, end):
            follows = QUOTE.value if end == _WHOLE else end
            return Both(escape(left), escape(right), negate, end=follows)
        case Joined(parts, separator):
            escaped = tuple(Part(escape(p.node), p.least, p.most) for p in parts)
            return Joined(escaped, json.dumps(separator, ensure_ascii=False)[1:-1])
        case Unique(inner):
            return Unique(escape(inner))
        case Unordered(entries):
            escaped_entries = (Entry(Unique(escape(e.key.node)), escape(e.rest), e.counts) for e in entries)
            return replace(node, entries=tuple(escaped_entries))
        case Substring(spelled=True):
            message = (
                "a quote cannot be part of JSON inside a string; use the type itself instead of Json[...]"
            )
            raise UnsupportedKeyword("contentSchema", message)
        case Substring():
            return replace(node, spelled=True)
        case Call(rule):
            return Call(rule + SPELLED)
        case Multiple():
            return node


def text_name(least: int, most: int | None) -> str:
    """The name of the shared rule of free text with these lengths.

    >>> text_name(0, None), text_name(2, 10), text_name(2, None)
    ('text', 'text{2,10}', 'text{2,}')
    """
    if (least, most) == (0, None):
        return "text"
    return f"text{{{least},{'' if most is None else most}}}"


def closed(body: Node) -> Node:
    r"""Raw texts as JSON spells them, and their closing quote: what follows the opening one.

    >>> closed(Both(Text('"'), Repeat(ANY, 0, 100))) == Both(Text('\\""'), text_body(0, 100), end="")
    True
    """
    if isinstance(body, Substring):
        return replace(body, spelled=True, closed=True)
    if isinstance(body, Both) and is_quoting(body):
        return Both(closed(body.left), closed(body.right), body.negate, end="")
    if isinstance(body, Both) and isinstance(body.right, Repeat) and not body.negate:
        # The quote belongs to both sides: where they end without it, nearly every token would have to be read on.
        return Both(closed(body.left), closed(body.right), end="")
    return seq(escape(body), QUOTE)


def is_quoting(node: Node) -> bool:
    """Whether all texts of a node are quotes of a source."""
    return isinstance(node, Substring) or (isinstance(node, Both) and is_quoting(node.left))


@lru_cache(maxsize=1024)
def text_body(least: int, most: int | None) -> Node:
    """Free text of `least` to `most` characters and the closing quote: the definition of the rule `text_name`.

    >>> text_body(0, None) == Seq((Repeat(JSON_CHAR, 0, None), QUOTE))
    True
    """
    if most == 0:
        return QUOTE
    return Seq((Repeat(JSON_CHAR, least, most), QUOTE))


def spaced(text: str, comma: str, colon: str) -> str:
    """Compact JSON with other separators.

    >>> spaced('{"a,b":[1,2]}', ", ", ": ")
    '{"a,b": [1, 2]}'
    """
    return _PUNCTUATION.sub(lambda found: {",": comma, ":": colon}.get(found[0], found[0]), text)


def other_text(texts: Iterable[str]) -> Node:
    r"""The bodies, with the closing quote, of all JSON strings but some: keys that are none of the declared ones.

    >>> from structkit.automaton.construct.compile_rule import regular
    >>> other = regular(other_text(["a", "ab"]))
    >>> [other.accepts(key.encode() + b'"') for key in ("a", "ab", "", "abc", "b", '\\"')]
    [False, False, True, True, True, True]
    """
    bodies = tuple(Text(json_text(text)[1:]) for text in dict.fromkeys(texts))
    # A body ends where its first plain quote is, so a beginning of it that is such a text is the whole.
    return Both(text_body(0, None), Alt(bodies), negate=True, end="")


def raw_text(languages: Iterable[Node], least: int = 0, most: int | None = None) -> Node:
    """The raw texts that are in every one of the languages and have `least` to `most` characters.

    Args:
        languages: The languages.
        least: The fewest characters.
        most: The most.

    Returns:
        `Repeat(ANY, least, most)` where the languages forbid nothing.

    >>> raw_text([Seq((Text("a"), Repeat(Text("b"))))], 0, 3)
    Seq(parts=(Text(value='a'), Repeat(part=Text(value='b'), least=0, most=2)))
    """
    body: Node = _EVERY
    for language in languages:
        body = _within(language, body)
    lengths = NEVER if most is not None and most < least else Repeat(ANY, least, most)
    if body == _EVERY or lengths is NEVER:
        return lengths
    # Lengths come last, so that nothing else is multiplied by them.
    return _within(lengths, body)


def _within(left: Node, right: Node) -> Node:
    """The intersection of two languages of raw texts; lengths are moved into the pattern where that is exact."""
    if NEVER in (left, right):
        return NEVER
    if isinstance(right, Repeat) and right.part == ANY:
        return _with_lengths(left, right.least, right.most)
    if isinstance(left, Repeat) and left.part == ANY:
        return _with_lengths(right, left.least, left.most)
    return Both(left, right)


def _with_lengths(node: Node, least: int, most: int | None) -> Node:
    """The texts of `node` that have `least` to `most` characters."""
    shortest, longest = lengths(node)
    if (
        shortest is None
        or (most is not None and shortest > most)
        or (longest is not None and longest < least)
    ):
        return NEVER
    if shortest >= least and (most is None or (longest is not None and longest <= most)):
        return node
    parts = node.parts if isinstance(node, Seq) else (node,)
    flexible = [index for index, part in enumerate(parts) if _fixed(part) is None]
    if (
        len(flexible) == 1
        and isinstance(repeat := parts[flexible[0]], Repeat)
        and (step := _fixed(repeat.part))
    ):
        rest = sum(_fixed(part) or 0 for part in parts)
        low = max(repeat.least, -(-(least - rest) // step))
        high = _smaller(repeat.most, None if most is None else (most - rest) // step)
        if high is not None and high < low:
            return NEVER
        tight = EMPTY if high == 0 else Repeat(repeat.part, low, high)
        return seq(*parts[: flexible[0]], tight, *parts[flexible[0] + 1 :])
    return Both(node, Repeat(ANY, least, most))


def _smaller(left: int | None, right: int | None) -> int | None:
    return right if left is None else left if right is None else min(left, right)


def _fixed(node: Node) -> int | None:
    shortest, longest = lengths(node)
    return shortest if shortest == longest else None


def lengths(node: Node) -> tuple[int | None, int | None]:
    """Bounds on the characters of the texts of a raw language: the fewest (`None` if it is empty), and the most.

    Intersections are bounded by their left side, so the bounds are safe rather than tight.

    >>> lengths(Repeat(Alt((Text("a"), Text("bcd"))), 2, None))
    (2, None)
    """
    match node:
        case Text(value):
            return len(value), len(value)
        case Chars(ranges):
            return (1, 1) if ranges else (None, 0)
        case Seq(parts):
            bounds = [lengths(part) for part in parts]
            return _sum([low for low, _ in bounds]), _sum([high for _, high in bounds])
        case Alt(parts):
            bounds = [pair for pair in map(lengths, parts) if pair[0] is not None]
            if not bounds:
                return None, 0
            highs = [high for _, high in bounds]
            longest = None if None in highs else max(high for high in highs if high is not None)
            return min(low for low, _ in bounds if low is not None), longest
        case Repeat(part, least, most):
            low, high = lengths(part)
            if low is None:
                return (0, 0) if least == 0 else (None, 0)
            return low * least, 0 if high == 0 else None if high is None or most is None else high * most
        case Both(left=inner) | Unique(inner):
            return lengths(inner)
        case Multiple():
            return 1, None
        case Substring(source):
            return 1, len(source)
        case Joined() | Unordered() | Call():
            return 0, None


def _sum(values: list[int | None]) -> int | None:
    return None if None in values else sum(value for value in values if value is not None)
