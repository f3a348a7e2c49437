"""Any JSON value."""

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
    """The texts of any JSON value: the definition of the rule that `value` calls.

    Args:
        value: A call of the rule itself.
        text: Free text and its closing quote.
        number: Any number.
        comma: What stands between two items or entries.
        colon: What stands between a key and its value.
        distinct_keys: Whether the keys of an object must differ.
        max_entries: The most entries of an object; `None` for any number.
        notation: How values are spelled.
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
