"""Object products from combinations: which values of which keys violate which conditions.

The conditions are the objects in a tree of `Combined` nodes. For each key, the values that the conditions distinguish
become disjoint cases.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeGuard

from structkit.schema.algebra.difference import difference
from structkit.schema.algebra.intersect import Intersector
from structkit.schema.algebra.membership import contains_value
from structkit.schema.algebra.property_names import additional_values
from structkit.schema.algebra.prune import referenced_names
from structkit.schema.algebra.string_oracle import is_restricted
from structkit.schema.ir.constructors import array, object_, union, with_note
from structkit.schema.ir.descend import children
from structkit.schema.ir.nodes import (
    ANY_KEYS,
    Additional,
    Anything,
    Array,
    Case,
    Combined,
    Const,
    Document,
    Formula,
    Never,
    Object,
    ObjectProduct,
    ProductGroup,
    ProductKey,
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.ir.path import SchemaPath
from structkit.schema.ir.product_search import possible_product
from structkit.schema.ir.product_states import count_formula
from structkit.schema.ir.rebuild import in_array, in_object
from structkit.schema.product.combine import is_all
from structkit.schema.product.covers import covers
from structkit.schema.product.multiply import multiply_out

__all__ = ["has_products", "tabulate_all"]

_MAX_CASES = 512
"""Maximum number of disjoint cases of the values of one key."""

_CONDITIONS = 10
"""Conditions that are examined in the time of one intersection."""


def tabulate_all(root: str, intersector: Intersector) -> dict[str, Schema]:
    """Return the definitions that a root reaches, with products of objects, and those of the values of their keys.

    Raises:
        UnsupportedKeyword: Values that a condition excludes cannot be represented exactly.
        LimitExceeded: The conditions distinguish too many values, or count keys.
    """
    return intersector.definitions.resolve_reached(
        root, referenced_names, lambda node: _tabulate(node, intersector, SchemaPath())
    )


def has_products(document: Document) -> bool:
    """Return whether a document has a product of objects."""
    pending: list[Schema] = [document.root, *document.definitions.values()]
    while pending:
        node = pending.pop()
        if isinstance(node, ObjectProduct):
            return True
        pending += [inner for _, inner in children(node)]
    return False


def _tabulate(node: Schema, intersector: Intersector, path: SchemaPath) -> Schema:
    """Return the node with an `ObjectProduct` in place of each `Combined`."""

    def inside(part: Schema) -> Schema:
        return _tabulate(part, intersector, path)

    match node:
        case Combined():
            return with_note(_product(node, intersector, path), node.note)
        case Union(branches):
            return with_note(union(map(inside, branches)), node.note)
        case Array():
            return array(in_array(node, inside))
        case Object():
            return object_(in_object(node, inside))
        case String() if _may_be_empty(node) and intersector.oracle.is_empty(node):
            return Never("no string meets all conditions")
        case _:
            return node


def _may_be_empty(node: String) -> bool:
    """Return whether a string has several restrictions, which may exclude each other, and a small automaton."""
    negative = len(node.forbidden) + len(node.forbidden_formats)
    return len(node.patterns) + negative + len(node.formats) > 1 and negative <= _MAX_FORBIDDEN


_MAX_FORBIDDEN = 8


def _product(node: Combined, intersector: Intersector, path: SchemaPath) -> Schema:
    """Return the product of a combination, or the union of its objects if no product represents them."""
    parts = node.parts if is_all(node) else (node,)
    base = intersector.intersect((part for part in parts if isinstance(part, Object)), path)
    if isinstance(base, Never):
        return base
    if isinstance(base, Anything):
        base = Object(additional=ANY_KEYS)
    if not isinstance(base, Object):
        raise intersector.too_many(path)
    numbers: dict[Object, int] = {}
    combined = [part for part in parts if isinstance(part, Combined)]
    formulas = tuple(_formula(part, numbers) for part in combined)
    negated = _negated(combined, numbers)
    formula = count_formula(0, formulas, len(formulas), len(formulas))
    if intersector.makes_products:
        try:
            return _Table(base, list(numbers), formula, negated, intersector, path).product()
        except _NoProductError:
            pass
    return _tabulate(multiply_out(base, combined, intersector, path), intersector, path)


_EMPTINESS = 25
"""Nodes that are intersected in the time in which the automaton of a string is built, about 0.2 ms."""


class _NoProductError(Exception):
    """A combination counts keys, excludes values of undeclared keys, or distinguishes too many values."""


def _formula(node: Combined, numbers: dict[Object, int]) -> Formula:
    """Return the formula of a combination; `numbers` numbers its objects."""
    conditions = 0
    parts: list[Formula] = []
    for part in node.parts:
        if isinstance(part, Combined):
            parts.append(_formula(part, numbers))
        else:
            bit = 1 << numbers.setdefault(part, len(numbers))
            # An object that is counted twice is a part of its own the second time.
            parts += [count_formula(bit, (), 1, 1)] if conditions & bit else []
            conditions |= bit
    return count_formula(conditions, tuple(parts), node.min_count, node.max_count)


def _negated(
    parts: Iterable[Object | Combined], numbers: Mapping[Object, int], *, inside: bool = False
) -> int:
    """Return the conditions that a `not` excludes."""
    found = 0
    for part in parts:
        if isinstance(part, Combined):
            found |= _negated(part.parts, numbers, inside=inside or part.negated)
        elif inside:
            found |= 1 << numbers[part]
    return found


class _Table:
    """Makes one product.

    Args:
        base: What all objects match.
        conditions: The objects that the formula counts, by number.
        formula: How many of them match.
        negated: Those that a `not` excludes, as the bits of a number.
    """

    def __init__(
        self,
        base: Object,
        conditions: Sequence[Object],
        formula: Formula,
        negated: int,
        intersector: Intersector,
        path: SchemaPath,
    ) -> None:
        self._base, self._conditions, self._formula = base, conditions, formula
        self._negated = negated
        self._intersector, self._path = intersector, path
        self._declared = [{key.name: key for key in node.properties} for node in conditions]
        self._declaring: defaultdict[str, list[int]] = defaultdict(list)
        for number, node in enumerate(conditions):
            for key in node.properties:
                self._declaring[key.name].append(number)
        self._closed = [number for number, node in enumerate(conditions) if node.additional != ANY_KEYS]
        self._base_keys = {key.name: key for key in base.properties}
        self._required = {key.name for key in base.properties if key.required}
        self._judged: set[String] = set()
        self._intersections: dict[tuple[Schema, Object], Schema] = {}

    def product(self) -> Schema:
        """Return the product.

        Raises:
            _NoProductError: A part of the combination counts keys, or there are too many cases.
        """
        base = self._base
        if any(map(_counts_keys, self._conditions)) or base.any_order or base.required_groups:
            raise _NoProductError
        names: dict[str, None] = {}
        for in_order in (True, False):
            for node in (self._base, *self._conditions):
                names.update({key.name: None for key in node.properties if key.in_order >= in_order})
        keys = tuple(map(self._key, names))
        groups = tuple(self._group(group) for group in self._name_groups())
        needs_more = bool(groups) and base.min_properties > max(1, len(self._required))
        excludes = _excludes(self._formula) and any(len(group.cases) > 1 for group in groups)
        if excludes or needs_more:
            # A key that is written twice would count twice, or violate a condition and then not.
            raise _NoProductError
        empty = 0
        for number, node in enumerate(self._conditions):
            empty |= bool(node.min_properties) << number
        counts = base.min_properties, base.max_properties
        product = ObjectProduct(keys, groups, self._formula, empty, *counts)
        return possible_product(product, self._intersector.limits)

    def _key(self, name: str) -> ProductKey:
        here = self._path.child("properties", name)
        value = self._value(self._base, self._base_keys.get(name), name, here)
        numbers = {*self._declaring[name], *self._closed}
        self._intersector.charge(1 + len(numbers) // _CONDITIONS, self._path)
        others: dict[Schema, int] = {}
        without = 0
        for number in sorted(numbers):
            known = self._declared[number].get(name)
            other = self._value(self._conditions[number], known, name, here)
            others[other] = others.get(other, 0) | 1 << number
            if known is not None and known.required:
                without |= 1 << number
        return ProductKey(name, self._cases(value, others, here), name in self._required, without)

    def _value(self, node: Object, known: Property | None, name: str, path: SchemaPath) -> Schema:
        """Return the schema of the value of a key, declared or not."""
        if known is not None:
            return known.value
        return additional_values((name,), node.additional, self._intersector.oracle, path)[name]

    def _name_groups(self) -> list[tuple[Additional, dict[Schema, int]]]:
        """Return groups of undeclared keys, each with the values that conditions allow."""
        here = self._path.child("additionalProperties")
        found: list[tuple[Additional, dict[Schema, int]]] = [(group, {}) for group in self._base.additional]
        for number, node in enumerate(self._conditions):
            if node.additional == ANY_KEYS:
                found = [
                    (
                        Additional(each.names, each.value, each.implicit and node.additional[0].implicit),
                        others,
                    )
                    for each, others in found
                ]
                continue
            split: list[tuple[Additional, dict[Schema, int]]] = []
            for each, others in found:
                for group in node.additional:
                    names = self._intersector.intersect_names(each.names, group.names, here)
                    if names is not None:
                        implicit = each.implicit and group.implicit
                        split.append(
                            (Additional(names, each.value, implicit), _with(others, group.value, number))
                        )
                rest = self._intersector.subtract_names(
                    each.names, [group.names for group in node.additional], here
                )
                never = Never("additionalProperties forbids the key")
                split += [
                    (Additional(names, each.value, each.implicit), _with(others, never, number))
                    for names in rest
                ]
            self._check(len(split))
            found = split
        return found

    def _group(self, group: tuple[Additional, dict[Schema, int]]) -> ProductGroup:
        keys, others = group
        here = self._path.child("additionalProperties")
        return ProductGroup(keys.names, self._cases(keys.value, others, here), keys.implicit)

    def _cases(self, value: Schema, others: Mapping[Schema, int], path: SchemaPath) -> tuple[Case, ...]:
        """Return the values, in one case for each set of conditions that some of them violate.

        Args:
            value: All values that are allowed.
            others: The values that do not violate some conditions, with these conditions.
            path: The place of the key.
        """
        cells = [(value, 0)]
        constants = [
            branch
            for other in others
            for branch in (other.branches if isinstance(other, Union) else (other,))
            if isinstance(branch, Const)
        ]
        if len(constants) > 1:
            listed = union(constants)
            cells = [(difference(value, listed, self._intersector, path), 0)]
            allowed = self._intersector.intersect((value, listed), path)
            cells += [(each, 0) for each in (allowed.branches if isinstance(allowed, Union) else (allowed,))]
        for other, conditions in others.items():
            is_listed = len(constants) > 1 and _is_listed(other)
            here = path.child("not") if conditions & self._negated else path
            split: list[tuple[Schema, int]] = []
            for cell, violated in cells:
                answer = self._contains(other, cell, path, is_listed=is_listed)
                if answer is None:
                    split.append((self._intersector.intersect((cell, other), here), violated))
                    cell = difference(cell, other, self._intersector, here)
                split.append((cell, violated if answer else violated | conditions))
            cells = [(cell, violated) for cell, violated in split if not self._is_empty(cell, path)]
            self._check(len(cells))
        merged: dict[int, list[Schema]] = {}
        for cell, violated in cells:
            if not self._is_empty(cell, path):
                merged.setdefault(violated, []).append(cell)
        return tuple(Case(self._named(union(values), path), violated) for violated, values in merged.items())

    def _named(self, value: Schema, path: SchemaPath) -> Schema:
        """Return a value; one with combinations becomes a definition, because it may contain itself."""
        if not _has_combinations(value):
            return value
        return self._intersector.definitions.reference(("case", value), str(path.part or ""), lambda: value)

    def _contains(self, other: Schema, cell: Schema, path: SchemaPath, *, is_listed: bool) -> bool | None:
        """Return whether a schema allows all values of a cell, or none; `None` if this is not known."""
        if isinstance(other, Anything) or other == cell:
            return True
        if isinstance(other, Never):
            return False
        if isinstance(cell, Const):
            return contains_value(other, json.loads(cell.text), self._intersector.oracle)
        if is_listed:
            return False
        return self._covers(self._resolved(other), self._base_of(self._resolved(cell)), path) or None

    def _is_empty(self, cell: Schema, path: SchemaPath) -> bool:
        cell = self._resolved(cell)
        if isinstance(cell, String) and is_restricted(cell):
            if cell not in self._judged:  # the oracle keeps its automaton
                self._judged.add(cell)
                self._intersector.charge(_EMPTINESS, self._path)
            return self._intersector.oracle.is_empty(cell) is True
        if isinstance(cell, Combined) and is_all(cell):
            excluded = [part for each in cell.parts if _is_negation(each) for part in each.parts]
            return any(self._covers(part, self._base_of(cell), path) for part in excluded)
        return isinstance(cell, Never)

    def _resolved(self, node: Schema) -> Schema:
        return self._intersector.definitions.resolve(node.name, self._path) if isinstance(node, Ref) else node

    def _base_of(self, node: Schema) -> Schema:
        """Return the object that all objects of a combination match; any other node as it is."""
        if not isinstance(node, Combined) or not is_all(node):
            return node
        objects = [part for part in node.parts if isinstance(part, Object) and not part.required_groups]
        found: Schema = Anything()
        for part in objects:
            found = self._both(found, part)
        return found

    def _both(self, left: Schema, right: Object) -> Schema:
        """Return the intersection of two nodes, which many cells have in common."""
        if (left, right) not in self._intersections:
            self._intersections[left, right] = self._intersector.intersect((left, right), self._path)
        return self._intersections[left, right]

    def _covers(self, outer: Schema, inner: Schema, path: SchemaPath) -> bool:
        """Return whether an object certainly allows all values of another one."""
        if not isinstance(outer, Object) or not isinstance(inner, Object):
            return isinstance(inner, Never)
        return covers(outer, inner, self._intersector, path)

    def _check(self, cases: int) -> None:
        self._intersector.charge(cases, self._path)
        if cases > _MAX_CASES:
            raise _NoProductError


def _is_negation(node: Schema) -> TypeGuard[Combined]:
    """Return whether a node is what none of its parts allows."""
    return isinstance(node, Combined) and node.max_count == 0


def _has_combinations(node: Schema) -> bool:
    pending, visited = [node], set[int]()
    while pending:
        current = pending.pop()
        if isinstance(current, Combined):
            return True
        if id(current) not in visited:  # a part may occur in many places
            visited.add(id(current))
            pending += [inner for _, inner in children(current)]
    return False


def _counts_keys(node: Object) -> bool:
    """Return whether a condition counts keys, or requires undeclared ones or any order."""
    required = sum(key.required for key in node.properties)
    return (
        node.max_properties is not None
        or node.min_properties > max(1, required)
        or node.any_order
        or bool(node.required_groups)
    )


def _with(others: Mapping[Schema, int], value: Schema, number: int) -> dict[Schema, int]:
    return {**others, value: others.get(value, 0) | 1 << number}


def _is_listed(node: Schema) -> bool:
    """Return whether a node lists its values."""
    branches = node.branches if isinstance(node, Union) else (node,)
    return all(isinstance(branch, Const) for branch in branches)


def _excludes(formula: Formula) -> bool:
    """Return whether an object may be excluded because it meets a condition."""
    count = formula.conditions.bit_count() + len(formula.parts)
    return formula.max_count < count or any(map(_excludes, formula.parts))
