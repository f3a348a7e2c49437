"""Combined JSON Schemas with all small values, compared with `jsonschema`: neither too loose nor too strict."""

from __future__ import annotations

from random import Random

import pytest

from tests.schema.small import combined, differences, referring
from tests.shared import cases


@pytest.mark.long(every=4)
@pytest.mark.parametrize("seed", range(cases(5, of=100)))
def test_combined_schemas_accept_exactly_the_valid_values(seed: int) -> None:
    random = Random(seed)
    refused = 0
    for number in range(12):
        schema = (referring if number % 3 else combined)(random, 3)
        found = differences(schema, random.choice(["declared", "any"]))
        assert not found, (schema, found)
        refused += found is None
    assert refused <= 9
