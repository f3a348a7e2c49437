"""Whether an object schema allows all objects of another one, by an inexpensive test."""

from __future__ import annotations

from structkit.schema.algebra.intersect import Intersector
from structkit.schema.algebra.property_names import property_values
from structkit.schema.ir.nodes import ANY_KEYS, Anything, Const, Never, Object, Ref, Schema, Union
from structkit.schema.ir.path import SchemaPath

__all__ = ["covers"]

_MAX_DEPTH = 4
"""Maximum nesting of the values that are compared; schemas can refer to themselves."""


def covers(
    outer: Schema, inner: Schema, intersector: Intersector, path: SchemaPath, depth: int = _MAX_DEPTH
) -> bool:
    """Return whether a node certainly allows all values of another one.

    Objects are compared key by key, other nodes by their alternatives.

    Args:
        outer: The node that may allow more.
        inner: The node that may allow less.
        intersector: Has the definitions, and decides whether undeclared keys match a pattern.
        path: The place of both, for errors.
        depth: Maximum nesting of the values that are compared.

    >>> from structkit.limits import Limits
    >>> from structkit.schema.ir.definitions import Definitions
    >>> from structkit.schema.ir.nodes import Boolean, Property
    >>> one, two = Property("a", Boolean(), required=False), Property("b", Boolean(), required=False)
    >>> intersector = Intersector(Definitions(), Limits())
    >>> covers(Object((one, two)), Object((one,)), intersector, SchemaPath())
    True
    >>> covers(Object((one,)), Object((one, two)), intersector, SchemaPath())
    False

    Raises:
        UnsupportedKeyword: An answer depends on a pattern that the oracle does not decide.
        LimitExceeded: There are too many combinations.
    """
    if outer == inner or isinstance(outer, Anything) or isinstance(inner, Never):
        return True
    if depth == 0:
        return False
    if isinstance(outer, Ref) or isinstance(inner, Ref):
        known = (intersector.find(node.name) if isinstance(node, Ref) else node for node in (outer, inner))
        one, other = known
        if one is None or other is None:  # it is being built
            return False
        return covers(one, other, intersector, path, depth - 1)
    if isinstance(inner, Union):
        return all(covers(outer, branch, intersector, path, depth - 1) for branch in inner.branches)
    if isinstance(outer, Union):
        return inner in outer.branches or (
            not isinstance(inner, Const)
            and any(covers(branch, inner, intersector, path, depth - 1) for branch in outer.branches)
        )
    if isinstance(outer, Object) and isinstance(inner, Object):
        return _covers_object(outer, inner, intersector, path, depth)
    return False


def _covers_object(
    outer: Object, inner: Object, intersector: Intersector, path: SchemaPath, depth: int
) -> bool:
    required = {key.name for key in inner.properties if key.required}
    if any(key.required and key.name not in required for key in outer.properties):
        return False
    if outer.required_groups or outer.min_properties > max(inner.min_properties, len(required)):
        return False
    most = outer.max_properties
    if most is not None and (inner.max_properties is None or inner.max_properties > most):
        return False
    pairs: list[tuple[Schema, Schema]] = []
    if inner.additional and outer.additional != ANY_KEYS:
        if [group.names for group in outer.additional] != [group.names for group in inner.additional]:
            return False
        pairs += [
            (one.value, other.value) for one, other in zip(outer.additional, inner.additional, strict=True)
        ]
    names = {key.name: None for node in (outer, inner) for key in node.properties}
    values, inner_values = (property_values(node, names, intersector.oracle, path) for node in (outer, inner))
    pairs += [(values[name], inner_values[name]) for name in names]
    intersector.charge(1 + len(pairs) // _PAIRS, path)
    return all(covers(one, other, intersector, path, depth - 1) for one, other in pairs)


_PAIRS = 10
"""Values that are compared in the time of one intersection."""
