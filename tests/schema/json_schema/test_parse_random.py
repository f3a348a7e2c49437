"""The parser of JSON Schema against jsonschema, and its caches against themselves."""

from __future__ import annotations

import gzip
import json
import warnings

import pytest
from hypothesis import HealthCheck, example, given, reject, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from structkit.errors import (
    LimitExceeded,
    SchemaError,
    UnsatisfiableSchema,
)
from structkit.limits import Limits
from structkit.schema.algebra import prune
from structkit.schema.ir.nodes import Document, Object, Ref
from tests.schema.reading import read
from tests.schema.semantics import holds
from tests.schema.values import is_valid, json_values, schemas
from tests.shared import SHARED, cases


def _declares(key: str) -> dict[str, object]:
    return {"type": "object", "properties": {key: {"type": "integer"}}, "required": [key]}


def test_supported_maskbench_schemas_classify_all_instances() -> None:
    """All supported schemas, except very long ones, classify all instances correctly; formats are asserted."""
    path = SHARED / "data" / "maskbench" / "sample.jsonl.gz"
    if not path.exists():
        pytest.skip(f"the MaskBench sample is not at {path}")
    wrong, documents = [], 0
    with gzip.open(path, "rt", encoding="utf-8") as lines, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # from patterns of the schemas
        for line in lines:
            if len(line) > 50_000:  # a few very long schemas take most of the time
                continue
            entry = json.loads(line)
            try:
                document = read(entry["schema"])
            except (SchemaError, LimitExceeded):
                continue
            documents += 1
            wrong += [
                entry["id"] for test in entry["tests"] if holds(document, test["data"]) != test["valid"]
            ]
    assert wrong == []
    assert documents >= 1106


_PARTLY_SUPPORTED = ("contains", "format", "items", "minProperties", "multipleOf", "uniqueItems")
"""Keywords that are not supported in every combination."""


def _read_or_none(schema: object) -> Document | None:
    """Return the document, `None` if it is unsatisfiable; unsupported examples are skipped."""
    try:
        return read(schema)  # type: ignore[arg-type]
    except UnsatisfiableSchema:
        return None
    except SchemaError as error:
        is_circular = "only to itself" in error.message or "leads back" in error.message
        if is_circular or getattr(error, "keyword", None) in _PARTLY_SUPPORTED:
            reject()
        raise
    except LimitExceeded:  # self-references can multiply before they are detected
        reject()


@settings(max_examples=cases(15, of=80), deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas, schemas, st.lists(json_values, min_size=1, max_size=8))
def test_random_schemas_agree_with_jsonschema(schema: object, other: object, values: list[object]) -> None:
    if isinstance(schema, dict):
        schema = {**schema, "$defs": {"x": other}}
    document = _read_or_none(schema)
    validator = Draft202012Validator(schema)  # type: ignore[arg-type]
    for value in values:
        valid = is_valid(validator, value)
        assert (document is not None and holds(document, value)) == valid


def test_equal_subschemas_are_cached_by_base_uri() -> None:
    many = {f"k{i}": {"type": "integer", "minimum": i} for i in range(120)}
    same = {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "required": ["a"]}
    schema = {
        "properties": {
            **many,
            "one": {"oneOf": [same, {"type": "null"}]},
            "two": {"oneOf": [same, {"type": "null"}]},
        },
        "$defs": {
            "x": {"type": "string"},
            "other": {"$id": "https://example.com/other", "$defs": {"x": {"type": "boolean"}}, "items": same},
        },
        "additionalProperties": {"$ref": "https://example.com/other"},
    }
    document = read(schema)
    for value, valid in (
        ({"one": {"a": "x"}, "two": {"a": "x"}}, True),
        ({"two": {"a": True}}, False),
        ({"two": None, "else": [{"a": True}]}, True),
        ({"else": [{"a": "x"}]}, False),
    ):
        assert holds(document, value) == valid == Draft202012Validator(schema).is_valid(value), value


def test_equal_subschemas_of_a_large_schema_are_parsed_once() -> None:
    large = {"properties": {f"k{i}": {"type": "string", "maxLength": i} for i in range(500)}}
    read({"properties": {f"p{i}": large for i in range(900)}}, limits=Limits(schema_nodes=3_000))


@settings(max_examples=cases(25, of=150), deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas)
@example(
    {
        "properties": {"a": {"not": {}}, "b": {"type": "array", "items": False, "minItems": 1}},
        "required": ["b"],
    }
)
@example({"type": "array", "uniqueItems": True, "items": {"enum": [1, 2]}, "minItems": 2})
@example({"anyOf": [{"type": "object", "properties": {"a": False}, "required": ["a"]}, {"type": "null"}]})
@example({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})
@example(
    {"type": "object", "properties": {"a": {"$ref": "#"}}, "minProperties": 1, "additionalProperties": False}
)
@example({"type": "array", "items": {"$ref": "#"}, "minItems": 1})
@example({"type": ["array", "null"], "items": {"$ref": "#"}, "minItems": 1})
@example(
    {
        "type": "object",
        "properties": {"a": {"anyOf": [{"enum": []}, {"allOf": [{"minimum": 2}, {"maximum": 1}]}]}},
    }
)
def test_skipping_pruning_does_not_change_the_result(schema: object) -> None:
    if isinstance(schema, dict):
        schema = {**schema, "$defs": {"x": True}}
    found = _read_or_none(schema)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prune, "_prune_satisfiable", lambda definitions: None)
        assert repr(_read_or_none(schema)) == repr(found)


@pytest.mark.parametrize(
    ("schema", "order"),
    [
        ({"allOf": [_declares("b")], **_declares("a")}, ["b", "a"]),
        ({**_declares("a"), "allOf": [_declares("b")]}, ["a", "b"]),
        ({**_declares("a"), "$ref": "#/$defs/b", "$defs": {"b": _declares("b")}}, ["a", "b"]),
        ({"$ref": "#/$defs/b", **_declares("a"), "$defs": {"b": _declares("b")}}, ["b", "a"]),
        ({"anyOf": [_declares("b")], **_declares("a")}, ["a", "b"]),
        ({"oneOf": [_declares("b")], "allOf": [_declares("c")], **_declares("a")}, ["c", "a", "b"]),
    ],
)
def test_keys_have_the_order_of_the_keywords_that_declare_them(
    schema: dict[str, object], order: list[str]
) -> None:
    document = read(schema)
    root = document.definitions[document.root.name] if isinstance(document.root, Ref) else document.root
    assert isinstance(root, Object)
    assert [key.name for key in root.properties if key.name in "abc"] == order
