"""Context-free grammars in plain form: rules with productions of rules and terminals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from structkit.regex.nodes import Node

__all__ = ["Cfg", "Production", "Symbol", "Terminal"]


@dataclass(frozen=True, slots=True)
class Terminal:
    """A terminal: its name in messages, and its texts."""

    name: str
    node: Node


Symbol: TypeAlias = "str | Terminal"
"""The name of a rule, or a terminal."""

Production: TypeAlias = "tuple[Symbol, ...]"


@dataclass(frozen=True)
class Cfg:
    """A grammar.

    Attributes:
        start: The rule of complete texts.
        rules: The productions of each rule.
    """

    start: str
    rules: Mapping[str, tuple[Production, ...]]

    def productions(self) -> Iterator[tuple[str, Production]]:
        """Iterate over the rules and their productions."""
        for rule, productions in self.rules.items():
            for production in productions:
                yield rule, production

    @cached_property
    def nullable(self) -> frozenset[str]:
        """The rules that contain the empty text."""
        return self._least(terminals=False)

    @cached_property
    def productive(self) -> frozenset[str]:
        """The rules that contain a text."""
        return self._least(terminals=True)

    @cached_property
    def nonempty(self) -> frozenset[str]:
        """The rules that contain a text of at least one character."""
        # A production has such a text if all its symbols have texts, and one of them has such a text.
        users: dict[str, list[str]] = {}
        pending: list[str] = []
        for rule, production in self.productions():
            if all(isinstance(symbol, Terminal) or symbol in self.productive for symbol in production):
                for symbol in production:
                    if isinstance(symbol, Terminal):
                        pending.append(rule)
                    else:
                        users.setdefault(symbol, []).append(rule)
        found: set[str] = set()
        while pending:
            rule = pending.pop()
            if rule not in found:
                found.add(rule)
                pending += users.get(rule, ())
        return frozenset(found)

    def _least(self, *, terminals: bool) -> frozenset[str]:
        """Return the rules with a production of such rules, and of terminals if `terminals`."""
        users: dict[str, list[int]] = {}
        owners, missing = [], []
        pending: list[str] = []
        for number, (rule, production) in enumerate(self.productions()):
            rules = [symbol for symbol in production if isinstance(symbol, str)]
            owners.append(rule)
            missing.append(len(rules) if terminals or len(rules) == len(production) else -1)
            for symbol in rules:
                users.setdefault(symbol, []).append(number)
            if missing[-1] == 0:
                pending.append(rule)
        found: set[str] = set()
        while pending:
            rule = pending.pop()
            if rule in found:
                continue
            found.add(rule)
            for number in users.get(rule, ()):
                missing[number] -= 1
                if missing[number] == 0:
                    pending.append(owners[number])
        return frozenset(found)
