"""Intersection and disjointness, compared with the semantics of the nodes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from structkit.errors import LimitExceeded, SchemaError, UnsatisfiableSchema, UnsupportedKeyword
from structkit.limits import Limits
from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.schema.algebra.disjoint import may_intersect, pairwise_disjoint, without_incompatible
from structkit.schema.algebra.intersect import Intersector
from structkit.schema.algebra.intersect_strings import intersect_strings
from structkit.schema.algebra.membership import contains_value, expand
from structkit.schema.algebra.string_oracle import UNDECIDED, StringOracle
from structkit.schema.ir.definitions import Definitions
from structkit.schema.ir.nodes import (
    Additional,
    Anything,
    Array,
    Bound,
    Combined,
    Const,
    Contains,
    Document,
    Integer,
    Note,
    Null,
    Number,
    Object,
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.ir.path import SchemaPath
from tests.schema.algebra.pools import POOL, kinds, pairs
from tests.schema.reading import read
from tests.schema.semantics import holds
from tests.schema.values import json_values, nodes
from tests.shared import cases

SCALARS = ['"a"', '"1"', "1", "1.0", "10", "true", "false", "0", "null", '"null"']

slow = settings(max_examples=cases(20, of=60), deadline=None, suppress_health_check=list(HealthCheck))


_CONSTS = ['"ab"', '["a", "b"]', '{"a": "ab", "b": ["a"]}', '{"a": {"b": "b"}}', "[[]]", "{}"]


@pytest.mark.parametrize("oracle", [UNDECIDED, AutomatonOracle(python=False)], ids=["undecided", "automata"])
@pytest.mark.parametrize("text", _CONSTS)
def test_a_constant_is_itself_where_patterns_are_undecided(text: str, oracle: StringOracle) -> None:
    value, starts = json.loads(text), String(patterns=("^a",))
    keys = Object((Property("a", starts, required=False),), additional=(Additional(String(), Anything()),))
    for other in (starts, Array(items=starts), keys, Union((starts, Array(items=starts), keys))):
        found = Intersector(Definitions(), Limits(), oracle).intersect((Const(text), other), SchemaPath())
        assert holds(Document(found), value) == holds(Document(other), value)
        for wrong in (None, "a", "ba", ["a"], ["b"], {"a": "b"}, {"a": "a"}):
            assert wrong == value or not holds(Document(found), wrong)


@slow
@given(st.lists(nodes(), min_size=1, max_size=3), st.lists(json_values, max_size=6))
def test_intersections_contain_the_common_values(parts: list[Schema], values: list[object]) -> None:
    intersection = Intersector(Definitions(), Limits()).intersect(parts, SchemaPath())
    for value in values:
        assert holds(Document(intersection), value) == all(holds(Document(part), value) for part in parts)


@slow
@given(nodes(), nodes(), st.lists(json_values, max_size=8))
def test_disjoint_nodes_share_no_value(left: Schema, right: Schema, values: list[object]) -> None:
    if pairwise_disjoint([left, right], {}.get):
        assert not [
            value for value in values if holds(Document(left), value) and holds(Document(right), value)
        ]


@slow
@given(pairs())
def test_intersections_of_similar_nodes_contain_the_common_values(pair: tuple[Schema, Schema]) -> None:
    intersector = Intersector(Definitions(), Limits(), AutomatonOracle(python=True))
    intersection = intersector.intersect(pair, SchemaPath())
    for value in POOL:
        assert holds(Document(intersection), value) == all(holds(Document(part), value) for part in pair)


@slow
@given(pairs())
def test_nodes_that_share_no_value_by_proof_share_none(pair: tuple[Schema, Schema]) -> None:
    oracle = AutomatonOracle(python=False)
    shared = [value for value in POOL if all(holds(Document(part), value) for part in pair)]
    if shared:
        assert may_intersect(*pair, oracle, print)
        assert not pairwise_disjoint(pair, {}.get)


@slow
@given(nodes(), json_values)
def test_contains_value_agrees_with_the_semantics(node: Schema, value: object) -> None:
    assert contains_value(node, value, AutomatonOracle(python=True)) == holds(Document(node), value)


@slow
@given(st.tuples(kinds(2)) | pairs())
def test_contains_value_agrees_with_the_semantics_of_small_nodes(nodes: tuple[Schema, ...]) -> None:
    oracle = AutomatonOracle(python=False)
    for node in nodes:
        for value in POOL:
            assert contains_value(node, value, oracle) == holds(Document(node), value)


def test_the_content_of_a_string_meets_other_constraints_but_no_other_content() -> None:
    content, path = String(content=Integer()), SchemaPath()
    for other in (String(), String(max_length=3), content):
        for pair in ((content, other), (other, content)):
            found = intersect_strings(*pair, path)
            assert (found.content, found.max_length) == (Integer(), other.max_length)
    with pytest.raises(UnsupportedKeyword, match="JSON in one string"):
        intersect_strings(content, String(content=Null()), path)


COUNTED = Array(items=Integer(), contains=(Contains(Integer(minimum=2), Integer(), 2, 3),))
NAMED = Object((Property("a", Null(), required=False),), (Additional(String(patterns=("^b",)), Integer()),))


@pytest.mark.parametrize(
    ("node", "values", "others"),
    [
        (COUNTED, [[2, 3], [0, 2, 1, 4, 6]], [[], [2], [2, 3, 4, 5], ["a", 2, 2]]),
        (NAMED, [{}, {"a": None}, {"a": None, "ba": 1, "b": 2}], [{"b": None}, {"a": 1}, {"c": 1}]),
        (replace(NAMED, max_properties=2), [{"a": None, "b": 1}], [{"a": None, "b": 1, "ba": 1}]),
        (Combined((NAMED, Object()), 1, 1), [{"b": 1}], [{}, {"c": 1}, None]),
        (Combined((NAMED, Object()), 0, 1), [{"b": 1}, {"c": 1}], [{}, [], 1]),
        (Combined((NAMED, Object()), 2, 2), [{}], [{"b": 1}, {"c": 1}]),
    ],
)
def test_contains_value_of_counts(node: Schema, values: list[object], others: list[object]) -> None:
    oracle = AutomatonOracle(python=False)
    assert [contains_value(node, value, oracle) for value in values] == [True] * len(values)
    assert [contains_value(node, value, oracle) for value in others] == [False] * len(others)


def test_contains_value_is_undecided_where_a_reference_decides() -> None:
    either = Combined((Object((Property("a", Ref("x")),)), Object((Property("a", Null()),))), 1, 1)
    assert contains_value(either, {"a": 1}) is None and contains_value(either, {"b": 1}) is False
    assert contains_value(Array(items=Ref("x"), contains=(Contains(Ref("x"), Ref("x")),)), [1]) is None
    assert contains_value(Union((Ref("x"), Null())), None) is True


def test_a_constant_is_expanded_by_its_kind() -> None:
    listed = Array((Const("1"), Const("{}")), min_items=2, max_items=2)
    assert expand(Const("[1,{}]")) == listed and expand(Const("[]")) == Array(max_items=0)
    assert expand(Const('{"a":[]}')) == Object((Property("a", Const("[]")),))
    assert all(expand(Const(text)) == Const(text) for text in ("1", '"a"', "null"))


@pytest.mark.parametrize(
    ("branches", "answer"),
    [
        ([{"const": "a"}, {"const": "b"}, {"const": 1}, {"type": "null"}], True),
        ([{"const": 1}, {"const": 1.0}], False),
        ([{"type": "integer"}, {"type": "number"}], False),
        ([{"type": "integer", "maximum": 0}, {"type": "number", "exclusiveMinimum": 0}], True),
        ([{"type": "string", "maxLength": 2}, {"type": "string", "minLength": 3}], True),
        ([{"type": "string", "pattern": "a"}, {"type": "string", "pattern": "b"}], False),
        ([{"type": "array", "prefixItems": [{"const": i}], "minItems": 1} for i in "ab"], True),
        ([{"type": "array", "prefixItems": [{"const": i}]} for i in "ab"], False),
        ([{"type": "array", "maxItems": 1}, {"type": "array", "minItems": 2}], True),
        (
            [
                {"type": "object", "properties": {"k": {"enum": [i]}}, "required": ["k"]}
                for i in (1, "x", None)
            ],
            True,
        ),
        ([{"type": "object", "properties": {"k": {"const": i}}} for i in "ab"], False),
        ([{"type": "object", "required": ["a"]}, {"type": "object", "properties": {"a": False}}], True),
    ],
)
def test_pairwise_disjoint_proves_only_disjoint_branches(
    branches: list[dict[str, object]], answer: bool
) -> None:
    assert pairwise_disjoint([read(branch).root for branch in branches], {}.get) is answer


def test_proofs_about_recursive_schemas_terminate() -> None:
    """Twelve alternatives that differ only in nested values, each with two recursive properties."""
    keys = {"l": {"$ref": "#"}, "r": {"$ref": "#"}}
    branches = [
        {"type": "object", "properties": {**keys, f"k{i}": {}}, "required": ["l", "r"]} for i in range(12)
    ]
    # The keys that differ are optional, so all alternatives are equal, and never exactly one of them matches.
    assert read({"oneOf": [*branches, {"type": "null"}]}).root == Null()


def test_intersections_keep_descriptions() -> None:
    document = read(
        {
            "allOf": [{"type": "integer", "description": "years"}, {"minimum": 3}],
            "anyOf": [{"maximum": 5}, {"maximum": 9}],
        }
    )
    assert isinstance(document.root, Union)
    described = read(
        {"$ref": "#/$defs/a", "description": "x", "$defs": {"a": {"type": "null", "description": "y"}}}
    )
    assert described.definitions == {} and described.root.note is not None
    assert described.root.note.description == "x"


def test_intersections_of_properties_apply_all_bounds() -> None:
    intersection = Intersector(Definitions(), Limits()).intersect(
        [Object((Property("a", Integer(minimum=1)),)), Object((Property("a", Integer(maximum=3)),))],
        SchemaPath(),
    )
    assert intersection == Object((Property("a", Integer(minimum=1, maximum=3)),))


def test_conditions_on_one_required_key_do_not_multiply() -> None:
    kinds = [f"k{number}" for number in range(30)]
    conditions = [
        {"if": {"properties": {"kind": {"const": kind}}}, "then": {"required": [f"p{kind}"]}}
        for kind in kinds
    ]
    document = read(
        {
            "type": "object",
            "properties": {"kind": {"enum": kinds}},
            "required": ["kind"],
            "allOf": conditions,
        },
        products="never",
    )
    assert isinstance(document.root, Union) and len(document.root.branches) == len(kinds)
    assert holds(document, {"kind": "k7", "pk7": 1})
    assert not holds(document, {"kind": "k7", "pk8": 1})


_PATTERNS = ["^a", "b$", "a|b", "^(a|b)+$", "ab1", r"\d", "^$", "(?i)a"]


@slow
@given(st.lists(st.lists(st.sampled_from(_PATTERNS), min_size=2, max_size=4), min_size=2, max_size=4))
def test_an_intersection_of_unions_of_patterns_is_exact(unions: list[list[str]]) -> None:
    schema = {"type": "string", "allOf": [{"anyOf": [{"pattern": one} for one in each]} for each in unions]}
    expected = {
        text: all(any(re.search(one, text) for one in each) for each in unions)
        for text in ("", "a", "b", "ab", "ba", "ab1", "1", "a1b", "A", "c", "cb", "xab12")
    }
    try:
        document = read(schema)
    except UnsatisfiableSchema:
        assert not any(expected.values())
        return
    except SchemaError:
        assert any("(?i)" in one for each in unions for one in each)
        return
    assert {text: holds(document, text) for text in expected} == expected


def test_an_intersection_of_unions_of_patterns_does_not_multiply() -> None:
    schema = {
        "type": "string",
        "allOf": [{"anyOf": [{"pattern": f"{i}{j}"} for j in range(9)]} for i in range(9)],
    }
    assert isinstance(read(schema).root, String)


class _CountingOracle(AutomatonOracle):
    """Counts the texts that it is asked about."""

    texts = 0

    def contains_each(self, node: String, texts: Sequence[str]) -> list[bool | None]:
        """Return the answers."""
        self.texts += len(texts)
        return super().contains_each(node, texts)


def test_alternatives_are_compared_with_each_other_node_once() -> None:
    def texts(count: int) -> int:
        conditions = [
            {
                "if": {"type": "object", "properties": {"type": {"const": f"t{number}"}}},
                "then": {"properties": {"value": {"properties": {f"a{number}": {"type": "string"}}}}},
            }
            for number in range(count)
        ]
        keys = {"type": {"type": "string"}, "value": {"type": "object"}}
        schema = {"type": "object", "required": ["type"], "properties": keys, "allOf": conditions}
        oracle = _CountingOracle(python=False)
        read(schema, oracle=oracle, products="never")
        return oracle.texts

    # Each of n alternatives is compared with n conditions; 46 times as many if it is compared at each step of n again.
    assert 0 < texts(32) < 20 * texts(8)


def test_keys_that_other_objects_restrict_are_charged() -> None:
    """Each key of each object is looked up in all others."""
    parts = [
        Object(
            tuple(Property(f"k{n}_{i}", Integer(), required=False) for i in range(60)),
            additional=(Additional(String(), Integer()),),
        )
        for n in range(60)
    ]
    with pytest.raises(LimitExceeded, match="schema_nodes=40000"):
        Intersector(Definitions(), Limits(schema_nodes=40_000)).intersect(parts, SchemaPath())
    merged = Intersector(Definitions(), Limits()).intersect(parts, SchemaPath())
    assert isinstance(merged, Object) and len(merged.properties) == 3600


def test_pairs_of_groups_of_keys_are_charged() -> None:
    """Also those that no name is in."""
    parts = [
        Object(
            additional=tuple(Additional(String(patterns=(f"^{letter}{n:02}$",)), Null()) for n in range(30))
        )
        for letter in "ab"
    ]
    with pytest.raises(LimitExceeded, match="schema_nodes=5000"):
        Intersector(Definitions(), Limits(schema_nodes=5_000), AutomatonOracle(python=False)).intersect(
            parts, SchemaPath()
        )
    merged = Intersector(Definitions(), Limits(schema_nodes=40_000), AutomatonOracle(python=False)).intersect(
        parts, SchemaPath()
    )
    assert isinstance(merged, Object) and not merged.additional


def test_alternatives_of_keys_that_are_compared_are_charged() -> None:
    """Also those of objects in objects; lists of constants are compared at once, not in pairs."""

    def of(values: list[Schema]) -> Object:
        value = Union((Const('"a"'), *values))
        inner = Object(tuple(Property(f"k{number}", value) for number in range(20)))
        return Object((Property("inner", Union((inner, Null()))),))

    def cost(left: list[Schema], right: list[Schema]) -> float:
        paid: list[float] = []
        assert may_intersect(of(left), of(right), UNDECIDED, paid.append)
        return sum(paid)

    ranges: list[Schema] = [Integer(minimum=number, maximum=number) for number in range(30)]
    low, high = ([Const(str(number)) for number in range(first, first + 30)] for first in (0, 30))
    assert cost(ranges, ranges) > 300
    assert cost([*low], [*high]) < 40


def test_alternatives_that_are_no_constants_decide_before_constants_are_compared() -> None:
    """A pattern in both lists is enough: neither is compared with the numbers of the other list."""

    def of(numbers: range) -> Object:
        values = Union((*(Const(str(number)) for number in numbers), String(patterns=("^z",))))
        return Object((Property("k", values),))

    paid: list[float] = []
    assert may_intersect(of(range(30)), of(range(30, 60)), UNDECIDED, paid.append)
    assert sum(paid) < 2


@given(st.sampled_from(SCALARS), st.sampled_from(SCALARS))
def test_constants_share_a_value_if_they_are_equal(left: str, right: str) -> None:
    one, other = Const(left), Const(right)
    expected = bool(contains_value(one, json.loads(right)))
    assert may_intersect(one, other, UNDECIDED, print) is expected
    found = without_incompatible(Union((one, Null())), [other], UNDECIDED, print, frozenset())
    assert (one in (found, *getattr(found, "branches", ()))) is expected


def test_objects_that_allow_everything_do_not_restrict_keys() -> None:
    open_, closed = (Additional(String(), Anything()),), (Additional(String(), Integer(minimum=2)),)
    left = Object((Property("a", Integer(minimum=1)),), additional=open_)
    right = Object((Property("b", Integer(maximum=9)),), additional=closed)
    merged = Intersector(Definitions(), Limits()).intersect([left, right], SchemaPath())
    assert isinstance(merged, Object)
    assert {key.name: key.value for key in merged.properties} == {
        "a": Integer(minimum=2),
        "b": Integer(maximum=9),
    }
    assert [group.value for group in merged.additional] == [Integer(minimum=2)]


@pytest.mark.parametrize(
    ("max_cost", "remedy"), [(None, "pass Limits(schema_nodes=...)"), (4, "which is fixed")]
)
def test_the_error_of_too_many_combinations_names_a_limit_that_helps(
    max_cost: int | None, remedy: str
) -> None:
    intersector = Intersector(Definitions(), Limits(schema_nodes=8), max_cost=max_cost)
    with pytest.raises(LimitExceeded, match=re.escape(remedy)):
        intersector.charge(100, SchemaPath())


def test_the_same_nodes_are_intersected_once() -> None:
    """Items before conditions on prefixes meet the same items again and again; equal ones can have other notes."""
    intersector = Intersector(Definitions(), Limits())
    numbers, bounded = Union((Number(maximum=Bound(Decimal(9))), String())), Integer(minimum=3)
    found = intersector.intersect((numbers, bounded), SchemaPath())
    assert found == Integer(minimum=3, maximum=9)
    assert intersector.intersect((numbers, bounded), SchemaPath().child("items")) is found
    noted = Union((Number(maximum=Bound(Decimal(9)), note=Note("nine")), String()))
    assert noted == numbers
    again = intersector.intersect((noted, bounded), SchemaPath())
    assert again == found and again is not found
