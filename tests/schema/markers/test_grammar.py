"""Grammars of strings in a JSON Schema."""

from __future__ import annotations

import json
from typing import Annotated

import pytest

import structkit as sk
from structkit.errors import SchemaError
from structkit.schema.ir.path import SchemaPath
from structkit.schema.markers.grammar import grammar_format


def test_a_grammar_of_a_json_schema_reads_no_folder_and_keeps_its_other_options() -> None:
    grammar = sk.Grammar('start: "a"', import_paths=["/tmp"], start="start", g_regex_flags=2)
    described = sk.to_json_schema(Annotated[str, grammar])
    (raw,) = (value for value in described.values() if isinstance(value, list))
    own, other = (
        json.loads(dict(grammar_format(raw, SchemaPath(), python=python).arguments)["parts"])
        for python in (True, False)
    )
    assert own == list(raw) and "/tmp" in json.dumps(own)
    options = [[] if each == ["/tmp"] else each for each in own[3]]
    assert other == [own[0], None, own[2], options]


def test_a_value_that_no_grammar_wrote_is_refused() -> None:
    grammar = Annotated[str, sk.Grammar('start: "a"')]
    parts = sk.to_json_schema(grammar)["x-structkit-grammar"]
    assert isinstance(parts, list) and grammar_format(parts, SchemaPath(), python=True)
    text, *others, options = parts
    for wrong in [
        None, "a", [], parts[:-1], [*parts, None], [1, *others, options], [text, *others, []],
        [text, *others, options[:-1]], [text, *others, [*options, 1]], [text, *others, [{}] * len(options)],
        [text, *others, None],
    ]:  # fmt: skip
        with pytest.raises(SchemaError, match="must be text, path, syntax and options"):
            grammar_format(wrong, SchemaPath(), python=True)
