"""JSON strings against `json.dumps`."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import SchemaError
from structkit.regex.charset import ANY, DIGIT, char_class, complement, contains, intersection, union
from structkit.regex.json_string import (
    JSON_CHAR,
    escape,
    free_text_body,
    free_text_name,
    json_text,
    length_bounds,
    raw_intersection,
)
from structkit.regex.nodes import (
    NEVER,
    CharClass,
    Choice,
    Distinct,
    Intersection,
    ListPart,
    LiteralText,
    MultipleOf,
    Node,
    Repeat,
    SeparatedList,
    Seq,
)
from tests.languages import matches, plain_nodes, texts
from tests.regex.oracle import holds

characters = st.characters(codec="utf-8") | st.sampled_from('"\\/\b\f\n\r\t\0\x1f\x7f\u2028😀')
points = st.integers(0, 0x10FFFF)
sets = st.lists(st.tuples(points, st.integers(0, 300)), max_size=4).map(
    lambda pairs: char_class([(first, min(first + more, 0x10FFFF)) for first, more in pairs])
)


@given(sets, sets, points)
def test_set_operations_agree_with_membership(left: CharClass, right: CharClass, code: int) -> None:
    valid = not 0xD800 <= code <= 0xDFFF
    assert contains(union([left, right]), code) == (contains(left, code) or contains(right, code))
    assert contains(intersection(left, right), code) == (contains(left, code) and contains(right, code))
    assert contains(complement(left), code) == (valid and not contains(left, code))
    assert union([left, complement(left)]) == ANY
    assert char_class(left.ranges) == left


@pytest.mark.parametrize("node", [JSON_CHAR, ANY, char_class([(0, 0x7F)])], ids=["any", "class", "ascii"])
def test_each_character_of_ascii_has_the_spelling_of_json(node: Node) -> None:
    for code in range(128):
        assert holds(
            node if node is JSON_CHAR else escape(node), json.dumps(chr(code), ensure_ascii=False)[1:-1]
        )


@given(characters)
def test_one_character_has_one_spelling(character: str) -> None:
    assert holds(JSON_CHAR, json.dumps(character, ensure_ascii=False)[1:-1])
    ascii_spelling = json.dumps(character)[1:-1]
    assert holds(JSON_CHAR, ascii_spelling) == (
        ascii_spelling == json.dumps(character, ensure_ascii=False)[1:-1]
    )


@pytest.mark.parametrize(
    "text", ['"', "\\", "\n", "\\/", "\\u0041", "\\u000A", "\\u000a", "\\u001F", "\\x41", "ab", ""]
)
def test_other_spellings_of_characters_are_rejected(text: str) -> None:
    assert not holds(JSON_CHAR, text)


@given(plain_nodes, texts)
def test_escaping_preserves_the_language(node: Node, text: str) -> None:
    special = str.maketrans({"a": '"', "b": "\\", "0": "\n"})
    node = _translated(node, special)
    text = text.translate(special)
    assert holds(escape(node), json.dumps(text, ensure_ascii=False)[1:-1]) == matches(node, text)


def _translated(node: Node, table: dict[int, str]) -> Node:
    match node:
        case LiteralText(value):
            return LiteralText(value.translate(table))
        case CharClass(ranges):
            return char_class([*ranges, (0, 0x22)])
        case Seq(parts):
            return Seq(tuple(_translated(part, table) for part in parts))
        case Choice(parts):
            return Choice(tuple(_translated(part, table) for part in parts))
        case Repeat(part, min_count, max_count):
            return Repeat(_translated(part, table), min_count, max_count)
        case SeparatedList(parts, separator):
            return SeparatedList(
                tuple(ListPart(_translated(p.node, table), p.min_count, p.max_count) for p in parts),
                separator,
            )
    raise ValueError(node)


def test_products_and_distinct_texts_are_escaped() -> None:
    assert escape(Distinct(MultipleOf(3))) == Distinct(MultipleOf(3))
    assert escape(Intersection(LiteralText("a"), LiteralText("\n"))) == Intersection(
        LiteralText("a"), LiteralText("\\n"), lookahead='"'
    )


@given(plain_nodes, texts)
def test_lengths_of_texts_are_within_the_bounds(node: Node, text: str) -> None:
    shortest, longest = length_bounds(node)
    if matches(node, text):
        assert shortest is not None
        assert shortest <= len(text)
        assert longest is None or len(text) <= longest


@given(plain_nodes, st.integers(0, 5), st.none() | st.integers(0, 6), texts)
def test_length_bounds_restrict_a_language(node: Node, low: int, high: int | None, text: str) -> None:
    within_bounds = low <= len(text) and (high is None or len(text) <= high)
    narrowed = raw_intersection([node], low, high)
    accepted = matches(narrowed, text) if not isinstance(narrowed, Intersection) else holds(narrowed, text)
    assert accepted == (within_bounds and matches(node, text))


def test_length_bounds_become_part_of_the_pattern() -> None:
    word = Seq((LiteralText("a"), Repeat(DIGIT, 1, None), LiteralText("-")))
    assert raw_intersection([word], 5, 63) == Seq((LiteralText("a"), Repeat(DIGIT, 3, 61), LiteralText("-")))
    assert raw_intersection([word], 0, 2) == NEVER
    assert raw_intersection([], 0, 5) == Repeat(ANY, 0, 5)
    assert raw_intersection([Repeat(ANY, 0, None), Repeat(ANY, 2, None)], 0, 5) == Repeat(ANY, 2, 5)


@given(st.text(max_size=6), st.integers(0, 4), st.none() | st.integers(0, 6))
def test_free_text_has_the_required_length(text: str, low: int, high: int | None) -> None:
    expected = low <= len(text) and (high is None or len(text) <= high)
    if high is None or low <= high:
        assert holds(free_text_body(low, high), json.dumps(text, ensure_ascii=False)[1:]) == expected


def test_names_of_free_text() -> None:
    names = [free_text_name(*bounds) for bounds in ((0, None), (0, 5), (2, None), (2, 5))]
    assert names == ["text", "text{0,5}", "text{2,}", "text{2,5}"]


def test_surrogates_are_rejected() -> None:
    assert json_text("é\n") == '"é\\n"'
    with pytest.raises(
        SchemaError,
        match=r"at `\$\.a`:\n  .*surrogate, which UTF-8 cannot encode\n  write the whole .* remove the surrogate",
    ):
        json_text("\ud800", path="$.a")


@pytest.mark.parametrize("separator", [",", '"', '\n"é', "", ", "])
def test_lists_in_a_string_have_the_spelling_of_json(separator: str) -> None:
    parts = ListPart(LiteralText("a"), 0, 1), ListPart(LiteralText("\t"), 0, None)
    node = escape(SeparatedList(parts, separator))
    for items in ([], ["a"], ["a", "\t"], ["\t", "\t", "\t"]):
        assert holds(node, json.dumps(separator.join(items), ensure_ascii=False)[1:-1]), items
    assert separator == "" or not holds(node, "a\\t")
