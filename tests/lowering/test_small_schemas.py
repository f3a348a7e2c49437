"""Scalars, arrays and objects with all small values, compared with `jsonschema`: neither too loose nor too strict."""

from __future__ import annotations

from random import Random

import pytest

from tests.schema.small import differences, nested
from tests.shared import cases


@pytest.mark.long(every=4)
@pytest.mark.parametrize("seed", range(cases(5, of=100)))
def test_nested_schemas_accept_exactly_the_valid_values(seed: int) -> None:
    random = Random(seed)
    for _ in range(10):
        schema = nested(random, 3)
        found = differences(schema, random.choice(["declared", "any"]))
        assert found is not None, schema
        assert not found, (schema, found)
