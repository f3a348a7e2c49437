r"""JSON strings: raw texts, their canonical JSON spelling, and complete string values.

Every character has exactly one spelling, that of `json.dumps(text, ensure_ascii=False)`: quotes and backslashes are
escaped; controls below U+0020 are short escapes where JSON has them and lowercase `\\u00xx` otherwise; all other
characters are written raw (RFC 8259, section 7).
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from structkit.error_notes import SURROGATE_REMEDY
from structkit.errors import SchemaError, UnsupportedKeyword
from structkit.regex.charset import ANY, char_class, complement, intersection, union
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    AnyOrder,
    AnyOrderEntry,
    CharClass,
    Choice,
    Distinct,
    Intersection,
    ListPart,
    LiteralText,
    MultipleOf,
    Network,
    Node,
    Repeat,
    ReturnLabel,
    RuleRef,
    SeparatedList,
    Seq,
    Substring,
    choice,
    seq,
)
from structkit.regex.walk import map_children

__all__ = [
    "ESCAPED_SUFFIX",
    "JSON_CHAR",
    "QUOTE",
    "escape",
    "free_text_body",
    "free_text_except",
    "free_text_name",
    "is_substring",
    "json_text",
    "length_bounds",
    "min_defined",
    "raw_intersection",
    "string_tail",
    "with_separators",
    "without_quote",
]

QUOTE = LiteralText('"')

_PUNCTUATION = re.compile(r'"(?:[^"\\]|\\.)*"|[,:]')

ESCAPED_SUFFIX = " escaped"
"""Suffix of the name of a rule that contains the canonical JSON spellings of another rule."""

_SHORT_ESCAPES = {0x08: "b", 0x09: "t", 0x0A: "n", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x5C: "\\"}
_ESCAPED_CHARS = char_class([(0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C)])
"""The characters that JSON strings must escape."""

_UNESCAPED_CHARS = complement(_ESCAPED_CHARS)
_ANY_TEXT = Repeat(ANY)
_END_OF_STRING = r"\Z"
"""The `lookahead` of an intersection that is a complete text."""


def json_text(value: str, *, path: str | None = None) -> str:
    r"""Return the canonical JSON of a string, including quotes.

    >>> json_text('a"b')
    '"a\\"b"'

    Raises:
        SchemaError: The string contains a lone surrogate, which UTF-8 cannot encode.
    """
    if _is_plain(value):
        return f'"{value}"'
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise SchemaError(
            f"{value!r} contains a lone surrogate, which UTF-8 cannot encode; {SURROGATE_REMEDY}", place=path
        )
    return json.dumps(value, ensure_ascii=False)


def _is_plain(value: str) -> bool:
    """Return whether a text is certainly its own JSON spelling."""
    return value.isascii() and value.isprintable() and '"' not in value and "\\" not in value


@lru_cache(maxsize=1024)
def _escape_chars(charset: CharClass) -> Node:
    """Return the spellings of one character of the class."""
    codes = [
        code
        for first, last in intersection(charset, _ESCAPED_CHARS).ranges
        for code in range(first, last + 1)
    ]
    short = union(char_class([(ord(_SHORT_ESCAPES[code]),) * 2]) for code in codes if code in _SHORT_ESCAPES)
    long: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for high in (0, 1):
        low = char_class(
            (ord(f"{code & 15:x}"),) * 2 for code in codes if code not in _SHORT_ESCAPES and code >> 4 == high
        )
        if low.ranges:
            long.setdefault(low.ranges, []).append(0x30 + high)
    spellings: list[Node] = [raw] if (raw := intersection(charset, _UNESCAPED_CHARS)).ranges else []
    if short.ranges:
        spellings.append(seq(LiteralText("\\"), short))
    for low_ranges, highs in long.items():
        first = LiteralText(chr(highs[0])) if len(highs) == 1 else char_class((high, high) for high in highs)
        spellings.append(seq(LiteralText("\\u00"), first, CharClass(low_ranges)))
    return choice(spellings)


JSON_CHAR: Node = _escape_chars(ANY)
"""The spellings of any one character."""


def escape(node: Node) -> Node:
    r"""Map a language of raw texts to the language of their canonical JSON spellings, without quotes.

    >>> escape(LiteralText("a\n"))
    LiteralText(value='a\\n')

    Each character has one spelling and no spelling is a prefix of another, so intersections and differences are
    preserved. A `RuleRef` becomes a reference to the name with `ESCAPED_SUFFIX`; the caller must define that rule.
    """
    match node:
        case LiteralText(value):
            return node if _is_plain(value) else LiteralText(json.dumps(value, ensure_ascii=False)[1:-1])
        case CharClass():
            spellings = _escape_chars(node)
            return node if spellings == node else spellings
        case Seq(parts):
            changed = [escape(part) for part in parts]
            return node if all(map(operator.is_, changed, parts)) else seq(*changed)
        case Choice(parts):
            changed = [escape(part) for part in parts]
            return node if all(map(operator.is_, changed, parts)) else choice(changed)
        case Repeat(part, min_count, max_count):
            inner = escape(part)
            return node if inner is part else Repeat(inner, min_count, max_count)
        case Intersection(left, right, negate, end):
            lookahead = QUOTE.value if end == _END_OF_STRING else end
            return Intersection(escape(left), escape(right), negate, lookahead=lookahead)
        case SeparatedList(parts, separator):
            escaped = tuple(ListPart(escape(p.node), p.min_count, p.max_count) for p in parts)
            return SeparatedList(escaped, json.dumps(separator, ensure_ascii=False)[1:-1])
        case Distinct(inner):
            return Distinct(escape(inner))
        case AnyOrder(entries):
            escaped_entries = (
                AnyOrderEntry(Distinct(escape(e.key.node)), escape(e.value), e.counted) for e in entries
            )
            return replace(node, entries=tuple(escaped_entries))
        case Network():
            return map_children(node, escape)
        case Substring(json_escaped=True):
            message = (
                "Quote is not supported in JSON inside a string; use the type itself instead of Json[...]"
            )
            raise UnsupportedKeyword("contentSchema", message)
        case Substring():
            return replace(node, json_escaped=True)
        case RuleRef(rule):
            return RuleRef(rule + ESCAPED_SUFFIX)
        case MultipleOf() | ReturnLabel():
            return node


def free_text_name(min_length: int, max_length: int | None) -> str:
    """Return the name of the shared rule for free text with these lengths.

    >>> free_text_name(0, None), free_text_name(2, 10), free_text_name(2, None)
    ('text', 'text{2,10}', 'text{2,}')
    """
    if (min_length, max_length) == (0, None):
        return "text"
    return f"text{{{min_length},{'' if max_length is None else max_length}}}"


def string_tail(body: Node) -> Node:
    r"""Return the JSON spellings of raw texts, each followed by the closing quote.

    >>> tail = string_tail(Intersection(LiteralText('"'), Repeat(ANY, 0, 100)))
    >>> tail == Intersection(LiteralText('\\""'), free_text_body(0, 100), lookahead="")
    True
    """
    if isinstance(body, Substring):
        return replace(body, json_escaped=True, with_end_quote=True)
    if isinstance(body, Intersection) and is_substring(body):
        return Intersection(string_tail(body.left), string_tail(body.right), body.negate, lookahead="")
    if isinstance(body, Intersection) and isinstance(body.right, Repeat) and not body.negate:
        # Both sides include the quote: otherwise nearly every token would cross the end of the intersection.
        return Intersection(string_tail(body.left), string_tail(body.right), lookahead="")
    return seq(escape(body), QUOTE)


def without_quote(tail: Node) -> Node | None:
    """Return the JSON spellings of a result of `string_tail` without the closing quote; `None` if it is inside a part.

    >>> body = Seq((Repeat(CharClass(((97, 122),))), LiteralText("-")))
    >>> without_quote(string_tail(body)) == body
    True
    """
    parts = tail.parts if isinstance(tail, Seq) else (tail,)
    last = parts[-1]
    if not isinstance(last, LiteralText) or not last.value.endswith(QUOTE.value):
        return None
    return seq(*parts[:-1], LiteralText(last.value.removesuffix(QUOTE.value)))


def is_substring(node: Node) -> bool:
    """Return whether all texts of a node are substrings of a source."""
    return isinstance(node, Substring) or (isinstance(node, Intersection) and is_substring(node.left))


@lru_cache(maxsize=1024)
def free_text_body(min_length: int, max_length: int | None) -> Node:
    """Return free text of `min_length` to `max_length` characters and the closing quote: the rule `free_text_name`.

    >>> free_text_body(0, None) == Seq((Repeat(JSON_CHAR, 0, None), QUOTE))
    True
    """
    if max_length == 0:
        return QUOTE
    return Seq((Repeat(JSON_CHAR, min_length, max_length), QUOTE))


def with_separators(text: str, comma: str, colon: str) -> str:
    """Return compact JSON with other separators.

    >>> with_separators('{"a,b":[1,2]}', ", ", ": ")
    '{"a,b": [1, 2]}'
    """
    return _PUNCTUATION.sub(lambda found: {",": comma, ":": colon}.get(found[0], found[0]), text)


def free_text_except(texts: Iterable[str]) -> Node:
    r"""Return all JSON string bodies, with the closing quote, except those of `texts`. Used for undeclared keys.

    >>> from structkit.automaton.construct.compile_rule import regular_dfa
    >>> other = regular_dfa(free_text_except(["a", "ab"]))
    >>> [other.accepts(key.encode() + b'"') for key in ("a", "ab", "", "abc", "b", '\\"')]
    [False, False, True, True, True, True]
    """
    bodies = tuple([LiteralText(json_text(text)[1:]) for text in dict.fromkeys(texts)])
    # A body ends at its first unescaped quote, so a text with a body as prefix is that body.
    return Intersection(free_text_body(0, None), Choice(bodies), negate=True, lookahead="")


def raw_intersection(languages: Iterable[Node], min_length: int, max_length: int | None) -> Node:
    """Return the raw texts that are in all languages and have `min_length` to `max_length` characters.

    Args:
        languages: The languages.
        min_length: Minimum number of characters.
        max_length: Maximum number of characters; `None` is unbounded.

    Returns:
        The intersection; `Repeat(ANY, min_length, max_length)` if the languages contain every text.

    >>> raw_intersection([Seq((LiteralText("a"), Repeat(LiteralText("b"))))], 0, 3)
    Seq(parts=(LiteralText(value='a'), Repeat(part=LiteralText(value='b'), min_count=0, max_count=2)))
    """
    body: Node = _ANY_TEXT
    for language in languages:
        body = _intersect(language, body)
    lengths = (
        NEVER if max_length is not None and max_length < min_length else Repeat(ANY, min_length, max_length)
    )
    if body == _ANY_TEXT or lengths is NEVER:
        return lengths
    if lengths == _ANY_TEXT:
        return body
    # Lengths are intersected last, so that they multiply the size of one intersection only.
    return _intersect(lengths, body)


def _intersect(left: Node, right: Node) -> Node:
    """Return the intersection of two raw languages; lengths become part of the pattern where this is exact."""
    if NEVER in (left, right):
        return NEVER
    if isinstance(right, Repeat) and right.part == ANY:
        return _with_lengths(left, right.min_count, right.max_count)
    if isinstance(left, Repeat) and left.part == ANY:
        return _with_lengths(right, left.min_count, left.max_count)
    return Intersection(left, right)


def _with_lengths(node: Node, min_length: int, max_length: int | None) -> Node:
    """Return the texts of `node` with `min_length` to `max_length` characters."""
    shortest, longest = length_bounds(node)
    if (
        shortest is None
        or (max_length is not None and shortest > max_length)
        or (longest is not None and longest < min_length)
    ):
        return NEVER
    if shortest >= min_length and (max_length is None or (longest is not None and longest <= max_length)):
        return node
    parts = node.parts if isinstance(node, Seq) else (node,)
    flexible = [index for index, part in enumerate(parts) if _exact_length(part) is None]
    if (
        len(flexible) == 1
        and isinstance(repeat := parts[flexible[0]], Repeat)
        and (step := _exact_length(repeat.part))
    ):
        rest = sum(_exact_length(part) or 0 for part in parts)
        low = max(repeat.min_count, -(-(min_length - rest) // step))
        high = min_defined(repeat.max_count, None if max_length is None else (max_length - rest) // step)
        if high is not None and high < low:
            return NEVER
        narrowed = EMPTY if high == 0 else Repeat(repeat.part, low, high)
        return seq(*parts[: flexible[0]], narrowed, *parts[flexible[0] + 1 :])
    return Intersection(node, Repeat(ANY, min_length, max_length))


def min_defined(left: int | None, right: int | None) -> int | None:
    """Return the smaller of two upper bounds; `None` is unbounded."""
    return right if left is None else left if right is None else min(left, right)


def _exact_length(node: Node) -> int | None:
    shortest, longest = length_bounds(node)
    return shortest if shortest == longest else None


@lru_cache(maxsize=512)
def length_bounds(node: Node) -> tuple[int | None, int | None]:
    """Return bounds on the number of characters in texts of a raw language.

    The first is the minimum (`None` if the language is empty), the second the maximum (`None` if unbounded). The bounds
    are safe but not tight: an intersection has the bounds of its left side.

    >>> length_bounds(Repeat(Choice((LiteralText("a"), LiteralText("bcd"))), 2, None))
    (2, None)
    """
    return _length_bounds(node)


def _length_bounds(node: Node) -> tuple[int | None, int | None]:
    match node:
        case LiteralText(value):
            return len(value), len(value)
        case CharClass(ranges):
            return (1, 1) if ranges else (None, 0)
        case Seq(parts):
            bounds = [_length_bounds(part) for part in parts]
            return _sum([low for low, _ in bounds]), _sum([high for _, high in bounds])
        case Choice(parts):
            bounds = [pair for pair in map(_length_bounds, parts) if pair[0] is not None]
            if not bounds:
                return None, 0
            highs = [high for _, high in bounds]
            longest = None if None in highs else max(high for high in highs if high is not None)
            return min(low for low, _ in bounds if low is not None), longest
        case Repeat(part, min_count, max_count):
            low, high = _length_bounds(part)
            if low is None:
                return (0, 0) if min_count == 0 else (None, 0)
            return (
                low * min_count,
                0 if high == 0 else None if high is None or max_count is None else high * max_count,
            )
        case Intersection(left=inner) | Distinct(inner):
            return _length_bounds(inner)
        case MultipleOf():
            return 1, None
        case Substring(source):
            return 1, len(source)
        case SeparatedList() | AnyOrder() | Network() | RuleRef() | ReturnLabel():
            return 0, None


def _sum(values: list[int | None]) -> int | None:
    return None if None in values else sum(value for value in values if value is not None)
