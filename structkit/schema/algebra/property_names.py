"""The names of an object's keys as languages: which of them a name is in, and what is outside one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from structkit.errors import UnsupportedKeyword
from structkit.schema.algebra.membership import contains_value
from structkit.schema.algebra.string_oracle import StringOracle
from structkit.schema.ir.nodes import Additional, Never, Schema, String
from structkit.schema.ir.path import SchemaPath

__all__ = ["additional_value", "complement_strings", "name_matches"]


def name_matches(name: str, names: String, oracle: StringOracle, path: SchemaPath) -> bool:
    """Whether a name is in a language.

    Raises:
        UnsupportedKeyword: A pattern decides, and is not decided here.
    """
    answer = contains_value(names, name, oracle)
    if answer is None:
        message = f"whether {json.dumps(name)} is such a name depends on a pattern or format that is not decided here"
        raise UnsupportedKeyword("patternProperties", message, place=path.text)
    return answer


def additional_value(
    name: str, groups: Iterable[Additional], oracle: StringOracle, path: SchemaPath
) -> Schema:
    """What a key may hold that is not declared.

    Raises:
        UnsupportedKeyword: A pattern decides, and is not decided here.
    """
    found = (group.value for group in groups if name_matches(name, group.names, oracle, path))
    return next(found, Never("additionalProperties forbids it"))


def complement_strings(node: String) -> list[String]:
    """The strings that are not the node's, by the reason; no string has two of them."""
    found: list[String] = []
    if node.min_length:
        found.append(String(max_length=node.min_length - 1))
    if node.max_length is not None:
        found.append(String(min_length=node.max_length + 1))
    kept = String(node.min_length, node.max_length)
    for pattern in node.patterns:
        found.append(replace(kept, forbidden=(*kept.forbidden, pattern)))
        kept = replace(kept, patterns=(*kept.patterns, pattern))
    for pattern in node.forbidden:
        found.append(replace(kept, patterns=(*kept.patterns, pattern)))
        kept = replace(kept, forbidden=(*kept.forbidden, pattern))
    if node.format is not None:
        found.append(replace(kept, forbidden_formats=(node.format,)))
        kept = replace(kept, format=node.format)
    for name in node.forbidden_formats:
        found.append(replace(kept, format=name))
        kept = replace(kept, forbidden_formats=(*kept.forbidden_formats, name))
    return found
