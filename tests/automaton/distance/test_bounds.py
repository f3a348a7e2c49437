"""Bounds on the length of the shortest texts of rules."""

from __future__ import annotations

from structkit.automaton.distance.bounds import LengthBounds
from structkit.regex.nodes import Intersection, LiteralText, Network, ReturnLabel, RuleRef, Rules


def test_the_parts_of_a_rule_that_need_no_rule_are_measured_once_for_all_tries() -> None:
    measured: list[Intersection] = []

    def product(node: Intersection) -> int:
        measured.append(node)
        return 3

    part = Intersection(LiteralText("abc"), LiteralText("abc"))
    calls = tuple((number, RuleRef(f"b{number}"), number + 1) for number in range(2, 6))
    first = Network(7, ((0, part, 2), *calls, (6, RuleRef("b6"), 1)))
    chain = {f"b{n}": Network(2, ((0, RuleRef(f"b{n + 1}"), 1),)) for n in range(2, 6)}
    rules = {"a": first, **chain, "b6": Network(2, ((0, LiteralText("x"), 1),))}
    assert LengthBounds(Rules(RuleRef("a"), rules), product).of("a") == 3 + 5
    assert len(measured) == 2  # once in the hope that no other bound is missing


def test_the_bound_of_a_rule_that_is_tried_again_with_labels() -> None:
    inner = Network(
        4, ((0, LiteralText("abc"), 2), (0, RuleRef("z"), 3), (2, ReturnLabel(0), 1), (3, ReturnLabel(1), 1))
    )
    ends = (2, ReturnLabel(0, True), 3), (2, ReturnLabel(1, True), 1)
    first = Network(5, ((0, RuleRef("x"), 2), *ends, (3, LiteralText("b"), 1)))
    bounds = LengthBounds(
        Rules(RuleRef("a"), {"a": first, "x": inner, "z": LiteralText("z" * 9)}), lambda _: 0
    )
    assert bounds.of("a") == 4
    assert (bounds.of_label("x", 0), bounds.of_label("x", 1)) == (3, 9)
