"""Intersection of String nodes."""

from __future__ import annotations

from structkit.errors import UnsupportedKeyword
from structkit.schema.algebra.ranges import min_defined
from structkit.schema.ir.nodes import String
from structkit.schema.ir.path import SchemaPath

__all__ = ["intersect_strings"]


def intersect_strings(left: String, right: String, path: SchemaPath) -> String:
    """Return the strings in both nodes: the narrower lengths, all patterns, and the format.

    Raises:
        UnsupportedKeyword: The nodes have two different formats, or two different contents.
    """
    if left.format is not None and right.format is not None and left.format != right.format:
        raise UnsupportedKeyword(
            "format",
            f"the combination of the formats '{left.format}' and '{right.format}' is not supported; keep one",
            place=path.text,
        )
    if left.content is not None and right.content is not None and left.content != right.content:
        message = "two schemas for the JSON in one string are not supported; combine them in the inner type"
        raise UnsupportedKeyword("contentSchema", message, place=path.text)
    return String(
        content=left.content or right.content,
        min_length=max(left.min_length, right.min_length),
        max_length=min_defined((left.max_length, right.max_length)),
        patterns=tuple(dict.fromkeys((*left.patterns, *right.patterns))),
        format=left.format or right.format,
        forbidden=tuple(dict.fromkeys((*left.forbidden, *right.forbidden))),
        forbidden_formats=tuple(dict.fromkeys((*left.forbidden_formats, *right.forbidden_formats))),
    )
