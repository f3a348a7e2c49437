"""Any JSON value."""

from __future__ import annotations

from functools import lru_cache

from structkit.lowering.containers.notation import JSON, Notation
from structkit.regex.json_string import QUOTE
from structkit.regex.nodes import Call, Joined, Node, Part, Text, Unique, alt, seq

__all__ = ["any_json"]


@lru_cache(maxsize=64)
def any_json(
    value: Call,
    text: Node,
    number: Node,
    comma: str,
    colon: str,
    *,
    differ: bool,
    most: int | None,
    notation: Notation = JSON,
) -> Node:
    """The texts of any JSON value: the definition of the rule that `value` calls.

    Args:
        value: A call of the rule itself.
        text: Free text and its closing quote.
        number: Any number.
        comma: What stands between two items or entries.
        colon: What stands between a key and its value.
        differ: Whether the keys of an object must differ.
        most: The most entries of an object; `None` for any number.
        notation: How values are spelled.
    """
    key = seq(QUOTE, text)
    entry = seq(Unique(key) if differ else key, Text(colon), value)
    options = [
        key,
        number,
        seq(Text("{"), Joined((Part(entry, 0, most),), comma), Text("}")),
        seq(Text("["), Joined((Part(value, 0, None),), comma), Text("]")),
    ]
    return alt([*options, *(Text(word) for word in (notation.true, notation.false, notation.null))])
