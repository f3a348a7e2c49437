"""Differences and pruning, compared with the semantics of the nodes."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import LimitExceeded, SchemaError, UnsatisfiableSchema, UnsupportedKeyword
from structkit.limits import Limits
from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.schema.algebra.difference import difference
from structkit.schema.algebra.intersect import Intersector
from structkit.schema.algebra.prune import prune, referenced_names, topological_order
from structkit.schema.ir.definitions import Definitions
from structkit.schema.ir.descend import children
from structkit.schema.ir.nodes import (
    Array,
    Boolean,
    Const,
    Document,
    Integer,
    Never,
    Note,
    Null,
    Object,
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.ir.path import SchemaPath
from structkit.schema.product.combine import combine
from structkit.schema.product.tabulate import tabulate_all
from structkit.targets.targets import read_target
from structkit.testing import byte_vocabulary
from tests.reading import accepts
from tests.schema.algebra.pools import POOL, kinds, pairs
from tests.schema.reading import read
from tests.schema.semantics import holds
from tests.schema.values import nodes
from tests.shared import cases

slow = settings(max_examples=cases(25, of=400), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("is_combined", [False, True])
@slow
@given(pairs() | st.tuples(nodes(), nodes()))
def test_a_difference_has_the_values_of_the_left_only(is_combined: bool, pair: tuple[Schema, Schema]) -> None:
    left, right = pair
    definitions = Definitions()
    oracle = AutomatonOracle(python=False)
    intersector = Intersector(definitions, Limits(), oracle, combine if is_combined else None)
    path = SchemaPath()
    try:
        found = definitions.reference("root", "root", lambda: difference(left, right, intersector, path))
        known = (
            tabulate_all("root", intersector)
            if is_combined
            else definitions.resolve_reached("root", referenced_names)
        )
    except (UnsupportedKeyword, LimitExceeded):
        return
    for value in POOL:
        expected = holds(Document(left), value) and not holds(Document(right), value)
        assert holds(Document(found, known), value) == expected


@slow
@given(st.dictionaries(st.sampled_from("xyz"), kinds(), min_size=1), st.data())
def test_pruned_documents_have_the_same_values(definitions: dict[str, Schema], data: st.DataObject) -> None:
    """Some parts are replaced by references, in cycles, and by nodes without a value."""
    names = st.sampled_from(sorted(definitions))

    def part(node: Schema) -> Schema:
        match data.draw(st.integers(0, 5)):
            case 0:
                return Ref(data.draw(names))
            case 1:
                return Never("nothing")
        return node

    def changed(node: Schema) -> Schema:
        match data.draw(st.integers(0, 7)), node:
            case 0, _:
                return Ref(data.draw(names))
            case 1, _:
                return Union((Ref(data.draw(names)), node))
            case 2, _:
                return Array((), part(node), data.draw(st.integers(0, 2)), unique_items=True)
            case _, Object(properties):
                return Object(tuple(Property(key.name, part(key.value), key.required) for key in properties))
            case _, Array(prefix, items, least):
                return Array(tuple(map(part, prefix)), part(items), least)
        return node

    mixed = {name: changed(node) for name, node in definitions.items()}
    root = next(iter(mixed))
    try:
        order = topological_order(mixed)
    except SchemaError:
        return  # a definition refers only to itself
    try:
        found = prune(root, mixed, order, python=False)
    except UnsatisfiableSchema:
        assert not [value for value in POOL if holds(Document(mixed[root], mixed), value)]
        return
    for value in POOL:
        assert holds(found, value) == holds(Document(mixed[root], mixed), value)
    assert set(found.definitions) == _mentioned(found)


def _mentioned(document: Document) -> set[str]:
    """Return the references in a document; they must not be to references."""
    found: set[str] = set()
    pending = [document.root]
    while pending:
        node = pending.pop()
        if isinstance(node, Ref) and node.name not in found:
            found.add(node.name)
            assert not isinstance(document.definitions[node.name], Ref)
            pending.append(document.definitions[node.name])
        pending += [part for _, part in children(node)]
    return found


def test_a_reference_to_a_reference_keeps_the_nearest_note() -> None:
    """The notes of references say what a part is for; the target's own note is more general."""
    near, alias, own = Note("near"), Note("alias"), Note("own")
    keys = Property("a", Ref("alias")), Property("b", Ref("alias", note=near)), Property("c", Ref("plain"))
    definitions: dict[str, Schema] = {
        "root": Ref("object", note=alias),
        "object": Object(keys),
        "alias": Ref("target", note=alias),
        "plain": Ref("target"),
        "target": Integer(note=own),
    }
    document = prune("root", definitions, topological_order(definitions), python=False)
    assert isinstance(document.root, Object) and document.root.note == alias
    notes = [key.value.note for key in document.root.properties]
    assert notes == [alias, near, None]
    assert list(document.definitions) == ["target"] and document.definitions["target"].note == own


