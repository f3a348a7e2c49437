"""The interface to queries about languages of strings; automata, which are downstream, implement it."""

from __future__ import annotations

from typing import Protocol

from structkit.schema.ir.nodes import String

__all__ = ["UNDECIDED", "StringOracle", "is_restricted"]


class StringOracle(Protocol):
    """Answers queries about the strings of a node; `None` means undecided."""

    def contains(self, node: String, text: str) -> bool | None:
        """Return whether a text is one of the strings."""

    def is_empty(self, node: String) -> bool | None:
        """Return whether the node has no strings."""


class _Undecided:
    def contains(self, node: String, text: str) -> bool | None:
        return None

    def is_empty(self, node: String) -> bool | None:
        return None


UNDECIDED: StringOracle = _Undecided()
"""Decides nothing. For schemas without patterns, and for queries that need only inexpensive answers."""


def is_restricted(node: String) -> bool:
    """Return whether the strings have restrictions other than lengths.

    >>> is_restricted(String(min_length=2)), is_restricted(String(patterns=("a",)))
    (False, True)
    """
    rules = node.patterns or node.forbidden or node.forbidden_formats
    return bool(rules or node.format is not None or node.content is not None)
