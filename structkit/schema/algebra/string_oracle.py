"""The interface to queries about languages of strings; automata, which are downstream, implement it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from structkit.schema.ir.nodes import Format, String

__all__ = ["UNDECIDED", "StringOracle", "is_restricted", "not_of_format"]


class StringOracle(Protocol):
    """Answers queries about the strings of a node; `None` means undecided."""

    def contains_each(self, node: String, texts: Sequence[str]) -> Sequence[bool | None]:
        """Return for each text whether it is one of the strings."""

    def is_empty(self, node: String) -> bool | None:
        """Return whether the node has no strings."""

    def can_exclude(self, given: Format) -> bool:
        """Return whether strings that are not of a format can be generated."""


class _Undecided:
    def contains_each(self, node: String, texts: Sequence[str]) -> Sequence[bool | None]:
        return [None] * len(texts)

    def is_empty(self, node: String) -> bool | None:
        return None

    def can_exclude(self, given: Format) -> bool:
        return True


UNDECIDED: StringOracle = _Undecided()
"""Decides nothing. For schemas without patterns, and for queries that need only inexpensive answers."""


def not_of_format(given: Format) -> str:
    """Return the message for strings that are not of a format where `StringOracle.can_exclude` is false."""
    return f"strings that are not of the format '{given}' cannot be generated; use a pattern"


def is_restricted(node: String) -> bool:
    """Return whether the strings have restrictions other than lengths.

    >>> is_restricted(String(min_length=2)), is_restricted(String(patterns=("a",)))
    (False, True)
    """
    rules = node.patterns or node.forbidden or node.forbidden_formats
    return bool(rules or node.format is not None or node.content is not None)
