"""Rules that are merged, and rules that are lowered on their first lookup."""

from __future__ import annotations

import pytest

from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import SchemaError
from structkit.regex.labels import without_labels
from structkit.regex.lazy_rules import LazyRules
from structkit.regex.merge import RuleMerger
from structkit.regex.nodes import LiteralText, Node, Repeat, RuleRef, Rules, choice, seq


def _lazy(unlisted: str | None = None) -> tuple[LazyRules, list[str]]:
    """Return rules of which each defers the next, and the names in the order in which they are lowered."""
    lowered: dict[str, Node] = {"a": RuleRef("b")}
    deferred: dict[str, object] = {"b": 1}
    order: list[str] = []

    def lower(name: str) -> None:
        order.append(name)
        del deferred[name]
        following = chr(ord(name) + 1)
        lowered[name] = LiteralText(name) if name == "d" else seq(name, RuleRef(following))
        if name != "d":
            deferred[following] = 1

    return LazyRules(lowered, deferred, {"b": LiteralText("b")}, lower, unlisted=unlisted), order


def test_a_rule_is_lowered_on_its_first_lookup_and_all_are_when_they_are_counted() -> None:
    rules, order = _lazy()
    assert rules["a"] == RuleRef("b") and order == []
    assert rules["b"] == rules["b"] == seq("b", RuleRef("c")) and order == ["b"]
    assert len(rules) == 4 and order == ["b", "c", "d"] and list(rules) == ["a", "b", "c", "d"]
    assert not rules.is_unbounded and not rules.has_own_names and rules.callee("a", "b") == "b"
    assert rules.example("b") == LiteralText("b") and rules.example("a") is None


def test_rules_without_end_are_not_listed() -> None:
    rules, order = _lazy("there are too many; write fewer")
    assert rules.is_unbounded and rules["b"] and order == ["b"]
    for read in (len, list):
        with pytest.raises(SchemaError, match="write fewer"):
            read(rules)  # type: ignore[operator]


def test_a_caller_can_name_its_callees() -> None:
    rules = LazyRules({}, {}, {}, lambda name: None, lambda caller, name: f"{caller}/{name}")
    assert rules.has_own_names and rules.callee("a", "b") == "a/b"


def test_merged_languages_keep_their_texts() -> None:
    """Rules of one name are different ones, unless they are equal and call no others."""
    text = Repeat(LiteralText("t"), 1, 2)
    numbers = {
        name: Rules(
            seq(RuleRef("#x"), RuleRef("text")),
            {
                "#x": choice([LiteralText("x"), seq("[", RuleRef("y"), "]")]),
                "y": LiteralText(name),
                "text": text,
            },
        )
        for name in "12"
    }
    merger = RuleMerger()
    one, two = (merger.add(name, rules) for name, rules in numbers.items())
    merged = merger.rules(choice([seq("a", one), seq("b", two)]))
    reader = Reader(link(merged))
    for start, name in (("a", "1"), ("b", "2")):
        alone = Reader(link(numbers[name]))
        for rest in ("xt", "xtt", "[1]t", "[2]t", "[y]t", "x", "xttt"):
            assert reader.accepts((start + rest).encode()) == alone.accepts(rest.encode()), start + rest
    assert set(merged.rules) == {"1", "2", "1/#x", "2/#x", "y", "2/y", "text"}


def test_rules_without_end_cannot_be_listed_without_labels() -> None:
    rules, _ = _lazy("there is no end of them")
    with pytest.raises(SchemaError, match="no end of them"):
        without_labels(Rules(RuleRef("a"), rules))
    rules, _ = _lazy()
    given = Rules(RuleRef("a"), rules)
    assert without_labels(given) is given
