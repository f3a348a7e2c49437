"""Targets that an attacker could send: each grows in one way beyond what real targets have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from structkit.targets.targets import AnyTarget

__all__ = ["Case", "schema", "union"]


@dataclass(frozen=True, slots=True)
class Case:
    """A hostile target.

    Attributes:
        kind: What grows.
        name: The target in short, unique in the campaign.
        make: Makes the target in the process that tries it, because some are large.
        is_read: Whether the making reads the target, as that of a grammar does, so that its time counts.
        order: The order of keys, see `structkit.compile`.
    """

    kind: str
    name: str
    make: Callable[[], AnyTarget]
    is_read: bool = False
    order: Literal["declared", "any"] | None = None


def schema(**keywords: object) -> dict[str, object]:
    """Return a JSON Schema; a trailing underscore, as in `not_`, is removed from a keyword."""
    return {keyword.rstrip("_"): value for keyword, value in keywords.items()}


def union(**keywords: object) -> dict[str, object]:
    """Return an object schema with these keywords."""
    return {"type": "object", **schema(**keywords)}
