"""Merge the rules of several languages without name collisions."""

from __future__ import annotations

from structkit.regex.nodes import Node, RuleRef, Rules
from structkit.regex.walk import map_children
from structkit.unenforced import Unenforced

__all__ = ["RuleMerger"]


class RuleMerger:
    """Collects the rules of several languages; each language becomes a rule.

    >>> from structkit.regex.nodes import LiteralText, seq
    >>> merger = RuleMerger()
    >>> a = merger.add("a", Rules(RuleRef("#x"), {"#x": LiteralText("1")}))
    >>> b = merger.add("b", Rules(RuleRef("#x"), {"#x": LiteralText("2")}))
    >>> list(merger.rules(seq(a, b)).rules)
    ['a/#x', 'a', 'b/#x', 'b']
    """

    def __init__(self) -> None:
        self._rules: dict[str, Node] = {}
        self._lazy: set[str] = set()
        self._unenforced: list[Unenforced] = []

    def add(self, name: str, rules: Rules) -> RuleRef:
        """Add a language under a unique name.

        The start becomes a rule, so that each call of the language has its own texts for `Distinct`.
        """
        names = {each: self._merged_name(name, each, node) for each, node in rules.rules.items()}
        for each, node in rules.rules.items():
            self.rule(names[each], _renamed(node, names))
        self._lazy.update(names[each] for each in rules.lazy)
        self._unenforced += rules.unenforced
        return self.rule(name, _renamed(rules.start, names))

    def rule(self, name: str, node: Node) -> RuleRef:
        """Add one rule."""
        self._rules[name] = node
        return RuleRef(name)

    def rules(self, start: Node) -> Rules:
        """Return all added rules with `start` as the start node."""
        return Rules(start, self._rules, tuple(self._unenforced), frozenset(self._lazy))

    def _merged_name(self, language: str, rule: str, node: Node) -> str:
        """Return the name of a merged rule; rules of free text, which call no rules, keep theirs and are shared."""
        shared = not rule.startswith("#") and self._rules.get(rule, node) == node
        return rule if shared else f"{language}/{rule}"


def _renamed(node: Node, names: dict[str, str]) -> Node:
    return (
        RuleRef(names[node.rule])
        if isinstance(node, RuleRef)
        else map_children(node, lambda each: _renamed(each, names))
    )
