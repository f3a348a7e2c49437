"""The sets of terminals of LALR parsers."""

from __future__ import annotations

import random

import pytest
from lark import Lark
from lark.common import ParserConf
from lark.parsers.lalr_analysis import LALR_Analyzer

from structkit.grammar.syntax.lalr import _analyzed
from structkit.grammar.syntax.lookaheads import unions
from structkit.limits import Limits
from tests.shared import cases


@pytest.mark.parametrize("seed", range(cases(20, of=500)))
def test_each_set_has_those_that_are_reached(seed: int) -> None:
    chance = random.Random(seed)
    nodes = range(chance.randrange(1, 9))
    edges = {node: [other for other in nodes if chance.random() < 0.2] for node in nodes}
    expected = {}
    for node in nodes:
        reached = [node]
        for each in reached:
            reached += [other for other in edges[each] if other not in reached]
        expected[node] = sum(1 << other for other in reached)
    assert unions(nodes, edges, {node: 1 << node for node in nodes}) == expected


def test_a_long_path_needs_no_recursion() -> None:
    nodes = range(5_000)
    assert unions(nodes, {node: [node + 1] for node in nodes[:-1]}, {4_999: 1})[0] == 1


_GRAMMARS = [
    'start: e\ne: t | e "+" t\nt: f | t "*" f\nf: "x" | "(" e ")" | f "!"',
    'start: a b c\na: "x" |\nb: "y" a |\nc: b "z" | "w" c',
    'start: s*\ns: "if" e "then" s ["else" s "end"] "." | e ";"\ne: "x" | e "-" "x"',
]


@pytest.mark.parametrize("grammar", _GRAMMARS)
def test_lookaheads_are_those_of_lark(grammar: str) -> None:
    lark = Lark(grammar, parser="lalr")
    theirs = LALR_Analyzer(ParserConf(lark.rules, {}, ["start"]))
    theirs.compute_lalr()
    assert _lookaheads(_analyzed(lark, "start", Limits())) == _lookaheads(theirs)


def _lookaheads(analyzer: LALR_Analyzer) -> dict[object, dict[str, set[str]]]:
    return {
        frozenset(map(str, state.closure)): {
            terminal.name: set(map(str, rules)) for terminal, rules in state.lookaheads.items()
        }
        for state in analyzer.lr0_itemsets
    }
