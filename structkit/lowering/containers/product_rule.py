"""What a rule is lowered from on its first lookup."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from structkit.regex.nodes import LiteralText, Node, choice, seq
from structkit.schema.ir.nodes import Format, Schema
from structkit.schema.ir.product_states import ProductStates, State

__all__ = ["Deferred", "ProductRule", "ProductTable"]


@dataclass(frozen=True, slots=True, eq=False)
class ProductTable:
    """One product and the nodes of its entries.

    Attributes:
        states: The states of the product.
        entries: For each key and each group, the nodes of an entry with a value of each case.
        count: The number of declared keys.
        path: The place of the product.
        comma: The separator of entries.
        names: The names of the rules that were made, by state.
    """

    states: ProductStates
    entries: list[list[Node]]
    count: int
    path: str
    comma: str
    names: dict[State, str] = field(default_factory=dict)

    def entry(self, index: int, cases: list[int], *, started: bool) -> Node:
        """Return an entry with a value of one of the cases, after a separator if there was another entry."""
        entries = choice(self.entries[index][case] for case in cases)
        return seq(LiteralText(self.comma), entries) if started else entries


@dataclass(frozen=True, slots=True, eq=False)
class ProductRule:
    """The rule of one state of a product."""

    table: ProductTable
    state: State


Deferred: TypeAlias = Schema | Format | ProductRule
"""A schema, the format of a string, or what may follow in an object."""
