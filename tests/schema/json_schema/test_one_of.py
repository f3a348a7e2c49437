"""`oneOf`: exactly one alternative matches, against jsonschema."""

from __future__ import annotations

import random
from itertools import product

import pytest
from jsonschema import Draft202012Validator

import structkit as sk
from structkit.limits import Limits
from structkit.schema.ir.nodes import Const, Union
from tests.schema.reading import read
from tests.schema.semantics import holds
from tests.shared import cases

VALUES = [
    None, True, 1, 2.5, "", "x", [], [1], ["x"], {},
    *({"k": k, "v": v} for k, v in product(("a", "b", 1), (1, "x", {"k": "a"}))),
    *({"k": k} for k in "abc"),
    *({"v": v} for v in (1, "x", None)),
]  # fmt: skip
ALTERNATIVES = [
    {},
    {"properties": {"k": {"const": "a"}}, "required": ["k"]},
    {"properties": {"k": {"const": "b"}}, "required": ["k"]},
    {"properties": {"k": {"enum": ["a", "c"]}, "v": {"type": "integer"}}},
    {"properties": {"k": {"pattern": "^a$"}}, "additionalProperties": False},
    {"type": "object", "required": ["v"]},
    {"type": ["string", "object"], "minLength": 1},
    {"items": {"type": "integer"}},
    {"type": ["array", "null"]},
    {"type": "number", "minimum": 2},
    {"minimum": 2},
    {"enum": [1, "x", None]},
    {"$ref": "#/$defs/node"},
    {"$ref": "#/$defs/other"},
]
DEFINITIONS = {
    "node": {"properties": {"k": {"const": "a"}, "v": {"$ref": "#/$defs/node"}}, "required": ["k"]},
    "other": {
        "properties": {"k": {"const": "b"}, "v": {"oneOf": [{"$ref": "#/$defs/node"}, {"type": "integer"}]}}
    },
}


@pytest.mark.parametrize("seed", range(cases(60, of=600)))
def test_exactly_one_alternative_matches(seed: int) -> None:
    chance = random.Random(seed)
    schema = {
        "oneOf": [chance.choice(ALTERNATIVES) for _ in range(chance.randint(2, 5))],
        "$defs": DEFINITIONS,
        **chance.choice([{}, {"type": "object"}, {"properties": {"v": {"type": ["integer", "object"]}}}]),
    }
    validator = Draft202012Validator(schema)
    valid = [value for value in VALUES if validator.is_valid(value)]
    if not valid:
        return  # the schema may be unsatisfiable
    for products in ("many", "always", "never"):
        document = read(schema, products=products)
        assert [value for value in VALUES if holds(document, value)] == valid


def test_alternatives_without_a_type_are_told_apart_by_their_key() -> None:
    tagged = {
        f"t{n}": {
            "properties": {"tag": {"const": f"t{n}"}, "inner": {"$ref": "#"}, f"k{n}": {"type": "string"}},
            "required": ["tag"],
            "additionalProperties": False,
        }
        for n in range(200)
    }
    schema = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in tagged], "$defs": tagged}
    document = read(schema, limits=Limits(schema_nodes=5_000))
    assert holds(document, {"tag": "t7", "inner": {"tag": "t199"}, "k7": "x"})
    assert not holds(document, {"tag": "t7", "k8": "x"})
    assert not holds(document, "t7")


def test_a_pattern_of_one_text_is_a_constant() -> None:
    assert read({"type": "string", "pattern": r"^a\.b-1$"}).root == Const('"a.b-1"')
    assert not isinstance(read({"type": "string", "pattern": "^a.b$"}).root, Const)


def test_alternatives_for_the_values_of_an_enum_are_few() -> None:
    names = [f"Task{n}@1" for n in range(150)]
    schema = {
        "type": "object",
        "properties": {"task": {"enum": names}, "inputs": {"type": "object"}},
        "anyOf": [
            {
                "properties": {
                    "task": {"pattern": f"^{name}$"},
                    "inputs": {"properties": {"a": {"const": name}}},
                }
            }
            for name in names
        ],
        "required": ["task"],
        "additionalProperties": False,
    }
    document = read(schema, limits=Limits(schema_nodes=60_000))
    root = document.root
    assert isinstance(root, Union)
    assert len(root.branches) == len(names)
    assert holds(document, {"task": "Task7@1", "inputs": {"a": "Task7@1"}})
    assert not holds(document, {"task": "Task7@1", "inputs": {"a": "Task8@1"}})


@pytest.mark.long(every=2)
@pytest.mark.parametrize("count", [1, 2])
def test_alternatives_with_an_optional_tag_are_narrowed(count: int, caplog: pytest.LogCaptureFixture) -> None:
    """Each alternative is an object, or a union of objects with a tag each."""

    def alternative(number: int) -> dict[str, object]:
        spec = {f"{part}{number}": {"type": "string"} for part in "abcde"} | {"token": {"type": "string"}}
        return {
            "type": "object",
            "properties": {
                "kind": {"const": f"kind{number}"},
                "spec": {"type": "object", "properties": spec, "additionalProperties": False},
                "others": {"type": "object", "additionalProperties": {"type": "array", "maxItems": number}},
            },
            "additionalProperties": False,
        }

    numbers = range(1, 20)
    alternatives = [
        {"anyOf": [alternative(number + 100 * each) for each in range(count)]} for number in numbers
    ]
    schema = {"oneOf": alternatives}
    with caplog.at_level("WARNING", logger="structkit"):
        document = read(schema)
    assert document.narrowed == ("$",) and "left out of the oneOf at $" in caplog.text
    rows = [row for row in sk.explain(schema).rows if row.reason]
    assert [(row.path, row.keyword, row.how) for row in rows] == [("$", "oneOf", "enforced")]
    assert "only objects are written that one key tells apart" in rows[0].reason
    assert holds(document, {"kind": "kind3", "spec": {"a3": "x"}, "others": {"z": [1]}})
    assert not holds(document, {"kind": "kind3", "spec": {"a4": "x"}})
    assert not holds(document, {"spec": {"token": "x"}})
    assert holds(document, {"kind": "kind103"}) == (count == 2)


def test_a_narrowed_alternative_is_subtracted_as_it_was() -> None:
    tagged = [{"properties": {"tag": {"const": n}}, "type": "object"} for n in range(3)]
    document = read({"type": "object", "not": {"oneOf": tagged}, "properties": {"tag": {"type": "integer"}}})
    assert [holds(document, value) for value in ({}, {"tag": 0}, {"tag": 7})] == [True, False, True]
