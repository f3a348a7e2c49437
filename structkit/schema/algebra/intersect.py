"""Intersection of schema nodes. The result is exact; otherwise `UnsupportedKeyword` is raised with the path.

`allOf`, and keywords next to `$ref`, `anyOf`, `enum` or `const`, are intersections. An intersection with a reference
becomes a definition that is identified by the set of its nodes. Intersections of recursive definitions terminate,
because there are finitely many such sets, as in a product of automata.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import product, zip_longest
from typing import Protocol, TypeVar

from structkit.errors import LimitExceeded, UnsupportedKeyword
from structkit.limits import Limits
from structkit.schema.algebra.constants import allowed_constants, lists_scalars, without_other_constants
from structkit.schema.algebra.disjoint import (
    Compared,
    may_intersect,
    required_keys,
    without_incompatible,
)
from structkit.schema.algebra.extend_prefix import MAX_COMBINATIONS, extend_prefix
from structkit.schema.algebra.intersect_strings import (
    combine_alternatives,
    intersect_scalars,
    literal_pattern,
)
from structkit.schema.algebra.membership import contains_value, expand
from structkit.schema.algebra.property_names import (
    additional_values,
    common_names,
    complement_strings,
    matching_names,
    property_values,
)
from structkit.schema.algebra.ranges import min_defined
from structkit.schema.algebra.string_oracle import UNDECIDED, StringOracle
from structkit.schema.ir.constructors import array, object_, union, with_note, with_required
from structkit.schema.ir.definitions import Definitions
from structkit.schema.ir.json_values import shorten_repr
from structkit.schema.ir.nodes import (
    ANY_KEYS,
    Additional,
    Anything,
    Array,
    Combined,
    Const,
    Contains,
    Never,
    Object,
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.ir.path import SchemaPath

__all__ = ["Combine", "Intersector"]

P = TypeVar("P")

_COST = 10
"""Cost of one intersected node in units of `Limits.schema_nodes`: it takes as long as this many subschemas."""

_MAX_MULTIPLIED = 8
"""Maximum number of combinations of objects that are multiplied out although all others are counted."""


class Combine(Protocol):
    """Represents combinations of objects that are too many to be multiplied out; see `combine`."""

    def __call__(
        self,
        parts: Sequence[Schema],
        min_count: int,
        max_count: int,
        intersector: Intersector,
        path: SchemaPath,
        /,
    ) -> Schema:
        """Return the values in the given number of the parts."""


class Intersector:
    """Computes intersections of the nodes of one document.

    Attributes:
        definitions: The definitions of the document.
        oracle: Decides queries about strings.
        combine, makes_products, narrows: How combinations of objects are computed, see `Way`.
        limits: The limits of the document; combinations may have a smaller `max_cost`.
        find: Returns a definition, or `None` if it is being built.
        differences: For each definition that is a difference: the minuend and the subtrahends.
        sizes: How large combinations are.
        is_exhausted: Whether there were too many combinations.
        met_objects: Whether some combinations were of objects.
        met_overlap: Whether alternatives of a `oneOf` overlap.
    """

    def __init__(
        self,
        definitions: Definitions,
        limits: Limits,
        oracle: StringOracle = UNDECIDED,
        combine: Combine | None = None,
        max_cost: int | None = None,
        makes_products: bool = False,
        narrows: bool = False,
    ) -> None:
        self.definitions, self.oracle, self.limits = definitions, oracle, limits
        self.combine, self.makes_products, self.narrows = combine, makes_products, narrows
        self.is_exhausted = self.met_objects = self.met_overlap = False
        self._max_cost = limits.schema_nodes if max_cost is None else min(limits.schema_nodes, max_cost)
        self._count = 0.0
        self._parts: dict[str, tuple[Schema, ...]] = {}
        self.find: Callable[[str], Schema | None] = definitions.find
        self.differences: dict[str, tuple[Schema, frozenset[Schema]]] = {}
        self.sizes: dict[Combined, int] = {}
        # By identity: equal nodes can have different notes. The parts are kept, so that no other node has their ids.
        self._merged: dict[tuple[int, ...], tuple[tuple[Schema, ...], Schema]] = {}

    def intersect(self, nodes: Iterable[Schema], path: SchemaPath) -> Schema:
        """Return the values in all nodes; `path` is the location of the intersection.

        >>> from structkit.schema.ir.nodes import Integer
        >>> intersector = Intersector(Definitions(), Limits())
        >>> intersector.intersect([Union((Const("null"), Integer(minimum=3))), Integer(maximum=9)], SchemaPath())
        Integer(note=None, minimum=3, maximum=9, multiple_of=None, not_multiple_of=())

        Raises:
            UnsupportedKeyword: The intersection cannot be represented exactly.
            LimitExceeded: There are too many combinations.
        """
        return self._intersect(tuple(nodes), path, Compared())

    def _intersect(self, nodes: tuple[Schema, ...], path: SchemaPath, compared: Compared) -> Schema:
        """Return the values in all nodes; some of their unions were compared with other nodes before."""
        if len(nodes) == 1:
            return nodes[0]
        note = next((node.note for node in nodes if node.note is not None), None)
        parts = self._flat(nodes)
        if len(parts) < 2:
            return with_note(parts[0] if parts else Anything(), note)
        self.charge(len(parts), path)
        first = next((part for part in parts if type(part) is Ref), None)
        if first is None:
            key = (path.is_within("not"), *map(id, parts))
            if key not in self._merged:
                self._merged[key] = parts, self._merge(parts, path, compared)
            merged = self._merged[key][1]
        else:
            known = self._known(parts)
            is_known = known is not parts
            merged = self._intersect(known, path, compared) if is_known else self._product(first, parts, path)
        return with_note(merged, note)

    def _flat(self, nodes: Sequence[Schema]) -> tuple[Schema, ...]:
        """Return the distinct nodes of an intersection; the results of earlier intersections are split up."""
        found: dict[Schema, None] = {}
        for node in nodes:
            for part in self._parts.get(node.name, (node,)) if type(node) is Ref else (node,):
                if type(part) is Never:
                    return (part,)
                if type(part) is not Anything:
                    found[part] = None
        for name in [part.name for part in found if type(part) is Ref and part.name in self.differences]:
            minuend, subtrahends = self.differences[name]
            if any(other in found for other in subtrahends):
                return (Never("one alternative excludes the values that another one requires"),)
            found.pop(minuend, None)
        return tuple(found)

    def _known(self, parts: tuple[Schema, ...]) -> tuple[Schema, ...]:
        """Return the nodes without references if one of them has few values, which the references may exclude."""
        if not any(map(lists_scalars, parts)):
            return parts
        known = (self.find(part.name) if isinstance(part, Ref) else part for part in parts)
        found = tuple(part for part in known if part is not None and not isinstance(part, Ref))
        return found if len(found) == len(parts) else parts

    def _product(self, first: Ref, parts: tuple[Schema, ...], path: SchemaPath) -> Ref:
        """Return a reference to the definition of an intersection."""

        def make() -> Schema:
            return self.intersect((self._resolve(part, path) for part in parts), path)

        product = self.definitions.reference(frozenset(parts), first.name, make)
        self._parts[product.name] = parts
        self.definitions.derive(product.name, parts)
        return product

    def _resolve(self, part: Schema, path: SchemaPath) -> Schema:
        return self.definitions.resolve(part.name, path) if isinstance(part, Ref) else part

    def _merge(self, parts: tuple[Schema, ...], path: SchemaPath, compared: Compared) -> Schema:
        """Return the intersection of nodes that are not references."""
        if self.combine is not None and _has_many_combinations(parts):
            return self.combine(parts, len(parts), len(parts), self, path)
        merged = without_other_constants(parts)
        # Otherwise the sizes of unions would multiply. All alternatives are compared with every other node, once.
        plain = [part for part in merged if not isinstance(part, Union)]
        required = required_keys(plain)
        known = compared.nodes if required <= compared.required else frozenset[Schema]()
        new = [part for part in plain if part not in known] if known else plain
        pay = partial(self.charge, path=path)
        narrowed = tuple(
            without_incompatible(part, new, self.oracle, pay, required) if isinstance(part, Union) else part
            for part in merged
        )
        compared = Compared(frozenset(plain), required)
        if narrowed != parts:
            return self._intersect(narrowed, path, compared)
        parts = combine_alternatives(parts)
        unions = [part for part in parts if isinstance(part, Union)]
        if len(unions) > 1 and (listed := allowed_constants(parts, self.oracle, pay)) is not None:
            return listed
        if unions:
            smallest = min(unions, key=lambda part: len(part.branches))
            position = next(index for index, part in enumerate(parts) if part is smallest)
            before, after = parts[:position], parts[position + 1 :]
            return union(
                self._intersect((*before, branch, *after), path, compared) for branch in smallest.branches
            )
        for index, part in enumerate(parts):
            if isinstance(part, Const):
                return self._merge_const(part, parts[:index] + parts[index + 1 :], path)
        if all(isinstance(part, Object) for part in parts):
            return self._merge_objects([part for part in parts if isinstance(part, Object)], path)
        if all(isinstance(part, Array) for part in parts):
            return self._merge_arrays([part for part in parts if isinstance(part, Array)], path)
        return reduce(lambda left, right: intersect_scalars(left, right, path), parts)

    def charge(self, nodes: float, path: SchemaPath) -> None:
        """Add to the cost of the document.

        Raises:
            LimitExceeded: The cost exceeds the limit.
        """
        self._count += nodes * _COST
        if self._count > self._max_cost:
            raise self.too_many(path)

    def may_intersect(self, left: Schema, right: Schema, path: SchemaPath) -> bool:
        """Return whether two nodes may share a value, by an inexpensive test."""
        return may_intersect(left, right, self.oracle, partial(self.charge, path=path))

    def too_many(self, path: SchemaPath) -> LimitExceeded:
        """Return the error of too many combinations."""
        self.is_exhausted = True
        is_fixed = self._max_cost < self.limits.schema_nodes
        return LimitExceeded(
            "schema_nodes", self._max_cost, "the combinations of schemas", place=path.text, is_fixed=is_fixed
        )

    def _merge_const(self, const: Const, others: tuple[Schema, ...], path: SchemaPath) -> Schema:
        value: object = json.loads(const.text)
        answers = [contains_value(other, value, self.oracle) for other in others]
        if False in answers:
            return Never(f"{shorten_repr(const.text)} is not a value that the other keywords allow")
        undecided = tuple(other for other, answer in zip(others, answers, strict=True) if answer is None)
        if not undecided:
            return const
        if isinstance(value, str):
            return reduce(
                lambda left, right: intersect_scalars(left, right, path),
                (String(patterns=(literal_pattern(value),)), *undecided),
            )
        return self.intersect((expand(const), *undecided), path)

    def _merge_arrays(self, nodes: list[Array], path: SchemaPath) -> Schema:
        longest = max(len(node.prefix) for node in nodes)
        if any(node.contains and len(node.prefix) < longest for node in nodes):
            options = [
                extend_prefix(node, longest, self.intersect, self.charge, path) if node.contains else [node]
                for node in nodes
            ]
            return union(
                (self._merge_arrays(list(chosen), path) for chosen in product(*options)),
                "`contains` cannot be satisfied",
            )
        rests = [node.items for node in nodes]
        prefix = [
            [item or rest for item, rest in zip(column, rests, strict=True)]
            for column in zip_longest(*(node.prefix for node in nodes))
        ]
        merged = array(
            Array(
                prefix=tuple(
                    self.intersect(column, path.child("prefixItems", i)) for i, column in enumerate(prefix)
                ),
                items=self.intersect(rests, path.child("items")),
                min_items=max(node.min_items for node in nodes),
                max_items=min_defined(node.max_items for node in nodes),
                unique_items=any(node.unique_items for node in nodes),
                repeats_item=any(node.repeats_item for node in nodes),
            )
        )
        return (
            self.with_contains(merged, self._contains(nodes, path), path)
            if isinstance(merged, Array)
            else merged
        )

    def _contains(self, nodes: list[Array], path: SchemaPath) -> tuple[Contains, ...]:
        """Return the `contains` of the arrays, restricted to the items after the prefix."""
        here = path.child("contains")
        rests = [node.items for node in nodes]
        return tuple(
            replace(
                one,
                matching=self.intersect((*rests, one.matching), here),
                others=self.intersect((*rests, one.others), here),
            )
            for one in dict.fromkeys(one for node in nodes for one in node.contains)
        )

    def _merge_objects(self, nodes: list[Object], path: SchemaPath) -> Schema:
        if any(node.required_groups for node in nodes):
            names = list(dict.fromkeys(key.name for node in nodes for key in node.properties))
            declared = [self.declare_properties(node, names, path) for node in nodes]
            if any(len(alternatives) > 1 for alternatives in declared):
                return union(self.intersect(chosen, path) for chosen in product(*declared))
            nodes = [alternatives[0] for alternatives in declared]
        return self._merge_declared(nodes, path)

    def declare_properties(self, node: Object, names: Iterable[str], path: SchemaPath) -> list[Object]:
        """Return the object with more declared keys; a required group can be satisfied by one of these."""
        known = {key.name for key in node.properties}
        here = path.child("properties")
        values = additional_values(
            (name for name in names if name not in known), node.additional, self.oracle, here
        )
        new = [Property(name, value, required=False, in_order=False) for name, value in values.items()]
        self.met_objects = True
        self.charge(len(new), path)
        found = [replace(node, properties=(*node.properties, *new), required_groups=())]
        for choice in node.required_groups:
            matching = [
                (group, matching_names(list(values), group.names, self.oracle, here)) for group in choice
            ]
            more = [
                with_required(one, key.name, self.intersect((key.value, group.value), here))
                for one in found
                for key in new
                for group, allowed in matching
                if key.name in allowed
            ]
            found = [*(replace(one, required_groups=(*one.required_groups, choice)) for one in found), *more]
            self.charge(len(found), path)
        return found

    def _merge_declared(self, nodes: list[Object], path: SchemaPath) -> Schema:
        keys = [key for node in nodes for key in node.properties]
        required = {key.name for key in keys if key.required}
        listed = {key.name: None for key in keys if key.in_order}
        names = dict.fromkeys((*listed, *(key.name for key in keys)))
        self.met_objects = True
        is_open = [node.additional == ANY_KEYS for node in nodes]
        self.charge(len(keys) + len(names) * is_open.count(False) // _COST, path)
        here = path.child("properties")
        known = [
            property_values(node, () if allows_all else names, self.oracle, here)
            for node, allows_all in zip(nodes, is_open, strict=True)
        ]
        properties = []
        for name in names:
            found = [values[name] for values in known if name in values]
            value = self.intersect(found, path.child("properties", name))
            properties.append(Property(name, value, name in required, name in listed))
        additional = reduce(
            lambda left, right: self._groups(left, right, path), (node.additional for node in nodes)
        )
        merged = Object(
            tuple(properties),
            additional=additional,
            min_properties=max(node.min_properties for node in nodes),
            max_properties=min_defined(node.max_properties for node in nodes),
            any_order=any(node.any_order for node in nodes),
        )
        some = self.restrict_groups(
            (choice for node in nodes for choice in node.required_groups), additional, path
        )
        return self.with_required_groups(merged, some, path)

    def restrict_groups(
        self,
        required_groups: Iterable[tuple[Additional, ...]],
        groups: tuple[Additional, ...],
        path: SchemaPath,
    ) -> tuple[tuple[Additional, ...], ...]:
        """Return the restriction of each choice to the additional keys."""
        return tuple(dict.fromkeys(self._groups(choice, groups, path) for choice in required_groups))

    def with_required_groups(
        self, node: Object, required_groups: tuple[tuple[Additional, ...], ...], path: SchemaPath
    ) -> Schema:
        """Return the object with at least one key of each choice; one key can satisfy several choices."""

        def join(
            left: tuple[Additional, ...], right: tuple[Additional, ...]
        ) -> tuple[Additional, ...] | None:
            both = self._groups(left, right, path)
            return tuple(group for group in both if not isinstance(group.value, Never)) or None

        needed = sum(key.required for key in node.properties)
        remaining = None if node.max_properties is None else node.max_properties - needed
        options = self._partitions(required_groups, join, remaining, path)
        return union(
            (object_(replace(node, required_groups=blocks)) for blocks in options), "too few keys are allowed"
        )

    def with_contains(self, node: Array, contains: tuple[Contains, ...], path: SchemaPath) -> Schema:
        """Return the array with the items that `contains` requires; one item can match several entries."""
        plain = tuple(one for one in contains if (one.min_count, one.max_count) == (1, None))
        counted = tuple(one for one in contains if one not in plain)

        def join(left: Contains, right: Contains) -> Contains | None:
            matching = self.intersect((left.matching, right.matching), path.child("contains"))
            never = isinstance(matching, Never) or (
                isinstance(matching, String) and self.oracle.is_empty(matching)
            )
            return None if never else Contains(matching, node.items)

        remaining = None if node.max_items is None else node.max_items - len(node.prefix)
        options = self._partitions(plain, join, remaining, path)
        return union(
            (array(replace(node, contains=(*counted, *blocks))) for blocks in options),
            "too few items are allowed",
        )

    def _partitions(
        self, parts: Iterable[P], merge: Callable[[P, P], P | None], max_blocks: int | None, path: SchemaPath
    ) -> list[tuple[P, ...]]:
        """Return the partitions of parts into at most `max_blocks` blocks; the parts of a block are merged."""
        options: list[tuple[P, ...]] = [()]
        for part in parts:
            split: list[tuple[P, ...]] = []
            for blocks in options:
                joined = [merge(block, part) for block in blocks]
                self.charge(1 + len(blocks), path)
                if any(block == old for block, old in zip(joined, blocks, strict=True)):
                    split.append(blocks)  # the block implies the part
                    continue
                if max_blocks is None or len(blocks) < max_blocks:
                    split.append((*blocks, part))
                split += [
                    (*blocks[:index], block, *blocks[index + 1 :])
                    for index, block in enumerate(joined)
                    if block is not None
                ]
            options = list(dict.fromkeys(split))
            if len(options) > MAX_COMBINATIONS:
                message = "this many required items or keys in one schema are not supported; remove some"
                raise UnsupportedKeyword("contains", message, place=path.text)
        return options

    def _groups(
        self, left: tuple[Additional, ...], right: tuple[Additional, ...], path: SchemaPath
    ) -> tuple[Additional, ...]:
        """Return the additional keys in both, as the intersections of their groups."""
        here = path.child("additionalProperties")
        self.charge(len(left) * len(right), path)
        pairs = [(a, b, self.intersect_names(a.names, b.names, here)) for a in left for b in right]
        return tuple(
            Additional(names, self.intersect((a.value, b.value), here), a.implicit and b.implicit)
            for a, b, names in pairs
            if names is not None
        )

    def intersect_names(self, left: String, right: String, path: SchemaPath) -> String | None:
        """Return the names in both languages; `None` if there are none."""
        return common_names(left, right, self.oracle, path)

    def subtract_names(self, names: String, others: Iterable[String], path: SchemaPath) -> list[String]:
        """Return the names in none of the other languages."""
        rests = [names]
        for other in others:
            pieces = complement_strings(other)
            split = (self.intersect_names(rest, piece, path) for rest in rests for piece in pieces)
            rests = [rest for rest in split if rest is not None]
        return rests


def _has_many_combinations(parts: Sequence[Schema]) -> bool:
    """Return whether the objects of an intersection are combined already, or their alternatives would multiply."""
    count = 1
    for part in parts:
        kinds = [type(branch) for branch in part.branches] if isinstance(part, Union) else [type(part)]
        if Combined in kinds:
            return len(parts) > 1
        count *= max(1, sum([kind is Object or kind is Ref for kind in kinds]))
    return count > _MAX_MULTIPLIED
