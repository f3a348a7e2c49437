"""What a model can do, stated by the model itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Capabilities", "Constraint"]

Constraint: TypeAlias = Literal["json_schema", "regex", "grammar", "choice"]
"""A kind of constraint that a server enforces itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a model can do beyond writing a text.

    >>> from structkit.testing import RandomModel
    >>> RandomModel().capabilities.logits
    'full'
    """

    logits: Literal["full", "none"] = "none"
    """`"full"`: the model returns the logits of all tokens, so that every token is masked."""

    constraints: frozenset[Constraint] = frozenset()
    """The kinds of constraints that the model enforces itself."""

    continues_prefix: bool = True
    """Whether the model continues a given start of its answer. Other models read it as text and answer anew."""

    takes_messages: bool = False
    """Whether the model reads messages; otherwise it reads one text."""
