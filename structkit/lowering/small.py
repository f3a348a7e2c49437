"""Which schemas certainly have a small automaton, so that it can be built in the middle of a text."""

from __future__ import annotations

from collections.abc import Sequence

from structkit.lowering.numbers.rules import is_small_range
from structkit.regex.nodes import LiteralText
from structkit.schema.ir.nodes import FREE_STRING, Array, Const, Integer, Number, Object, Schema, Union

__all__ = ["MAX_REPETITIONS", "MAY_BE_LARGE", "are_short", "is_small"]

_MAX_CONSTANT_LENGTH = 100
"""Largest length, in characters, of a small name or constant."""

_MAX_CHOICE_LENGTH = 20_000
"""Largest total length, in characters, of the constants of a small choice."""

MAX_REPETITIONS = 64
"""Largest count of items of a small array."""

MAY_BE_LARGE = frozenset({Const, Object, Array, Union, Integer, Number})
"""The types of schemas that `is_small` examines; schemas of other types are small."""


def are_short(texts: Sequence[LiteralText]) -> bool:
    """Return whether each of these constants is small; see `is_small`."""
    return max([len(text.value) for text in texts], default=0) <= _MAX_CONSTANT_LENGTH


def is_small(schema: Schema) -> bool:
    """Return whether the automaton of a schema, without its subschemas, has at most as many states as characters.

    Patterns, counts and combinations can need any number of states; rules that contain them are built eagerly.

    >>> is_small(Array(items=Const("1"))), is_small(Array(items=Const("1"), max_items=1_000))
    (True, False)
    """
    if type(schema) not in MAY_BE_LARGE:
        return True
    match schema:
        case Const(text):
            return len(text) <= _MAX_CONSTANT_LENGTH
        case Object(properties=properties):
            if schema.max_properties is not None or schema.required_groups:
                return False
            if schema.min_properties and schema.min_properties > sum([prop.required for prop in properties]):
                return False
            for group in schema.additional:
                if group.names is not FREE_STRING and group.names != FREE_STRING:
                    return False
            return max([len(prop.name) for prop in properties], default=0) <= _MAX_CONSTANT_LENGTH
        case Array():
            max_count = max(schema.min_items, schema.max_items or 0)
            return max_count <= MAX_REPETITIONS and not schema.contains
        case Union(branches):
            return (
                sum(len(branch.text) for branch in branches if isinstance(branch, Const))
                <= _MAX_CHOICE_LENGTH
            )
        case Integer() | Number():
            return is_small_range(schema)
        case _:
            return True
