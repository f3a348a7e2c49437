"""Difference of schema nodes. The result is exact; otherwise `UnsupportedKeyword` is raised with the path.

`not`, `if`, overlapping branches of `oneOf` and conditional requirements are differences. A value violates an object or
array schema for one of finitely many reasons, so a difference is a union over the reasons. A difference with a
reference becomes a definition, like an intersection.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from itertools import zip_longest

from structkit.errors import UnsupportedKeyword
from structkit.schema.algebra.constants import is_string_constant, lists_scalars, subtract_constants
from structkit.schema.algebra.extend_prefix import extend_prefix
from structkit.schema.algebra.intersect import Intersector
from structkit.schema.algebra.intersect_strings import literal_pattern
from structkit.schema.algebra.membership import contains_value, expand
from structkit.schema.algebra.property_names import complement_strings
from structkit.schema.algebra.ranges import are_separate, intersect_numbers, min_defined
from structkit.schema.algebra.string_oracle import not_of_format
from structkit.schema.ir.constructors import array, object_, union
from structkit.schema.ir.nodes import (
    Additional,
    Anything,
    Array,
    Boolean,
    Bound,
    Combined,
    Const,
    Contains,
    Integer,
    Never,
    Null,
    Number,
    Object,
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.ir.path import SchemaPath

__all__ = ["difference", "subtract_object"]

_ANY_KEYS = (Additional(String(), Anything(), implicit=True),)

_ALL_TYPES = Union((Null(), Boolean(), Number(), String(), Array(), Object(additional=_ANY_KEYS)))
"""All values, as one node for each type."""

_EMPTY = Never("the excluded values include all allowed ones")


def difference(left: Schema, right: Schema, intersector: Intersector, path: SchemaPath) -> Schema:
    """Return the values of `left` that are not values of `right`.

    >>> from structkit.limits import Limits
    >>> from structkit.schema.ir.definitions import Definitions
    >>> difference(Boolean(), Const("true"), Intersector(Definitions(), Limits()), SchemaPath())
    Const(note=None, text='false')

    Raises:
        UnsupportedKeyword: The difference cannot be represented exactly.
        LimitExceeded: There are too many combinations.
    """
    intersector.charge(_QUICK, path)
    if isinstance(left, Never) or isinstance(right, Never):
        return left
    if left == right or isinstance(right, Anything):
        return _EMPTY
    if isinstance(right, Ref) and intersector.definitions.is_narrowed(right.name):
        exact = intersector.definitions.exact(right.name)
        if exact is None:
            raise intersector.too_many(path)
        right = exact
    if isinstance(right, Ref) and right.name in intersector.differences:
        minuend, subtrahends = intersector.differences[right.name]
        if isinstance(minuend, Anything) or minuend == left:
            return union((intersector.intersect((left, other), path) for other in subtrahends), _EMPTY.reason)
    if (
        isinstance(left, Ref)
        and lists_scalars(right)
        and isinstance(found := intersector.find(left.name), String)
    ):
        left = found
    if isinstance(left, Ref) or isinstance(right, Ref):
        intersector.charge(1 - _QUICK, path)
        return _lazy_difference(left, right, intersector, path)
    constants = subtract_constants(left, right, _EMPTY.reason)
    if constants is not None:
        return constants
    if intersector.combine is not None and _may_be_object(left) and _may_be_object(right):
        if not intersector.may_intersect(left, right, path):
            return left
        others = intersector.combine((right,), 0, 0, intersector, path)
        return intersector.combine((left, others), 2, 2, intersector, path)
    if isinstance(right, Union):
        texts = [branch for branch in right.branches if is_string_constant(branch)]
        if len(texts) > 1:
            left = _without_texts(left, texts, intersector, path)
        for branch in right.branches:
            if len(texts) < 2 or not is_string_constant(branch):
                left = difference(left, branch, intersector, path)
        return left
    if isinstance(left, Anything):
        left = _ALL_TYPES
    if isinstance(left, Union):
        pieces = (difference(branch, right, intersector, path) for branch in left.branches)
        return _without_special_cases(union(pieces, _EMPTY.reason))
    if are_separate(left, right) or not intersector.may_intersect(left, right, path):
        return left
    intersector.charge(1 - _QUICK, path)
    return union(_pieces(left, right, intersector, path), _EMPTY.reason)


_ARRAYS, _QUICK = 4, 0.2
"""Costs of a difference of arrays, beyond those of their items, and of one of nodes of two types, of two constants, or
of ranges that do not meet."""


def subtract_object(left: Schema, right: Object, intersector: Intersector, path: SchemaPath) -> Schema:
    """Return the objects of a union, or of one node, that are no objects of `right`, multiplied out.

    Raises:
        UnsupportedKeyword: The difference cannot be represented exactly.
        LimitExceeded: There are too many combinations.
    """
    if isinstance(left, Union):
        pieces = (subtract_object(branch, right, intersector, path) for branch in left.branches)
        return _without_special_cases(union(pieces, _EMPTY.reason))
    intersector.charge(1, path)
    if left == right:
        return _EMPTY
    if not (isinstance(left, Object) and intersector.may_intersect(left, right, path)):
        return left
    return union(_objects(left, right, intersector, path), _EMPTY.reason)


def _without_texts(
    left: Schema, texts: Sequence[Schema], intersector: Intersector, path: SchemaPath
) -> Schema:
    """Return the values other than some texts; one at a time, each would be compared with all others."""
    match left:
        case String():
            return union(_and(left, _other_than(texts), intersector, path), _EMPTY.reason)
        case Union(branches=branches):
            if all(isinstance(branch, Const) for branch in branches):
                known = subtract_constants(left, Union(tuple(texts)), _EMPTY.reason)
                return left if known is None else known
            return union(
                (_without_texts(branch, texts, intersector, path) for branch in branches), _EMPTY.reason
            )
        case Const(text=text) if text[0] == '"':
            values = {json.loads(one.text) for one in texts if isinstance(one, Const)}
            return _EMPTY if json.loads(text) in values else left
        case Anything():
            return _without_texts(_ALL_TYPES, texts, intersector, path)
        case Ref():
            return difference(left, Union(tuple(texts)), intersector, path)
        case _:
            return left


def _may_be_object(node: Schema) -> bool:
    """Return whether some values of a node that is no reference may be objects."""
    if isinstance(node, Union):
        return any(isinstance(branch, Ref) or _may_be_object(branch) for branch in node.branches)
    if isinstance(node, Const):
        return node.text[0] == "{"
    return isinstance(node, (Object, Combined, Anything))


def _without_special_cases(node: Schema) -> Schema:
    """Remove objects that differ from another one only in additional required keys, to keep unions small."""
    if not isinstance(node, Union):
        return node
    similar: dict[Hashable, list[Object]] = {}
    for branch in node.branches:
        if isinstance(branch, Object):
            similar.setdefault(_declarations(branch), []).append(branch)
    special: set[Schema] = set()
    for group in similar.values():
        if len(group) > 1:
            needed = [frozenset(key.name for key in each.properties if key.required) for each in group]
            special |= {
                each for each, names in zip(group, needed, strict=True) if any(map(names.__gt__, needed))
            }
    return union(branch for branch in node.branches if branch not in special) if special else node


def _declarations(node: Object) -> Hashable:
    """Return everything about an object but the keys that it requires."""
    keys = tuple([(key.name, key.value) for key in node.properties])
    counts = node.min_properties, node.max_properties
    return keys, node.additional, node.required_groups, counts, node.any_order


def _lazy_difference(left: Schema, right: Schema, intersector: Intersector, path: SchemaPath) -> Ref:
    """Return a reference to the difference, which is computed when its references are resolved."""
    minuend, subtrahends = (
        intersector.differences.get(left.name, (left, _NO_NODES))
        if isinstance(left, Ref)
        else (left, _NO_NODES)
    )
    if isinstance(left, Ref) and right in subtrahends:
        return left
    # A definition that excludes itself leads to ever more subtrahends, which are copied.
    intersector.charge(len(subtrahends) // _SUBTRAHENDS_PER_NODE, path)

    def make() -> Schema:
        resolved = (
            intersector.definitions.resolve(node.name, path) if isinstance(node, Ref) else node
            for node in (left, right)
        )
        return difference(next(resolved), next(resolved), intersector, path)

    stem = left.name if isinstance(left, Ref) else right.name if isinstance(right, Ref) else ""
    found = intersector.definitions.reference(
        ("minus", minuend, subtrahends | {right}, path.is_within("not")), stem, make
    )
    intersector.differences[found.name] = minuend, subtrahends | {right}
    intersector.definitions.derive(found.name, [left])
    return found


_NO_NODES: frozenset[Schema] = frozenset()

_SUBTRAHENDS_PER_NODE = 32
"""Subtrahends that are copied in the time in which a node is intersected."""


def _pieces(left: Schema, right: Schema, intersector: Intersector, path: SchemaPath) -> Iterator[Schema]:
    """Iterate over the difference of two nodes of one type, one reason at a time."""
    match left, right:
        case Const(text=text), _:
            answer = contains_value(right, json.loads(text), intersector.oracle)
            if answer is None and text[0] in "[{":
                yield difference(expand(left), right, intersector, path)
            elif answer is None and isinstance(right, String) and not path.is_within("not"):
                # Strings that may be of a format are left out when they are lowered.
                yield from _pieces(
                    String(patterns=(literal_pattern(json.loads(text)),)), right, intersector, path
                )
            elif answer is None:
                raise UnsupportedKeyword(
                    "not",
                    f"cannot decide whether the schema allows {text}; write the allowed values as an enum",
                    place=path.text,
                )
            elif not answer:
                yield left
        case _, Const(text=text) if text[0] in "[{":
            yield difference(left, expand(right), intersector, path)
        case Boolean(), Const(text=text):
            yield Const("false" if text == "true" else "true")
        case ((Integer() | Number()), Const(text=text)):
            number = Bound(Decimal(text), exclusive=True)
            yield intersect_numbers(left, Number(maximum=number))
            yield intersect_numbers(left, Number(minimum=number))
        case String(), Const(text=text):
            yield from _and(left, _other_than([right]), intersector, path)
        case ((Integer() | Number()), (Integer() | Number())):
            yield from _numbers(left, right)
        case String(), String():
            for other in complement_strings(right):
                for piece in _and(left, other, intersector, path):
                    _check_formats(piece, intersector, path)
                    yield piece
        case Array(), Array():
            yield from _arrays(left, right, intersector, path)
        case Object(), Object():
            yield from _objects(left, right, intersector, path)
        case (Combined(), _) | (_, Combined()):
            raise AssertionError("combinations of objects are handled before")  # no piece would mean no value


def _other_than(texts: Iterable[Schema]) -> String:
    """Return the strings other than some constants."""
    return String(
        forbidden=tuple(literal_pattern(json.loads(text.text)) for text in texts if isinstance(text, Const))
    )


def _check_formats(node: Schema, intersector: Intersector, path: SchemaPath) -> None:
    """Raise `UnsupportedKeyword` if a `not` asks for strings that are not of a format and cannot be generated.

    Where they are a by-product of alternatives that exclude each other they are left out when they are lowered.
    """
    for each in node.forbidden_formats if isinstance(node, String) and path.is_within("not") else ():
        if not intersector.oracle.can_exclude(each):
            raise UnsupportedKeyword("format", not_of_format(each), place=path.text)


def _and(left: Schema, right: Schema, intersector: Intersector, path: SchemaPath) -> Iterator[Schema]:
    both = intersector.intersect((left, right), path)
    # The emptiness test of many forbidden texts would build a large automaton.
    testable = isinstance(both, String) and len(both.forbidden) <= _MAX_FORBIDDEN
    if not (testable and isinstance(both, String) and intersector.oracle.is_empty(both)):
        yield both


_MAX_FORBIDDEN = 8
"""Maximum number of forbidden patterns for which emptiness is tested."""


def _numbers(left: Integer | Number, right: Integer | Number) -> Iterator[Schema]:
    low, high = right.minimum, right.maximum
    if low is not None:
        bound = low if isinstance(low, Bound) else Bound(Decimal(low))
        yield intersect_numbers(left, Number(maximum=Bound(bound.value, not bound.exclusive)))
    if high is not None:
        bound = high if isinstance(high, Bound) else Bound(Decimal(high))
        yield intersect_numbers(left, Number(minimum=Bound(bound.value, not bound.exclusive)))
    step = right.multiple_of or (1 if isinstance(right, Integer) else None)
    if step is not None:
        yield intersect_numbers(left, Number(not_multiple_of=(Decimal(step),)))
    for other in right.not_multiple_of:
        yield intersect_numbers(left, Number(multiple_of=other))


def _arrays(left: Array, right: Array, intersector: Intersector, path: SchemaPath) -> Iterator[Schema]:
    count = max(len(left.prefix), len(right.prefix))
    if left.contains or right.contains:
        lefts, rights = (
            extend_prefix(node, count, intersector.intersect, intersector.charge, path)
            for node in (left, right)
        )
        if (lefts, rights) != ([left], [right]):
            yield difference(union(lefts), union(rights), intersector, path)
            return
    pairs = [
        (own or left.items, excluded or right.items)
        for own, excluded in zip_longest(left.prefix, right.prefix)
    ]
    # Where constants are excluded, the parts have nothing in common: of many excluded arrays, each splits few parts.
    shared: list[Schema] = []
    for index, pair in enumerate(pairs):
        both = intersector.intersect(pair, path) if lists_scalars(pair[1]) else pair[0]
        if isinstance(both, Never) and index < max(left.min_items, right.min_items):
            yield left
            return
        shared.append(both)
    intersector.charge(_ARRAYS, path)
    if right.min_items:
        yield array(_with_lengths(left, 0, right.min_items - 1))
    if right.max_items is not None:
        yield array(_with_lengths(left, right.max_items + 1, None))
    same = _with_lengths(left, right.min_items, right.max_items)
    for index, (own, excluded) in enumerate(pairs):
        other = difference(own, excluded, intersector, path)
        if not isinstance(other, Never):
            prefix = (*shared[:index], other, *(pair[0] for pair in pairs[index + 1 :]))
            yield array(replace(same, prefix=prefix, min_items=max(same.min_items, index + 1)))
    # If either array has no items after the prefixes, the lengths already distinguish them.
    longest = min(
        (max_items for max_items in (left.max_items, right.max_items) if max_items is not None),
        default=count + 1,
    )
    if longest > count:
        other = difference(left.items, right.items, intersector, path)
        if not isinstance(other, Never):
            violation = Contains(other, left.items)
            yield intersector.with_contains(
                replace(same, prefix=tuple(shared)), (*left.contains, violation), path
            )
    for contains in right.contains:
        yield from _containing(left, contains, intersector, path)
    if right.repeats_item and not left.repeats_item:
        yield array(replace(left, unique_items=True))
    if right.unique_items and not left.unique_items:
        repeating = array(replace(left, repeats_item=True))
        # A `not` is written for such arrays. Of alternatives that exclude each other they are a by-product.
        if isinstance(repeating, Array) and path.is_within("not"):
            raise UnsupportedKeyword(
                "uniqueItems",
                "arrays that must repeat an item are not supported; remove the `not`",
                place=path.text,
            )
        yield repeating


def _with_lengths(node: Array, least: int, most: int | None) -> Array:
    most = min_defined((node.max_items, most))
    return replace(node, min_items=max(node.min_items, least), max_items=most)


def _containing(
    left: Array, contains: Contains, intersector: Intersector, path: SchemaPath
) -> Iterator[Schema]:
    """Iterate over the arrays with too few or too many matching items."""
    matching = intersector.intersect((left.items, contains.matching), path)
    if contains.min_count == 1:
        others = difference(Anything(), contains.matching, intersector, path)
        yield intersector.intersect((left, Array((Anything(),) * len(left.prefix), others)), path)
    elif contains.min_count:
        few = Contains(
            matching,
            difference(left.items, matching, intersector, path),
            min_count=0,
            max_count=contains.min_count - 1,
        )
        yield array(replace(left, contains=(*left.contains, few)))
    if contains.max_count is not None:
        many = Contains(matching, left.items, min_count=contains.max_count + 1)
        yield intersector.with_contains(left, (*left.contains, many), path)


def _objects(left: Object, right: Object, intersector: Intersector, path: SchemaPath) -> Iterator[Schema]:
    names = list(dict.fromkeys(key.name for node in (left, right) for key in node.properties))
    lefts, rights = (
        intersector.declare_properties(left, names, path),
        intersector.declare_properties(right, names, path),
    )
    if len(lefts) > 1 or len(rights) > 1:
        yield reduce(
            lambda rest, other: subtract_object(rest, other, intersector, path), rights, union(lefts)
        )
        return
    (left,), (right,) = lefts, rights
    right_keys = {key.name: key for key in right.properties}
    if not intersector.may_intersect(left, right, path):
        yield left
        return
    for key in left.properties:
        right_key = right_keys[key.name]
        if right_key.required and not key.required:
            yield _with_key(left, replace(key, value=Never("another alternative requires the key")))
        other = difference(key.value, right_key.value, intersector, path.child("properties", key.name))
        if not isinstance(other, Never):
            yield _with_key(left, replace(key, value=other, required=True))
    excluded = tuple(_excluded_groups(left, right, intersector, path))
    if excluded:
        yield intersector.with_required_groups(left, (*left.required_groups, excluded), path)
    for choice in right.required_groups:
        rest = tuple(_other_keys(left.additional, choice, intersector, path))
        yield intersector.with_required_groups(
            replace(left, additional=rest, required_groups=()),
            intersector.restrict_groups(left.required_groups, rest, path),
            path,
        )
    if right.min_properties:
        yield _with_max_properties(left, right.min_properties - 1)
    if right.max_properties is not None:
        yield object_(replace(left, min_properties=max(left.min_properties, right.max_properties + 1)))


def _excluded_groups(
    left: Object, right: Object, intersector: Intersector, path: SchemaPath
) -> Iterator[Additional]:
    """Iterate over the additional keys and values that only the first object allows."""
    for group in left.additional:
        for other in right.additional:
            shared = intersector.intersect_names(group.names, other.names, path)
            if shared is not None:
                value = difference(group.value, other.value, intersector, path)
                if not isinstance(value, Never):
                    yield Additional(shared, value, group.implicit)
        for names in intersector.subtract_names(
            group.names, [other.names for other in right.additional], path
        ):
            yield Additional(names, group.value, group.implicit)


def _other_keys(
    groups: tuple[Additional, ...], choice: tuple[Additional, ...], intersector: Intersector, path: SchemaPath
) -> Iterator[Additional]:
    """Iterate over the additional keys without those of a choice."""
    for group in groups:
        pieces = [group]
        for one in choice:
            split: list[Additional] = []
            for piece in pieces:
                shared = intersector.intersect_names(piece.names, one.names, path)
                if shared is not None:
                    split.append(Additional(shared, difference(piece.value, one.value, intersector, path)))
                rest = intersector.subtract_names(piece.names, [one.names], path)
                split += [Additional(names, piece.value, piece.implicit) for names in rest]
            pieces = split
        yield from pieces


def _with_key(node: Object, changed: Property) -> Schema:
    """Replace the property of the same name."""
    return object_(
        replace(node, properties=tuple(changed if k.name == changed.name else k for k in node.properties))
    )


def _with_max_properties(node: Object, max_properties: int) -> Schema:
    known = node.max_properties
    return object_(
        replace(node, max_properties=max_properties if known is None else min(max_properties, known))
    )
