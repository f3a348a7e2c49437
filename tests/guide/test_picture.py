"""The names of bytes in drawings of automata."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structkit.automaton.link import link
from structkit.guide.picture import automaton_graph, byte_ranges
from structkit.regex.nodes import Choice, LiteralText, RuleRef, Rules, Seq


def _byte(name: str) -> int:
    if len(name) == 1:
        return ord(name)
    return int(name, 16) if name[0] in "789abcdef" else ord(ast.literal_eval(f'"{name}"'))


@given(st.sets(st.integers(0, 255), min_size=1) | st.sets(st.integers(28, 40), min_size=1))
@example({0, 92})
@example({0x7F})
def test_the_name_of_a_set_has_all_its_bytes_in_ranges(numbers: set[int]) -> None:
    name = byte_ranges(sorted(numbers))
    one = r"(?:\\x..|\\.|[7-9a-f][0-9a-f]|[ -~])"
    found: list[int] = []
    inner = name if len(numbers) == 1 else name[1:-1]
    while inner:
        match = re.match(rf"({one})(?:-({one}))?(?: |$)", inner)
        assert match, inner
        first, last = _byte(match[1]), _byte(match[2] or match[1])
        assert not found or first > found[-1] + 1
        found += range(first, last + 1)
        inner = inner[match.end() :]
    assert found == sorted(numbers)


@pytest.mark.parametrize(
    ("count", "more"), [(0, ""), (1, ", 1 more rule"), (2, ", 2 more rules"), (3, ", 3 more rules")]
)
def test_the_caption_counts_the_rules_that_are_not_drawn(count: int, more: str) -> None:
    rules = {f"r{n}": Seq((LiteralText(f"({n}"), RuleRef(f"r{n}"), LiteralText(")"))) for n in range(count)}
    rules = {name: Choice((LiteralText("x"), node)) for name, node in rules.items()}
    automaton = link(Rules(Seq((LiteralText("a"), *map(RuleRef, rules))), rules))
    automaton.build_all()
    title = automaton_graph(automaton).title
    assert title.endswith(f" states{more}"), title
