"""JSON Schemas as targets: any order of keys, closed objects, and validation after decoding."""

from __future__ import annotations

import itertools
import json
from typing import Annotated, Any

import jsonschema_specifications
import numpy as np
import pytest
from jsonschema import Draft202012Validator
from pydantic import Field

import structkit as sk
from structkit import testing
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.targets.fingerprint import cache_key, fingerprint_of
from structkit.targets.targets import AnyTarget, read_target

OPEN = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}, "c": {"type": "array", "items": {}}},
    "required": ["b", "a"],
}


UNSUPPORTED = {"allOf": [{"not": {"uniqueItems": True}}]}


def holds(target: AnyTarget, value: object) -> bool:
    """Return whether the language contains the value with its keys in the given order."""
    text = json.dumps(value, ensure_ascii=False)
    return Reader(link(read_target(target).rules(order="any"))).accepts(text.encode())


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1, "b": True},
        {"a": 1, "b": True, "c": [{"z": 1, "y": 2}]},
        {"a": 1, "x": None, "b": False, "y": {}},
    ],
)
def test_keys_can_have_any_order(value: dict[str, object]) -> None:
    for order in itertools.permutations(value):
        assert holds(OPEN, {key: value[key] for key in order})


@pytest.mark.parametrize(
    "text", ['{"a": 1}', '{"a": 1, "b": true, "a": 1}', '{"b": true, "x": 1}', '{"a": 1, "b": 1}']
)
def test_invalid_values_are_rejected_in_any_order(text: str) -> None:
    assert not Reader(link(read_target(OPEN).rules(order="any"))).accepts(text.encode())


@pytest.mark.long(every=3)
@pytest.mark.parametrize(
    "schema",
    [
        OPEN,
        {**OPEN, "additionalProperties": False},
        {
            "type": "object",
            "properties": {key: {"enum": [0, 1]} for key in "abcdef"},
            "required": list("abcdef"),
        },
        {
            "type": "object",
            "properties": {"a": {}, "b": {}},
            "additionalProperties": False,
            "minProperties": 1,
        },
        {"type": "array", "items": OPEN, "minItems": 2},
        {
            "patternProperties": {"^x": {"type": "null"}, "y$": {"type": "integer"}},
            "required": ["xa"],
            "type": "object",
        },
    ],
)
def test_random_texts_in_any_order_are_valid_within_every_budget(schema: dict[str, object]) -> None:
    validator = Draft202012Validator(schema)
    vocabulary = testing.small_vocabulary()
    min_tokens = sk.compile(schema, vocabulary, order="any", cache=False).cursor().min_tokens_to_end()
    for seed, slack in enumerate((0, 1, 4, 12, 40)):
        budget = min_tokens + slack
        model = testing.RandomModel(seed, vocabulary)
        result = sk.generate(
            model,
            "x",
            schema,
            order="any",
            temperature=1.0,
            seed=seed,
            max_tokens=budget,
            include_schema=False,
        )
        assert validator.is_valid(result.value), result.text
        assert result.usage.generated_tokens <= budget


def test_masks_in_any_order_equal_brute_force() -> None:
    vocabulary = testing.small_vocabulary()
    guide = sk.compile({**OPEN, "additionalProperties": False}, vocabulary, order="any", cache=False)
    automaton = guide.automaton
    reader = Reader(automaton)
    for text in (b"{", b'{"', b'{"a": 1, "', b'{"b": true, "a": 3', b'{"a": 1, "c": [{"x": ', b'{"c": [], "'):
        cursor = guide.cursor()
        for token in vocabulary.tokenize(text):
            cursor.advance(token)
        out = cursor_mask(cursor)
        for token, piece in enumerate(vocabulary.tokens):
            if piece:
                frames, _ = reader.read(automaton.start_frames(), b"", text + piece)
                assert (token in out) == bool(frames), (text, piece)


def cursor_mask(cursor: sk.Cursor) -> set[int]:
    import numpy as np

    out = np.zeros(cursor.guide.vocabulary.mask_words, np.uint32)
    cursor.fill_mask(out)
    return set(np.flatnonzero(np.unpackbits(out.view(np.uint8), bitorder="little")).tolist())


