"""Keywords that depend on the draft of a schema."""

from __future__ import annotations

import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

import structkit as sk


@pytest.mark.parametrize(
    "keywords",
    [
        {"type": "integer"},
        {"type": ["integer", "null"]},
        {"type": "integer", "enum": [1, 2]},
        {"type": "integer", "enum": [1.0, 2.5]},
        {"type": "integer", "minimum": 0, "maximum": 90},
        {"type": "integer", "multipleOf": 1},
    ],
)
def test_integers_of_draft_4_have_no_point(keywords: dict[str, Any]) -> None:
    draft4 = {"$schema": "http://json-schema.org/draft-04/schema#", **keywords}
    for schema, is_integer in ((draft4, False), (keywords, True)):
        pattern = sk.to_regex(schema)
        assert re.fullmatch(pattern, "1")
        assert bool(re.fullmatch(pattern, "1.0")) is is_integer
        assert validator_for(schema, default=Draft202012Validator)(schema).is_valid(1.0) is is_integer


def test_constants_of_draft_4_have_no_point_either() -> None:
    """Whether an array or an object around them has integers is not known where they are written."""
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "enum": [[1.0, "1.0", 1.5]]}
    assert (
        sk.to_regex({**schema, "items": {"type": ["integer", "string", "number"]}}) == r'\[1, "1\.0", 1\.5\]'
    )


def test_a_resource_of_draft_4_forbids_the_point_of_integers() -> None:
    resource = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}
    schema = sk.JsonSchema({"$ref": "http://a.test/b"}, resources={"http://a.test/b": resource})
    assert not re.fullmatch(sk.to_regex(schema), "1.0")
