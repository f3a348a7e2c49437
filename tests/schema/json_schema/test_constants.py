"""The constants of `enum` beside `type` and `const`, compared with jsonschema."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from structkit.limits import Limits
from structkit.schema.ir.keywords import JsonType
from structkit.schema.ir.path import SchemaPath
from structkit.schema.json_schema.constants import enum_constants

VALUES: list[Any] = ["a", "", None, True, False, 1, 1.0, 1.5, 0, {}, {"a": 1}, {"a": 1.0}, [], [1], [True]]


def _constants(raw: dict[str, Any], values: list[Any], types: tuple[JsonType, ...] | None) -> list[str]:
    return [node.text for node in enum_constants(raw, values, types, SchemaPath(), Limits())]


@pytest.mark.parametrize("size", [0, 1, 2])
def test_each_value_of_the_types_is_a_constant_once(size: int) -> None:
    for types in combinations(get_args(JsonType), size):
        raw: dict[str, Any] = {"enum": VALUES, **({"type": list(types)} if types else {})}
        validator = Draft202012Validator(raw)
        found = _constants(raw, VALUES, types or None)
        expected: list[Any] = []
        for value in filter(validator.is_valid, VALUES):
            if not any(Draft202012Validator({"const": other}).is_valid(value) for other in expected):
                expected.append(value)
        assert found == [json.dumps(value, separators=(",", ":")) for value in expected], types


def test_a_const_beside_an_enum_is_the_only_constant() -> None:
    for const in (*VALUES, "b", 2, [2]):
        raw = {"enum": VALUES, "const": const}
        found = _constants(raw, VALUES, None)
        validator = Draft202012Validator(raw)
        assert len(found) == any(map(validator.is_valid, VALUES))
        assert all(validator.is_valid(json.loads(text)) for text in found)
    assert _constants({"const": 3}, [3], ("string",)) == [] and _constants({"const": 3}, [3], None) == ["3"]
