"""A soft limit on the tokens of a part of a value: `Annotated[str, MaxTokens(20)]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from structkit.arguments.names import names_arguments
from structkit.schema.markers.annotations import annotations_at, has_annotation

__all__ = ["KEYWORD", "MaxTokens", "field_token_limits"]

KEYWORD = "x-structkit-maxTokens"
"""The JSON Schema keyword of the limit; other libraries ignore it."""


@names_arguments
@dataclass(frozen=True)
class MaxTokens:
    """A soft limit on the tokens of a part of a value: the part is completed soon after this many tokens.

    Quotes and brackets count. The part may become longer: requirements of the type come first, and the tokens that
    complete the part are added. Parameters of functions and tools can have the limit too.

    >>> from typing import Annotated
    >>> import structkit as sk
    >>> sk.to_json_schema(Annotated[str, MaxTokens(20)])
    {'type': 'string', 'x-structkit-maxTokens': 20}
    """

    tokens: int

    def __post_init__(self) -> None:
        if isinstance(self.tokens, bool) or not isinstance(self.tokens, int):
            raise TypeError(f"MaxTokens must be an integer, not {self.tokens!r}")
        if self.tokens < 1:
            raise ValueError(f"MaxTokens must be at least 1, not {self.tokens}")

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """Add the keyword to the JSON Schema."""
        return {**handler(core_schema), KEYWORD: self.tokens}


def _max_tokens_at(schema: Mapping[str, object], path: Sequence[str | int]) -> int | None:
    """Return the limit for the part of a value at `path`: the smallest one, `None` without any.

    >>> schema = {"properties": {"a": {"items": {"type": "string", KEYWORD: 5}}}}
    >>> _max_tokens_at(schema, ["a", 3]), _max_tokens_at(schema, ["a"])
    (5, None)
    """
    counts = annotations_at(schema, KEYWORD, path)
    return min((count for count in counts if isinstance(count, int)), default=None)


def field_token_limits(schema: Mapping[str, object]) -> Callable[[Sequence[str | int]], int | None] | None:
    """Return `_max_tokens_at` for one schema, or `None` if the schema sets no limit.

    >>> field_token_limits({"type": "string"}) is None
    True
    """
    return partial(_max_tokens_at, schema) if has_annotation(schema, KEYWORD) else None
