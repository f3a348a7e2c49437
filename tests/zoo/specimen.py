"""One type of the zoo: accepted and rejected texts, and notes for the docs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import TypeAdapter

__all__ = ["Kind", "Specimen", "dump"]


@dataclasses.dataclass(frozen=True)
class Specimen:
    """One type.

    Attributes:
        target: The type.
        accepts: Values that pydantic accepts; their dumps are in the language.
        refuses: JSON texts that are not in the language; pydantic rejects at least one of them.
        texts: Texts in the language, for types whose dumps pydantic does not accept (aliases, secrets).
        limits: Valid values that are not generated, or constraints that are validated afterwards; for the docs.
        checked: Whether some texts of the language are rejected only by validation after decoding.
        fails: Such texts.
        error: The error message of an unsupported type.
    """

    target: Any
    accepts: Sequence[Any] = ()
    refuses: Sequence[str] = ()
    texts: Sequence[str] = ()
    limits: str = ""
    checked: bool = False
    fails: Sequence[str] = ()
    error: str = ""

    def written(self) -> list[str]:
        """Return texts that must be in the language."""
        return [*(dump(self.adapter, value) for value in self.accepts), *self.texts]

    @property
    def adapter(self) -> TypeAdapter[Any]:
        """Return pydantic's adapter of the type."""
        return self.target if isinstance(self.target, TypeAdapter) else TypeAdapter(self.target)


Kind: TypeAlias = Mapping[str, Specimen]
"""Groups of types, by their names in the docs."""


def dump(adapter: TypeAdapter[Any], value: object) -> str:
    """Return the canonical JSON of a value."""
    return json.dumps(adapter.dump_python(value, mode="json", by_alias=True), ensure_ascii=False)
