"""The language of the raw (unescaped) texts of a string schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from structkit.errors import UnsupportedKeyword
from structkit.limits import Limits
from structkit.lowering.strings.registry import is_known, language
from structkit.lowering.strings.rfc import KNOWN_FORMATS, PERMISSIVE_FORMATS
from structkit.regex.charset import ANY
from structkit.regex.json_string import raw_intersection, string_tail
from structkit.regex.nodes import NEVER, Intersection, Node, Repeat, choice
from structkit.regex.pattern.parse import parse
from structkit.schema.algebra.string_oracle import not_of_format
from structkit.schema.ir.keywords import pattern_of
from structkit.schema.ir.nodes import Format, String

__all__ = ["FormatRule", "can_exclude", "format_body", "raw_language", "uncertain_formats"]


def raw_language(
    schema: String,
    *,
    python: bool,
    limits: Limits = Limits(),  # noqa: B008
    path: str | None = None,
    widened: bool = False,
    canonical: bool = False,
) -> Node:
    """Return the raw texts of the strings; `Repeat(ANY, min, max)` if they have only lengths.

    Args:
        schema: The strings.
        python: Whether patterns are in pydantic's dialect; otherwise in that of ECMA-262.
        limits: Bounds patterns.
        path: The schema path, for errors.
        widened: Whether to return a superset of the valid texts where formats are uncertain (see `uncertain_formats`);
            otherwise a subset.
        canonical: Whether each value has one spelling only.

    Raises:
        PatternError: A pattern cannot be parsed.
        UnsupportedKeyword: A format is forbidden, and not all its texts are known.
    """
    languages = _languages(schema, python, limits, path, widened, canonical)
    return raw_intersection(languages, schema.min_length, schema.max_length)


def can_exclude(given: Format) -> bool:
    """Return whether strings that are not of a format can be generated: all its texts must be known.

    >>> can_exclude(Format("date")), can_exclude(Format("regex"))
    (True, False)
    """
    return given.name in PERMISSIVE_FORMATS


def uncertain_formats(schema: String) -> list[Format]:
    """Return the formats whose languages may lack valid texts.

    >>> uncertain_formats(String(format=Format("date"))), uncertain_formats(String(format=Format("hostname")))
    ([], [Format(name='hostname', arguments=())])
    """
    formats = (*schema.formats, *schema.forbidden_formats)
    return [each for each in formats if PERMISSIVE_FORMATS.get(each.name) is not KNOWN_FORMATS.get(each.name)]


def _languages(
    schema: String, python: bool, limits: Limits, path: str | None, widened: bool, canonical: bool
) -> Iterator[Node]:
    def parse_pattern(pattern: str) -> Node:
        text, engine = pattern_of(pattern) if python else (pattern, None)
        return parse(text, search=True, unicode=python, rust=python, engine=engine, limits=limits, path=path)

    yield from map(parse_pattern, schema.patterns)
    for each in filter(is_known, schema.formats):
        wider = PERMISSIVE_FORMATS.get(each.name, _every_text)
        yield wider() if widened else language(each, canonical=canonical)
    forbidden = [parse_pattern(pattern) for pattern in schema.forbidden]
    for each in schema.forbidden_formats:
        if not (can_exclude(each) or widened):
            raise UnsupportedKeyword("format", not_of_format(each), place=path)
        forbidden.append(language(each) if widened else PERMISSIVE_FORMATS[each.name]())
    excluded = choice(forbidden)
    if excluded is not NEVER:
        yield Intersection(Repeat(ANY), excluded, negate=True)


def _every_text() -> Node:
    return Repeat(ANY)


@dataclass(frozen=True, slots=True)
class FormatRule:
    """The rule of the strings of a format with some lengths."""

    given: Format
    min_length: int
    max_length: int | None


@lru_cache(maxsize=128)
def format_body(
    given: Format, min_length: int = 0, max_length: int | None = None, *, canonical: bool = False
) -> Node:
    """Return the body of a JSON string of a format with some lengths, and its closing quote."""
    body = raw_intersection([language(given, canonical=canonical)], min_length, max_length)
    return body if body is NEVER else string_tail(body)
