"""How many tokens a part of a value may have: `Annotated[str, MaxTokens(20)]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from structkit.schema.markers.annotations import annotations_at, has_annotation

__all__ = ["KEYWORD", "MaxTokens", "field_token_limits", "max_tokens_at"]

KEYWORD = "x-structkit-maxTokens"
"""What a JSON Schema says it with. Others ignore it, as they do all keywords that they do not know."""


@dataclass(frozen=True)
class MaxTokens:
    """About how many tokens a part of a value may have: after so many it is brought to its end.

    It is a wish, not a bound: what the type asks for comes first, and the tokens that end the part come on top. The
    quotes and brackets of the part count. It holds for parameters of functions and of tools too.

    >>> from typing import Annotated
    >>> import structkit as sk
    >>> sk.to_json_schema(Annotated[str, MaxTokens(20)])
    {'type': 'string', 'x-structkit-maxTokens': 20}
    """

    tokens: int

    def __post_init__(self) -> None:
        if isinstance(self.tokens, bool) or not isinstance(self.tokens, int):
            raise TypeError(f"MaxTokens takes a whole number, not {self.tokens!r}")
        if self.tokens < 1:
            raise ValueError(f"MaxTokens takes at least 1, not {self.tokens}")

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """Say it in the JSON Schema that pydantic makes."""
        return {**handler(core_schema), KEYWORD: self.tokens}


def max_tokens_at(schema: Mapping[str, object], path: Sequence[str | int]) -> int | None:
    """The tokens that a value at a place may have, the fewest if several are said.

    >>> schema = {"properties": {"a": {"items": {"type": "string", KEYWORD: 5}}}}
    >>> max_tokens_at(schema, ["a", 3]), max_tokens_at(schema, ["a"])
    (5, None)
    """
    counts = annotations_at(schema, KEYWORD, path)
    return min((count for count in counts if isinstance(count, int)), default=None)


def field_token_limits(schema: Mapping[str, object]) -> Callable[[Sequence[str | int]], int | None] | None:
    """`max_tokens_at` of a schema; `None` if nothing in it is bounded.

    >>> field_token_limits({"type": "string"}) is None
    True
    """
    return partial(max_tokens_at, schema) if has_annotation(schema, KEYWORD) else None
