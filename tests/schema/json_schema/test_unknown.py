"""Keys that are no keywords: slips and schemas without keywords are refused, others are logged once."""

from __future__ import annotations

import gzip
import json
import logging
import warnings
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.schema.json_schema import unknown
from structkit.testing import byte_vocabulary
from tests.shared import SHARED

OBJECT = {"type": "object"}


@pytest.mark.parametrize(
    ("schema", "place", "meant"),
    [
        ({"propertes": {}}, "$", "properties"),
        ({"Properties": {"a": {}}, **OBJECT}, "$", "properties"),
        ({"properties": {"a": {"type": "string", "minlength": 3}}}, "$.properties.a", "minLength"),
        ({"type": "string", "maxlenght": 3}, "$", "maxLength"),
        ({"type": "array", "item": {"type": "string"}}, "$", "items"),
        ({"anyof": [{"type": "string"}]}, "$", "anyOf"),
        ({"additonalProperties": False, **OBJECT}, "$", "additionalProperties"),
        ({"requierd": ["a"], **OBJECT}, "$", "required"),
        ({"tpye": "string"}, "$", "type"),
        ({"types": ["string"]}, "$", "type"),
        ({"ref": "#/$defs/a", "title": "A"}, "$", "$ref"),
        ({"$Ref": "#/$defs/a"}, "$", "$ref"),
        ({"enums": ["a", "b"], "title": "A"}, "$", "enum"),
        ({"type": "integer", "minimun": 3}, "$", "minimum"),
    ],
)
def test_a_slip_of_a_keyword_is_refused(schema: dict[str, Any], place: str, meant: str) -> None:
    with pytest.raises(
        sk.SchemaError, match=f"is not a keyword of JSON Schema\n  write {meant!r}".replace("$", "\\$")
    ) as caught:
        sk.to_regex(schema)
    assert caught.value.place == place
    assert sk.to_regex(sk.JsonSchema(schema, strict=False))
    (row,) = (row for row in sk.explain(schema).rows if row.how == "refused")
    assert f"write {meant!r}" in row.reason
    assert "unknown" in {row.how for row in sk.explain(sk.JsonSchema(schema, strict=False)).rows}


@pytest.mark.parametrize(
    "extra",
    [
        {"note": "x"},
        {"cost": 3},
        {"when": {"a": {}}},
        {"minimal": 3},
        {"_format": "date"},
        {"x-type": "string"},
        {"$allOf": [{}]},
        {"markdownDescription": "x"},
        {"order": 1},
        {"properties_": 1},
        {"typ": "text"},
        {"tsAdditionalProperties": False},
        {"xrequired": ["a"]},
        {"ref": "Name"},
        {"ref": 5},
        {"defs": {"a": {}}, "allOf": [{"$ref": "#/defs/a"}]},
    ],
)
def test_other_unknown_keywords_are_ignored(extra: dict[str, Any]) -> None:
    assert sk.to_regex({"type": "string", **extra}) == sk.to_regex({"type": "string"})


def test_a_function_with_a_schema_is_no_schema() -> None:
    function = {"name": "f", "description": "F.", "parameters": {"type": "object", "properties": {}}}
    with pytest.raises(sk.SchemaError, match=r"pass the schema in it, target\['parameters'\]"):
        sk.to_regex(function)
    assert sk.to_regex({"description": "Anything."}) == sk.to_regex({})


@pytest.mark.parametrize(
    ("schema", "place", "meant"),
    [
        ({"name": str}, "$", "TypedDict('Answer', {'name': str, ...})"),
        ({"name": "string"}, "$", "{'type': 'object', 'properties': {'name': {'type': 'string'}}}"),
        ({"age": "int"}, "$", "{'type': 'object', 'properties': {'age': {'type': 'integer'}}}"),
        ({"properties": {"a": {"b": "string"}}}, "$.properties.a", "'properties': {'b': {'type': 'string'}}"),
        ({"properties": {"a": "string"}}, "$.properties.a", "write {'type': 'string'}"),
        ({"properties": {"a": int}}, "$.properties.a", "write {'type': 'integer'}"),
        ({"type": "strng"}, "$", "write 'string'"),
        ({"openapi": "3.1.0", "paths": {}}, "$", "pass one of its schemas"),
        ({"name": "f", "parameters": {"type": "object"}}, "$", "target['parameters']"),
    ],
)
def test_what_was_meant_is_named(schema: dict[str, Any], place: str, meant: str) -> None:
    with pytest.raises(sk.SchemaError) as caught:
        sk.to_regex(schema)
    assert meant in caught.value.message and caught.value.place == place


def test_the_empty_schema_and_schemas_of_annotations_allow_everything() -> None:
    assert sk.to_regex({}) == sk.to_regex({"title": "Anything"}) == sk.to_regex({"x-order": 1})
    assert sk.to_regex({"properties": {"a": {"anything": True}}})


