"""The language of any JSON value."""

from __future__ import annotations

from functools import lru_cache

from structkit.lowering.containers.notation import JSON, Notation
from structkit.regex.json_string import QUOTE
from structkit.regex.nodes import Distinct, ListPart, LiteralText, Node, RuleRef, SeparatedList, choice, seq

__all__ = ["any_json"]


@lru_cache(maxsize=64)
def any_json(
    value: RuleRef,
    text: Node,
    number: Node,
    comma: str,
    colon: str,
    *,
    distinct_keys: bool,
    max_entries: int | None,
    notation: Notation = JSON,
) -> Node:
    """Return the body of the rule of any JSON value.

    Args:
        value: A call of the rule.
        text: Free text and its closing quote.
        number: Any number.
        comma: Separator of items and entries.
        colon: Separator of a key and its value.
        distinct_keys: Whether the keys of an object must differ.
        max_entries: Maximum number of entries of an object; `None` for no maximum.
        notation: The spelling of values.
    """
    key = seq(QUOTE, text)
    entry = seq(Distinct(key) if distinct_keys else key, LiteralText(colon), value)
    options = [
        key,
        number,
        seq(LiteralText("{"), SeparatedList((ListPart(entry, 0, max_entries),), comma), LiteralText("}")),
        seq(LiteralText("["), SeparatedList((ListPart(value, 0, None),), comma), LiteralText("]")),
    ]
    return choice([*options, *(LiteralText(word) for word in (notation.true, notation.false, notation.null))])
