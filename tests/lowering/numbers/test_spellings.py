"""The spellings of numbers, of which none is accepted whose value is invalid."""

from __future__ import annotations

import json
from itertools import pairwise, product

import pytest

from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.schema.json_schema.validate import make_checker
from structkit.targets.targets import read_target

_NUMBERS = ["0", "1", "2", "3", "10", "0.5", "1.5", "2.5", "0.25", "0.3"]
_TEXTS = [
    *(sign + number + end
      for sign, number in product(("", "-"), _NUMBERS)
      for end in (("", "0", "00", "e0") if "." in number else ("", ".0", ".00", "e0"))),
    "5e-1", "50e-2", "0.05e1", "1E0", "1e1", "10e-1", "100e-2", "-0e5", "15e-1", "0.15e+1",
]  # fmt: skip
_PARTS: list[dict[str, object]] = [
    {"multipleOf": 1}, {"multipleOf": 0.5}, {"multipleOf": 0.3}, {"multipleOf": 2}, {"type": "integer"}, {"const": 0.5},
    {"const": 1}, {"enum": [0, 2.5]}, {"minimum": 1}, {"exclusiveMaximum": 1.5}, {"maximum": -0.5},
]  # fmt: skip
_SCHEMAS: list[dict[str, object]] = [
    *({"type": "number", "not": part} for part in _PARTS),
    *({"type": "number", "not": {"anyOf": [one, other]}}
      for one, other in ((_PARTS[0], _PARTS[5]), (_PARTS[1], _PARTS[2]), (_PARTS[3], _PARTS[8]))),
    {"type": "integer", "not": {"anyOf": [{"multipleOf": 2}, {"minimum": 1}]}},
    *({"oneOf": [one, other]} for one, other in pairwise(_PARTS)),
    *({"if": one, "then": {"minimum": 2}, "else": {"maximum": 1}} for one in _PARTS[:4]),
    {"type": "number", "multipleOf": 0.5, "not": {"multipleOf": 1}},
]  # fmt: skip


@pytest.mark.parametrize("schema", _SCHEMAS, ids=json.dumps)
def test_no_spelling_of_an_invalid_number_is_accepted(schema: dict[str, object]) -> None:
    reader, check = Reader(link(read_target(schema).rules())), make_checker(schema)
    for text in _TEXTS:
        is_valid = check(json.loads(text)) is None
        assert is_valid or not reader.accepts(text.encode()), text
        value = json.loads(text)
        if is_valid and text == json.dumps(value) and text != "-0.0":
            assert reader.accepts(text.encode()), text
