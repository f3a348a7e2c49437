"""The sources of rules that are lowered on their first lookup."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from structkit.lowering.strings.raw_text import FormatRule
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    ListPart,
    LiteralText,
    Node,
    Repeat,
    SeparatedList,
    choice,
    seq,
)
from structkit.schema.ir.nodes import Schema
from structkit.schema.ir.product_search import ProductStates
from structkit.schema.ir.product_states import State

__all__ = ["Deferred", "ProductRule", "ProductTable"]


@dataclass(slots=True, eq=False)
class ProductTable:
    """One product and the nodes of its entries.

    Attributes:
        states: The states of the product.
        entries: For each key and each group, the nodes of an entry with a value of each case.
        count: The number of declared keys.
        comma: The separator of entries.
        path: The place of the product.
        names: The names of the rules that were made, by state.
        separated: The entries, each after a separator.
    """

    states: ProductStates
    entries: list[list[Node]]
    count: int
    comma: str
    path: str
    names: dict[State, str] = field(default_factory=dict)
    separated: list[list[Node]] = field(init=False)

    def __post_init__(self) -> None:
        comma = LiteralText(self.comma)
        self.separated = [[seq(comma, node) for node in nodes] for nodes in self.entries]

    def entry(self, index: int, cases: list[int], *, started: bool) -> Node:
        """Return an entry with a value of one of the cases, after a separator if there was another entry."""
        if len(cases) == 1:
            return (self.separated if started else self.entries)[index][cases[0]]
        entries = choice(self.entries[index][case] for case in cases)
        return seq(self.comma, entries) if started else entries

    def additional(self, min_count: int, max_count: int | None, *, started: bool) -> Node:
        """Return undeclared entries."""
        entry = choice(node for nodes in self.entries[self.count :] for node in nodes)
        if max_count == 0 or entry is NEVER:
            return NEVER if min_count else EMPTY
        if started:
            return Repeat(seq(self.comma, entry), min_count, max_count)
        return SeparatedList((ListPart(entry, min_count, max_count),), self.comma)


@dataclass(frozen=True, slots=True, eq=False)
class ProductRule:
    """The rule of one state of a product."""

    table: ProductTable
    state: State


Deferred: TypeAlias = Schema | FormatRule | ProductRule
"""A schema, the strings of a format, or what may follow in an object."""
