"""Schemas with a type and no other constraint."""

from __future__ import annotations

from typing import Any

import pytest

import structkit as sk
from structkit.schema.ir.nodes import Note
from structkit.schema.ir.path import SchemaPath
from structkit.schema.json_schema.bare_type import _BARE, NEUTRAL_KEYWORDS, bare_type

PATH = SchemaPath()


@pytest.mark.parametrize("kind", [*_BARE, "array", "object", "text", ["string", "null"], 3, None])
def test_keywords_that_restrict_nothing_leave_the_type_bare(kind: Any) -> None:
    """Only annotations that a reader sees are kept, if at all; a keyword that restricts values is none of these."""
    note = {"title": "t", "description": 3, "examples": [1, "a"]}
    bare, shown = _BARE.get(str(kind)), Note("t", None, ("1", '"a"'))
    for keyword in NEUTRAL_KEYWORDS - {"type", *note}:
        raw = {"type": kind, keyword: "x"}
        assert bare_type(raw, PATH, sk.Limits()) == bare
        assert bare_type({**raw, "const": 1}, PATH, sk.Limits()) is None
    assert bare_type({"type": kind}, PATH, sk.Limits()) == bare
    assert bare_type({"type": kind, **note}, PATH, sk.Limits(), notes=False) == bare
    found = bare_type({"type": kind, **note}, PATH, sk.Limits())
    assert found == (None if bare is None else type(bare)(note=shown))
