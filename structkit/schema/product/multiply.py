"""Combinations of objects that no product represents, multiplied out: the result is a union of objects.

The combinations of one object are multiplied out here, while others of the document are products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structkit.schema.algebra.difference import subtract_object
from structkit.schema.algebra.intersect import Intersector
from structkit.schema.ir.constructors import union
from structkit.schema.ir.nodes import Combined, Never, Object, Schema, Union
from structkit.schema.ir.path import SchemaPath
from structkit.schema.product.combine import is_all, is_any

__all__ = ["multiply_out"]

_COMPARED = 10
"""Objects that are compared in the time of one intersection."""


def multiply_out(
    base: Object, parts: Sequence[Combined], intersector: Intersector, path: SchemaPath
) -> Schema:
    """Return the objects of `base` that are in all of some combinations, as a union.

    >>> from structkit.limits import Limits
    >>> from structkit.schema.ir.definitions import Definitions
    >>> from structkit.schema.ir.nodes import Null, Property
    >>> one, other = (Object((Property(name, Null()),)) for name in "ab")
    >>> intersector = Intersector(Definitions(), Limits())
    >>> multiply_out(one, [Combined((one, other), 1, 2)], intersector, SchemaPath()) == one
    True

    Raises:
        UnsupportedKeyword: A difference cannot be represented exactly.
        LimitExceeded: There are too many combinations.
    """
    product = _Multiplication(intersector, path)
    found: Schema = base
    for part in parts:
        found = product.within(found, part)
    return found


@dataclass(frozen=True, slots=True)
class _Multiplication:
    """Computes with unions of objects."""

    intersector: Intersector
    path: SchemaPath

    def within(self, left: Schema, node: Object | Combined) -> Schema:
        """Return the objects of a union that are in a node, too."""
        if isinstance(node, Object):
            self._charge(left)
            return union(self._both(each, node) for each in _branches(left))
        if is_all(node):
            for part in node.parts:
                left = self.within(left, part)
            return left
        if is_any(node):
            return union(self.within(left, part) for part in node.parts)
        if node.negated and not self.path.is_within("not"):
            return _Multiplication(self.intersector, self.path.child("not")).within(left, node)
        return self._count(left, node.parts, node.min_count, node.max_count)

    def _both(self, left: Schema, right: Object) -> Schema:
        if not self.intersector.may_intersect(left, right, self.path):
            return Never("no alternative is possible")
        return self.intersector.intersect((left, right), self.path)

    def _without(self, left: Schema, node: Object | Combined) -> Schema:
        """Return the objects of a union that are not in a node."""
        if isinstance(node, Object):
            self._charge(left)
            return subtract_object(left, node, self.intersector, self.path)
        fewer = self._count(left, node.parts, 0, node.min_count - 1)
        return union((fewer, self._count(left, node.parts, node.max_count + 1, len(node.parts))))

    def _count(
        self, left: Schema, parts: Sequence[Object | Combined], min_count: int, max_count: int
    ) -> Schema:
        """Return the objects of a union that are in the given number of parts."""
        if min_count > max_count:
            return Never("no alternative is possible")
        counted = {0: left}
        for index, part in enumerate(parts):
            least = min_count - (len(parts) - index - 1)
            found: dict[int, list[Schema]] = {}
            for count, each in counted.items():
                if count < max_count:
                    found.setdefault(count + 1, []).append(self.within(each, part))
                if count >= least:
                    found.setdefault(count, []).append(self._without(each, part))
            counted = {count: union(pieces) for count, pieces in found.items() if count >= least}
        return union(each for count, each in counted.items() if count >= min_count)

    def _charge(self, left: Schema) -> None:
        self.intersector.charge(1 + len(_branches(left)) // _COMPARED, self.path)


def _branches(node: Schema) -> Sequence[Schema]:
    return node.branches if isinstance(node, Union) else () if isinstance(node, Never) else (node,)
