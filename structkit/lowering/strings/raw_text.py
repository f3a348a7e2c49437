"""The raw texts that a string schema allows, as one language."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from structkit.errors import UnsupportedKeyword
from structkit.limits import Limits
from structkit.lowering.strings.registry import is_known, language
from structkit.lowering.strings.rfc import KNOWN_FORMATS, WIDER_FORMATS
from structkit.regex.charset import ANY
from structkit.regex.json_string import QUOTE, escape, raw_text
from structkit.regex.nodes import NEVER, Both, Node, Repeat, alt, seq
from structkit.regex.pattern.parse import parse
from structkit.schema.ir.nodes import String

__all__ = ["format_text", "string_texts", "uncertain_formats"]


def string_texts(
    schema: String,
    *,
    python: bool,
    limits: Limits = Limits(),  # noqa: B008
    place: str | None = None,
    wide: bool = False,
    once: bool = False,
) -> Node:
    """The raw texts of the strings; `Repeat(ANY, least, most)` where only lengths restrict them.

    Args:
        schema: The strings.
        python: Whether patterns are those of pydantic, and not of ECMA-262.
        limits: Bounds patterns.
        place: The schema path, for errors.
        wide: All texts that may be strings of the schema, where `uncertain_formats` are among its formats; otherwise
            only texts that are.
        once: Whether each value is written in one way only.

    Raises:
        PatternError: A pattern that cannot be read.
        UnsupportedKeyword: A format that is forbidden, and of which not all texts are known.
    """
    languages = _languages(schema, python, limits, place, wide, once)
    return raw_text(languages, schema.min_length, schema.max_length)


def uncertain_formats(schema: String) -> list[str]:
    """The formats of which more texts may be valid than those that are written.

    >>> uncertain_formats(String(format="date")), uncertain_formats(String(format="hostname"))
    ([], ['hostname'])
    """
    names = schema.forbidden_formats if schema.format is None else (schema.format, *schema.forbidden_formats)
    return [name for name in names if WIDER_FORMATS.get(name) is not KNOWN_FORMATS.get(name)]


def _languages(
    schema: String, python: bool, limits: Limits, place: str | None, wide: bool, once: bool
) -> Iterator[Node]:
    def read(pattern: str) -> Node:
        return parse(pattern, search=True, unicode=python, rust=python, limits=limits, place=place)

    yield from map(read, schema.patterns)
    if schema.format is not None and is_known(schema.format):
        wider = WIDER_FORMATS.get(schema.format, _every_text)
        yield wider() if wide else language(schema.format, once=once)
    forbidden = [read(pattern) for pattern in schema.forbidden]
    for name in schema.forbidden_formats:
        if name not in WIDER_FORMATS and not wide:
            message = f"strings that are not of the format {name!r} cannot be asked for; use a pattern"
            raise UnsupportedKeyword("format", message, place=place)
        forbidden.append(language(name) if wide else WIDER_FORMATS[name]())
    without = alt(forbidden)
    if without is not NEVER:
        yield Both(Repeat(ANY), without, negate=True)


def _every_text() -> Node:
    return Repeat(ANY)


@lru_cache(maxsize=128)
def format_text(name: str, *, once: bool = False) -> Node:
    """The body of a JSON string of a format, and its closing quote."""
    return seq(escape(language(name, once=once)), QUOTE)
