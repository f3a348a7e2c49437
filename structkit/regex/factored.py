"""Alternatives that begin alike and hold themselves, put into one rule, so that they are read as one.

Of `P | Q`, where both begin with `{"next": ` and a `P | Q` again, a text does not say which it is before its innermost
value has ended. Two rules that are called would be two ways to read it, and twice as many at each level. In one rule
the automaton reads what they have in common once, however deep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from structkit.regex.nodes import NEVER, Alt, Call, Node, Rules, Seq, Text, alt
from structkit.regex.rules import calls, is_larger, mapped

__all__ = ["factored"]

_LARGEST = 2_000
"""Nodes of the alternatives together; larger ones would make an automaton of many states."""


def factored(rules: Rules) -> Rules:
    """The same language, in which alternatives that begin alike are one rule.

    >>> a, b = (Seq((Text("("), Call("either"), Text(end))) for end in ")]")
    >>> both = Alt((Call("a"), Call("b"), Text("x")))
    >>> made = factored(Rules(Call("either"), {"a": a, "b": b, "either": both}))
    >>> made.rules["either"], sorted(made.rules)
    (Alt(parts=(Text(value='x'), Call(rule='a | b'))), ['a | b', 'either'])
    """
    factoring = _Factoring(rules.rules)
    start = factoring.node(rules.start)
    made = {name: factoring.node(node) for name, node in rules.rules.items()}
    while factoring.waiting:
        name, alternatives = factoring.waiting.popitem()
        made[name] = alt([factoring.node(rules.rules[each]) for each in alternatives])
    if len(made) == len(rules.rules):
        return rules
    reached = _reached(calls(start), made)
    kept = {name: node for name, node in made.items() if name in reached}
    return replace(rules, start=start, rules=kept, late=rules.late & kept.keys())


class _Factoring:
    """The alternatives that were put together so far."""

    def __init__(self, rules: Mapping[str, Node]) -> None:
        self.rules = rules
        self.waiting: dict[str, list[str]] = {}
        self._together: dict[tuple[str, ...], str | None] = {}
        self._recursive: dict[str, bool] = {}

    def node(self, node: Node) -> Node:
        """A node whose alternatives are put together."""
        if not isinstance(node, Alt):
            return mapped(node, self.node)
        called = {part: self._named(part.rule) for part in node.parts if isinstance(part, Call)}
        names = self._alike(list(called.values()))
        name = self._name(names) if len(names) > 1 else None
        if name is None:
            return mapped(node, self.node)
        others = [
            self.node(part) for part in node.parts if not (isinstance(part, Call) and called[part] in names)
        ]
        return Alt((*others, Call(name)))

    def _named(self, rule: str) -> str:
        """The rule that a rule is only another name of."""
        node = self.rules[rule]
        while isinstance(node, Call):
            rule = node.rule
            node = self.rules[rule]
        return rule

    def _alike(self, names: list[str]) -> tuple[str, ...]:
        """Those that begin as another one does, and hold themselves."""
        openings = {name: text for name in names if (text := _opening(self.rules[name])) is not None}
        alike = (
            name
            for name, text in openings.items()
            if any(
                name != other and (text.startswith(begins) or begins.startswith(text))
                for other, begins in openings.items()
            )
        )
        return tuple(sorted(name for name in alike if self._is_recursive(name)))

    def _name(self, names: tuple[str, ...]) -> str | None:
        """The rule of these alternatives; `None` if they are too large to be one."""
        if names not in self._together:
            together = alt([self.rules[name] for name in names])
            large = together == NEVER or is_larger(together, _LARGEST)
            self._together[names] = name = None if large else " | ".join(names)
            if name is not None:
                self.waiting[name] = list(names)
        return self._together[names]

    def _is_recursive(self, name: str) -> bool:
        if name not in self._recursive:
            self._recursive[name] = name in _reached(calls(self.rules[name]), self.rules)
        return self._recursive[name]


def _opening(node: Node) -> str | None:
    """What every text of a node begins with; `None` if that is not seen at once."""
    first = node.parts[0] if isinstance(node, Seq) else node
    return first.value if isinstance(first, Text) else None


def _reached(names: set[str], rules: Mapping[str, Node]) -> set[str]:
    """The rules that are called, directly or through others."""
    reached: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += calls(rules[name])
    return reached