def test_definitions_that_need_each_other_have_no_value() -> None:
    """A value without an end is none: an object that must contain another one is impossible, also as a part."""
    endless = {"x": Object((Property("a", Ref("y")),)), "y": Object((Property("b", Ref("x")),))}
    with pytest.raises(UnsatisfiableSchema, match=r"x must contain another x, infinitely nested") as error:
        prune("x", endless, topological_order(endless), python=False)
    assert error.value.place == "$.a.b"
    optional = Object((Property("a", Ref("x"), required=False), Property("b", Null())))
    document = prune("z", {"z": optional, **endless}, topological_order(endless), python=False)
    assert document.root == Object((Property("b", Null()),)) and not document.definitions


@pytest.mark.parametrize(
    ("items", "count"),
    [
        (Null(), 1),
        (Boolean(), 2),
        (Integer(minimum=3, maximum=6), 4),
        (Union((Const("1"), Boolean())), 3),
        (Ref("three"), 3),
        (Ref("constants"), 2),
    ],
)
def test_unique_items_are_at_most_as_many_as_their_values(items: Schema, count: int) -> None:
    definitions: dict[str, Schema] = {
        "three": Integer(minimum=0, maximum=2),
        "constants": Union((Const("1"), Const('"a"'))),
        "root": Array(items=items, min_items=count, unique_items=True),
    }
    found = prune("root", definitions, topological_order(definitions), python=False).root
    assert isinstance(found, Array) and (found.max_items, found.unique_items) == (count, count > 1)
    definitions["root"] = Array(items=items, min_items=count + 1, unique_items=True)
    with pytest.raises(UnsatisfiableSchema, match=f"{count + 1} unique items, but only {count} values"):
        prune("root", definitions, topological_order(definitions), python=False)


def test_many_forbidden_texts_are_one_node() -> None:
    """One at a time, each would be compared with all others; `_without_texts` is the difference with each of them."""
    texts = tuple(Const(json.dumps(f"{n}/+{n}")) for n in range(3_000))
    intersector = Intersector(Definitions(), Limits(), AutomatonOracle(python=False))
    some = Union((Integer(), Const('"1/+1"'), Const('"1"'), String(min_length=4), Array()))
    found = difference(some, Union((*texts, Null(), Const("7"))), intersector, SchemaPath())
    for value in ["1/+1", "1", "2999/+2999", "3000/+3000", "1/+1\n", 7, 8, None, []]:
        document = Document(found, {})
        expected = value in (8, []) or (
            value not in (7, None) and f'"{value}"' not in {one.text for one in texts}
        )
        expected = expected and (value == "1" or not isinstance(value, str) or len(value) >= 4)
        assert holds(document, value) == expected, value


def test_a_definition_that_excludes_itself_ends() -> None:
    paradox = {"if": {"$ref": "#/$defs/a"}, "then": {"type": "integer"}, "else": {"type": "string"}}
    with pytest.raises(
        SchemaError, match=r"at `\$\.\$defs\.a\.if`:\n  the reference leads back to a schema around it"
    ):
        read({"$ref": "#/$defs/a", "$defs": {"a": paradox}})


