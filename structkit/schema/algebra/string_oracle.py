"""What reading a schema must know about languages of strings, which are automata and so belong downstream."""

from __future__ import annotations

from typing import Protocol

from structkit.schema.ir.nodes import String

__all__ = ["UNDECIDED", "StringOracle", "is_restricted"]


class StringOracle(Protocol):
    """Answers about the strings of a node; `None` where there is no answer."""

    def contains(self, node: String, text: str) -> bool | None:
        """Whether a text is one of the strings."""

    def is_empty(self, node: String) -> bool | None:
        """Whether there is no such string."""


class _Undecided:
    def contains(self, node: String, text: str) -> bool | None:
        return None

    def is_empty(self, node: String) -> bool | None:
        return None


UNDECIDED: StringOracle = _Undecided()
"""Answers nothing: for schemas without patterns, and where only what is seen at a glance is wanted."""


def is_restricted(node: String) -> bool:
    """Whether more than lengths restricts the strings.

    >>> is_restricted(String(min_length=2)), is_restricted(String(patterns=("a",)))
    (False, True)
    """
    said = node.patterns or node.forbidden or node.forbidden_formats
    return bool(said or node.format is not None or node.content is not None)
