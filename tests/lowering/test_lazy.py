"""Definitions of large documents are lowered on first use."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import reduce
from typing import cast

import pytest
from hypothesis import HealthCheck, example, given, reject, settings
from hypothesis import strategies as st

from structkit.automaton.construct.compile_rule import build_rule, regular_dfa
from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.errors import LimitExceeded, SchemaError, UnsatisfiableSchema
from structkit.limits import Limits
from structkit.lowering import lazy
from structkit.lowering.containers.notation import JSON
from structkit.lowering.containers.objects import MAX_LAZY_SIZE
from structkit.lowering.lower import _Lowering, lower
from structkit.lowering.strings import rfc
from structkit.lowering.strings.registry import language
from structkit.lowering.strings.rfc import FORMAT_EXAMPLES, KNOWN_FORMATS, MAX_COUNTED, format_example
from structkit.regex.lazy_rules import LazyRules
from structkit.regex.nodes import NEVER, LiteralText, Rules
from structkit.schema.ir.descend import children
from structkit.schema.ir.nodes import (
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
from structkit.targets.targets import read_target
from tests.schema.values import json_values, schemas
from tests.shared import cases

LIMITS = Limits(schema_nodes=50_000, nfa_states=60_000)
MANY = 300


def _document() -> Document:
    """Return a chain of definitions, each of which can contain the next."""
    last = {f"d{MANY}": Object((Property("end", Integer()),))}
    chain = {
        f"d{number}": Object(
            (
                *(Property(f"p{each}", Integer(), required=False) for each in range(8)),
                Property("next", Ref(f"d{number + 1}"), required=False),
            )
        )
        for number in range(MANY)
    }
    return Document(Object((Property("first", Ref("d0")),)), chain | last)


def _lowered_definitions(rules: Rules) -> set[str]:
    assert isinstance(rules.rules, LazyRules)
    return {name for name in rules.rules.lowered if name.startswith("#d")}


def test_a_definition_is_lowered_on_first_use() -> None:
    rules = lower(_document())
    assert _lowered_definitions(rules) == set()
    automaton = link(rules)
    assert _lowered_definitions(rules) == set(), "its length is known from an example"
    frames = automaton.start_frames()
    for number in range(3):
        frames, _ = Reader(automaton).read(frames, b"", b'{"first": ' if number == 0 else b'{"next": ')
        assert frames
        assert _lowered_definitions(rules) == {f"#d{each}" for each in range(number + 1)}
    assert Reader(automaton).accepts(b'{"first": {"next": {"next": {"p7": 1}}}}')
    assert not Reader(automaton).accepts(b'{"first": {"next": {"next": {"p8": 1}}}}')


def test_iteration_lowers_all_rules() -> None:
    rules = lower(_document())
    assert len(rules.rules) == MANY + 1  # the last definition is small and copied; `integer` is a rule
    assert _lowered_definitions(rules) == {f"#d{number}" for number in range(MANY)}
    assert rules.lazy >= set(rules.rules)


def test_json_inside_a_string_can_use_a_deferred_definition() -> None:
    document = _document()
    inside = Property("inside", String(content=Ref("d0")))
    rules = lower(Document(Object((inside, Property("first", Ref("d0")))), document.definitions))
    automaton = link(rules)
    assert Reader(automaton).accepts(
        b'{"inside": "{\\"next\\": {\\"p1\\": 5}}", "first": {"next": {"p1": 5}}}'
    )
    assert not Reader(automaton).accepts(b'{"inside": "{\\"next\\": {\\"p9\\": 5}}", "first": {}}')


def test_deferred_definitions_count_toward_the_limit() -> None:
    with pytest.raises(LimitExceeded, match="regex_nodes"):
        lower(_document(), limits=Limits(regex_nodes=MANY))


@pytest.mark.parametrize(
    "value",
    [
        String(patterns=("^(a|b)*a(a|b){20}$",)),
        String(patterns=("^(aa)+b$",), min_length=4, max_length=4),
        String(patterns=("^[a-z]{90}$", "^a"), min_length=90),
        String(patterns=("^([ab]|c[a-z]{70})*$",), max_length=200),
        String(patterns=("^([ab]|c[a-z]{50})*$",), min_length=30, max_length=200),
        String(patterns=("^(?!a)$",)),
        String(patterns=("^[\ud800-\udfff]$",)),
        Number(Bound(Decimal("0.1")), Bound(Decimal("0.9"))),
        Number(maximum=Bound(Decimal("1e30"))),
        Array((Null(),), items=Never("none"), min_items=2),
        Array(items=Object((Property("a", Integer()),)), max_items=1_000),
        String(format=Format("unheard-of")),
        String(format=Format("python:date", (("high", "2023-01-01"), ("low", "2024-01-01")))),
        String(min_length=1_000),
        Integer(multiple_of=3),
        Integer(maximum=10**30),
        Const(f'"{"x" * 200}"'),
        Object((Property("\ud800", Integer()),)),
        Object(min_properties=1, properties=(Property("a", Integer(), required=False),)),
        Array(items=Integer(), unique_items=True),
        Union((Ref("b"), String())),
    ],
)
def test_unsupported_or_large_schemas_are_not_deferred(value: Schema) -> None:
    others = [Property(f"p{each}", Integer()) for each in range(MANY)]
    summaries = lazy.Summaries({}, {}, JSON, ", ", ": ")
    assert summaries.of(Object((*others, Property("last", value)))) is None
    assert summaries.of(Object((*others, Property("last", String())))) is not None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (String(patterns=("^[a-f]{2,8}(-x)?$",)), '"aa"'),
        (String(patterns=("b",)), '"b"'),
        (String(patterns=(r"^\"\n",)), r'"\"\n"'),
        (String(patterns=("^a{1,3}$",), min_length=2, max_length=2), '"aa"'),
        (String(patterns=("^a+b+$",), max_length=3), '"ab"'),
        (String(patterns=(r"^([a-z]+\.)*[a-z]+(/[0-9]+)?$",), min_length=4, max_length=200), '"aaaa"'),
        (String(patterns=(r"^(?:\S+ ){0,49}\S+$",), min_length=1, max_length=500), '"!"'),
        (Number(Bound(Decimal(0), exclusive=True), Bound(Decimal("1.5"))), "1"),
        (Number(Bound(Decimal("-2.5")), Bound(Decimal(-1), exclusive=True)), "-2"),
        (Number(Bound(Decimal("-2.5"))), "0"),
        (Integer(-5), "0"),
        (Integer(2), "2"),
        (Integer(-5, -3), "-3"),
        (Integer(maximum=7), "0"),
        (Array((Null(),), items=Never("none"), min_items=1), "[null]"),
        (Array(items=Integer(), max_items=100), "[]"),
    ],
)
@pytest.mark.parametrize("bounded", [False, True])
def test_patterns_ranges_and_counts_are_deferred(value: Schema, text: str, *, bounded: bool) -> None:
    others = [Property(f"p{each}", Null(), required=False) for each in range(8)]
    inner = Object((*others, Property("last", value)))
    rules = lower(Document(Object((Property("a", inner),)), bounded=bounded))
    assert isinstance(rules.rules, LazyRules) and "#$.a" not in rules.rules.lowered
    assert rules.rules.example("#$.a") == LiteralText(f'{{"last": {text}}}')
    assert Reader(link(rules)).accepts(f'{{"a": {{"last": {text}}}}}'.encode())


def test_a_value_that_calls_an_empty_or_large_definition_is_not_deferred() -> None:
    value = Object((*(Property(f"p{each}", Integer()) for each in range(8)), Property("last", Ref("a"))))
    node = LiteralText("1")
    for lowered in ((NEVER, 0, True, 1), (node, 0, False, 1)):
        assert lazy.Summaries({"a": lowered}, {}, JSON, ", ", ": ").of(value) is None
    for size, is_rule in ((1, True), (MAX_LAZY_SIZE, False)):
        summaries = lazy.Summaries({"a": (node, 0, True, size)}, {}, JSON, ", ", ": ")
        found = summaries.of(value)
        assert found is not None and summaries.is_worth_a_rule(value, found) is is_rule


def test_values_that_overlap_are_not_deferred() -> None:
    value = Object(tuple(Property(f"p{each}", Integer()) for each in range(8)))
    one, other = (Object((Property("a", value), Property(name, Integer()))) for name in "bc")
    assert lower(Document(Union((one, String())))).rules.keys() > {"#$.a"}
    assert "#$.a" not in lower(Document(Union((one, other)))).rules


def test_definitions_that_overlap_are_copied() -> None:
    large = Object(tuple(Property(f"p{each}", Integer()) for each in range(8)))
    one, other = (Object((Property("a", Ref("b")), Property(name, Integer()))) for name in "xy")
    definitions = {"one": one, "other": other, "b": large}
    assert not lower(Document(Union((Ref("one"), Ref("other"))), definitions)).rules.keys() - {"integer"}
    assert lower(Document(Union((Ref("one"), Null())), definitions)).rules.keys() > {"#b"}


def test_deep_values_are_deferred() -> None:
    nested: Schema = reduce(lambda inner, _: Array(items=inner), range(90), Integer())
    rules = lower(Document(Object((Property("a", nested),))))
    assert Reader(link(rules)).accepts(b'{"a": ' + b"[" * 90 + b"7" + b"]" * 90 + b"}")


@settings(max_examples=cases(50, of=300), deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas)
def test_an_example_is_a_text_of_the_rule(schema: object) -> None:
    try:
        document = read_target(cast("dict[str, object]", schema), limits=LIMITS).document  # type: ignore[attr-defined]
    except (SchemaError, LimitExceeded):
        reject()
    for each in (document.root, *document.definitions.values()):
        found = lazy.Summaries({}, {}, JSON, ", ", ": ").of(each)
        if found is not None and isinstance(found.example, LiteralText):
            automaton = link(lower(Document(each, document.definitions, bounded=document.bounded)))
            assert Reader(automaton).accepts(found.example.utf8)


@settings(max_examples=cases(33, of=100), deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas)
def test_a_deferred_rule_has_at_most_the_estimated_states(schema: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lazy, "_MIN_DEFERRED_SIZE", 2)
        try:
            document = read_target({"items": schema}, limits=LIMITS).document  # type: ignore[attr-defined]
            lowering = _Lowering(document, "spaced", "declared", True, None, LIMITS, JSON)
            lowering.run(document.root)
        except (SchemaError, LimitExceeded):
            reject()
        while lowering.deferred:
            rule, (part, _) = next(iter(lowering.deferred.items()))
            lowering.lower_deferred(rule)
            states = len(build_rule(lowering.rules[rule], LIMITS).targets)
            if isinstance(part, Anything | Format):  # rules that all documents share
                assert states <= lazy._MANY_STATES
            else:
                summary = lowering.summaries.of(part)
                assert summary is not None
                assert states <= summary.states


@settings(max_examples=cases(50, of=300), deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas)
@example({"enum": [1, "a", None]})
@example({"type": ["string", "null"]})
@example({"enum": [f"a{number}" for number in range(60)]})
@example({"properties": {f"a{number}": {"type": "integer"} for number in range(6)}})
@example({"type": "array", "items": {"pattern": "^[a-z]{9}-[0-9]{9}$", "type": "string"}})
def test_a_value_is_known_to_be_inline_without_its_summary(schema: object) -> None:
    try:
        document = read_target(cast("dict[str, object]", schema), limits=LIMITS).document  # type: ignore[attr-defined]
    except (SchemaError, LimitExceeded):
        reject()
    for each in (document.root, *document.definitions.values()):
        for part in (each, *(child for _, child in children(each))):
            summaries = lazy.Summaries({}, {}, JSON, ", ", ": ")
            summary = summaries.of(part)
            is_worth = summary is not None and summaries.is_worth_a_rule(part, summary)
            assert summaries.of_rule(part) == (summary if is_worth else None)


@pytest.mark.parametrize("bound", [{"minimum": 5e-324}, {"exclusiveMinimum": 1e308}])
def test_the_automaton_of_a_bound_of_many_digits_is_built_before_the_first_token(
    bound: dict[str, object],
) -> None:
    schema: dict[str, object] = {"type": "object", "properties": {"a": bound}, "required": ["a"]}
    limits = Limits(nfa_states=30_000)
    with pytest.raises(LimitExceeded, match="nfa_states"):
        link(read_target(schema, limits=limits).rules(limits=limits), limits)
    assert Reader(link(read_target(schema).rules())).accepts(b'{"a": ' + b"9" * 309 + b"}")


def test_a_limit_is_exceeded_before_the_first_token() -> None:
    keys = [f"key{number}" for number in range(12)]
    value = Object(tuple(Property(key, Boolean()) for key in keys))
    document = Document(Object((Property("a", value),)))
    for limits in (Limits(states=60), Limits(nfa_states=100), Limits(transitions=500)):
        with pytest.raises(LimitExceeded):
            link(lower(document, limits=limits), limits)
    texts = [Const(f'"{number:03}{"x" * 90}{number}"') for number in range(20)]
    choices = Object(tuple(Property(f"{number}", Union(tuple(texts))) for number in range(150)))
    assert not isinstance(lower(Document(Object((Property("a", choices),)))).rules, LazyRules)


def _strings(name: str, lengths: tuple[int, int | None]) -> String:
    return String(*lengths, format=Format(name))


def _longest_minimum(name: str) -> int:
    """Return the largest minimum length with which the rule of a format is lazy."""
    return max(count for count in range(64) if format_example(_strings(name, (count, None))))


@pytest.mark.parametrize("name", KNOWN_FORMATS)
def test_a_format_has_at_most_the_estimated_states(name: str) -> None:
    counted = _longest_minimum(name) if FORMAT_EXAMPLES[name] else 0
    # Limits below which all rules are built before the first token.
    limits = Limits(states=20_000, nfa_states=60_000, product_states=20_000, transitions=20_000 * 256)
    for lengths in ((0, None), (0, 255), (counted, None), (counted, 100_000)):
        rules = lower(Document(Object((Property("a", _strings(name, lengths)),))))
        assert isinstance(rules.rules, LazyRules)
        (rule,) = (rule for rule in rules.lazy if rule.startswith(name))
        assert rule not in rules.rules.lowered
        states = lazy._MANY_STATES + lazy._COUNTED_STATES * min(counted, MAX_COUNTED)
        assert len(build_rule(rules.rules[rule], limits).targets) <= states


@pytest.mark.parametrize("name", KNOWN_FORMATS)
def test_the_example_of_a_format_has_the_format(name: str) -> None:
    assert regular_dfa(language(Format(name))).accepts(FORMAT_EXAMPLES[name].encode())


@pytest.mark.parametrize("name", KNOWN_FORMATS)
def test_a_format_with_lengths_has_the_texts_of_both(name: str) -> None:
    shortest = FORMAT_EXAMPLES[name]
    plain = regular_dfa(language(Format(name)))
    for low, high in ((0, 60), (1, None), (5, 60), (0, len(shortest)), (len(shortest) + 9, 100)):
        example = format_example(_strings(name, (low, high)))
        texts = [*_TEXTS, shortest, shortest + "a" * 5, example or ""]
        expected = [
            plain.accepts(text.encode()) and low <= len(text) <= (100 if high is None else high)
            for text in texts
        ]
        assert example is None or expected[-1]
        if name in rfc._WITH_ANY_END and low <= MAX_COUNTED:
            assert example is not None and len(example) == max(low, len(shortest))
        try:
            reader = Reader(link(lower(Document(_strings(name, (low, high))))))
        except UnsatisfiableSchema:
            assert not any(expected)
            continue
        assert [reader.accepts(f'"{text}"'.encode()) for text in texts] == expected


_TEXTS = [
    *(f"a@{'a' * count}" for count in (1, 3, 58, 59)),
    *(f"a.{'a' * count}" for count in (2, 3, 58)),
    *(f"http://a.aa/{'a' * count}" for count in (0, 48, 49)),
    "",
    "/a",
    "/aaaa",
    "2000-01-01T00:00:00.000000000000000000000000000000000000001Z",
]


def _linked(schema: dict[str, object], min_size: int) -> Automaton | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lazy, "_MIN_DEFERRED_SIZE", min_size)
        try:
            return link(read_target(schema, limits=LIMITS).rules(limits=LIMITS), LIMITS)
        except UnsatisfiableSchema:
            return None
        except (SchemaError, LimitExceeded):
            reject()


@settings(max_examples=cases(25, of=150), deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas, schemas, schemas, st.lists(json_values, min_size=1, max_size=8))
@example(
    {},
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/y"}}, "required": ["a"]},
    {"$ref": "#/$defs/x"},
    [],
)
@example(
    {"type": "string"},
    {"type": "array", "items": {"$ref": "#/$defs/y"}},
    {"type": ["object", "null"]},
    [[{}], [None], {"x": [{}]}],
)
def test_deferred_definitions_accept_the_same_texts(
    schema: object, other: object, another: object, values: list[object]
) -> None:
    if not isinstance(schema, dict):
        reject()
    refers = {"properties": {"x": {"$ref": "#/$defs/x"}, "y": {"$ref": "#/$defs/y"}}}
    schema = {"anyOf": [schema, refers, {"$ref": "#/$defs/x"}], "$defs": {"x": other, "y": another}}
    deferred, eager = _linked(schema, 2), _linked(schema, 10**9)
    assert (deferred is None) == (eager is None)
    if deferred is None or eager is None:
        return
    for value in (*values, {"x": values[:1], "y": values[-1:]}):
        text = json.dumps(value, ensure_ascii=False).encode()
        assert Reader(deferred).accepts(text) == Reader(eager).accepts(text), text