def test_the_smallest_budget_ends_a_recursive_value() -> None:
    """The cheaper of the two required keys of a group leads to another group, or to a more expensive leaf."""
    schema = {
        "$ref": "#/$defs/group",
        "$defs": {
            "group": {
                "type": "object",
                "properties": {"in": {"$ref": "#/$defs/item"}, "description": {"type": "string"}},
                "required": ["in", "description"],
                "additionalProperties": False,
            },
            "leaf": {"type": "object", "properties": {"x": {"minLength": 90, "type": "string"}}, "required": ["x"]},
            "one": {"anyOf": [{"$ref": "#/$defs/group"}, {"$ref": "#/$defs/leaf"}]},
            "item": {"type": "array", "items": {"$ref": "#/$defs/one"}, "minItems": 1},
        },
    }  # fmt: skip
    guide = sk.compile(schema, testing.byte_vocabulary(), order="any", cache=False)
    text = b""
    cursor = guide.cursor()
    mask = np.zeros(guide.vocabulary.mask_words, np.uint32)
    while not cursor.is_finished:
        cursor.fill_mask(mask, budget=200 - len(text))
        token = int(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))[0])
        cursor.advance(token)
        text += bytes((token,))
    Draft202012Validator(schema).validate(json.loads(text))


NOTHING = {"type": "string", "maxLength": 0, "pattern": "^.$"}


@pytest.mark.parametrize(
    "schema",
    [
        {"additionalProperties": NOTHING, "properties": {"a": NOTHING}, "minProperties": 1},
        {"additionalProperties": False, "properties": {"a": NOTHING, "b": {}}, "minProperties": 2},
        {"unevaluatedProperties": False, "patternProperties": {"^.$": NOTHING}, "minProperties": 1},
        {"properties": {"a": {"type": "string", "pattern": "^(?!x)x$"}, "b": {}}, "required": ["a"]},
    ],
)
def test_objects_with_too_few_possible_keys_are_unsatisfiable(schema: dict[str, object]) -> None:
    with pytest.raises(sk.UnsatisfiableSchema):
        link(read_target({"type": "object", **schema}).rules(order="any"))


def test_closed_objects_allow_only_declared_keys() -> None:
    schema: dict[str, object] = {
        "allOf": [OPEN, {"properties": {"d": {"type": "null"}}}],
        "properties": {"e": {"type": "object", "additionalProperties": {"type": "null"}}},
    }
    closed = sk.JsonSchema(schema, additional="closed")
    assert holds(schema, {"a": 1, "b": True, "x": 1})
    assert not holds(closed, {"a": 1, "b": True, "x": 1})
    assert holds(closed, {"e": {"any": None}, "a": 1, "b": True, "d": None})


def test_keywords_that_are_not_enforced_are_checked_after_decoding() -> None:
    schema = {"type": "array", "items": {"type": "integer"}, "not": {"uniqueItems": True}}
    with pytest.raises(sk.UnsupportedKeyword, match="must repeat an item"):
        sk.to_regex(schema)
    lenient = sk.JsonSchema(schema, strict=False)
    assert sk.extract(testing.ScriptedModel(["[1, 1]"]), "x", lenient) == [1, 1]
    with pytest.raises(sk.OutputValidationError, match="should not be valid") as caught:
        sk.extract(testing.ScriptedModel(["[1, 2]"]), "x", lenient)
    assert caught.value.text == "[1, 2]"


@pytest.mark.parametrize(
    ("schema", "how"),
    [
        ({"type": "string", "title": "T"}, {"type": "enforced", "title": "annotation"}),
        ({"not": {"uniqueItems": True}, "huh": 1}, {"not": "refused", "uniqueItems": "refused", "huh": "unknown"}),
        (sk.JsonSchema({"not": {"uniqueItems": True}}, strict=False), {"not": "checked after"}),
        ({"allOf": [{"not": {"uniqueItems": True}}]}, {"allOf": "enforced", "not": "refused"}),
        ({"allOf": [{"format": "uri"}, {"format": "regex"}]}, {"allOf": "enforced", "format": "enforced"}),
    ],
)  # fmt: skip
def test_explain_reports_the_status_of_each_keyword(schema: Any, how: dict[str, str]) -> None:
    found = sk.explain(schema)
    assert {row.keyword: row.how for row in found.rows}.items() >= how.items() or not found.enforced
    assert found.enforced == ("refused" not in how.values() and "checked after" not in how.values())
    assert str(found).startswith("path")


