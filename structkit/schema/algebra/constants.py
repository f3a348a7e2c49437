"""Set operations on constants by their values, in linear time."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TypeAlias, TypeGuard

from structkit.schema.algebra.membership import constant_key, contains_value, strings_contain
from structkit.schema.algebra.string_oracle import StringOracle
from structkit.schema.ir.constructors import union
from structkit.schema.ir.nodes import (
    Array,
    Boolean,
    Bound,
    Combined,
    Const,
    Integer,
    Null,
    Number,
    Object,
    Schema,
    String,
    Union,
)

__all__ = [
    "Pay",
    "allowed_constants",
    "is_string_constant",
    "lists_scalars",
    "possible_texts",
    "subtract_constants",
    "values_of",
    "without_other_constants",
]

Pay: TypeAlias = Callable[[float], object]
"""A function that charges the cost of comparisons, in intersected nodes."""

_PAIRS_PER_NODE = 8
"""Constants that are compared with a node in the time in which a node is intersected."""

_NUMBERS_PER_NODE = 200
"""Numbers that are looked up in the time in which a node is intersected."""


def is_string_constant(node: Schema) -> TypeGuard[Const]:
    """Return whether a node is the constant of a string."""
    return isinstance(node, Const) and node.text[0] == '"'


def lists_scalars(node: Schema) -> bool:
    """Return whether a node is a constant that is no array or object, or a union of such constants.

    >>> lists_scalars(Const("1")), lists_scalars(Union((Const("1"), Const("[1]"))))
    (True, False)
    """
    branches = node.branches if isinstance(node, Union) else (node,)
    return all(isinstance(branch, Const) and branch.text[0] not in "[{" for branch in branches)


def without_other_constants(nodes: Sequence[Schema]) -> tuple[Schema, ...]:
    """Return the nodes of an intersection, with one node for all unions of constants.

    >>> without_other_constants([Union((Const("1"), Const('"a"'))), Union((Const("1"), Const("2")))])
    (Const(note=None, text='1'),)
    """
    unions = [node for node in nodes if isinstance(node, Union) and _is_constant(node)]
    if len(unions) < 2:
        return tuple(nodes)
    common = {constant_key(branch): branch for branch in unions[0].branches}
    for other in unions[1:]:
        keys = set(map(constant_key, other.branches))
        common = {key: branch for key, branch in common.items() if key in keys}
    merged = union(common.values(), "no value is in all lists of values")
    first = nodes.index(unions[0])
    return tuple(
        merged if index == first else node
        for index, node in enumerate(nodes)
        if index == first or node not in unions
    )


def allowed_constants(nodes: Sequence[Schema], oracle: StringOracle, pay: Pay) -> Schema | None:
    """Return the intersection of nodes, one of which lists scalars; `None` if none does, or an answer is not known.

    Args:
        nodes: The nodes.
        oracle: Decides queries about strings.
        pay: See `Pay`.

    >>> from structkit.schema.algebra.string_oracle import UNDECIDED
    >>> lists = [Union((Const("1"), Const('"a"'))), Union((String(), Const("2")))]
    >>> allowed_constants(lists, UNDECIDED, lambda cost: None)
    Const(note=None, text='"a"')
    """
    listed = next((node for node in nodes if isinstance(node, Union) and lists_scalars(node)), None)
    if listed is None:
        return None
    kept: Sequence[Schema] = listed.branches
    for node in nodes:
        if node is listed:
            continue
        branches = node.branches if isinstance(node, Union) else (node,)
        answers = _contain_each(branches, kept, oracle, pay)
        if None in answers.values():
            return None
        kept = [constant for constant in kept if answers[constant]]
    return union(kept, "no value of enum or const is a value that the other keywords allow")


def subtract_constants(left: Schema, right: Schema, reason: str) -> Schema | None:
    """Return the constants of `left` that `right` does not have; `None` unless both are unions of constants.

    >>> subtract_constants(Union((Const("1"), Const("2"))), Union((Const("1.0"), Const("3"))), "")
    Const(note=None, text='2')
    """
    if not (
        isinstance(left, Union) and isinstance(right, Union) and _is_constant(left) and _is_constant(right)
    ):
        return None
    excluded = set(map(constant_key, right.branches))
    return union((branch for branch in left.branches if constant_key(branch) not in excluded), reason)


def possible_texts(branches: Sequence[Schema], strings: String, oracle: StringOracle) -> dict[Schema, bool]:
    """Return for each branch that is the constant of a string whether it may be one of the strings.

    >>> from structkit.schema.algebra.string_oracle import UNDECIDED
    >>> possible_texts([Const('"ab"'), Const("1")], String(patterns=("a",)), UNDECIDED)
    {Const(note=None, text='"ab"'): True}
    """
    texts = [branch for branch in branches if is_string_constant(branch)]
    if not texts:
        return {}
    values: list[str] = json.loads(f"[{','.join(branch.text for branch in texts)}]")
    answers = oracle.contains_each(strings, values)
    return {branch: answer is not False for branch, answer in zip(texts, answers, strict=True)}


_NO_STRINGS = frozenset({Null, Boolean, Integer, Number, Array, Object, Combined, Const})
"""Nodes other than constants without strings, and constants whose texts are compared."""


def _contain_each(
    nodes: Sequence[Schema], constants: Sequence[Schema], oracle: StringOracle, pay: Pay
) -> dict[Schema, bool | None]:
    """Return for each constant whether one of some nodes contains it; `None` if it is not known.

    The constant of a string has one spelling, so that most constants are found, or not, without a comparison, and one
    question about a node of strings answers for all of them.
    """
    known = set(nodes)
    strings = [node for node in nodes if isinstance(node, String)]
    new = [node for node in constants if is_string_constant(node) and node not in known]
    values: list[str] = json.loads(f"[{','.join(node.text for node in new)}]")
    columns = [strings_contain(node, values, oracle) for node in strings] if new else []
    of_strings: dict[Schema, tuple[bool | None, ...]] = {}
    if columns:
        of_strings.update(zip(new, zip(*columns, strict=True), strict=True))
    keys = {constant_key(node) for node in nodes if isinstance(node, Const) and not is_string_constant(node)}
    known |= {node for node in constants if not is_string_constant(node) and constant_key(node) in keys}
    ranges = [node for node in nodes if isinstance(node, (Integer, Number))]
    known |= _in_ranges(ranges, [node for node in constants if node not in known], pay)
    texts = [node for node in nodes if type(node) not in _NO_STRINGS and node not in strings]
    others = [node for node in nodes if not isinstance(node, (Const, Integer, Number))]
    found: dict[Schema, bool | None] = {}
    for constant in constants:
        compared = texts if is_string_constant(constant) else others
        is_known = constant in known
        pay(0 if is_known else len(compared) / _PAIRS_PER_NODE)
        found[constant] = is_known or _is_in_one(compared, constant, oracle, of_strings.get(constant, ()))
    return found


def _in_ranges(nodes: Sequence[Integer | Number], constants: Sequence[Schema], pay: Pay) -> set[Schema]:
    """Return the constants of numbers that one of some ranges contains; each is compared with ranges around it."""
    of_numbers = [node for node in constants if isinstance(node, Const) and node.text[0] in "-0123456789"]
    numbers = sorted([(Decimal(node.text), node.text, node) for node in of_numbers] if nodes else ())
    values = [value for value, _, _ in numbers]
    found: set[Schema] = set()
    for node in nodes:
        low, high = (end.value if isinstance(end, Bound) else end for end in (node.minimum, node.maximum))
        first = 0 if low is None else bisect_left(values, low)
        stop = len(values) if high is None else bisect_right(values, high)
        compared = [constant for _, _, constant in numbers[first:stop] if constant not in found]
        pay((1 + len(compared)) / _PAIRS_PER_NODE + max(stop - first, 0) / _NUMBERS_PER_NODE)
        found |= {one for one in compared if contains_value(node, json.loads(one.text))}
    return found


def _is_in_one(
    nodes: Sequence[Schema], constant: Schema, oracle: StringOracle, answers: Sequence[bool | None]
) -> bool | None:
    """Return whether one of some nodes, or of those with answers, contains a constant; `None` if it is not known."""
    if True in answers:
        return True
    is_known = None not in answers
    value: object = json.loads(constant.text) if nodes and isinstance(constant, Const) else None
    for node in nodes:
        answer = contains_value(node, value, oracle)
        if answer:
            return True
        is_known &= answer is not None
    return False if is_known else None


def _is_constant(node: Union) -> bool:
    return all(isinstance(branch, Const) for branch in node.branches)


def values_of(node: Schema) -> set[object] | None:
    """Return the keys of the values of a node of constants only; see `canonical_key`."""
    if not isinstance(node, (Const, Union)):
        return None
    branches = node.branches if isinstance(node, Union) else (node,)
    found: set[object] = set()
    for branch in branches:
        if not isinstance(branch, Const):
            return None
        found.add(constant_key(branch))
    return found
