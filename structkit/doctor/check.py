"""The checks of `structkit doctor` as values, and their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

__all__ = ["PERSON", "Check", "Status", "format_checks"]

Status: TypeAlias = Literal["yes", "no", "missing"]
"""`"missing"`: something optional is not installed, or not known."""

PERSON: Mapping[str, object] = MappingProxyType(
    {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
)
"""The target of the value that a model is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What one check found."""

    name: str
    """What is checked."""

    status: Status
    """The outcome."""

    found: str
    """What was found."""

    remedy: str = ""
    """What to do about it, unless the status is `"yes"`."""


def format_checks(checks: Sequence[Check]) -> str:
    """Return a table.

    >>> print(format_checks([Check(name="reply", status="no", found="it is empty", remedy="see the log")]))
    no       reply  it is empty
                    -> see the log
    """
    width = max((len(check.name) for check in checks), default=0)
    lines = []
    for check in checks:
        lines.append(f"{check.status:<7}  {check.name:<{width}}  {check.found}")
        if check.remedy:
            lines.append(" " * (9 + width + 2) + f"-> {check.remedy}")
    return "\n".join(lines)
