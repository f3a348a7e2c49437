"""Key names as languages: membership and complement."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from structkit.errors import UnsupportedKeyword
from structkit.schema.algebra.disjoint import have_distinct_prefixes
from structkit.schema.algebra.intersect_strings import intersect_strings
from structkit.schema.algebra.membership import strings_contain
from structkit.schema.algebra.string_oracle import StringOracle, is_restricted
from structkit.schema.ir.constructors import string
from structkit.schema.ir.nodes import Additional, Never, Object, Schema, String
from structkit.schema.ir.path import SchemaPath

__all__ = ["additional_values", "common_names", "complement_strings", "matching_names", "property_values"]

_FORBIDDEN = Never("additionalProperties forbids the key")


def matching_names(
    names: Sequence[str], language: String, oracle: StringOracle, path: SchemaPath
) -> frozenset[str]:
    """Return the names that a language contains. The oracle answers for all names in one pass.

    Raises:
        UnsupportedKeyword: An answer depends on a pattern that `oracle` does not decide.
    """
    answers = strings_contain(language, names, oracle)
    if None in answers:
        unknown = json.dumps(names[answers.index(None)])
        message = f"cannot decide whether the pattern or format of the key allows the name {unknown}"
        raise UnsupportedKeyword("patternProperties", message, place=path.text)
    return frozenset(name for name, answer in zip(names, answers, strict=True) if answer)


def common_names(left: String, right: String, oracle: StringOracle, path: SchemaPath) -> String | None:
    """Return the names in both languages; `None` if there are none. Forbidden patterns that match none are left out."""
    if have_distinct_prefixes(left, right):
        return None
    both = string(intersect_strings(left, right, path))
    if not isinstance(both, String) or not set(both.patterns).isdisjoint(both.forbidden):
        return None
    if both.patterns and both.forbidden:
        forbidden = (p for p in both.forbidden if not have_distinct_prefixes(String(patterns=(p,)), both))
        both = replace(both, forbidden=tuple(forbidden))
    return None if is_restricted(both) and oracle.is_empty(both) else both


def additional_values(
    names: Iterable[str], groups: Iterable[Additional], oracle: StringOracle, path: SchemaPath
) -> dict[str, Schema]:
    """Return the schema of the value of each undeclared key: that of the first group with its name.

    Raises:
        UnsupportedKeyword: An answer depends on a pattern that `oracle` does not decide.
    """
    values: dict[str, Schema] = dict.fromkeys(names, _FORBIDDEN)
    rest = list(values)
    for group in groups:
        if not rest:
            break
        found = matching_names(rest, group.names, oracle, path)
        values.update(dict.fromkeys(found, group.value))
        rest = [name for name in rest if name not in found]
    return values


def property_values(
    node: Object, names: Iterable[str], oracle: StringOracle, path: SchemaPath
) -> Mapping[str, Schema]:
    """Return the schemas of the values of the declared keys and of those with other names.

    Raises:
        UnsupportedKeyword: An answer depends on a pattern that `oracle` does not decide.
    """
    values = {key.name: key.value for key in node.properties}
    others = [name for name in names if name not in values]
    if others:
        values.update(additional_values(others, node.additional, oracle, path))
    return values


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
