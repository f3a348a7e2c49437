"""What is absent from brackets, beside Lark's own trees."""

from __future__ import annotations

import pytest
from lark import Lark
from lark.load_grammar import load_grammar

from structkit.grammar.syntax.expansions import _children

PARTS = [
    '"a"', "A", "_A", "rule", "_rule", "/x/", '"a".."c"', "A~2", "rule~3", '"a"~2', "/x/~2", "A~1..3", "A*", "rule+",
    "(A | rule rule)", "A rule", 'A "a" /x/', "(A rule)~2", "[A rule]", "[A] rule", "A~50", "A~49", "(rule)",
    "_rule A~2 | A", '("a" | A)~3', '("a".."c")~2', "twice{A}",
]  # fmt: skip
RULES = 'A: "y"\n_A: "z"\nrule: "r"\n_rule: "s"\ntwice{x}: x x\n'


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("keep_all", [False, True])
def test_what_is_absent_has_as_many_children_as_in_lark(part: str, keep_all: bool) -> None:
    text = f"{'!' * keep_all}start: [{part}]\n{RULES}"
    grammar, _ = load_grammar(text, "x", [], False)
    [tree] = [definition[2] for definition in grammar.rule_defs if definition[0] == "start"]
    outer = next(tree.iter_subtrees_topdown()).find_pred(lambda each: each.data == "maybe")
    bracket = max(outer, key=lambda each: len(str(each)))
    absent = Lark(text, parser="earley", maybe_placeholders=True).parse("").children
    assert absent == [None] * _children(bracket, keep_all)
