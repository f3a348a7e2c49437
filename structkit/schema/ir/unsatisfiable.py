"""The error about a schema without values: what contradicts itself, and what to change."""

from __future__ import annotations

import re

from structkit.errors import UnsatisfiableSchema
from structkit.schema.ir.keywords import written_pattern
from structkit.schema.ir.nodes import String

__all__ = ["no_string_reason", "unsatisfiable"]


def unsatisfiable(reason: str, place: str) -> UnsatisfiableSchema:
    """Return the error about a contradiction at a place.

    >>> print(unsatisfiable("no integer is at least 5 and at most 3", "$.age"))
    at `$.age`:
      no value satisfies the schema: no integer is at least 5 and at most 3
      change one of these bounds
    """
    remedy = next(remedy for pattern, remedy in _REMEDIES if re.search(pattern, reason))
    return UnsatisfiableSchema(f"no value satisfies the schema: {reason}; {remedy}", place=place)


_REMEDIES = (
    (r"enum is empty", "add a value to enum, or remove it"),
    (r"^no value of enum or const", "change type, or the values"),
    (r"^no value is both", "give both the same type, or write anyOf in place of allOf"),
    (r"infinitely nested", "let the inner one be absent or null, such as `inner: Node | None`"),
    (r"^no string", "change one of these constraints"),
    (r"characters$", "change minLength or maxLength"),
    (r"^the array must contain", "change contains or minContains, or remove uniqueItems"),
    (r"^no array|^the array", "change minItems, maxItems or the items"),
    (r"keys$", "change minProperties, maxProperties or required"),
    (r"forbids the key|key is forbidden", "remove the key from required, or allow it in properties"),
    (r"^the schema false", "remove it, or write true"),
    (r"^no (integer|number|multiple)|^another keyword forbids every", "change one of these bounds"),
    (r"is not a value that the other keywords allow", "change the value, or the keywords next to it"),
    (r"^the source of the quote", "pass the text to quote as the prompt, or as source=..."),
    (r"", "change one of the keywords at this place"),
)
"""By the reason, what to change."""


def no_string_reason(schema: String) -> str:
    """Return which constraints of a string no text meets together.

    >>> no_string_reason(String(max_length=2, patterns=("^abc$",)))
    "no string matches the pattern '^abc$' and has at most 2 characters"
    """
    parts = [f"matches the pattern {written_pattern(pattern)!r:.80}" for pattern in schema.patterns[:3]]
    parts += [
        f"does not match the pattern {written_pattern(pattern)!r:.80}" for pattern in schema.forbidden[:3]
    ]
    parts += [f"has the format {one.name.removeprefix('python:')}" for one in schema.formats[:3]]
    parts += [f"does not have the format {one.name}" for one in schema.forbidden_formats[:3]]
    if schema.min_length:
        parts.append(f"has at least {schema.min_length} characters")
    if schema.max_length is not None:
        parts.append(f"has at most {schema.max_length} characters")
    return f"no string {' and '.join(parts) or 'is allowed'}"
