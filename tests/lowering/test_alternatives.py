"""Choices of many texts: the prefix tree accepts exactly the texts."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.lowering import alternatives as module
from structkit.lowering.alternatives import alternation
from structkit.regex.nodes import LiteralText, Node, RuleRef
from structkit.targets.specs import Choice
from structkit.targets.targets import read_target


@given(st.sets(st.text("abé", max_size=6), min_size=1, max_size=30), st.text("abé", max_size=6))
def test_a_prefix_tree_accepts_exactly_its_texts(texts: set[str], other: str) -> None:
    rules: dict[str, Node] = {}

    def rule(node: Node, name: str) -> Node:
        assert name not in rules
        rules[name] = node
        return RuleRef(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MAX_INLINE_LENGTH", 8)
        patch.setattr(module, "_MAX_DEPTH", 3)
        node = alternation([LiteralText(text) for text in texts], rule, "$")
    dfa = regular_dfa(node, rules=rules) if rules else regular_dfa(node)
    for text in (*texts, other):
        assert dfa.accepts(text.encode()) == (text in texts)


def test_many_options_are_built_lazily() -> None:
    values = [f"{number * 2654435761 % 2**32:08x}" for number in range(20_000)]
    for target in ({"enum": values}, Choice(values)):
        automaton = link(read_target(target).rules())
        assert len(automaton.row) < 2_000
        quote = "" if isinstance(target, Choice) else '"'
        assert Reader(automaton).accepts(f"{quote}{values[7]}{quote}".encode())
        assert not Reader(automaton).accepts(f"{quote}zz{quote}".encode())
        assert len(automaton.row) < 4_000


def test_options_that_are_prefixes_of_each_other_are_accepted() -> None:
    values = ["a" * length for length in range(1, 400)]
    automaton = link(read_target(Choice(values)).rules())
    assert Reader(automaton).accepts(b"a" * 399) and not Reader(automaton).accepts(b"a" * 400)


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": [1, 10, 12, -3, "a", None]},
        {"enum": list(range(40))},
        {"anyOf": [{"const": 1}, {"const": 20}, {"type": "null"}]},
    ],
)
def test_integers_among_alternatives_may_have_a_point(schema: dict[str, object]) -> None:
    """Each number is one value, however it is written; a Python type has one spelling."""
    reader = Reader(link(read_target(schema).rules()))
    for number in range(-20, 45):
        expected = Draft202012Validator(schema).is_valid(number)
        for text in (f"{number}", f"{number}.0"):
            assert reader.accepts(text.encode()) == expected, text
    assert not Reader(link(read_target(Literal[1, 2, "a"]).rules())).accepts(b"1.0")