@pytest.mark.parametrize("wrong", [{"additional": "shut"}, {"schema": 3}])
def test_invalid_options_of_a_json_schema_are_rejected(wrong: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        sk.JsonSchema(**{"schema": {}, **wrong})


def test_all_pattern_properties_apply() -> None:
    schema = {"patternProperties": {".*": {"type": "integer"}, "^": {"minimum": 3}}}
    assert holds(schema, {"a": 4})
    assert not holds(schema, {"a": 1})
    assert not holds(schema, {"a": "x"})


def test_one_of_excludes_texts_that_may_match_a_format() -> None:
    label = {"type": "string", "pattern": "^xn--nxasmq6b$"}
    schema = {"oneOf": [label, {"type": "string", "format": "hostname"}]}
    assert not holds(schema, "xn--nxasmq6b")
    assert holds(schema, "a.example")


def test_an_invalid_pattern_of_names_is_reported_with_its_path() -> None:
    schema = {"items": {"properties": {"b": {}}, "patternProperties": {r"(a+)\1": {}}}}
    with pytest.raises(sk.PatternError) as caught:
        sk.to_regex(schema)
    assert caught.value.place == "$.items"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"not": {"items": {"pattern": r"^(a+)\1$", "uniqueItems": True, "prefixItems": [{}]}}}, [1, "b"]),
        ({"not": {"contains": UNSUPPORTED}}, [1]),
        (
            {"properties": {"x": {"not": {"$ref": "#/$defs/d"}}}, "$defs": {"d": UNSUPPORTED}},
            {"x": 1},
        ),
        ({"oneOf": [UNSUPPORTED, {"minimum": 3}]}, 4),
        (
            {"patternProperties": {r"(a+)\1": {}}, "properties": {"b": {}}, "additionalProperties": False},
            {"aa": 1},
        ),
        ({"if": UNSUPPORTED, "then": False}, 4),
    ],
)
def test_dropped_keywords_make_no_schema_stricter(schema: dict[str, object], value: object) -> None:
    assert holds(sk.JsonSchema(schema, strict=False), value)
    assert any(row.how == "checked after" for row in sk.explain(sk.JsonSchema(schema, strict=False)).rows)


def test_explain_reports_the_path_of_each_keyword() -> None:
    schema = {
        "$defs": {"x": {"items": {"type": "string", "pattern": r"(a+)\1"}}},
        "properties": {"p": {"$ref": "#/$defs/x"}, "q": {"prefixItems": [{}] * 70, "contains": {"const": 1}}},
    }
    with pytest.raises(sk.StructkitError):
        sk.to_regex(schema)
    found = {(row.path, row.keyword): row.how for row in sk.explain(schema).rows}
    assert found["$.$defs.x.items", "pattern"] == "refused"
    assert found["$.properties.q", "contains"] == "refused"
    assert found["$.properties.q", "prefixItems"] == "enforced"


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ('{"$schema": "https://x", "a": 1}', True),
        ('{"$schema": "https://x", "$id": 1, "a": 1, "b": 2}', True),
        ('{"$id": 1, "$schema": "https://x", "a": 1}', False),
        ('{"b": 2, "a": 1}', False),
        ('{"a": 1, "$schema": 2}', True),
    ],
)
def test_document_keys_can_come_first_in_open_objects(text: str, accepted: bool) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert Reader(link(read_target(schema).rules())).accepts(text.encode()) == accepted
    closed = sk.JsonSchema(schema, additional="closed")
    assert not Reader(link(read_target(closed).rules())).accepts(text.encode())


PARTS = {
    "https://x.test/parts.json": {
        "$defs": {"list": {"items": {"$ref": "#/$defs/one"}}, "one": {"type": "null"}}
    }
}


