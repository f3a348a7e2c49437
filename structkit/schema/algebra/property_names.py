"""Key names as languages: membership and complement."""

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
    """Return whether a language contains a name.

    Raises:
        UnsupportedKeyword: The answer depends on a pattern that `oracle` does not decide.
    """
    answer = contains_value(names, name, oracle)
    if answer is None:
        message = f"cannot decide whether the pattern or format of the key allows the name {json.dumps(name)}"
        raise UnsupportedKeyword("patternProperties", message, place=path.text)
    return answer


def additional_value(
    name: str, groups: Iterable[Additional], oracle: StringOracle, path: SchemaPath
) -> Schema:
    """Return the schema of the value of an undeclared key.

    Raises:
        UnsupportedKeyword: The answer depends on a pattern that `oracle` does not decide.
    """
    for group in groups:
        if name_matches(name, group.names, oracle, path):
            return group.value
    return Never("additionalProperties forbids the key")


def complement_strings(node: String) -> list[String]:
    """Return the strings outside the node as disjoint nodes, one for each violated restriction."""
    found: list[String] = []
    if node.min_length:
        found.append(String(max_length=node.min_length - 1))
    if node.max_length is not None:
        found.append(String(min_length=node.max_length + 1))
    allowed = String(node.min_length, node.max_length)
    for pattern in node.patterns:
        found.append(replace(allowed, forbidden=(*allowed.forbidden, pattern)))
        allowed = replace(allowed, patterns=(*allowed.patterns, pattern))
    for pattern in node.forbidden:
        found.append(replace(allowed, patterns=(*allowed.patterns, pattern)))
        allowed = replace(allowed, forbidden=(*allowed.forbidden, pattern))
    for index, each in enumerate(node.formats):
        found.append(replace(allowed, forbidden_formats=(each,)))
        allowed = replace(allowed, format=node.format, more_formats=node.more_formats[:index])
    for each in node.forbidden_formats:
        found.append(replace(allowed, format=each, more_formats=()))
        allowed = replace(allowed, forbidden_formats=(*allowed.forbidden_formats, each))
    return found
