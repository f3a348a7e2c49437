"""Several languages in one: their rules side by side, under names of their own."""

from __future__ import annotations

from structkit.regex.nodes import Call, Node, Rules
from structkit.regex.walk import mapped
from structkit.unenforced import Unenforced

__all__ = ["Joiner"]


class Joiner:
    """Collects the rules of several languages, each of which is then called by its name.

    >>> from structkit.regex.nodes import Text, seq
    >>> joiner = Joiner()
    >>> a = joiner.add("a", Rules(Call("#x"), {"#x": Text("1")}))
    >>> b = joiner.add("b", Rules(Call("#x"), {"#x": Text("2")}))
    >>> joiner.rules(seq(a, b)).rules
    {'a/#x': Text(value='1'), 'a': Call(rule='a/#x'), 'b/#x': Text(value='2'), 'b': Call(rule='b/#x')}
    """

    def __init__(self) -> None:
        self._rules: dict[str, Node] = {}
        self._late: set[str] = set()
        self._unenforced: list[Unenforced] = []

    def add(self, name: str, rules: Rules) -> Call:
        """Add a language under a name that no other has.

        What remembers texts remembers those of one call of the language, so its start is a rule too.
        """
        names = {each: self._name(name, each, node) for each, node in rules.rules.items()}
        for each, node in rules.rules.items():
            self.rule(names[each], _renamed(node, names))
        self._late.update(names[each] for each in rules.late)
        self._unenforced += rules.unenforced
        return self.rule(name, _renamed(rules.start, names))

    def rule(self, name: str, node: Node) -> Call:
        """Add a rule of one's own."""
        self._rules[name] = node
        return Call(name)

    def rules(self, start: Node) -> Rules:
        """All that was added, and where it begins."""
        return Rules(start, self._rules, tuple(self._unenforced), frozenset(self._late))

    def _name(self, language: str, rule: str, node: Node) -> str:
        """Free text and its kin, which call nothing of the language's own, are the same rule in all of them."""
        shared = not rule.startswith("#") and self._rules.get(rule, node) == node
        return rule if shared else f"{language}/{rule}"


def _renamed(node: Node, names: dict[str, str]) -> Node:
    return (
        Call(names[node.rule]) if isinstance(node, Call) else mapped(node, lambda each: _renamed(each, names))
    )
