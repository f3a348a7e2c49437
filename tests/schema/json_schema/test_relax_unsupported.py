"""Which keyword is dropped after an error, and which of those above it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from structkit.errors import PatternError, UnsupportedKeyword
from structkit.schema.ir.path import SchemaPath
from structkit.schema.json_schema.relax_unsupported import Relaxation, keyword_of
from structkit.unenforced import Unenforced

ROOT = SchemaPath()
A = ROOT.child("properties", "a")
AB = ROOT.child("properties", "ab")
ITEMS = A.child("items")
ALL = "schema"


def _error(keyword: str, place: str | None) -> UnsupportedKeyword:
    return UnsupportedKeyword(keyword, f"{keyword} is too hard", place=place)


def _seen(schemas: Mapping[SchemaPath, Mapping[str, object]], *dropped: Unenforced) -> Relaxation:
    relaxation = Relaxation(dropped)
    for path, raw in schemas.items():
        relaxation.relax(raw, path)
    return relaxation


def _dropped(*pairs: tuple[str, str]) -> tuple[Unenforced, ...]:
    return tuple(Unenforced(path, keyword, "reason") for path, keyword in pairs)


def test_the_keyword_of_an_error() -> None:
    assert keyword_of(_error("not", "$")) == "not"
    assert keyword_of(PatternError("unclosed group", pattern="(", column=0)) == "pattern"


SCHEMAS: Mapping[SchemaPath, Mapping[str, object]] = {
    ROOT: {"not": {}, "properties": {}},
    A: {"items": {}, "not": {}},
    AB: {"not": {}},
    ITEMS: {"pattern": "a"},
}


@pytest.mark.parametrize(
    ("keyword", "place", "expected"),
    [
        ("not", "$", [("$", "not"), ("$", ALL)]),
        ("not", None, [("$", "not"), ("$", ALL)]),
        ("not", A.text, [(A.text, "not"), ("$", "not"), (A.text, ALL), ("$", ALL)]),
        ("not", AB.text, [(AB.text, "not"), ("$", "not"), (AB.text, ALL), ("$", ALL)]),
        (
            "not",
            ITEMS.text,
            [(A.text, "not"), ("$", "not"), (ITEMS.text, ALL), (A.text, ALL), ("$", ALL)],
        ),
        ("not", f"{A.text}[0]", [(A.text, "not"), ("$", "not"), (A.text, ALL), ("$", ALL)]),
        ("pattern", f"{ITEMS.text}.pattern", [(ITEMS.text, "pattern"), (ITEMS.text, ALL), (A.text, ALL), ("$", ALL)]),
        ("format", A.text, [(A.text, ALL), ("$", ALL)]),
        ("not", "elsewhere", []),
    ],
)  # fmt: skip
def test_the_keywords_around_an_error_are_dropped_from_the_inside_out(
    keyword: str, place: str | None, expected: list[tuple[str, str]]
) -> None:
    found: list[Unenforced] = []
    while (one := _seen(SCHEMAS, *found).keyword_to_drop(_error(keyword, place))) is not None:
        assert one.reason == f"{keyword} is too hard"
        found.append(one)
        assert len(found) <= len(expected)
    assert [(one.path, one.keyword) for one in found] == expected


def test_everything_is_dropped_after_fifty_attempts() -> None:
    for attempts in (49, 50):
        dropped = _dropped(*((f"$.properties.p{number}", "not") for number in range(attempts)))
        found = _seen(SCHEMAS, *dropped).keyword_to_drop(_error("not", A.text))
        expected = (A.text, "not") if attempts < 50 else ("$", ALL)
        assert found == Unenforced(*expected, "not is too hard")
    assert _seen(SCHEMAS, *dropped, *_dropped(("$", ALL))).keyword_to_drop(_error("not", A.text)) is None


@pytest.mark.parametrize(
    ("dropped", "raw", "left"),
    [
        ([], {"not": {}, "type": "string"}, {"not": {}, "type": "string"}),
        (["not"], {"not": {}, "type": "string", "minLength": 1}, {"type": "string", "minLength": 1}),
        (["contains"], {"contains": {}, "minContains": 2, "maxContains": 3, "items": {}}, {"items": {}}),
        (["if"], {"if": {}, "then": {}, "else": {}, "not": {}}, {"not": {}}),
        (["if", "not"], {"if": {}, "then": {}, "else": {}, "not": {}, "title": ""}, {"title": ""}),
        (["patternProperties"], {"patternProperties": {}, "additionalProperties": False}, {}),
        ([ALL], {"$id": "x", "type": "string", "minLength": 1, "not": {}}, {"$id": "x", "type": "string"}),
        ([ALL, "type"], {"type": "string", "minLength": 1}, {}),
        (["not", "contains"], {"not": {}, "type": "array", "items": {}}, {"type": "array"}),
    ],
)
def test_a_schema_without_the_dropped_keywords_and_what_depends_on_them(
    dropped: list[str], raw: dict[str, Any], left: dict[str, Any]
) -> None:
    relaxation = Relaxation(_dropped(*((A.text, keyword) for keyword in dropped)))
    before = dict(raw)
    assert relaxation.relax(raw, A) == left and raw == before
    assert relaxation.relax(raw, ROOT) == raw


@pytest.mark.parametrize("keyword", ["contains", "if", "not", "oneOf"])
@pytest.mark.parametrize("above", ["items", "properties"])
def test_a_negation_above_a_dropped_keyword_is_dropped(keyword: str, above: str) -> None:
    inside = ROOT.child(keyword, None)
    deep = inside.child(above, "a" if above == "properties" else None)
    schemas = {ROOT: {keyword: {}, "anyOf": []}, inside: {above: {}}, deep: {"pattern": "a"}}
    relaxation = _seen(schemas, *_dropped((deep.text, "pattern")))
    assert relaxation.negated_keywords() == _dropped(("$", keyword))
    assert _seen(schemas, *_dropped((deep.text, "pattern"), ("$", keyword))).negated_keywords() == ()


@pytest.mark.parametrize("keyword", ["anyOf", "allOf", "then", "items", "additionalProperties"])
def test_a_keyword_that_allows_more_with_a_larger_schema_stays(keyword: str) -> None:
    inside = ROOT.child(keyword, 0)
    schemas = {ROOT: {keyword: [{}], "not": {}}, inside: {"pattern": "a"}}
    assert _seen(schemas, *_dropped((inside.text, "pattern"))).negated_keywords() == ()


def test_unevaluated_keywords_around_a_dropped_one_are_dropped() -> None:
    inside = ROOT.child("allOf", 0)
    for keyword in ("unevaluatedItems", "unevaluatedProperties"):
        schemas = {ROOT: {"allOf": [{}], keyword: False}, inside: {"pattern": "a", keyword: False}}
        found = _seen(schemas, *_dropped((inside.text, "pattern"))).negated_keywords()
        assert found == _dropped((inside.text, keyword), ("$", keyword))


def test_a_negation_above_a_use_of_a_definition_is_dropped() -> None:
    definition = SchemaPath("$.$defs.d")
    below, use = definition.child("items"), ROOT.child("not", None)
    schemas = {
        ROOT: {"not": {}},
        use: {"$ref": "#/$defs/d"},
        definition: {"items": {}},
        below: {"pattern": "a"},
    }
    for count in range(3):
        relaxation = _seen(schemas, *_dropped((below.text, "pattern")))
        uses = [use, below][:count]  # the second is a cycle
        for each in uses:
            relaxation.record_reference(definition.text, each)
        assert relaxation.negated_keywords() == (_dropped(("$", "not")) if count else ())


def test_a_place_that_was_not_visited_has_nothing_above_it() -> None:
    assert _seen({ROOT: {"not": {}}}, *_dropped(("$.not", "pattern"))).negated_keywords() == ()
