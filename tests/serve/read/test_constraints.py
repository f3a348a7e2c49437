"""Constraints of requests: what each spelling gives, and the error that names the field."""

from __future__ import annotations

import json
from typing import Any

import pytest

import structkit as sk
from structkit.limits import Limits
from structkit.serve.bounds.api_error import ApiError
from structkit.serve.read.constraints import Constraint, read_constraint, read_text_constraint
from structkit.serve.read.fields import HALF_PAIR, Fields
from structkit.targets.specs import Choice, JsonSchema, Regex

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
CLOSED = JsonSchema(SCHEMA, additional="closed", bounded_numbers=True)
OBJECT = JsonSchema({"type": "object"}, bounded_numbers=True)


def _read(body: dict[str, Any]) -> Constraint | None:
    """Return the constraint of a chat completion, which is that of the response with the same format."""
    found = read_constraint(Fields(body))
    given = body.get("response_format")
    if given is not None:
        named = {**given.get("json_schema", {}), "type": given["type"]}
        body = {**body, "text": {"format": named}}
    twin = read_text_constraint(Fields(body))
    if found is None or twin is None:
        assert found is twin is None
    else:
        assert found.target(Limits()) == twin.target(Limits()) and found.is_json == twin.is_json
        assert twin.param == (found.param or "").replace(
            "response_format.json_schema", "text.format"
        ).replace("response_format", "text.format")
    return found


@pytest.mark.parametrize(
    ("body", "target", "param"),
    [
        ({"response_format": {"type": "json_object"}}, OBJECT, "response_format.type"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
            CLOSED,
            "response_format.json_schema.schema",
        ),
        ({"structured_outputs": {"json": SCHEMA}}, CLOSED, "structured_outputs.json"),
        ({"structured_outputs": {"json": json.dumps(SCHEMA)}}, CLOSED, "structured_outputs.json"),
        ({"structured_outputs": {"json_object": True}}, OBJECT, "structured_outputs.json_object"),
        ({"structured_outputs": {"regex": "a+"}}, Regex("a+"), "structured_outputs.regex"),
        ({"structured_outputs": {"choice": ["a", "b"]}}, Choice(["a", "b"]), "structured_outputs.choice"),
        (
            {"structured_outputs": {"grammar": 'start: "a"'}},
            sk.Grammar('start: "a"\n'),
            "structured_outputs.grammar",
        ),
        (
            {"structured_outputs": {"grammar": 'root ::= "a"'}},
            sk.Grammar('root ::= "a"\n', syntax="gbnf"),
            "structured_outputs.grammar",
        ),
        ({"response_format": {"type": "text"}}, None, None),
        (
            {"structured_outputs": {"json_object": False, "regex": "b"}},
            Regex("b"),
            "structured_outputs.regex",
        ),
        ({}, None, None),
    ],
)
def test_each_spelling_has_its_target_and_its_field(
    body: dict[str, Any], target: object, param: str | None
) -> None:
    found = _read(body)
    if found is None:
        assert target is None
        return
    assert (found.target(Limits()), found.param, found.is_free) == (target, param, False)
    assert found.is_json == isinstance(target, JsonSchema)


@pytest.mark.parametrize(
    ("outer", "inner", "both"),
    [
        ("of the format", None, "of the format"),
        ("of the format", "own", "of the format\nown"),
        ("of the format", "", "of the format"),
        ("", "own", "own"),
        (None, None, None),
        ("of the format", 5, 5),
    ],
)
def test_the_description_of_a_format_is_before_that_of_its_schema(
    outer: str | None, inner: object, both: object
) -> None:
    schema = SCHEMA if inner is None else {**SCHEMA, "description": inner}
    found = _read(
        {"response_format": {"type": "json_schema", "json_schema": {"schema": schema, "description": outer}}}
    )
    assert found is not None
    target = found.target(Limits())
    assert isinstance(target, JsonSchema) and target.schema == (
        SCHEMA if both is None else {**SCHEMA, "description": both}
    )


@pytest.mark.parametrize("text", [None, {}, {"verbosity": "medium"}, {"format": None}, {"verbosity": None}])
def test_a_text_without_a_format_is_free(text: object) -> None:
    assert read_text_constraint(Fields({"text": text})) is None
    regex = read_text_constraint(Fields({"text": text, "structured_outputs": {"regex": "a"}}))
    assert regex is not None and regex.target(Limits()) == Regex("a")


FORMAT = "response_format.json_schema"
GIVEN = "structured_outputs"


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        (
            {"response_format": {"type": "json_object"}, GIVEN: {"regex": "a"}},
            f"{GIVEN}.regex",
            "response_format.type and structured_outputs.regex both constrain the answer; give one of them",
        ),
        (
            {GIVEN: {"json": {}, "choice": ["a"]}},
            f"{GIVEN}.choice",
            "structured_outputs.json and structured_outputs.choice both constrain the answer; give one of them",
        ),
        (
            {"response_format": {"type": "json_schema"}},
            FORMAT,
            f"{FORMAT} is required: {{name, schema}}",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
            f"{FORMAT}.schema",
            f"{FORMAT}.schema is required",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"nme": "x", "schema": {}}}},
            f"{FORMAT}.nme",
            "unknown field 'nme'; write name",
        ),
        (
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"schema": {"x-structkit-grammar": []}},
                }
            },
            f"{FORMAT}.schema",
            "the keyword 'x-structkit-grammar' is not accepted from clients",
        ),
        (
            {GIVEN: {}},
            GIVEN,
            "structured_outputs must have one of json, json_object, regex, choice, grammar",
        ),
        ({GIVEN: {"json": 5}}, f"{GIVEN}.json", "structured_outputs.json must be an object"),
        (
            {GIVEN: {"json": "["}},
            f"{GIVEN}.json",
            "structured_outputs.json must be a JSON Schema: the body is not JSON: "
            "Expecting value: line 1 column 2 (char 1)",
        ),
        *(
            (
                {GIVEN: {"choice": choice}},
                f"{GIVEN}.choice",
                "structured_outputs.choice must be an array of strings that are not empty",
            )
            for choice in ([], [""], ["a", 5], ["a", ""])
        ),
        (
            {GIVEN: {"choice": ["a", "b", "a"]}},
            f"{GIVEN}.choice",
            "structured_outputs.choice has the same string twice",
        ),
        (
            {GIVEN: {"choice": ["a", "\ud800"]}},
            f"{GIVEN}.choice",
            f"structured_outputs.choice {HALF_PAIR}",
        ),
        (
            {GIVEN: {"choice": ["a"] * 10_001}},
            f"{GIVEN}.choice",
            "structured_outputs.choice must have at most 10,000 items",
        ),
        *(
            ({GIVEN: {"json": {"x": place}}}, f"{GIVEN}.json", f"structured_outputs.json {HALF_PAIR}")
            for place in ("\ud800", ["\ud800"], {"\ud800": 1}, [[{"a": {"b": "\udfff"}}]])
        ),
    ],
)
def test_faults_name_the_field(body: dict[str, Any], param: str, message: str) -> None:
    with pytest.raises(ApiError) as error:
        read_constraint(Fields(body))
    assert (error.value.message, error.value.param, error.value.status) == (message, param, 400)


def test_a_response_reads_the_verbosity_of_its_text() -> None:
    with pytest.raises(ApiError, match=r"^text\.verbosity is not supported; leave it out, or give 'medium'$"):
        read_text_constraint(Fields({"text": {"verbosity": "low"}}))
    with pytest.raises(ApiError, match=r"^unknown field 'formt'; write format$"):
        read_text_constraint(Fields({"text": {"formt": {}}}))
