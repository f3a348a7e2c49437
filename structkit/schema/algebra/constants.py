"""Set operations on constants by their values, in linear time."""

from __future__ import annotations

import json
from collections.abc import Sequence

from structkit.schema.algebra.string_oracle import StringOracle
from structkit.schema.ir.constructors import union
from structkit.schema.ir.json_values import canonical_key
from structkit.schema.ir.nodes import Const, Schema, String, Union

__all__ = ["lists_scalars", "possible_texts", "subtract_constants", "without_other_constants"]


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
    common = {_key(branch): branch for branch in unions[0].branches}
    for other in unions[1:]:
        keys = set(map(_key, other.branches))
        common = {key: branch for key, branch in common.items() if key in keys}
    merged = union(common.values(), "no value is in all lists of values")
    first = nodes.index(unions[0])
    return tuple(
        merged if index == first else node
        for index, node in enumerate(nodes)
        if index == first or node not in unions
    )


def subtract_constants(left: Schema, right: Schema, reason: str) -> Schema | None:
    """Return the constants of `left` that `right` does not have; `None` unless both are unions of constants.

    >>> subtract_constants(Union((Const("1"), Const("2"))), Union((Const("1.0"), Const("3"))), "")
    Const(note=None, text='2')
    """
    if not (
        isinstance(left, Union) and isinstance(right, Union) and _is_constant(left) and _is_constant(right)
    ):
        return None
    excluded = set(map(_key, right.branches))
    return union((branch for branch in left.branches if _key(branch) not in excluded), reason)


def possible_texts(branches: Sequence[Schema], strings: String, oracle: StringOracle) -> dict[Schema, bool]:
    """Return for each branch that is the constant of a string whether it may be one of the strings.

    >>> from structkit.schema.algebra.string_oracle import UNDECIDED
    >>> possible_texts([Const('"ab"'), Const("1")], String(patterns=("a",)), UNDECIDED)
    {Const(note=None, text='"ab"'): True}
    """
    texts = [branch for branch in branches if isinstance(branch, Const) and branch.text[0] == '"']
    if not texts:
        return {}
    values: list[str] = json.loads(f"[{','.join(branch.text for branch in texts)}]")
    answers = oracle.contains_each(strings, values)
    return {branch: answer is not False for branch, answer in zip(texts, answers, strict=True)}


def _is_constant(node: Union) -> bool:
    return all(isinstance(branch, Const) for branch in node.branches)


def _key(node: Schema) -> object:
    return canonical_key(json.loads(node.text)) if isinstance(node, Const) else node
