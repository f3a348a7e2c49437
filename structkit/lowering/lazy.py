"""Select the definitions of a large document that are lowered on first use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from structkit.lowering.strings.rfc import KNOWN_FORMATS
from structkit.lowering.strings.strings import MAX_LAZY_LENGTH
from structkit.lowering.usage import Usage
from structkit.schema.ir.nodes import (
    Anything,
    Array,
    Boolean,
    Const,
    Format,
    Integer,
    Null,
    Number,
    Object,
    Ref,
    Schema,
    String,
    Union,
)

__all__ = ["deferrable", "is_small"]

_MIN_DOCUMENT_SIZE = 200
"""Smallest document, in schemas, whose definitions are deferred; smaller ones are lowered as fast as classified."""

_MIN_DEFERRED_SIZE = 4
"""Smallest definition, in schemas, that is deferred."""

_MAX_DEPTH = 16
"""Largest nesting of a deferred definition: the stack can already be deep when it is lowered."""

_SMALL_BOUND = 10**15
"""Exclusive limit of the bounds of an integer range, in magnitude, whose automaton is small."""

_MAX_CONSTANT_LENGTH = 100
"""Largest length, in characters, of a small name or constant."""

_MAX_CHOICE_LENGTH = 20_000
"""Largest total length, in characters, of the constants of a small choice."""

_MAX_REPETITIONS = 64
"""Largest count of items of a small array."""

_MAY_BE_LARGE = (Object, Array, Const, Union, Integer, Number)


def deferrable(definitions: Mapping[str, Schema], uses: Mapping[str, Usage], max_size: int) -> set[str]:
    """Return the definitions that can be lowered on first use.

    Args:
        definitions: The schemas.
        uses: Their usages.
        max_size: Largest rule, in schemas, that is built lazily.
    """
    if sum(use.size for use in uses.values()) < _MIN_DOCUMENT_SIZE:
        return set()
    return {
        name
        for name, use in uses.items()
        if _MIN_DEFERRED_SIZE <= use.size <= max_size and _is_simple(definitions[name])
    }


def is_small(schema: Schema) -> bool:
    """Return whether the automaton of a schema, without its subschemas, has at most as many states as characters.

    Patterns, counts and combinations can need any number of states; rules that contain them are built eagerly.

    >>> is_small(Array(items=Const("1"))), is_small(Array(items=Const("1"), max_items=1_000))
    (True, False)
    """
    if not isinstance(schema, _MAY_BE_LARGE):
        return True
    match schema:
        case Const(text):
            return len(text) <= _MAX_CONSTANT_LENGTH
        case Object():
            required = sum(prop.required for prop in schema.properties)
            counts = (
                schema.min_properties > required
                or schema.max_properties is not None
                or schema.required_groups
            )
            named = all(group.names == String() for group in schema.additional)
            return (
                named
                and not counts
                and all(len(prop.name) <= _MAX_CONSTANT_LENGTH for prop in schema.properties)
            )
        case Array():
            max_count = max(schema.min_items, schema.max_items or 0)
            return max_count <= _MAX_REPETITIONS and not schema.contains
        case Union(branches):
            return (
                sum(len(branch.text) for branch in branches if isinstance(branch, Const))
                <= _MAX_CHOICE_LENGTH
            )
        case Integer():
            return schema.multiple_of is None and not schema.not_multiple_of
        case Number():
            return schema.multiple_of is None and not schema.not_multiple_of
        case _:
            return True


def _is_simple(schema: Schema) -> bool:
    """Return whether a schema is nonempty (if its references are), supported, and has small automata."""
    level, depth = [schema], 0
    while level and depth <= _MAX_DEPTH:
        if not all(map(_is_simple_itself, level)):
            return False
        level, depth = [inner for node in level for inner in _children(node)], depth + 1
    return not level


def _is_simple_itself(node: Schema) -> bool:
    """Return whether a schema, without its subschemas, is simple."""
    match node:
        case Object():
            return is_small(node) and not node.any_order and all(p.name.isascii() for p in node.properties)
        case Array():
            return is_small(node) and not node.unique_items
        case Union(branches):
            return is_small(node) and _differ_at_the_start(branches)
        case String(format=None):
            unrestricted = String(min_length=node.min_length, max_length=node.max_length)
            return node == unrestricted and node.min_length <= MAX_LAZY_LENGTH
        case String(format=Format() as given):
            return given.name in KNOWN_FORMATS and node == String(format=given)
        case Integer():
            bounds = [bound for bound in (node.minimum, node.maximum) if bound is not None]
            return is_small(node) and all(abs(bound) < _SMALL_BOUND for bound in bounds)
        case Number():
            return node == Number()
        case Const():
            return is_small(node)
        case Ref() | Anything() | Boolean() | Null():
            return True
        case _:
            return False


def _children(node: Schema) -> Iterable[Schema]:
    """Return the direct subschemas of a simple schema. Faster than `children`, which also returns steps."""
    match node:
        case Object(properties=properties, additional=additional):
            return [*(prop.value for prop in properties), *(group.value for group in additional)]
        case Array(prefix=prefix, items=items):
            return *prefix, items
        case Union(branches):
            return branches
        case _:
            return ()


def _differ_at_the_start(branches: Sequence[Schema]) -> bool:
    """Return whether alternatives, except constants, differ in their first character."""
    kinds = [type(branch) for branch in branches if not isinstance(branch, Const | Null | Boolean)]
    if Ref in kinds or Anything in kinds:
        return len(kinds) == 1
    return len(set(kinds)) == len(kinds) and not {Integer, Number} <= set(kinds)
