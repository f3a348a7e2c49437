"""A text that has no value: the result of parsing where a type's validators reject the text."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Rejected"]


@dataclass(frozen=True, slots=True)
class Rejected:
    """Why a value was rejected. Parsers return it instead of a value; nothing is raised.

    >>> Rejected(("items", 0), "must be even", ValueError("must be even")).path
    ('items', 0)

    Attributes:
        path: Keys and indices that lead to the rejected part; empty for the complete value.
        message: The reason, as a model or a person can read it.
        cause: The exception of the validator or library that rejected the value.
    """

    path: tuple[str | int, ...]
    message: str
    cause: Exception
