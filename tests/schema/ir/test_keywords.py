"""Keyword tables."""

from __future__ import annotations

import ipaddress
import re

import pydantic
import pytest
from jsonschema import Draft4Validator, Draft7Validator, Draft202012Validator
from pydantic import TypeAdapter

from structkit.schema.ir.keywords import ANNOTATIONS, FORMATS, IMPLEMENTED, PYTHON_FORMATS, with_flags
from structkit.schema.ir.nodes import Format
from tests.schema.reading import read
from tests.schema.semantics import holds

FORBIDDEN: dict[str, tuple[object, object]] = {
    "$anchor": ({"$ref": "#a", "$defs": {"x": {"$anchor": "a", "type": "null"}}}, 1),
    "$defs": ({"$ref": "#/$defs/x", "$defs": {"x": {"type": "null"}}}, 1),
    "$dynamicAnchor": ({"$dynamicRef": "#a", "$defs": {"x": {"$dynamicAnchor": "a", "type": "null"}}}, 1),
    "$dynamicRef": ({"items": {"$dynamicRef": "#"}, "type": "array"}, [1]),
    "$recursiveAnchor": ({"items": {"$recursiveRef": "#"}, "type": "array", "$recursiveAnchor": True}, [1]),
    "$recursiveRef": ({"items": {"$recursiveRef": "#"}, "type": "array"}, [1]),
    "$id": ({"$ref": "x.json", "$defs": {"x": {"$id": "x.json", "type": "null"}}}, 1),
    "$ref": ({"items": {"$ref": "#"}, "type": "array"}, [1]),
    "$schema": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$ref": "#/a",
            "a": {"type": "null"},
            "const": 1,
        },
        1,
    ),
    "additionalItems": ({"items": [True], "additionalItems": False}, [1, 2]),
    "additionalProperties": ({"additionalProperties": False}, {"a": 1}),
    "allOf": ({"allOf": [{"type": "null"}]}, 1),
    "anyOf": ({"anyOf": [{"type": "null"}]}, 1),
    "const": ({"const": 2}, 1),
    "contains": ({"contains": {"type": "null"}}, [1]),
    "definitions": ({"$ref": "#/definitions/x", "definitions": {"x": {"type": "null"}}}, 1),
    "dependencies": ({"dependencies": {"a": ["b"]}}, {"a": 1}),
    "dependentRequired": ({"dependentRequired": {"a": ["b"]}}, {"a": 1}),
    "dependentSchemas": ({"dependentSchemas": {"a": {"maxProperties": 1}}}, {"a": 1, "b": 2}),
    "else": ({"if": {"type": "null"}, "else": {"type": "string"}}, 1),
    "enum": ({"enum": [2, 3]}, 1),
    "exclusiveMaximum": ({"exclusiveMaximum": 1}, 1),
    "exclusiveMinimum": ({"exclusiveMinimum": 1}, 1),
    "format": ({"format": "date"}, "2024-02-30"),
    "if": ({"if": {"minimum": 1}, "then": {"maximum": 3}}, 4),
    "items": ({"items": {"type": "null"}}, [1]),
    "maxContains": ({"contains": {"type": "null"}, "maxContains": 1}, [None, None]),
    "maxItems": ({"maxItems": 1}, [1, 2]),
    "maxLength": ({"maxLength": 1}, "ab"),
    "maxProperties": ({"maxProperties": 0}, {"a": 1}),
    "maximum": ({"maximum": 0}, 1),
    "minContains": ({"contains": {"type": "null"}, "minContains": 2}, [None, 1]),
    "minItems": ({"minItems": 1}, []),
    "minLength": ({"minLength": 1}, ""),
    "minProperties": ({"minProperties": 1}, {}),
    "minimum": ({"minimum": 2}, 1),
    "multipleOf": ({"multipleOf": 2}, 1),
    "not": ({"not": {"type": "null"}}, None),
    "nullable": ({"type": "string", "nullable": False}, None),
    "oneOf": ({"oneOf": [{"type": "null"}]}, 1),
    "pattern": ({"pattern": "^a"}, "b"),
    "patternProperties": ({"patternProperties": {"": {"type": "null"}}}, {"a": 1}),
    "prefixItems": ({"prefixItems": [{"type": "null"}]}, [1]),
    "properties": ({"properties": {"a": {"type": "null"}}}, {"a": 1}),
    "propertyNames": ({"propertyNames": {"maxLength": 1}}, {"ab": 1}),
    "required": ({"required": ["a"]}, {}),
    "then": ({"if": {"type": "null"}, "then": False}, None),
    "type": ({"type": "null"}, 1),
    "unevaluatedItems": ({"prefixItems": [True], "unevaluatedItems": False}, [1, 1]),
    "unevaluatedProperties": (
        {"anyOf": [{"properties": {"a": True}}], "unevaluatedProperties": False},
        {"b": 1},
    ),
    "uniqueItems": ({"uniqueItems": True}, [1, 1]),
}
"""For each implemented keyword: a schema with the keyword, and a value that it forbids."""


@pytest.mark.parametrize("keyword", sorted(IMPLEMENTED))
def test_implemented_keywords_restrict_values(keyword: str) -> None:
    schema, value = FORBIDDEN[keyword]
    assert not holds(read(schema), value)  # type: ignore[arg-type]


def test_no_keyword_is_in_two_tables() -> None:
    assert IMPLEMENTED.isdisjoint(ANNOTATIONS)


def test_every_keyword_of_the_specification_is_in_a_table() -> None:
    """All keywords that validators assert are implemented, and none is an annotation."""
    asserted = {
        keyword
        for validator in (Draft4Validator, Draft7Validator, Draft202012Validator)
        for keyword in validator.VALIDATORS
    }
    assert asserted <= IMPLEMENTED


def test_private_formats_do_not_collide_with_the_specification() -> None:
    """Formats with a name of the specification have the meaning of the specification."""
    changed = {
        name: replacement
        for name, replacement in PYTHON_FORMATS.items()
        if name in FORMATS and replacement != Format(name)
    }
    assert set(changed) == {"email", "ipv4", "ipv6"}
    assert all(
        replacement is not None and replacement.name.startswith("python:") for replacement in changed.values()
    )


def test_each_uuid_type_of_pydantic_has_its_version() -> None:
    types = {name: getattr(pydantic, name) for name in dir(pydantic) if re.fullmatch(r"UUID\d", name)}
    assert len(types) >= 6
    for name, each in types.items():
        written = TypeAdapter(each).json_schema()["format"]
        assert PYTHON_FORMATS[written] == Format("python:uuid", (("version", int(name[-1])),))


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("kind", ["Address", "Interface", "Network"])
def test_each_type_of_ip_has_its_version(kind: str, version: int) -> None:
    written = TypeAdapter(getattr(ipaddress, f"IPv{version}{kind}")).json_schema()["format"]
    assert PYTHON_FORMATS[written] == Format(f"python:ip-{kind.lower()}", (("version", version),))


@pytest.mark.parametrize(
    ("flags", "letters"),
    [
        (0, ""),
        (re.A, "(?a)"),
        (re.I, "(?i)"),
        (re.M, "(?m)"),
        (re.S, "(?s)"),
        (re.X, "(?x)"),
        (re.I | re.S, "(?is)"),
    ],
)
def test_a_compiled_pattern_has_its_flags_in_its_text(flags: int, letters: str) -> None:
    pattern = re.compile("a b", flags)
    assert with_flags(pattern) == f"{letters}a b"
    assert re.compile(with_flags(pattern)).flags == pattern.flags
