"""What a model can do, stated by the model itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from structkit.models.native.profiles import SchemaProfile

__all__ = ["Capabilities", "Constraint"]

Constraint: TypeAlias = Literal["grammar", "regex", "json_schema"]
"""A notation of what a server enforces itself. A JSON Schema describes a whole answer; the others also its rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a model can do beyond writing a text.

    >>> from structkit.testing import RandomModel
    >>> RandomModel().capabilities.logits
    'full'
    """

    logits: Literal["full", "some", "none"] = "none"
    """`"full"`: the model returns the logits of all tokens, so that every token is masked. `"some"`: a reply names the
    most likely tokens at each place with their log-probabilities; where a reply is cut, the most likely one that can
    follow is taken."""

    token_ids: bool = False
    """Whether the model returns the ids of its tokens and takes a prompt of ids, so that a request after a correction
    continues exactly the tokens that the model has read and written, and its prefix cache has them."""

    constraints: frozenset[Constraint] = frozenset()
    """The kinds of constraints that the model enforces itself."""

    schema_profile: SchemaProfile | None = None
    """What the model enforces of a JSON Schema, if `constraints` has `"json_schema"`."""

    continues_prefix: bool = True
    """Whether the model continues a given start of its answer. Other models read it and start their answer again."""

    takes_messages: bool = False
    """Whether the model reads messages; otherwise it reads one text."""

    context_length: int | None = None
    """Maximum number of bytes of a prompt and its answer, for a model that returns text; `None` if it is not known."""
