"""Intersections and differences of strings with several formats."""

from __future__ import annotations

import json

import pytest

from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.lowering.lower import lower
from tests.schema.reading import read

TEXTS = ["http://a.b/c", "//a.b/c", "/c d", "/c", "a@b.c", "1.2.3.4", "2020-01-31", "a.b", "[", "é"]


@pytest.mark.parametrize(
    ("formats", "expected"),
    [
        (["uri", "regex"], ["http://a.b/c"]),
        (["uri-reference", "uri"], ["http://a.b/c"]),
        (
            ["uri-reference", "iri-reference"],
            ["http://a.b/c", "//a.b/c", "/c", "1.2.3.4", "2020-01-31", "a.b", "a@b.c"],
        ),
        (["hostname", "ipv4"], ["1.2.3.4"]),
        (["date", "regex", "hostname"], ["2020-01-31"]),
        (["date", "ipv4"], []),
    ],
)
def test_a_string_may_have_several_formats(formats: list[str], expected: list[str]) -> None:
    schema = {"type": "array", "items": {"allOf": [{"type": "string", "format": name} for name in formats]}}
    reader = Reader(link(lower(read(schema))))
    assert sorted(filter(lambda text: reader.accepts(json.dumps([text]).encode()), TEXTS)) == sorted(expected)


def test_a_string_may_lack_one_of_several_formats() -> None:
    both = {
        "allOf": [{"type": "string", "format": "date"}, {"format": "hostname"}, {"format": "uri-reference"}]
    }
    schema = {"type": "array", "items": {"type": "string", "not": both, "maxLength": 10}}
    reader = Reader(link(lower(read(schema))))
    for text in TEXTS:
        is_date = text == "2020-01-31"
        assert reader.accepts(json.dumps([text], ensure_ascii=False).encode()) == (
            not is_date and len(text) < 11
        )
