"""Combinations that are multiplied out: what they cost."""

from __future__ import annotations

import pytest

from structkit.errors import LimitExceeded
from structkit.limits import Limits
from structkit.schema.algebra.intersect import Intersector
from structkit.schema.ir.definitions import Definitions
from structkit.schema.ir.nodes import Anything, Combined, Const, Object, Property, Union
from structkit.schema.ir.path import SchemaPath
from structkit.schema.product.multiply import multiply_out


def test_alternatives_that_exclude_each_other_are_charged() -> None:
    """Of 3,600 pairs 60 are possible, and the others are compared, too."""
    base = Object((Property("k", Anything()),))
    tagged = Combined(tuple(Object((Property("k", Const(str(n))),)) for n in range(60)), 1, 60)

    def multiply(limits: Limits) -> object:
        return multiply_out(base, [tagged, tagged], Intersector(Definitions(), limits), SchemaPath())

    found = multiply(Limits())
    assert isinstance(found, Union) and len(found.branches) == 60
    with pytest.raises(LimitExceeded, match="the combinations of schemas"):
        multiply(Limits(schema_nodes=3_000))
