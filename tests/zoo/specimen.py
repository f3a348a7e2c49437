"""One type of the zoo: what of it can be written, what cannot, and what the docs say of it."""

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
        accepts: Values that pydantic takes; their dumps are in the language.
        refuses: JSON texts that are not in the language; pydantic refuses at least one of them.
        texts: Texts that are in the language, where what pydantic dumps is not what it reads (aliases, secrets).
        limits: What of the values that pydantic takes is not written, or is checked only after; for the docs.
        checked: Whether some texts of the language are refused only by a check after decoding.
        fails: Such texts.
        error: What the error says, for a type that is refused.
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
        """Texts that must be in the language."""
        return [*(dump(self.adapter, value) for value in self.accepts), *self.texts]

    @property
    def adapter(self) -> TypeAdapter[Any]:
        """Pydantic's reader and writer of the type."""
        return self.target if isinstance(self.target, TypeAdapter) else TypeAdapter(self.target)


Kind: TypeAlias = Mapping[str, Specimen]
"""Types that belong together, by what the docs call them."""


def dump(adapter: TypeAdapter[Any], value: object) -> str:
    """The canonical JSON of a value."""
    return json.dumps(adapter.dump_python(value, mode="json", by_alias=True), ensure_ascii=False)
