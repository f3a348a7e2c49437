"""Bounds on the length of the shortest texts of rules."""

from __future__ import annotations

from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.distance.bounds import LengthBounds
from structkit.regex.charset import DIGIT
from structkit.regex.nodes import (
    NEVER,
    AnyOrder,
    AnyOrderEntry,
    Distinct,
    Intersection,
    LiteralText,
    Network,
    ReturnLabel,
    RuleRef,
    Rules,
)


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
    assert len(measured) == 1


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


def test_all_labels_of_a_rule_are_measured_together() -> None:
    measured: list[Intersection] = []

    def product(node: Intersection) -> int:
        measured.append(node)
        return 3

    part = Intersection(LiteralText("abc"), LiteralText("abc"))
    ends = tuple((number + 2, ReturnLabel(number), 1) for number in range(20))
    inner = Network(22, (*((0, part, number + 2) for number in range(20)), *ends))
    returned = tuple((2, ReturnLabel(number, True), 3) for number in range(20))
    outer = Network(4, ((0, RuleRef("x"), 2), *returned, (3, ReturnLabel(0), 1)))
    bounds = LengthBounds(Rules(RuleRef("a"), {"a": outer, "x": inner}), product)
    assert [bounds.of_label("x", number) for number in range(20)] == [3] * 20
    assert bounds.of_label("a", 0) == 3
    assert len(measured) == 20


def test_the_shortest_of_several_paths_through_rules_that_call_each_other() -> None:
    one = Network(
        4, ((0, LiteralText("xx"), 1), (0, LiteralText("("), 2), (2, RuleRef("two"), 3), (3, RuleRef("z"), 1))
    )
    two = Network(3, ((0, RuleRef("one"), 2), (2, LiteralText(")"), 1), (0, LiteralText("z" * 9), 1)))
    bounds = LengthBounds(Rules(RuleRef("two"), {"one": one, "two": two, "z": LiteralText("")}), lambda _: 0)
    assert (bounds.of("two"), bounds.of("one"), bounds.of("z")) == (3, 2, 0)


def test_rules_without_a_text() -> None:
    never = Network(3, ((0, RuleRef("never"), 2), (2, LiteralText("x"), 1)))
    labelled = Network(3, ((0, LiteralText("x"), 2), (2, ReturnLabel(0), 1)))
    bounds = LengthBounds(Rules(RuleRef("a"), {"a": labelled, "never": never}), lambda _: 0)
    assert (bounds.of_label("a", 0), bounds.of_label("a", 1), bounds.of("never")) == (
        1,
        UNREACHABLE,
        UNREACHABLE,
    )


def test_an_entry_without_a_text_is_not_one_of_those_that_are_counted() -> None:
    dead = Intersection(LiteralText("a"), LiteralText("b"))
    entries = (
        AnyOrderEntry(Distinct(LiteralText("k")), dead, True),
        AnyOrderEntry(Distinct(DIGIT), LiteralText(":1"), True),
    )

    def bound(count: int, *entries: AnyOrderEntry) -> int:
        node = AnyOrder(entries, ",", count, None)
        return LengthBounds(Rules(RuleRef("a"), {"a": node}), lambda _: UNREACHABLE).of("a")

    assert bound(3, *entries) == bound(3, entries[1]) < UNREACHABLE
    assert bound(1, entries[0]) == bound(2, AnyOrderEntry(entries[1].key, NEVER, True)) == UNREACHABLE
