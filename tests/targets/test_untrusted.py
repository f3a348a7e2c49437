"""What a client that is not trusted may not write."""

from __future__ import annotations

from typing import Any

import pytest

from structkit.schema.markers.grammar import GRAMMAR_KEYWORD
from structkit.targets.untrusted import grammar_text, private_keyword


@pytest.mark.parametrize("name", [GRAMMAR_KEYWORD, "structkit:format", "structkit:"])
def test_a_keyword_of_python_types_is_found_at_any_depth(name: str) -> None:
    inner: Any = {"type": "string", name: 1}
    for schema in (
        inner,
        {"properties": {"a": inner}},
        {"anyOf": [{"type": "null"}, {"items": [inner]}]},
        {"prefixItems": ({"not": inner}, True)},
        {"enum": [1, {"a": inner}]},
        {"$defs": {"x": {"$defs": {"y": [[inner]]}}}, "type": "object"},
    ):
        assert private_keyword(schema) == name


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        None,
        {"type": "string", "title": GRAMMAR_KEYWORD, "description": "structkit:format"},
        {"properties": {"structkit": {}, "x-structkit": {"enum": ["structkit:a"]}, "my-structkit:a": {}}},
        {1: {"a": []}, "required": ["structkit:a", GRAMMAR_KEYWORD]},
    ],
)
def test_other_schemas_have_none(schema: Any) -> None:
    assert private_keyword(schema) is None


@pytest.mark.parametrize("text", ["a.lark", "/etc/passwd.lark", "start: A", ""])
def test_the_text_of_a_grammar_is_no_name_of_a_file(text: str) -> None:
    assert not grammar_text(text).endswith(".lark") and grammar_text(text).strip() == text
