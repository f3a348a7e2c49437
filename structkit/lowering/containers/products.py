"""Objects of many combinations: a rule for each state that a text reaches.

A rule is the rest of an object after some entries. It lists the entries that can be next, each followed by a call of
the rule of the state after it, so that a text needs as many rules as it has entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from structkit.errors import UnsupportedKeyword
from structkit.lowering.containers.objects import (
    MAX_INLINE_VALUE,
    MAX_LAZY_SIZE,
    ObjectLowerer,
    ObjectLowering,
)
from structkit.lowering.containers.product_rule import ProductRule, ProductTable
from structkit.regex.json_string import json_text
from structkit.regex.nodes import EMPTY, NEVER, LiteralText, Node, Repeat, RuleRef, Seq, choice, seq
from structkit.regex.walk import exceeds_size
from structkit.schema.ir.nodes import Case, ObjectProduct
from structkit.schema.ir.path import path_step
from structkit.schema.ir.product_states import ProductStates, State

__all__ = ["UNLISTED", "ProductLowerer"]


class ProductLowering(ObjectLowering, Protocol):
    """The part of the lowering of a document that products use."""

    bounded: bool
    product_rules: int

    def defer_product(self, rule: str, given: ProductRule) -> None:
        """Add a rule of a product, which is lowered on first use."""

    @property
    def objects(self) -> ObjectLowerer:
        """Lowers the objects of the document."""


class ProductLowerer:
    """Lower the products of one document."""

    __slots__ = ("_lowering",)

    def __init__(self, lowering: ProductLowering) -> None:
        self._lowering = lowering

    def product(self, schema: ObjectProduct, path: str) -> Node:
        """Lower a product.

        Raises:
            UnsupportedKeyword: The keys may have any order, or must differ from each other.
        """
        lowering = self._lowering
        if lowering.order == "any" and not lowering.canonical:
            raise UnsupportedKeyword("allOf", _ANY_ORDER, place=path)
        if schema.additional and (lowering.bounded or lowering.canonical):
            raise UnsupportedKeyword("additionalProperties", _DISTINCT, place=path)
        overlapping, lowering.overlapping = lowering.overlapping, True
        entries: list[list[Node]] = []
        keys, additional = [], []
        for key in schema.keys:
            here = path + path_step(key.name)
            name_text: Node = LiteralText(json_text(key.name, path=path) + lowering.colon)
            cases, nodes = self._cases(name_text, key.cases, here)
            keys.append(replace(key, cases=cases))
            entries.append(nodes)
        declared = [key.name for key in schema.keys]
        for group in schema.additional:
            names = lowering.strings.string(group.names, path, declared, canonical=True)
            cases, nodes = self._cases(seq(names, LiteralText(lowering.colon)), group.cases, f"{path}[]")
            additional.append(replace(group, cases=cases))
            entries.append(nodes)
        lowering.overlapping = overlapping
        schema = replace(schema, keys=tuple(keys), additional=tuple(additional))
        if any(key.required and not key.cases for key in schema.keys):
            return NEVER
        states = ProductStates(schema, lowering.limits)
        if not states.is_alive(states.start):
            return NEVER
        table = ProductTable(states, entries, lowering.comma, path)
        # The first rule is the largest. It is built before the first token, so that it surely is within the limits.
        name = self._new_name(path)
        table.names[states.start] = name
        lowering.add(name, self.rule(ProductRule(table, states.start)), small=False)
        return seq(LiteralText("{"), RuleRef(name))

    def _cases(self, name: Node, cases: tuple[Case, ...], path: str) -> tuple[tuple[Case, ...], list[Node]]:
        """Return the cases with values, and the nodes of their entries."""
        lowering = self._lowering
        kept: list[Case] = []
        nodes: list[Node] = []
        for case in cases:
            value, small, size = lowering.objects.value(case.value, path)
            if exceeds_size(value, MAX_INLINE_VALUE):
                value = lowering.rule(value, path, small=small and size <= MAX_LAZY_SIZE)
            entry = seq(name, value)
            if entry is not NEVER:
                kept.append(case)
                nodes.append(entry)
        return tuple(kept), nodes

    def rule(self, rule: ProductRule) -> Node:
        """Lower the rule of a state: the rest of the object and the brace."""
        table, state = rule.table, rule.state
        options: list[Node] = [LiteralText("}")] if table.states.can_end(state) else []
        loop: list[Node] = []
        for index, after, cases in _grouped(table.states, state):
            if after == state:
                loop.append(table.entry(index, cases, started=True))
            else:
                entry = table.entry(index, cases, started=state.started)
                options.append(seq(entry, RuleRef(self._call(table, after))))
        return seq(Repeat(choice(loop)) if loop else EMPTY, choice(options))

    def _call(self, table: ProductTable, state: State) -> str:
        """Return the name of the rule of a state, which is lowered on its first lookup."""
        name = table.names.get(state)
        if name is None:
            lowering = self._lowering
            name = table.names[state] = self._new_name(table.path)
            lowering.defer_product(name, ProductRule(table, state))
            lowering.examples[name] = _example(table, state)
            lowering.lazy.add(name)
        return name

    def _new_name(self, path: str) -> str:
        """Return a name that no rule has."""
        self._lowering.product_rules += 1
        return f"#{path}'{self._lowering.product_rules}'"


def _grouped(states: ProductStates, state: State) -> Iterator[tuple[int, State, list[int]]]:
    """Iterate over the entries that can be next: the key or group, the state after it, and the cases of its value."""
    found: dict[tuple[int, State], list[int]] = {}
    for move in states.alive_moves(state):
        index, case = move.entry
        found.setdefault((index, move.after), []).append(case)
    for (index, after), cases in found.items():
        yield index, after, cases


def _example(table: ProductTable, state: State) -> Node:
    """Return texts of the rule of a state."""
    path = table.states.path(state)
    entries = [table.separated[index][case] for index, case in path]
    if path and not state.started:
        index, case = path[0]
        entries[0] = table.entries[index][case]
    return Seq((*entries, LiteralText("}"))) if entries else LiteralText("}")


UNLISTED = (
    "the combinations of objects have a rule for each state, which cannot be listed; use fewer combinations"
)
"""The error where the rules of a document with a product are to be listed."""

_ANY_ORDER = (
    "this many combinations of objects cannot have their keys in any order; "
    "use the declared order, or fewer combinations"
)
_DISTINCT = (
    "this many combinations of objects cannot have undeclared keys that must differ; "
    "forbid undeclared keys, or use fewer combinations"
)
