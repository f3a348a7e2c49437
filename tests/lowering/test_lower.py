"""The JSON texts of a schema against jsonschema and pydantic, and the printed regex against the automaton."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal, NamedTuple

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import LimitExceeded, PatternError, SchemaError, UnsatisfiableSchema, UnsupportedKeyword
from structkit.limits import Limits
from structkit.lowering.lower import Whitespace, lower
from structkit.regex.json_string import free_text_body
from structkit.regex.nodes import NEVER, LiteralText, RuleRef, Rules
from structkit.regex.print import format_regex
from structkit.schema.ir.nodes import (
    Additional,
    Anything,
    Array,
    Boolean,
    Bound,
    Const,
    Document,
    Format,
    Integer,
    Never,
    Null,
    Number,
    Object,
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.python.output import OutputType
from structkit.vocabulary.vocabulary import byte_vocabulary


def written(value: object, whitespace: Whitespace = "spaced") -> str:
    separators = (", ", ": ") if whitespace == "spaced" else (",", ":")
    return json.dumps(value, ensure_ascii=False, separators=separators)


def as_dict(schema: Schema) -> dict[str, object] | bool:
    """Return the equivalent JSON Schema."""
    match schema:
        case Anything():
            return True
        case Never():
            return False
        case Null():
            return {"type": "null"}
        case Boolean():
            return {"type": "boolean"}
        case Const(text):
            return {"const": json.loads(text)}
        case Integer(minimum=low, maximum=high, multiple_of=of):
            return _given(type="integer", minimum=low, maximum=high, multipleOf=of)
        case String(min_length=min_length, max_length=max_length):
            return _given(type="string", minLength=min_length, maxLength=max_length)
        case Union(branches):
            return {"anyOf": [as_dict(branch) for branch in branches]}
        case Array():
            items = {"prefixItems": [as_dict(item) for item in schema.prefix], "items": as_dict(schema.items)}
            return _given(type="array", minItems=schema.min_items, maxItems=schema.max_items) | items
        case Object():
            additional = bool(schema.additional) and as_dict(schema.additional[0].value)
            return _given(
                type="object",
                properties={prop.name: as_dict(prop.value) for prop in schema.properties},
                required=[prop.name for prop in schema.properties if prop.required],
                additionalProperties=additional,
                minProperties=schema.min_properties,
                maxProperties=schema.max_properties,
            )
    raise ValueError(schema)


def _given(**keywords: object) -> dict[str, object]:
    return {name: value for name, value in keywords.items() if value is not None}


scalars: st.SearchStrategy[Schema] = st.sampled_from(
    [
        Null(),
        Boolean(),
        Anything(),
        Never("none"),
        Integer(),
        Integer(minimum=0, maximum=2),
        Integer(multiple_of=2),
        String(),
        String(min_length=1, max_length=2),
        Const('"a\\"b, c: d\\\\"'),
        Const('{"a":[1,2]}'),
    ]
)


def composite(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    declared = st.tuples(*(st.builds(Property, st.just(name), inner, st.booleans()) for name in "abc"))
    return st.one_of(
        st.builds(
            Array,
            prefix=st.lists(inner, max_size=2).map(tuple),
            items=inner,
            min_items=st.integers(0, 3),
            max_items=st.none() | st.integers(0, 3),
        ),
        st.builds(
            Object,
            properties=declared | st.just(()),
            additional=st.just(()) | inner.map(lambda value: (Additional(String(), value),)),
            min_properties=st.integers(0, 4),
            max_properties=st.none() | st.integers(0, 4),
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda branches: Union(tuple(branches))),
    )


schemas = st.recursive(scalars, composite, max_leaves=6)
leaves = st.sampled_from(
    [None, True, 0, 1, 2, 3, -4, "", "a", "ab", "abc", 'a"b, c: d\\', "é\n", {"a": [1, 2]}]
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from("abcxy"), inner, max_size=4).map(
            lambda entries: dict(sorted(entries.items()))
        )
    ),
    max_leaves=6,
)


def holds(rules: Rules, text: str) -> bool:
    """Return whether the rules accept the text, with the automaton and, without recursion, with `re`."""
    try:
        accepted = Reader(link(rules)).accepts(text.encode())
    except UnsatisfiableSchema:
        accepted = False
    printed = format_regex(rules)
    if not printed.startswith("start = "):
        assert (re.fullmatch(printed, text) is not None) == accepted
    return accepted


@given(schemas, values, st.sampled_from(["spaced", "compact"]))
def test_a_schema_accepts_its_values(schema: Schema, value: object, whitespace: Whitespace) -> None:
    try:
        rules = lower(Document(schema, bounded=False), whitespace=whitespace)
    except UnsatisfiableSchema:
        rules = Rules(NEVER, {})
    assert holds(rules, written(value, whitespace)) == jsonschema.Draft202012Validator(
        as_dict(schema)
    ).is_valid(value)
    other = written(value, "compact" if whitespace == "spaced" else "spaced")
    assert other == written(value, whitespace) or not holds(rules, other)


class Color(Enum):
    RED = "red"
    TWO = 2


class Point(NamedTuple):
    x: int
    y: float = 0.5


class Item(BaseModel):
    name: Annotated[str, Field(min_length=1, max_length=8)]
    price: Annotated[float, Field(ge=0, lt=100)]
    tags: set[Literal["a", "b", "c"]] = set()


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: int


@dataclass
class Order:
    item: Item
    count: Annotated[int, Field(gt=0, multiple_of=5)]
    note: str | None = None


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


MODELS = {
    Item: [
        '{"name": "ab", "price": 99.99, "tags": ["a", "c"]}',
        '{"name": "ab", "price": 100, "tags": []}',
        '{"name": "", "price": 1.0, "tags": []}',
        '{"name": "ab", "price": -0.5, "tags": []}',
        '{"name": "ab", "price": 1e-07, "tags": ["d"]}',
    ],
    Order: [
        '{"item": {"name": "ab", "price": 1, "tags": []}, "count": 15, "note": null}',
        '{"item": {"name": "ab", "price": 1, "tags": []}, "count": 16, "note": "x"}',
        '{"item": {"name": "ab", "price": 1, "tags": []}, "count": 0, "note": "x"}',
        '{"item": null, "count": 5, "note": "x"}',
    ],
    Open: ['{"name": 1}', '{"name": 1, "other": [{}, "é"]}', '{"name": "a"}', "{}"],
    Tree: ['{"value": 1, "children": [{"value": 2, "children": []}]}', '{"value": 1, "children": [{}]}'],
    Color: ['"red"', "2", '"two"', "3"],
    Point: ["[1, 2.5]", "[1.5, 2]", "[]"],
    dict[str, int]: ['{"a": 1, "b": -2}', "{}", '{"a": "1x"}'],
    dict[Annotated[str, Field(pattern="^[a-z]+$")], bool]: ['{"ab": true}', '{"A": true}', '{"a": 2}'],
    tuple[int, str]: ['[1, "a"]', "[1]", '[1, "a", 2]'],
    Annotated[str, Field(pattern=r"^\d{3}-\w+$", max_length=6)]: [
        '"123-ab"',
        '"123-é"',
        '"12-ab"',
        '"123-abc"',
    ],
    Annotated[list[int | None], Field(min_length=1, max_length=2)]: ["[1]", "[null, 2]", "[]", "[1, 2, 3]"],
    list[float]: ["[]", "[1.5, -2e+20, 1e-05]", "[NaNx]", '["a"]'],
}


@pytest.mark.parametrize("target", MODELS, ids=str)
def test_a_python_type_accepts_what_pydantic_accepts(target: type) -> None:
    rules = lower(OutputType.of(target).document)
    for text in MODELS[target]:
        try:
            TypeAdapter(target).validate_json(text, strict=None)
            valid = True
        except ValidationError:
            valid = False
        assert holds(rules, text) == valid, text


def test_the_printed_regex_is_readable() -> None:
    schema = Object(
        (
            Property("age", Integer(minimum=0, maximum=120)),
            Property("job", Union((Const('"nurse"'), Null())), required=False),
        )
    )
    printed = format_regex(lower(Document(schema)))
    assert printed == r'\{"age": (?:0|[1-9][0-9]?|1[01][0-9]|120)(?:, "job": (?:"nurse"|null))?\}'


def test_free_text_is_one_rule_for_all_fields() -> None:
    schema = Object((Property("a", String()), Property("b", String(max_length=5)), Property("c", String())))
    rules = lower(Document(schema))
    assert rules.rules == {"text": free_text_body(0, None), "text{0,5}": free_text_body(0, 5)}
    assert lower(Document(String())).rules["text"] is rules.rules["text"]


@pytest.mark.parametrize("key", ["a", "é", 'q"', "line\n", "\\", "", "$ref"])
def test_keys_are_escaped(key: str) -> None:
    rules = lower(Document(Object((Property(key, Null()),), additional=(Additional(String(), Boolean()),))))
    assert holds(rules, written({key: None}))
    assert holds(rules, written({key: None, "other": True}))
    assert not holds(rules, written({key: None})[:-1] + f", {written(key)}: true}}")


@given(st.dictionaries(st.text("ab", max_size=3), st.just(1), max_size=4))
def test_additional_keys_have_allowed_names(value: dict[str, int]) -> None:
    names = String(min_length=1, patterns=("^a|b$",))
    schema = Object(
        (Property("ab", Integer(), required=False),),
        additional=(Additional(names, Integer()),),
        min_properties=2,
    )
    rules = lower(Document(schema, bounded=False))
    ordered = dict(sorted(value.items(), key=lambda entry: entry[0] != "ab"))
    fits = len(value) >= 2 and all(key == "ab" or key[:1] == "a" or key[-1:] == "b" for key in value)
    assert holds(rules, written(ordered)) == fits


@pytest.mark.parametrize("bounded", [True, False])
def test_counted_keys_are_distinct(bounded: bool) -> None:
    rules = lower(
        Document(Object(additional=(Additional(String(), Integer()),), min_properties=2), bounded=bounded)
    )
    assert holds(rules, '{"a": 1, "b": 2}')
    assert not holds(rules, '{"a": 1, "a": 2}')
    assert not holds(rules, '{"a": 1}')


def test_unique_items_are_distinct() -> None:
    numbers = Array(items=Number(), unique_items=True, min_items=2, max_items=3)
    for bounded, one, two in ((False, "1", "2"), (True, "1.0", "2.0")):
        rules = lower(Document(Object((Property("a", numbers), Property("b", numbers))), bounded=bounded))
        assert holds(rules, f'{{"a": [{one}, 1.5, {two}], "b": [{one}, {two}]}}')
        assert not holds(rules, f'{{"a": [{one}, 1.5, {one}], "b": [{one}, {two}]}}')
        assert not holds(rules, f'{{"a": [1, 1.0], "b": [{one}, {two}]}}')
    rules = lower(Document(Array(prefix=(Integer(), Anything()), items=Number(), unique_items=True)))
    assert holds(rules, '[1, "a", 2.0, 3.5]')
    assert not holds(rules, "[1, 1, 2]")
    assert not holds(rules, "[1, 2, 3.0, 3.0]")


UNIQUE: list[tuple[Schema, str, bool]] = [
    (Anything(), '[1, [1], {"a": 1.5}, {"a": 2}]', True),
    (Anything(), "[1, 1.0]", False),
    (Anything(), '[{"a": 1, "b": 2}, {"b": 2, "a": 1}]', False),
    (Ref("open"), '[{"a": 1.5}, {"a": 1.5, "b": [0.5]}, {"b": [0.5]}]', True),
    (Ref("open"), '[{"a": 1}, {"a": 1.0}]', False),
    (Ref("open"), '[{"b": 1, "c": 2}, {"c": 2, "b": 1}]', False),
    (Ref("tree"), "[[], [[]], [[], []], [1.5]]", True),
    (Ref("tree"), "[[1.5], [1.50]]", False),
    (Ref("closed"), '[{"a": "x"}, {"a": "y"}]', True),
    (Ref("closed"), '[{"a": "x"}, {"a": "x"}]', False),
]


@pytest.mark.parametrize(("items", "text", "expected"), UNIQUE)
@pytest.mark.parametrize("bounded", [True, False])
def test_unique_values_have_one_spelling(items: Schema, text: str, expected: bool, bounded: bool) -> None:
    definitions: dict[str, Schema] = {
        "open": Object(
            (Property("a", Number(), required=False),), additional=(Additional(String(), Anything()),)
        ),
        "tree": Array(items=Union((Ref("tree"), Number()))),
        "closed": Object((Property("a", String()),)),
    }
    rules = lower(Document(Array(items=items, unique_items=True, min_items=2), definitions, bounded))
    assert Reader(link(rules)).accepts(text.encode()) == expected


def test_one_unique_item_of_a_python_type_can_have_any_spelling() -> None:
    rules = lower(Document(Array(items=Number(), unique_items=True, min_items=1)))
    assert holds(rules, "[1, 1.0]")
    assert not holds(rules, "[1, 1]")


def test_numbers_outside_unique_items_can_have_any_spelling() -> None:
    schema = Array(
        (Array(items=Ref("n"), unique_items=True, min_items=2), Ref("n"), Anything()),
        items=Never("no"),
        min_items=3,
    )
    rules = lower(Document(schema, {"n": Number()}))
    assert Reader(link(rules)).accepts(b'[[1.0, 1.5], 2.50, {"a": 1.0, "b": 2}]')
    assert not Reader(link(rules)).accepts(b"[[1.00, 1.5], 2.50, 1]")


@pytest.mark.parametrize("text", ["[1, {}]", '{"a": {"b": [null]}, "c": 1.5}', '"x"', "-1e-07", "[[[[]]]]"])
def test_anything_accepts_every_json_value(text: str) -> None:
    assert holds(lower(Document(Anything())), text)
    compact = text.replace(", ", ",").replace(": ", ":")
    assert holds(lower(Document(Anything()), whitespace="compact"), compact)
    assert compact == text or not holds(lower(Document(Anything())), compact)


def node(value: Schema) -> Schema:
    return Object((Property("v", value), Property("next", Union((Ref("node"), Null())), required=False)))


def test_a_recursive_definition_is_a_rule() -> None:
    rules = lower(Document(Ref("node"), {"node": node(Ref("value")), "value": Integer()}))
    assert rules.start == RuleRef("#node")
    assert set(rules.rules) == {"#node", "integer"}
    assert holds(rules, '{"v": 1, "next": {"v": 2, "next": {"v": 3}}}')
    assert not holds(rules, '{"v": 1, "next": {}}')


def test_ranges_of_numbers_are_lazy_rules_except_at_the_root() -> None:
    half = Number(minimum=Bound(Decimal("0.5")))
    rules = lower(Document(Object((Property("a", half), Property("b", Integer(0, 9)), Property("c", half)))))
    assert rules.lazy == set(rules.rules) == {"#$.a", "#$.c"}
    assert rules.rules["#$.a"] is rules.rules["#$.c"], "which is built once"
    assert not lower(Document(half)).rules


def test_names_of_definitions_do_not_clash_with_rules() -> None:
    definitions = {"text": Array(items=Union((Ref("text"), String()))), "json": Anything()}
    rules = lower(Document(Array((Ref("text"), Ref("json")), min_items=2), definitions))
    assert holds(rules, '[["a", ["b"]], {"c": 1}]')


def test_definitions_are_copied_when_small_and_called_when_large() -> None:
    large = Union(tuple(Const(str(number)) for number in range(100)))
    twice = lower(Document(Array(items=Union((Ref("a"), Array(items=Ref("a"))))), {"a": large}))
    assert set(twice.rules) == {"#a"}
    assert not lower(Document(Array(items=Ref("a")), {"a": large, "unused": Ref("unused")})).rules
    assert not lower(Document(Array(items=Union((Ref("a"), Array(items=Ref("a"))))), {"a": Null()})).rules


def test_deep_schemas_become_rules() -> None:
    schema: Schema = Null()
    for _ in range(90):
        schema = Array(items=schema)
    assert Reader(link(lower(Document(schema)))).accepts(b"[" * 90 + b"null" + b"]" * 90)
    chain: dict[str, Schema] = {f"d{i}": Array(items=Ref(f"d{i + 1}")) for i in range(2000)}
    rules = lower(Document(Ref("d0"), chain | {"d2000": Null()}))
    assert Reader(link(rules)).accepts(b"[" * 2000 + b"null" + b"]" * 2000)


MANY = tuple(Property(str(number), Null(), required=False) for number in range(400))


@pytest.mark.parametrize(
    ("schema", "error", "message"),
    [
        (Never("nothing here"), UnsatisfiableSchema, r"(?s)at `\$`:\n  .*nothing here"),
        (Array((Array((Never("no"),), min_items=1),), min_items=1), UnsatisfiableSchema, r"at `\$\[0\]\[0\]`"),
        (Union((Integer(minimum=2, maximum=1),)), UnsatisfiableSchema, "no value"),
        (Array(items=String(patterns=("(a",))), PatternError, r"(?s)at `\$\[\]`:\n  .*not closed"),
        (Object((Property("a b", String(format=Format("color"))),)), UnsupportedKeyword,
         r'at `\$\["a b"\]`:\n  .*format'),
        (Object((Property("\ud800", Null()),)), SchemaError, "surrogate"),
        (Number(minimum=Bound(Decimal("1e9999"))), UnsupportedKeyword, "minimum"),
        (Object(MANY, min_properties=300), UnsupportedKeyword, "minProperties"),
    ],
)  # fmt: skip
def test_errors_have_the_path(schema: Schema, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        lower(Document(schema))


def test_an_unknown_format_of_a_json_schema_is_ignored() -> None:
    assert lower(Document(String(format=Format("color")), bounded=False)) == lower(
        Document(String(), bounded=False)
    )


def test_the_number_of_nodes_is_limited() -> None:
    wide = Union(tuple(Const(str(number)) for number in range(100)))
    with pytest.raises(LimitExceeded, match="regex_nodes=50"):
        lower(Document(wide), limits=Limits(regex_nodes=50))


def test_constants_are_spaced_outside_of_strings() -> None:
    value = {"a": ["x,y:z", 'q",:"', "\\"], "b": {"c,": [1, 2]}}
    compact = written(value, "compact")
    assert lower(Document(Const(compact))).start == LiteralText(written(value))
    assert lower(Document(Const(compact)), whitespace="compact").start == LiteralText(compact)


def test_an_error_of_a_format_names_the_place() -> None:
    """The language of a format is shared by all strings of the format, so it has no place."""

    class Price(BaseModel):
        amount: Annotated[Decimal, Field(gt=Decimal("0." + "9" * 300), lt=1)]

    with pytest.raises(UnsupportedKeyword, match="60 significant digits") as caught:
        sk.to_regex(Price)
    assert caught.value.place == "$.amount"


@pytest.mark.parametrize(("target", "is_repeated"), [({}, True), (object, False)])
def test_the_keys_of_any_json_value_differ_for_python_only(target: object, is_repeated: bool) -> None:
    """A JSON Schema allows a key twice; a dict of Python would lose one of its values."""
    for text, expected in (
        ('{"a": 1, "b": 2}', True),
        ('[{"a": 1}, {"a": 2}]', True),
        ('{"a": {"a": 1}}', True),
        ('{"a": 1, "a": 2}', is_repeated),
        ('[{"a": 1, "b": 1, "a": 2}]', is_repeated),
    ):
        cursor = sk.compile(target, byte_vocabulary()).cursor()
        try:
            for byte in text.encode():
                cursor.advance(byte)
            found = cursor.is_accepting
        except sk.TokenRejected:
            found = False
        assert found == expected, text
