from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.construct.compile_rule import nfa_of, regular
from structkit.automaton.core.kernels import FAR
from structkit.automaton.distance.bounds import Lengths
from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.shortest import Shortest
from structkit.errors import LimitExceeded, UnsatisfiableSchema
from structkit.limits import Limits
from structkit.regex.json_string import other_text
from structkit.regex.nodes import NEVER, Both, Call, Chars, Node, Repeat, Rules, Seq, Text, Unique
from structkit.regex.size_bound import is_plain_text
from structkit.targets.targets import read_target
from tests.languages import plain_nodes, recursive_rules

LETTERS = Chars(((0x61, 0x7A),))


def _linked(rules: Rules) -> Automaton | None:
    try:
        return link(rules)
    except UnsatisfiableSchema:
        return None


@given(
    recursive_rules,
    st.binary(max_size=0) | st.sampled_from([b"[0]", b"((a))", b"a", b'"', b"[[0,0]]", b"([a,b])"]),
)
def test_what_is_built_late_accepts_the_same(rules: Rules, text: bytes) -> None:
    late, soon = _linked(rules), _linked(replace(rules, late=frozenset()))
    assert (late is None) == (soon is None)
    if late is not None and soon is not None:
        assert Reader(late).accepts(text) == Reader(soon).accepts(text)


@given(recursive_rules)
def test_a_length_is_known_where_there_is_a_text_and_is_enough_for_one(rules: Rules) -> None:
    automaton = _linked(replace(rules, late=frozenset()))
    if automaton is None:
        return
    shortest = Shortest.of(automaton)
    lengths = Lengths(rules, lambda node: 1)
    for number, key in enumerate(automaton.builder.keys):
        if key is None:
            continue
        least = int(automaton.least[number]) * int(shortest.rounds[number])
        exact = int(shortest.end[automaton.start[number]]) + least
        assert exact < FAR, "what has no text is not called"
        if "set" not in str(key) and "few" not in str(key) and not isinstance(key, Unique):
            assert exact <= lengths.of(key) < FAR
    for name in ("endless", "hope", "tree", "set", "few", "odd"):
        assert (lengths.of(name) >= FAR) == (name == "endless")


def test_a_rule_is_built_when_it_is_called() -> None:
    rules = Rules(
        Call("a"),
        {"a": Seq((Text("("), Repeat(Call("b"), 0, 1), Text(")"))), "b": Text("x")},
        late=frozenset("ab"),
    )
    automaton = link(rules)
    assert list(automaton.built) == [0]
    frames = automaton.first()
    assert len(automaton.built) == 2
    Reader(automaton).read(frames, b"", b"(")
    assert len(automaton.built) == 3
    assert Reader(automaton.complete()).accepts(b"(x)")


def test_a_rule_that_is_not_late_is_built_even_if_only_a_late_one_calls_it() -> None:
    large = Repeat(Seq((Repeat(LETTERS), Text("a"), Repeat(LETTERS, 18, 18))))
    rules = Rules(
        Seq((Text("("), Call("a"))), {"a": Seq((Text("x"), Call("b"))), "b": large}, late=frozenset("a")
    )
    with pytest.raises(LimitExceeded):
        link(rules, Limits(states=10_000))


def test_a_late_rule_without_a_text_is_never_called() -> None:
    nothing = Both(Text("a"), Text("b"))
    optional = Rules(Seq((Text("x"), Repeat(Call("a"), 0, 1))), {"a": nothing}, late=frozenset("a"))
    automaton = link(optional)
    assert Reader(automaton).accepts(b"x") and not automaton.call_rule.size
    with pytest.raises(UnsatisfiableSchema):
        link(Rules(Call("a"), {"a": Seq((Call("b"), Text("c"))), "b": NEVER}, late=frozenset("ab")))


def test_the_length_of_other_texts_needs_no_automaton() -> None:
    def fails(node: Both) -> int:
        raise AssertionError(node)

    names = [str(number) for number in range(120)]
    length = Lengths(Rules(Text(""), {"other": other_text(names)}), fails).of("other")
    assert 2 <= length <= 4


@given(plain_nodes)
def test_plain_patterns_have_small_automata(node: Node) -> None:
    if is_plain_text(node):
        characters = nfa_of(node, Limits()).size
        assert len(regular(node).final) <= max(2 * characters, 4096)


def test_a_definition_is_not_built_before_it_is_come_to() -> None:
    definitions = {
        f"D{number}": {
            "type": "object",
            "properties": {"next": {"$ref": f"#/$defs/D{(number + 1) % 500}"}, "name": {"type": "string"}},
        }
        for number in range(500)
    }
    automaton = link(read_target({"$ref": "#/$defs/D0", "$defs": definitions}).rules())
    assert len(automaton.built) < 5
    frames, _ = Reader(automaton).read(automaton.first(), b"", b'{"next": {"next": {"na')
    assert frames and len(automaton.built) < 12
    assert np.count_nonzero(automaton.start >= 0) == len(automaton.built)


@pytest.mark.parametrize(
    ("schema", "late"),
    [
        ({"pattern": "^[a-z]+-[0-9]+$"}, True),
        ({"pattern": "^[a-z]+-[0-9]+$", "maxLength": 30}, True),
        ({"pattern": "^(a|b)*a(a|b){20}$"}, False),
        ({"pattern": "^" + "[a-z]" * 200 + "$"}, True),
        ({"pattern": "^" + "[a-z]?-" * 100 + "$", "maxLength": 150}, False),
    ],
)
def test_only_patterns_that_stay_small_wait(schema: dict[str, object], late: bool) -> None:
    text = {"type": "string", **schema}
    rules = read_target({"type": "object", "properties": {"a": text}, "additionalProperties": False}).rules()
    assert ("#$.a" in rules.late) == late


def test_many_constants_that_begin_alike_do_not_wait() -> None:
    # After a few letters too many of them are left, so they stand in one rule.
    values = [f"{'a' * min(number, 60)}{number:05}" for number in range(4_000)]
    schema = {"properties": {"a": {"type": "object", "properties": {"v": {"enum": values}}}}}
    rules = read_target(schema).rules()
    (holder,) = (name for name, node in rules.rules.items() if values[-1][8:] in repr(node))
    assert holder not in rules.late
    assert Reader(link(rules).complete()).accepts(f'{{"a": {{"v": "{values[-1]}"}}}}'.encode())
