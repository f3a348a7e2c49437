"""Positions of quotes in their source."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from structkit.generate.output.json_reader import Field, format_path
from structkit.regex.substring import find
from structkit.targets.targets import Target

__all__ = ["Span", "find_spans"]


class Span(NamedTuple):
    """Position of the first occurrence of a quote in its source, in characters: `source[start:end]` is the quote."""

    start: int
    end: int


def find_spans(target: Target[object], text: bytes, values: Sequence[Field], source: str) -> dict[str, Span]:
    """Return the spans of the quotes in a text, by path.

    Args:
        target: The target.
        text: The text of the answer.
        values: The values in the text.
        source: Source of quotes that have no source of their own.
    """
    if not target.has_quotes:
        return {}
    spans: dict[str, Span] = {}
    for field in values:
        quote = target.quote(field.path) if field.kind == "string" else None
        if quote is None:
            continue
        value: str = json.loads(text[field.start : field.end])
        start = find(source if quote.source is None else quote.source, value, whole_words=quote.words)
        if start >= 0:  # otherwise the value is of another member of a union
            spans[format_path(field.path)] = Span(start, start + len(value))
    return spans
