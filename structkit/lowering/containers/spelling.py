"""One text for each value inside unique items: the order of keys that alternatives share, and the text of constants."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TypeVar

from structkit.schema.algebra.disjoint import pairwise_disjoint
from structkit.schema.algebra.membership import expand
from structkit.schema.algebra.string_oracle import StringOracle
from structkit.schema.ir.descend import Step, Within, children
from structkit.schema.ir.nodes import Array, Const, Object, ObjectProduct, Ref, Schema, Union

__all__ = ["SharedKeys", "canonical_constant", "shared_keys", "with_shared_order"]

SharedKeys = Mapping[str, int]
"""The keys whose order matters, with their positions."""

_MAX_COMPARED = 100
"""Maximum number of alternatives that are compared with each other; more count as alternatives that overlap."""


def shared_keys(
    roots: Iterable[Schema], definitions: Mapping[str, Schema], oracle: StringOracle
) -> SharedKeys:
    """Return the keys of the objects inside unique items that may be equal to objects of another alternative.

    Where all of these are written in one order, and none of them as an undeclared key, equal objects have equal texts.

    Args:
        roots: The schemas of a document.
        definitions: The targets of references.
        oracle: Decides queries about strings, to distinguish alternatives.

    >>> from structkit.schema.algebra.string_oracle import UNDECIDED
    >>> from structkit.schema.ir.nodes import Null, Property
    >>> one, other = (Object(tuple(Property(name, Null()) for name in names)) for names in ("ab", "ba"))
    >>> shared_keys([Array(items=Union((one, other)), unique_items=True)], {}, UNDECIDED)
    {'a': 0, 'b': 1}
    >>> shared_keys([Array(items=one, unique_items=True), other], {}, UNDECIDED)
    {}
    """
    comparison = _Comparison(definitions, oracle)
    pending, seen = list(roots), set[Schema]()
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            parts = [inner for _, inner in children(node)]
            if isinstance(node, Array) and node.unique_items:
                comparison.compare(parts)
            pending += [inner for inner in parts if not isinstance(inner, Const)]
    return comparison.keys


def canonical_constant(text: str, keys: SharedKeys) -> str:
    """Return the compact JSON of a constant as it is written inside unique items.

    >>> canonical_constant('[{"b":2.50,"a":-0.0},1e2]', {"a": 0, "b": 1})
    '[{"a":0,"b":2.5},100]'
    """
    return _written(json.loads(text, parse_float=Decimal), keys)


def _written(value: object, keys: SharedKeys) -> str:
    if isinstance(value, list):
        return f"[{','.join([_written(item, keys) for item in value])}]"
    if isinstance(value, dict):
        entries = [
            f"{_written(name, keys)}:{_written(value[name], keys)}"
            for name in sorted(value, key=lambda name: keys.get(name, len(keys)))
        ]
        return f"{{{','.join(entries)}}}"
    if isinstance(value, Decimal):
        text = f"{value:f}"
        shortened = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if shortened == "-0" else shortened
    return json.dumps(value, ensure_ascii=False)


class _Comparison:
    """Finds objects that may be equal and are schemas of their own, at the same place in the items of an array."""

    def __init__(self, definitions: Mapping[str, Schema], oracle: StringOracle) -> None:
        self.keys: dict[str, int] = {}
        self._definitions = definitions
        self._oracle = oracle
        self._seen: set[frozenset[Schema]] = set()

    def compare(self, nodes: Iterable[Schema]) -> None:
        """Add the keys of objects among some nodes, and below them, that may be equal."""
        pending: list[Iterable[Schema]] = [nodes]
        while pending:
            found = self._alternatives(pending.pop())
            alternatives = frozenset(found)
            if alternatives in self._seen:
                continue
            self._seen.add(alternatives)
            objects = [node for node in found if isinstance(node, Object | ObjectProduct)]
            arrays = [node for node in found if isinstance(node, Array)]
            if self._may_be_equal(objects):
                for node in objects:
                    declared = node.keys if isinstance(node, ObjectProduct) else node.properties
                    for key in declared:
                        self.keys.setdefault(key.name, len(self.keys))
            for group in (objects, arrays):
                together = [group] if self._may_be_equal(group) else [[node] for node in group]
                pending += [below for nodes in together for below in _below(nodes)]

    def _alternatives(self, nodes: Iterable[Schema]) -> list[Schema]:
        """Return nodes without references and unions; constants as objects and arrays."""
        found: dict[Schema, None] = {}
        pending, seen = list(nodes)[::-1], set[str]()
        while pending:
            node = pending.pop()
            if isinstance(node, Ref):
                if node.name not in seen:
                    seen.add(node.name)
                    pending.append(self._definitions[node.name])
            elif isinstance(node, Union):
                pending += reversed(node.branches)
            else:
                found[expand(node) if isinstance(node, Const) and node.text[0] in "[{" else node] = None
        return list(found)

    def _may_be_equal(self, nodes: Sequence[Schema]) -> bool:
        few = len(nodes) <= _MAX_COMPARED
        return len(nodes) > 1 and not (few and pairwise_disjoint(nodes, self._definitions.get, self._oracle))


def _below(nodes: Sequence[Schema]) -> Iterable[list[Schema]]:
    """Return the schemas of each part of some values that may be equal."""
    steps: dict[Step, list[Schema]] = {}
    others: list[Schema] = []
    for node in nodes:
        for step, inner in children(node):
            if isinstance(step, Within):
                others.append(inner)
            else:
                steps.setdefault(step, []).append(inner)
    # A key or an item without a schema of its own may be equal to one with a schema.
    return [*[[*inner, *(others if len(nodes) > 1 else ())] for inner in steps.values()], others]


Objects = TypeVar("Objects", Object, ObjectProduct)


def with_shared_order(schema: Objects, keys: SharedKeys) -> Objects:
    """Return objects with their declared keys in the order of the shared keys."""
    if isinstance(schema, ObjectProduct):
        return replace(schema, keys=tuple(sorted(schema.keys, key=lambda key: keys.get(key.name, len(keys)))))
    properties = sorted(schema.properties, key=lambda key: keys.get(key.name, len(keys)))
    return replace(schema, properties=tuple(properties))