REPEATING = [
    {"oneOf": [{"type": ["array", "null"]}, {"type": "array", "uniqueItems": True}]},
    {"oneOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "array", "uniqueItems": True}]},
    {"oneOf": [{"type": "array", "maxItems": 1}, {"oneOf": [{"type": "array"}, {"uniqueItems": True}]}]},
    {"if": {"uniqueItems": True}, "then": {"maxItems": 2}, "else": {"maxItems": 3}},
    {
        "oneOf": [{"$ref": "#/$defs/reference"}, {"$ref": "#/$defs/schema"}],
        "$defs": {
            "reference": {"type": "object", "required": ["a"]},
            "schema": {"properties": {"b": {"type": "array", "uniqueItems": True}}},
        },
    },
    {"not": {"$ref": "#/$defs/x"}, "$defs": {"x": {"oneOf": [{"type": "array"}, {"uniqueItems": True}]}}},
]


@pytest.mark.parametrize("schema", REPEATING)
def test_arrays_that_must_repeat_an_item_are_left_out(schema: dict[str, object]) -> None:
    """They are left out of the whole and of no part of it that is subtracted, which would let invalid values in."""
    document, validator = read(schema), Draft202012Validator(schema)
    assert [value for value in POOL if holds(document, value)]
    for value in POOL:
        is_unique = not isinstance(value, list) or len(value) == len({json.dumps(item) for item in value})
        assert validator.is_valid(value) >= holds(document, value)
        assert holds(document, value) or not (is_unique and validator.is_valid(value))


def test_strings_that_are_not_of_a_format_are_left_out_or_refused() -> None:
    regex: dict[str, object] = {"type": "string", "format": "regex"}
    guide = sk.compile({"oneOf": [regex, {"type": ["string", "null"]}]}, byte_vocabulary())
    assert guide.cursor().forced_bytes() == b"null"
    for refused in ({"type": "string", "not": regex}, {"not": {"oneOf": [{"not": regex}, {"type": "null"}]}}):
        with pytest.raises(UnsupportedKeyword, match="not of the format 'regex'"):
            sk.compile(refused, byte_vocabulary())


def test_a_difference_of_other_types_costs_little() -> None:
    """Two kinds of objects are compared key by key, and most values differ in their types."""
    intersector = Intersector(Definitions(), Limits(schema_nodes=20))
    for _ in range(10):
        assert difference(Null(), Integer(), intersector, SchemaPath()) == Null()
    with pytest.raises(LimitExceeded):
        difference(Integer(), Integer(minimum=3), intersector, SchemaPath())


def test_ranges_that_do_not_meet_are_compared_by_their_ends() -> None:
    """Each of the ranges that are left is compared with each that is excluded."""
    excluded = [{"minimum": 10 * number, "maximum": 10 * number + 4} for number in range(300)]
    schema = {"type": "integer", "not": {"anyOf": excluded}}
    root = read(schema, limits=Limits(schema_nodes=150_000), products="never").root
    assert isinstance(root, Union) and len(root.branches) == 301


@pytest.mark.parametrize("array", [False, True])
def test_constants_without_those_of_a_recursive_definition(array: bool) -> None:
    """Whether a definition has a constant is decided part by part."""
    node = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"type": "null"}},
        "additionalProperties": False,
    }
    values = [{"a": {"c": 1}}, {"a": {}}, {"b": None}, {"b": 1}, {"a": {"a": {"b": None}}}, {"a": {"b": 1}}]
    reference = {"$ref": "#/$defs/n"}
    schema: dict[str, object] = {
        "enum": [[value] for value in values] if array else values,
        "not": {"type": "array", "items": reference} if array else reference,
        "$defs": {"n": node},
    }
    validator, guide = Draft202012Validator(schema), sk.compile(schema, byte_vocabulary(), cache=False)
    for value in schema["enum"]:  # type: ignore[attr-defined]
        assert accepts(guide, json.dumps(value)) == validator.is_valid(value), value


def _excluded(*arrays: object) -> set[str]:
    """Return the arrays of up to three of three values that a schema without some arrays accepts."""
    schema = {"type": "array", "items": {"enum": [0, 1, "a"]}, "maxItems": 3, "not": {"anyOf": list(arrays)}}
    validator = Draft202012Validator(schema)
    reader = Reader(link(read_target(schema).rules()))
    texts = {json.dumps(items) for count in range(4) for items in product([0, 1, "a"], repeat=count)}
    found = {text for text in texts if reader.accepts(text.encode())}
    assert found == {text for text in texts if validator.is_valid(json.loads(text))}
    return found


@pytest.mark.parametrize(
    "arrays",
    [
        [{"const": [0, 1]}, {"const": [0]}, {"const": []}, {"const": [1, "a", 0]}],
        [
            {"prefixItems": [{"const": 0}, {"enum": [0, 1]}]},
            {"prefixItems": [{}, {"const": 1}], "minItems": 2},
        ],
        [
            {"prefixItems": [{"const": 0}], "maxItems": 2},
            {"prefixItems": [{"type": "integer"}, {"const": "a"}]},
        ],
        [{"prefixItems": [{"const": 0}], "items": {"const": 1}, "minItems": 2}, {"items": {"const": 0}}],
        [{"prefixItems": [{"const": 1}], "contains": {"const": 0}}, {"const": ["a", "a"]}],
    ],
)
def test_excluded_arrays_are_those_of_jsonschema(arrays: list[object]) -> None:
    assert 0 < len(_excluded(*arrays)) < 40


def test_each_excluded_array_splits_few_parts_of_the_others() -> None:
    cases = [{"const": [number >> bit & 1 for bit in range(7)]} for number in range(0, 128, 3)]
    schema = {
        "type": "array",
        "items": {"enum": [0, 1]},
        "minItems": 7,
        "maxItems": 7,
        "not": {"anyOf": cases},
    }
    root = read_target(schema).document.root
    assert isinstance(root, Union)
    assert len(root.branches) < 3 * len(cases)
