"""The constants that a path may have."""

from __future__ import annotations

import pytest

from structkit.limits import Limits
from structkit.schema.ir.path import SchemaPath
from structkit.schema.json_schema.bare_type import read_note
from structkit.schema.json_schema.parse import parse_schema
from structkit.schema.view.choices import choices_at


@pytest.mark.parametrize(("count", "is_known"), [(256, True), (257, False)])
def test_as_many_constants_as_the_maximum_are_listed(count: int, is_known: bool) -> None:
    document = parse_schema({"type": "object", "properties": {"a": {"enum": [*range(count)]}}})
    found = choices_at(document, ["a"])
    assert (found is not None and len(found) == count) == is_known


def test_a_title_that_is_no_text_is_no_title() -> None:
    note = read_note({"title": 3, "description": "A."}, SchemaPath(), Limits())
    assert note is not None and (note.title, note.description) == (None, "A.")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"enum": ["é", "y"]}, ('"é"', '"y"')),
        ({"anyOf": [{"enum": [1, True]}, {"enum": [1.0, 2.5]}]}, ("1", "true", "2.5")),
        ({"anyOf": [{"const": 1}, {"const": 1.0}]}, None),
        ({"const": "x"}, None),
        ({"type": "null"}, None),
        ({"type": "boolean"}, ("true", "false")),
        ({"type": ["boolean", "null"]}, ("true", "false", "null")),
        ({"type": "string"}, None),
        ({"type": ["string", "null"]}, ("null", ...)),
        ({"anyOf": [{"const": 1}, {"type": "string"}]}, None),
        ({"$ref": "#/$defs/d", "$defs": {"d": {"enum": [1, "a"]}}}, ("1", '"a"')),
    ],
)
def test_the_choices_are_two_or_more_constants(schema: dict[str, object], expected: object) -> None:
    assert choices_at(parse_schema(schema), []) == expected
