"""Several languages in one: their rules side by side, under names of their own."""

from __future__ import annotations

from structkit.regex.nodes import Node, RuleRef, Rules
from structkit.regex.walk import map_children
from structkit.unenforced import Unenforced

__all__ = ["RuleMerger"]


class RuleMerger:
    """Collects the rules of several languages, each of which is then called by its name.

    >>> from structkit.regex.nodes import LiteralText, seq
    >>> joiner = RuleMerger()
    >>> a = joiner.add("a", Rules(RuleRef("#x"), {"#x": LiteralText("1")}))
    >>> b = joiner.add("b", Rules(RuleRef("#x"), {"#x": LiteralText("2")}))
    >>> joiner.rules(seq(a, b)).rules
    {'a/#x': LiteralText(value='1'), 'a': RuleRef(rule='a/#x'), 'b/#x': LiteralText(value='2'), 'b': RuleRef(rule='b/#x')}
    """

    def __init__(self) -> None:
        self._rules: dict[str, Node] = {}
        self._lazy: set[str] = set()
        self._unenforced: list[Unenforced] = []

    def add(self, name: str, rules: Rules) -> RuleRef:
        """Add a language under a name that no other has.

        What remembers texts remembers those of one call of the language, so its start is a rule too.
        """
        names = {each: self._name(name, each, node) for each, node in rules.rules.items()}
        for each, node in rules.rules.items():
            self.rule(names[each], _renamed(node, names))
        self._lazy.update(names[each] for each in rules.lazy)
        self._unenforced += rules.unenforced
        return self.rule(name, _renamed(rules.start, names))

    def rule(self, name: str, node: Node) -> RuleRef:
        """Add a rule of one's own."""
        self._rules[name] = node
        return RuleRef(name)

    def rules(self, start: Node) -> Rules:
        """All that was added, and where it begins."""
        return Rules(start, self._rules, tuple(self._unenforced), frozenset(self._lazy))

    def _name(self, language: str, rule: str, node: Node) -> str:
        """Free text and its kin, which call nothing of the language's own, are the same rule in all of them."""
        shared = not rule.startswith("#") and self._rules.get(rule, node) == node
        return rule if shared else f"{language}/{rule}"


def _renamed(node: Node, names: dict[str, str]) -> Node:
    return (
        RuleRef(names[node.rule])
        if isinstance(node, RuleRef)
        else map_children(node, lambda each: _renamed(each, names))
    )
