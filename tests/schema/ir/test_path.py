"""Places in a schema and in a Python type, as errors name them."""

from __future__ import annotations

import pytest

from structkit.schema.ir.path import SchemaPath, join_path, path_step


def test_a_place_in_a_json_schema_has_all_keywords() -> None:
    root = SchemaPath()
    assert root.child("properties", "a b").child("items").text == '$.properties["a b"].items'
    assert root.child("prefixItems", 2).text == "$.prefixItems[2]"


@pytest.mark.parametrize(
    ("keyword", "part", "step"),
    [
        ("properties", "age", ".age"),
        ("properties", "first name", '["first name"]'),
        ("prefixItems", 1, "[1]"),
        ("items", None, "[]"),
        ("additionalProperties", None, "[]"),
        ("patternProperties", "^a", "[]"),
        ("anyOf", 1, ""),
    ],
)
def test_a_place_in_a_python_type_has_the_steps_of_its_values(
    keyword: str, part: str | int | None, step: str
) -> None:
    assert SchemaPath(python=True).child(keyword, part).text == f"${step}"


def test_a_long_path_has_its_first_and_its_last_steps() -> None:
    names = [f".k{number}" for number in range(41)]
    assert join_path(names[:40]) == "".join(names[:40])
    assert join_path(names) == f"{''.join(names[:20])} ... {''.join(names[21:])}"


def test_a_step_without_a_plain_name_is_quoted_and_short() -> None:
    assert [path_step(each) for each in ("_a1", "1a", "a-b", "", 0)] == [
        "._a1",
        '["1a"]',
        ".a-b",
        '[""]',
        "[0]",
    ]
    assert len(path_step("é" * 500)) <= 102
