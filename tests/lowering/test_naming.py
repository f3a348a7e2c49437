"""The names of rules."""

from __future__ import annotations

from structkit.lowering.naming import RuleNames
from structkit.regex.nodes import LiteralText, Node


class _Rules(dict[str, Node]):
    """Rules that count how often a name is looked up."""

    asked = 0

    def get(self, *arguments: object) -> Node:  # type: ignore[override]
        self.asked += 1
        return super().get(*arguments)  # type: ignore[arg-type, return-value]


def test_a_name_is_not_sought_among_those_that_a_place_has() -> None:
    rules = _Rules()
    names = RuleNames(rules, (), ())
    for number in range(200):
        for text in (str(number), "0"):  # one rule of the place is met again and again
            rules[names.of("$", LiteralText(text))] = LiteralText(text)
    assert len(rules) == 200 and rules["#$'''"] == LiteralText("3")
    assert rules.asked <= 600
