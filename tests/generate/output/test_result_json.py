"""The JSON that pydantic writes of a result."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

import structkit as sk
from structkit.testing import RandomModel, ScriptedModel


@pytest.mark.parametrize("form", [sk.Result[bool], sk.Result])
def test_a_result_is_written_without_its_trace_and_read_again(form: Any) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(form)
    before = sk.generate(RandomModel(1), "Yes or no?", bool, confidence=True)
    text = adapter.dump_json(before)
    after = adapter.validate_json(text)
    assert b'"trace"' not in text
    assert b'"events"' not in text
    assert (after.value, after.text, after.usage) == (before.value, before.text, before.usage)
    assert after.confidence["$"].logprob == before.confidence["$"].logprob


def test_the_choices_of_a_confidence_are_written_by_name() -> None:
    confidence = sk.generate(RandomModel(1), "x", int | None, confidence=True).confidence["$"]
    assert set(confidence.choices or {}) == {..., None}
    written = TypeAdapter(sk.Confidence).dump_python(confidence, mode="json")
    assert set(written["choices"]) == {"...", "null"}


def test_the_schema_has_no_tokens_and_no_trace() -> None:
    schema = TypeAdapter(sk.Result[bool]).json_schema(mode="serialization")
    assert set(schema["$defs"]) == {"Confidence", "Repaired", "Span", "Usage"}
    assert not {"trace", "events"} & set(schema["properties"])


def test_a_trace_is_the_same_after_json_even_if_a_token_is_a_part_of_a_character() -> None:
    split = sk.Vocabulary(tokens=[bytes([each]) for each in range(256)] + [b""], eos_token_ids={256})
    result = sk.generate(ScriptedModel(['"é"'], split), "x", str)
    text = TypeAdapter(sk.Trace).dump_json(result.trace)
    assert b"[195,[195]," in text and b'[34,"\\"",' in text
    assert TypeAdapter(sk.Trace).validate_json(text, strict=True) == result.trace
    for wrong in ([195, 256], [-1], ["a"], 195, None):
        with pytest.raises(ValidationError):
            TypeAdapter(sk.Token).validate_json(json.dumps([195, wrong, False, 0.0, 0.0]))
