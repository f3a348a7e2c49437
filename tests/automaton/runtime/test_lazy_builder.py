"""Lazy rules: built on their first call, with the same language as eager rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from structkit.automaton.construct.compile_rule import nfa_of, regular_dfa
from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.distance.bounds import LengthBounds
from structkit.automaton.link import link, start_building
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.shortest import ShortestPaths
from structkit.errors import LimitExceeded, UnsatisfiableSchema
from structkit.limits import Limits
from structkit.regex.json_string import free_text_except
from structkit.regex.nodes import (
    NEVER,
    CharClass,
    Choice,
    Distinct,
    Intersection,
    ListPart,
    LiteralText,
    Node,
    Repeat,
    RuleRef,
    Rules,
    SeparatedList,
    Seq,
)
from structkit.regex.size_bound import have_distinct_starts, is_small_string
from structkit.targets.targets import read_target
from tests.languages import linked, plain_nodes, recursive_rules

LETTERS = CharClass(((0x61, 0x7A),))


@given(
    recursive_rules,
    st.binary(max_size=0) | st.sampled_from([b"[0]", b"((a))", b"a", b'"', b"[[0,0]]", b"([a,b])"]),
)
def test_lazy_rules_accept_the_same_texts(rules: Rules, text: bytes) -> None:
    lazy, eager = linked(rules), linked(replace(rules, lazy=frozenset()))
    assert (lazy is None) == (eager is None)
    if lazy is not None and eager is not None:
        assert Reader(lazy).accepts(text) == Reader(eager).accepts(text)


@given(recursive_rules)
def test_length_bounds_are_at_least_the_shortest_length(rules: Rules) -> None:
    automaton = linked(replace(rules, lazy=frozenset()))
    if automaton is None:
        return
    shortest = ShortestPaths.build(automaton)
    lengths = LengthBounds(rules, lambda node: 1)
    for number, key in enumerate(automaton.builder.keys):
        if key is None:
            continue
        iterations = int(automaton.min_count[number]) * int(shortest.bytes_per_iteration[number])
        exact = int(shortest.distance[automaton.start[number]]) + iterations
        assert exact < UNREACHABLE, "rules without texts are not called"
        if "set" not in str(key) and "few" not in str(key) and not isinstance(key, Distinct):
            assert exact <= lengths.of(key) < UNREACHABLE
    for name in ("endless", "hope", "tree", "set", "few", "odd"):
        assert (lengths.of(name) >= UNREACHABLE) == (name == "endless")


def test_a_lazy_rule_is_built_when_it_is_called() -> None:
    rules = Rules(
        RuleRef("a"),
        {"a": Seq((LiteralText("("), Repeat(RuleRef("b"), 0, 1), LiteralText(")"))), "b": LiteralText("x")},
        lazy=frozenset("ab"),
    )
    automaton = link(rules)
    assert list(automaton.built) == [0]
    frames = automaton.start_frames()
    assert len(automaton.built) == 2
    Reader(automaton).read(frames, b"", b"(")
    assert len(automaton.built) == 3
    assert Reader(automaton.build_all()).accepts(b"(x)")


def test_small_rules_that_are_called_behind_an_entered_rule_are_built_with_it() -> None:
    names = ["before", "entered", "behind", "large", "last"]
    rules: dict[str, Node] = {name: LiteralText(name) for name in names}
    rules["large"] = Choice(tuple(LiteralText(f"x{number}") for number in range(100)))
    caller = Seq(tuple(part for name in names for part in (LiteralText(","), RuleRef(name))))
    rules["caller"] = caller
    automaton = link(Rules(RuleRef("caller"), rules, lazy=frozenset(rules)))
    builder = automaton.builder
    automaton.start_state(builder.number("caller"))
    assert [builder.keys[rule] for rule in automaton.built] == [None, "caller"]
    automaton.start_state(builder.number("entered"))
    assert [builder.keys[rule] for rule in automaton.built[2:]] == ["entered", "behind", "last"]


def test_an_eager_rule_is_built_even_if_only_a_lazy_rule_calls_it() -> None:
    large = Repeat(Seq((Repeat(LETTERS), LiteralText("a"), Repeat(LETTERS, 18, 18))))
    rules = Rules(
        Seq((LiteralText("("), RuleRef("a"))),
        {"a": Seq((LiteralText("x"), RuleRef("b"))), "b": large},
        lazy=frozenset("a"),
    )
    with pytest.raises(LimitExceeded):
        link(rules, Limits(states=10_000))


@pytest.mark.parametrize("max_postponed", [None, 0])
def test_only_a_large_rule_is_added_before_it_is_called(
    max_postponed: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if max_postponed is not None:
        monkeypatch.setattr("structkit.automaton.link._MAX_POSTPONED", max_postponed)
    rules = {"word": Seq((RuleRef("letter"), LETTERS)), "letter": LETTERS}
    automaton = link(Rules(RuleRef("word"), rules))
    assert automaton.built == ([0] if max_postponed is None else [0, 1, 2])
    assert Reader(automaton).accepts(b"ab") and automaton.built == [0, 1, 2]


def test_replayed_rules_have_equal_numbers_if_a_large_rule_is_built_before_the_rule_that_calls_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("structkit.automaton.link._MAX_POSTPONED", 10)
    large = Seq((LiteralText("large"), LETTERS))
    rules = Rules(
        Choice((RuleRef("caller"), RuleRef("other"))),
        {"caller": Seq((LiteralText("c"), RuleRef("large"))), "large": large, "other": LETTERS},
        lazy=frozenset({"other"}),
    )
    automaton = link(rules)
    assert [automaton.builder.keys[rule] for rule in automaton.built] == [None, "large"]
    again = start_building(rules, Limits())
    assert again.replay(automaton.tables)
    stored = Automaton(automaton.tables, Limits(), lambda: again)
    assert Reader(stored.build_all()).accepts(b"clargex")
    assert again.keys == automaton.build_all().builder.keys


def test_a_rule_that_is_not_lazy_is_checked_before_it_is_called() -> None:
    letter = CharClass(((0x61, 0x62),))
    large = Seq((Repeat(letter), LiteralText("a"), Repeat(letter, 13, 13)))
    rules = Rules(RuleRef("list"), {"list": Repeat(RuleRef("large")), "large": large})
    with pytest.raises(LimitExceeded, match="states=10000"):
        link(rules, Limits(states=10_000))


def test_a_lazy_rule_without_texts_is_never_called() -> None:
    nothing = Intersection(LiteralText("a"), LiteralText("b"))
    optional = Rules(Seq((LiteralText("x"), Repeat(RuleRef("a"), 0, 1))), {"a": nothing}, lazy=frozenset("a"))
    automaton = link(optional)
    assert Reader(automaton).accepts(b"x") and not automaton.call_rule.size
    with pytest.raises(UnsatisfiableSchema):
        link(
            Rules(
                RuleRef("a"), {"a": Seq((RuleRef("b"), LiteralText("c"))), "b": NEVER}, lazy=frozenset("ab")
            )
        )


def test_the_length_bound_of_free_text_with_exceptions_needs_no_automaton() -> None:
    def fails(node: Intersection) -> int:
        raise AssertionError(node)

    names = [str(number) for number in range(120)]
    length = LengthBounds(Rules(LiteralText(""), {"other": free_text_except(names)}), fails).of("other")
    assert 2 <= length <= 4


@given(plain_nodes)
def test_plain_patterns_have_small_automata(node: Node) -> None:
    if is_small_string(node):
        characters = nfa_of(node, Limits()).size
        assert len(regular_dfa(node).final) <= max(2 * characters, 8192)


@given(st.lists(st.tuples(st.text("ab", max_size=3), plain_nodes, st.booleans()), min_size=2, max_size=4))
def test_alternatives_with_distinct_starts_have_no_more_states_than_their_automata(
    parts: list[tuple[str, Node, bool]],
) -> None:
    branches: list[Node] = []
    for tag, node, required in parts:
        entries = ListPart(LiteralText(f"{tag};"), int(required)), ListPart(node)
        branches.append(Seq((LiteralText("{"), SeparatedList(entries, ","))))
    if have_distinct_starts(branches):
        try:
            states = [len(regular_dfa(branch).final) for branch in branches]
        except LimitExceeded:
            reject()
        assert len(regular_dfa(Choice(tuple(branches))).final) <= sum(states)


def test_a_definition_is_not_built_before_it_is_reached() -> None:
    definitions = {
        f"D{number}": {
            "type": "object",
            "properties": {"next": {"$ref": f"#/$defs/D{(number + 1) % 500}"}, "name": {"type": "string"}},
        }
        for number in range(500)
    }
    automaton = link(read_target({"$ref": "#/$defs/D0", "$defs": definitions}).rules())
    assert len(automaton.built) < 5
    frames, _ = Reader(automaton).read(automaton.start_frames(), b"", b'{"next": {"next": {"na')
    assert frames and len(automaton.built) < 12
    assert np.count_nonzero(automaton.start >= 0) == len(automaton.built)


@pytest.mark.parametrize(
    ("schema", "lazy"),
    [
        ({"pattern": "^[a-z]+-[0-9]+$"}, True),
        ({"pattern": "^[a-z]+-[0-9]+$", "maxLength": 30}, True),
        ({"pattern": "^(a|b)*a(a|b){20}$"}, False),
        ({"pattern": "^" + "[a-z]" * 200 + "$"}, True),
        ({"pattern": "^" + "[a-z]?-" * 100 + "$", "maxLength": 150}, False),
    ],
)
def test_only_patterns_with_small_automata_are_lazy(schema: dict[str, object], lazy: bool) -> None:
    text = {"type": "string", **schema}
    rules = read_target({"type": "object", "properties": {"a": text}, "additionalProperties": False}).rules()
    assert ("#$.a" in rules.lazy) == lazy


def test_many_constants_with_common_prefixes_are_not_lazy() -> None:
    # After a few letters too many constants are possible, so they are in one rule.
    values = [f"{'a' * min(number, 60)}{number:05}" for number in range(4_000)]
    schema = {"properties": {"a": {"type": "object", "properties": {"v": {"enum": values}}}}}
    rules = read_target(schema).rules()
    (holder,) = (name for name, node in rules.rules.items() if values[-1][8:] in repr(node))
    assert holder not in rules.lazy
    assert Reader(link(rules).build_all()).accepts(f'{{"a": {{"v": "{values[-1]}"}}}}'.encode())


@pytest.mark.parametrize(("tags", "lazy"), [("abc", True), ("aab", False), (("a", "ab", "b"), True)])
def test_objects_that_differ_in_their_first_constant_are_lazy(
    tags: str | tuple[str, ...], lazy: bool
) -> None:
    branches = [
        {
            "type": "object",
            "properties": {"kind": {"const": tag}, f"v{number}": {"type": "integer"}},
            "required": ["kind"],
            "additionalProperties": False,
        }
        for number, tag in enumerate(tags)
    ]
    union = {"anyOf": [*branches, {"type": "array", "items": {"$ref": "#/$defs/z"}}]}
    rules = read_target({"$ref": "#/$defs/z", "$defs": {"z": union}}).rules()
    assert ("#z" in rules.lazy) == lazy
    automaton = link(rules)
    for number, tag in enumerate(tags):
        assert Reader(automaton).accepts(f'[[{{"kind": "{tag}", "v{number}": 1}}]]'.encode())
    assert not Reader(automaton).accepts(f'{{"kind": "{tags[-1]}", "v0": 1}}'.encode())


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ({"type": "array", "items": {"type": "string", "pattern": "a.{20}$"}}, "$[]"),
        (
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/b"}},
                "$defs": {"b": {"pattern": "a.{20}$"}},
            },
            "$.a",
        ),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 10**9}, "$"),
        ({"type": "string", "allOf": [{"pattern": f"a{n}"} for n in range(200)]}, "$"),
    ],
)
def test_limits_name_the_place_in_the_schema(target: dict[str, object], place: str) -> None:
    with pytest.raises(LimitExceeded) as caught:
        link(read_target(target).rules())
    assert caught.value.place is not None and caught.value.place.startswith(place)


def test_equal_rules_have_one_automaton() -> None:
    """The fields of a large model often have one type; the automaton of a long pattern has thousands of states."""
    field = {"type": "string", "pattern": "^[a-z]+(-[a-z]+){0,9}$", "minLength": 4, "maxLength": 20}
    sizes = []
    for count in (120, 240):
        names = [f"k{number}" for number in range(count)]
        schema = {"type": "object", "properties": dict.fromkeys(names, field), "required": names}
        builder = start_building(read_target(schema).rules(), Limits())
        builder.build_all()
        sizes.append(len(builder.tables.row))
    assert sizes[1] - sizes[0] < 15 * 120  # a field adds the states of its key, and not those of the pattern


def test_the_bound_of_a_lazy_rule_that_takes_too_much_is_refused_before_the_first_token() -> None:
    large = Seq((Repeat(LETTERS), LiteralText("a"), Repeat(CharClass(((0x61, 0x62),)), 15, 15)))
    both = Intersection(Seq((LiteralText("x"), large)), Seq((LiteralText("x"), Repeat(LETTERS))))
    caller = Seq((LiteralText("("), Repeat(RuleRef("both"), 0, 1), LiteralText(")")))
    rules = Rules(RuleRef("caller"), {"caller": caller, "both": both}, lazy=frozenset({"both"}))
    with pytest.raises(LimitExceeded):
        link(rules, Limits(states=20_000))


def test_a_distinct_text_may_start_in_a_rule_until_it_is_built() -> None:
    rules = {"plain": LiteralText("x"), "set": Seq((LiteralText("<"), Distinct(Repeat(LETTERS))))}
    start = Choice((Seq((LiteralText("p"), RuleRef("plain"))), Seq((LiteralText("s"), RuleRef("set")))))
    automaton = link(Rules(start, rules, lazy=frozenset(rules)))
    distinct = Reader(automaton).distinct
    number = {key: rule for rule, key in enumerate(automaton.builder.keys)}
    assert distinct.may_contain_distinct(number["plain"]) and distinct.may_contain_distinct(number["set"])
    automaton.build_all()
    assert not distinct.may_contain_distinct(number["plain"]) and distinct.may_contain_distinct(number["set"])


def test_a_text_with_too_many_parses_names_the_rule_that_most_of_them_are_in() -> None:
    rules = Rules(
        Seq((RuleRef("#$.a"), RuleRef("name"), RuleRef("other"))),
        {
            "#$.a": Seq((LiteralText("a"), RuleRef("other"))),
            "name": LiteralText("b"),
            "other": LiteralText("c"),
        },
    )
    builder = link(rules, Limits(parse_states=7)).builder
    builder.build_all()
    numbers = {key: number for number, key in enumerate(builder.keys)}
    for entered, place in [
        ([], "$"),
        ([0, numbers["name"], numbers["name"]], "name"),
        ([numbers["#$.a"]] * 2 + [numbers["name"]], "$.a"),
        ([0, 0, numbers["name"]], "$"),
    ]:
        error = builder.too_many_parses(entered)
        assert (error.limit, error.value, error.place) == ("parse_states", 7, place), entered
        assert "the ways to read one text, most of them in this rule," in str(error)
