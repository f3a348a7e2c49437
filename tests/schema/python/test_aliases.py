"""Paths of aliases: in which values they lead to a value, compared with pydantic."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import AliasPath
from pydantic_core import PydanticUndefined

from structkit.schema.python.aliases import _with_path

_LEAVES: list[Any] = [1, [], [1], {"a": 1}, {}, {"b": [1]}, [[1], 2, {"a": 3}]]
VALUES = [
    *_LEAVES,
    *({"a": leaf, "b": 1} for leaf in _LEAVES),
    *([leaf] for leaf in _LEAVES),
    *([0, leaf] for leaf in _LEAVES),
]
STEPS = ["a", "b", 0, 1, 2, -1, -2]


@pytest.mark.parametrize("length", [0, 1, 2])
def test_a_path_leads_to_a_value_where_pydantic_finds_one(length: int) -> None:
    """What follows a negative index is not looked at, so that more values count as those with the path."""
    for path in product(STEPS, repeat=length):
        validator = Draft202012Validator(_with_path(path))
        is_exact = not any(isinstance(step, int) and step < 0 for step in path[:-1])
        for value in VALUES:
            is_found = AliasPath("x", *path).search_dict_for_path({"x": value}) is not PydanticUndefined
            is_valid = validator.is_valid(value)
            assert is_valid == is_found if is_exact else is_valid >= is_found, (path, value)