def test_other_documents_are_resources_and_never_fetched() -> None:
    schema = {"$id": "https://x.test/root.json", "properties": {"p": {"$ref": "parts.json#/$defs/list"}}}
    with pytest.raises(sk.UnresolvedReference, match="resources"):
        sk.to_regex(schema)
    target = sk.JsonSchema(schema, resources=PARTS)
    assert holds(target, {"p": [None]})
    assert not holds(target, {"p": [1]})
    lenient = sk.JsonSchema({**schema, "not": {"uniqueItems": True}}, strict=False, resources=PARTS)
    with pytest.raises(sk.OutputValidationError):
        sk.extract(testing.ScriptedModel(['{"p": []}']), "x", lenient)


def test_the_metaschema_is_a_valid_target() -> None:
    resources = {
        uri: dict(jsonschema_specifications.REGISTRY.contents(uri))
        for uri in jsonschema_specifications.REGISTRY
    }
    schema = sk.JsonSchema({"$ref": "https://json-schema.org/draft/2020-12/schema"}, resources=resources)
    assert holds(schema, {"properties": {"a": {"type": "string", "minLength": 1}}})
    assert not holds(schema, {"properties": {"a": {"type": "strin"}}})
    assert not holds(schema, {"items": {"items": {"minLength": -1}}})


@pytest.mark.parametrize(
    ("target", "text", "accepted"),
    [
        ({"type": "integer"}, "1.0", True),
        ({"type": "integer"}, "1.00", False),
        ({"type": "integer", "minimum": 2}, "1.0", False),
        ({"type": "integer", "multipleOf": 3}, "12.0", True),
        ({"const": 1}, "1.0", True),
        ({"const": 1.0}, "1", True),
        ({"const": [1, "1", 1.5, {"2": 2}]}, '[1.0, "1", 1.5, {"2": 2.0}]', True),
        ({"const": [1, "1", 1.5]}, '[1, "1.0", 1.5]', False),
        ({"enum": [0, 10]}, "10.0", True),
        ({"uniqueItems": True, "items": {"type": "integer"}}, "[1.0]", False),
        (int, "1.0", False),
        (int, "1", True),
    ],
)
def test_a_float_without_a_fraction_is_an_integer_in_a_schema(
    target: AnyTarget, text: str, accepted: bool
) -> None:
    assert Reader(link(read_target(target).rules())).accepts(text.encode()) == accepted


def test_an_empty_type_and_options_that_are_no_list_are_rejected() -> None:
    with pytest.raises(sk.SchemaError, match=r"at `\$\.properties\.a`:\n  .*at least one type"):
        sk.to_regex({"properties": {"a": {"type": []}}})
    options: Any = 3
    with pytest.raises(sk.SchemaError, match="Choice takes a list of options, not 3"):
        sk.Choice(options)


def test_bounded_numbers_are_those_of_python_types() -> None:
    positive = Annotated[int, Field(ge=5)]
    pairs: list[tuple[dict[str, object], Any]] = [
        ({"type": "integer"}, int),
        ({"type": "number"}, float),
        ({"type": "integer", "minimum": 5}, positive),
    ]
    for schema, python in pairs:
        bounded, free = (sk.JsonSchema(schema, bounded_numbers=each) for each in (True, False))
        assert sk.to_regex(bounded) == sk.to_regex(python) != sk.to_regex(free)
        assert fingerprint_of(bounded) != fingerprint_of(free)
        assert cache_key(bounded) != cache_key(free)


def test_larger_limits_apply_to_a_json_schema() -> None:
    schema: dict[str, object] = {"type": "integer"}
    for _ in range(120):
        schema = {"type": "array", "items": schema}
    guide = sk.compile(
        sk.JsonSchema(schema), testing.byte_vocabulary(), limits=sk.Limits(schema_depth=150), cache=False
    )
    assert guide.is_json


@pytest.mark.parametrize(
    ("schema", "remedy"),
    [("{}", "write json.loads(...)"), ([], ""), (True, "write {}"), (int, "pass int itself")],
)
def test_what_is_no_schema_is_refused_with_what_to_write(schema: Any, remedy: str) -> None:
    for pass_schema in (lambda: sk.JsonSchema(schema), lambda: sk.JsonSchema({}, resources={"a": schema})):
        with pytest.raises(TypeError, match="requires schemas as dicts") as caught:
            pass_schema()
        assert str(caught.value).partition("; ")[2].startswith(remedy) and bool(remedy) == (
            "; " in str(caught.value)
        )