def test_unknown_keywords_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    unknown._report.cache_clear()
    with caplog.at_level(logging.INFO, "structkit"):
        for _ in range(2):
            sk.to_regex({"type": "string", "markdownDescription": "x", "x-order": 1})
    assert [record.getMessage() for record in caplog.records] == [
        "'markdownDescription' is not a keyword of JSON Schema and is ignored; structkit.explain shows where"
    ]


def test_the_names_of_other_libraries_are_logged_as_warnings(caplog: pytest.LogCaptureFixture) -> None:
    unknown._report_other.cache_clear()
    schema = {"type": "integer", "min": 5, "max": 9}
    assert sk.to_regex(schema) == sk.to_regex({"type": "integer"})
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", f"{name!r} is not a keyword of JSON Schema and is ignored; write '{name}imum'")
        for name in ("min", "max")
    ]


def test_unknown_formats_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    unknown._report.cache_clear()
    unknown.report_format.cache_clear()
    with caplog.at_level(logging.INFO, "structkit"):
        for _ in range(2):
            sk.to_regex({"items": {"type": "string", "format": "colour"}})
            sk.to_regex({"items": {"type": "string", "format": "e-mail"}})
            sk.to_regex({"type": "string", "format": "email"})
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "'colour' is not a known format and is ignored; structkit.explain shows where"),
        ("WARNING", "'e-mail' is not a known format and is ignored; write 'email'"),
    ]


def test_explain_says_that_a_schema_without_keywords_is_refused() -> None:
    for schema, remedy in (
        (
            {"json_schema": {"name": "x", "schema": {}}},
            "pass the schema in it, target['json_schema']['schema']",
        ),
        ({"name": "string"}, "keys of an object are properties"),
    ):
        (row,) = sk.explain(schema).rows
        assert row.how == "refused" and remedy in row.reason


class Plain:
    name: str


class Model(BaseModel):
    name: str


@dataclass
class Point:
    x: int


def test_classes_and_values_that_are_no_targets_are_named() -> None:
    for target, meant in (
        (Plain, r"write class Plain\(pydantic.BaseModel\)"),
        (Plain(), "pass the class Plain"),
        (Model(name="a"), "is a value\n  pass its class Model"),
        (Point(1), "is a value\n  pass its class Point"),
    ):
        with pytest.raises(sk.SchemaError, match=meant):
            sk.to_regex(target)  # type: ignore[arg-type]


def test_a_model_of_pydantic_1_is_named() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        v1 = pytest.importorskip("pydantic.v1", reason="pydantic has no version 1 here")
        old = type("Old", (v1.BaseModel,), {"__annotations__": {"name": str}})
        for target in (old, list[old], old | None):
            with pytest.raises(sk.SchemaError, match="Old is a model of pydantic 1\n  derive it"):
                sk.to_regex(target)


@pytest.mark.skipif(not (SHARED / "data/maskbench").exists(), reason="the schemas of MaskBench are not there")
def test_few_schemas_of_maskbench_are_refused() -> None:
    """Two have the slip `additonalProperties`, and one has only the name of a property."""
    refused = []
    with gzip.open(SHARED / "data/maskbench/sample.jsonl.gz") as lines:
        for line in lines:
            entry = json.loads(line)
            pending: list[object] = [entry["schema"]]
            try:
                unknown.check_unknown(entry["schema"], unknown.SchemaPath())
                while pending:
                    value = pending.pop()
                    if isinstance(value, dict):
                        for key in ("properties", "definitions", "$defs"):
                            inner = value.get(key)
                            pending += inner.values() if isinstance(inner, dict) else ()
                        if value is not entry["schema"] and not value.keys() & {"properties", "definitions"}:
                            unknown.check_unknown(value, unknown.SchemaPath(f"{value.get('title')}"))
            except sk.SchemaError:
                refused.append(entry["id"])
    assert len(refused) <= 3


def test_keys_that_are_no_keywords_are_work_and_those_that_a_reference_uses_are_read_once() -> None:
    schema = {"type": "integer", **{f"note {number}": number for number in range(200)}}
    with pytest.raises(sk.LimitExceeded, match="the work on the schema exceeds the limit work=10000"):
        sk.compile(schema, byte_vocabulary(), cache=False, limits=sk.Limits(work=10_000))
    slips = [f"prop{first}{second}ties" for first in "abcdfghij" for second in "abcdfghij"]
    walked: list[object] = []

    class Watched(dict[str, object]):
        def values(self) -> Any:
            walked.append(self)
            return super().values()

    root = Watched({name: {"x": {}} for name in slips})
    root |= {"type": "object", "allOf": [{"$ref": f"#/{name}/x"} for name in slips]}
    unknown.check_unknown(root, unknown.SchemaPath())
    assert len(walked) < 5
    with pytest.raises(sk.SchemaError, match="is not a keyword of JSON Schema"):
        unknown.check_unknown({**root, "allOf": []}, unknown.SchemaPath())
