"""Objects of many combinations: a rule for each state that a text reaches.

A rule is the rest of an object after some entries. It lists the entries that can be next, each followed by a call of
the rule of the state after it, so that a text needs as many rules as it has entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from structkit.lowering.containers.properties import counts_many
from structkit.lowering.containers.spelling import with_shared_order
from structkit.lowering.strings.raw_text import FormatRule
from structkit.regex.json_string import json_text
from structkit.regex.nodes import EMPTY, NEVER, LiteralText, Node, Repeat, RuleRef, Seq, choice, seq
from structkit.regex.walk import exceeds_size
from structkit.schema.ir.nodes import Case, Never, Object, ObjectProduct, ProductGroup, ProductKey
from structkit.schema.ir.path import path_step
from structkit.schema.ir.product_search import ProductStates
from structkit.schema.ir.product_states import State, count_formula

__all__ = ["UNLISTED", "ProductLowerer"]


class ProductLowering(ObjectLowering, Protocol):
    """The part of the lowering of a document that products use."""

    bounded: bool
    counts_many: bool
    product_rules: int

    @property
    def deferred(self) -> Mapping[str, tuple[object, str]]:
        """The rules that are lowered on first use, with their paths."""

    def lower_deferred(self, rule: str) -> None:
        """Lower a deferred rule."""

    def defer_rule(self, rule: str, given: FormatRule | ProductRule, path: str) -> None:
        """Add a rule of a product, which is lowered on first use."""

    @property
    def objects(self) -> ObjectLowerer:
        """Lowers the objects of the document."""


class ProductLowerer:
    """Lower the products of one document."""

    __slots__ = ("_lowering",)

    def __init__(self, lowering: ProductLowering) -> None:
        self._lowering = lowering

    def object(self, schema: Object, path: str) -> Node:
        """Lower an object; one that counts many keys in their order is a product."""
        lowering = self._lowering
        is_unordered = lowering.order == "any" and not lowering.canonical
        is_other = is_unordered or lowering.canonical or lowering.keywords or lowering.bounded
        many = _counting_product(schema) if lowering.counts_many and not is_other else None
        return lowering.objects.object(schema, path) if many is None else self.product(many, path)

    def product(self, schema: ObjectProduct, path: str) -> Node:
        """Lower a product.

        Raises:
            UnsupportedKeyword: The keys may have any order, or must differ from each other.
        """
        lowering = self._lowering
        if lowering.order == "any" and not lowering.canonical:
            raise UnsupportedKeyword("allOf", _ANY_ORDER, place=path)
        # Undeclared keys in any order would be several texts of one value, and keys of Python values must differ.
        if schema.additional and (lowering.bounded or lowering.canonical):
            raise UnsupportedKeyword("allOf", _DISTINCT, place=path)
        if lowering.canonical:
            schema = with_shared_order(schema, lowering.shared_keys)
        overlapping, lowering.overlapping = lowering.overlapping, True
        entries: list[list[Node]] = []
        keys, additional = [], []
        for key in schema.keys:
            here = path + path_step(key.name)
            name_text: Node = LiteralText(json_text(key.name, path=path) + lowering.colon)
            cases, nodes = self._cases(name_text, key.cases, here)
            keys.append(replace(key, cases=cases))
            entries.append(nodes)
        declared = [key.name for key in schema.keys if not key.also_additional]
        for group in schema.additional:
            names = lowering.strings.string(group.names, path, declared, canonical=True)
            cases, nodes = self._cases(seq(names, lowering.colon), group.cases, f"{path}[]")
            additional.append(replace(group, cases=cases))
            entries.append(nodes)
        lowering.overlapping = overlapping
        schema = replace(schema, keys=tuple(keys), additional=tuple(additional))
        if any(key.required and not key.cases for key in schema.keys):
            return NEVER
        states = ProductStates(schema, lowering.limits)
        if not states.is_alive(states.start):
            return NEVER
        table = ProductTable(states, entries, len(keys), lowering.comma, path)
        # The first rule is the largest. It is built before the first token, so that it is certainly within the limits.
        name = self._new_name(path)
        table.names[states.start] = name
        lowering.add(name, self.rule(ProductRule(table, states.start)), small=False)
        return seq("{", RuleRef(name))

    def _cases(self, name: Node, cases: tuple[Case, ...], path: str) -> tuple[tuple[Case, ...], list[Node]]:
        """Return the cases with values, and the nodes of their entries."""
        lowering = self._lowering
        kept: list[Case] = []
        nodes: list[Node] = []
        for case in cases:
            value, small, size = lowering.objects.value(case.value, path)
            if exceeds_size(value, MAX_INLINE_VALUE):
                value = lowering.rule(value, path, small=small and size <= MAX_LAZY_SIZE)
            lowering.small = lowering.small and (small or isinstance(value, RuleRef))
            entry = seq(name, value)
            if entry is not NEVER:
                kept.append(case)
                nodes.append(entry)
        return tuple(kept), nodes

    def rule(self, rule: ProductRule) -> Node:
        """Lower the rule of a state: the rest of the object and the brace."""
        table, state = rule.table, rule.state
        rest = table.states.rest(state)
        options = [] if rest is None else [self._rest(table, *rest, started=state.count > 0)]
        loop: list[Node] = []
        for index, after, cases in _grouped(table.states, state):
            if after == state:
                loop.append(table.entry(index, cases, started=True))
            else:
                entry = table.entry(index, cases, started=state.count > 0)
                options.append(seq(entry, RuleRef(self._call(table, after))))
        return seq(Repeat(choice(loop)) if loop else EMPTY, choice(options))

    def list_rules(self) -> None:
        """Lower all rules of products: the shortest texts of a document with parts that must differ need all rules.

        Raises:
            UnsupportedKeyword: There are too many.
        """
        lowering = self._lowering
        while names := [
            name for name in lowering.deferred if isinstance(lowering.deferred[name][0], ProductRule)
        ]:
            for name in names:
                if lowering.product_rules > _MAX_LISTED:
                    raise UnsupportedKeyword("uniqueItems", _DISTINCT, place="$")
                lowering.lower_deferred(name)
                del lowering.examples[name]

    def _rest(self, table: ProductTable, min_count: int, max_count: int | None, *, started: bool) -> Node:
        """Return undeclared entries and the brace; counted entries are a rule, which has a counter."""
        found = seq(table.additional(min_count, max_count, started=started), _END)
        if max_count == 0 or (min_count, max_count) == (0, None):
            return found
        return self._lowering.rule(found, table.path, small=True)

    def _call(self, table: ProductTable, state: State) -> str:
        """Return the name of the rule of a state, which is lowered on its first lookup."""
        name = table.names.get(state)
        if name is None:
            lowering = self._lowering
            name = table.names[state] = self._new_name(table.path)
            lowering.defer_rule(name, ProductRule(table, state), table.path)
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
    started = state.count > 0
    if path and not started:
        index, case = path[0]
        entries[0] = table.entries[index][case]
    rest = table.states.fewest_additional(state)
    if rest:
        entries.append(table.additional(rest, rest, started=started or bool(path)))
    return Seq((*entries, _END)) if entries else _END


def _counting_product(schema: Object) -> ObjectProduct | None:
    """Return the product of an object that counts many optional keys; `None` if it counts few.

    >>> from structkit.schema.ir.nodes import Null, Property
    >>> keys = tuple(Property(f"k{number}", Null(), required=False) for number in range(100))
    >>> _counting_product(Object(keys, min_properties=50)).min_properties
    50
    """
    least = schema.min_properties
    if not least and schema.max_properties is None:
        return None
    # Undeclared keys that count must differ, which the rules of a product cannot see.
    needed = sum(key.required for key in schema.properties)
    if not counts_many(len(schema.properties), needed, least, schema.max_properties):
        return None
    if schema.required_groups or (schema.additional and least > max(1, needed)):
        return None
    if len(schema.properties) * least > _MAX_ENTRIES:
        return None
    keys = tuple(
        ProductKey(key.name, () if isinstance(key.value, Never) else (Case(key.value, 0),), key.required, 0)
        for key in schema.properties
    )
    groups = tuple(
        ProductGroup(group.names, (Case(group.value, 0),), group.implicit) for group in schema.additional
    )
    counts = least, schema.max_properties
    return ObjectProduct(keys, groups, count_formula(0, (), 0, 0), 0, *counts, note=schema.note)


_MAX_LISTED = 1_000
"""Maximum number of rules of products beside parts that must differ; each takes about 0.2 ms."""

_MAX_ENTRIES = 100_000
"""Maximum number of entries in the shortest texts of the rules of one state."""

_END = LiteralText("}")

UNLISTED = (
    "objects of many combinations or counts have a rule for each state, which cannot be listed; use fewer"
)
"""The error where the rules of a document with a product are to be listed."""

_ANY_ORDER = (
    "objects of this many combinations cannot have their keys in any order; "
    "use the declared order, or fewer combinations"
)
_DISTINCT = (
    "objects of this many combinations or counts cannot occur together with parts that must differ, such as those of "
    "`uniqueItems`; omit it, or use fewer combinations"
)
