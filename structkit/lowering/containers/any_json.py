"""The language of any JSON value."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

from structkit.lowering.containers.notation import Notation
from structkit.lowering.containers.objects import ObjectLowering
from structkit.regex.json_string import QUOTE
from structkit.regex.nodes import Distinct, ListPart, LiteralText, Node, RuleRef, SeparatedList, choice, seq
from structkit.schema.algebra.distinct import disjoint_branches
from structkit.schema.ir.nodes import Integer, Number, Schema

__all__ = ["any_json"]


class AnyLowering(ObjectLowering, Protocol):
    """The part of the lowering of a document that any values use."""

    notation: Notation


def any_json(lowering: AnyLowering, name: str) -> Node:
    """Return the body of the rule `name` of any JSON value."""
    kinds: list[Schema] = [Number()]
    if lowering.bounded:
        # A Python int can have more digits than an integral float.
        kinds = disjoint_branches([Integer(), *kinds]) if lowering.canonical else [*kinds, Integer()]
    return _body(
        RuleRef(name),
        lowering.strings.free_text(0, None, "$"),
        choice(lowering.node(kind, "$") for kind in kinds),
        lowering.comma,
        lowering.colon,
        distinct_keys=lowering.bounded,
        max_entries=1 if lowering.canonical else None,
        notation=lowering.notation,
    )


@lru_cache(maxsize=64)
def _body(
    value: RuleRef,
    text: Node,
    number: Node,
    comma: str,
    colon: str,
    *,
    distinct_keys: bool,
    max_entries: int | None,
    notation: Notation,
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
    entry = seq(Distinct(key) if distinct_keys else key, colon, value)
    options = [
        key,
        number,
        seq("{", SeparatedList((ListPart(entry, 0, max_entries),), comma), "}"),
        seq("[", SeparatedList((ListPart(value, 0, None),), comma), "]"),
    ]
    return choice([*options, *(LiteralText(word) for word in (notation.true, notation.false, notation.null))])
